"""`succeeded`: the owner's controller reports that it has completed or met its success criteria.

`SuccessCriteriaMet` comes before `Complete`, while pods that are no longer needed still terminate (KEP-3998).
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Outcome
from gangboard.domain.text import remaining_pods_text, sentence, shorten, staying_pods_sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.facts.state_since import ending_announced_since
from gangboard.facts.unit import is_failure_reason
from gangboard.plugins.rule import GangRule


def find(gang: Gang) -> Finding | None:
    """Return a finding for an owner that has succeeded."""
    owner, kind = gang.owner, gang.owner.meta.ref.kind
    finish = owner.finish
    if finish is None:
        if not owner.ending or is_failure_reason(owner.ending):
            return None
        terminating = remaining_pods_text(gang.pods)
        message = f"The {kind} has met its success criteria ({owner.ending})"
        message = f"{message}; {terminating}." if terminating else f"{message}."
        reason = owner.ending
    elif finish.outcome is Outcome.SUCCEEDED:
        text = shorten(finish.message)
        message = f"The {kind} succeeded: {sentence(text)}" if text else f"The {kind} succeeded."
        message += staying_pods_sentence(gang.pods)
        reason = finish.reason
    else:
        return None
    return gang_finding(
        RULE,
        Health.SUCCEEDED,
        message,
        evidence=(Evidence("reason", reason, owner.meta.ref),) if reason else (),
        since=finish.at if finish is not None else ending_announced_since(owner),
    )


RULE = GangRule("succeeded", Stage.RUN, "Succeeded", 30, find)
