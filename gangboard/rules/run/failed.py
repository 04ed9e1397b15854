"""`failed`: the owner's controller says that it has failed, or that it is about to.

`FailureTarget` announces the end of a Job while its pods still terminate (KEP-3998); from then on
nothing is replaced, so the missing pods are no news.
"""

from __future__ import annotations

from gangboard.domain.facts import GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.reading.containers import Exit, common_exit
from gangboard.domain.reading.findings import gang_finding
from gangboard.domain.reading.progress import is_bad_ending
from gangboard.domain.reading.state_since import announced_since
from gangboard.domain.reading.wording import (
    count,
    label,
    pods_left,
    pods_stay,
    sentence,
    shorten,
)
from gangboard.domain.registry import GangRule
from gangboard.domain.verdict import Evidence, Finding


def find(facts: GangFacts) -> Finding | None:
    """Return a finding for a failed or failing owner, with the child Job and the exit behind it."""
    owner = facts.owner
    if owner.finish is None:
        if not is_bad_ending(owner.ending):
            return None
        left = pods_left(facts.pods)
        first = (
            f"The {owner.meta.ref.kind} is failing ({owner.ending}){f'; {left}' if left else ''}."
        )
    elif owner.finish.outcome is Outcome.FAILED:
        first = f"The {owner.meta.ref.kind} failed{_words(owner)}"
    else:
        return None
    evidence = [Evidence("reason", _reason(owner), owner.meta.ref)]
    message = first
    left_over = pods_stay(facts.pods) if owner.finish is not None else ""
    child = _failed_child(facts)
    if child is not None:
        # Some owners only repeat what their Job says.
        words = _words(child) if _words(child) != _words(owner) else "."
        message = f"{message} {label(child.meta.ref)} failed{words}"
        evidence.append(Evidence("failed Job", _reason(child), child.meta.ref))
    ended = common_exit(facts.pods)
    return gang_finding(
        RULE,
        Health.FAILED,
        f"{message}{_exits(ended)}{left_over}",
        advice=ended.advice if ended is not None else (),
        evidence=tuple(evidence),
        since=owner.finish.at if owner.finish is not None else announced_since(owner),
    )


def _words(owner: Owner) -> str:
    """Return ` (reason): message.` as far as the controller says them."""
    finish = owner.finish
    if finish is None:
        return "."
    reason = f" ({finish.reason})" if finish.reason else ""
    return f"{reason}: {sentence(shorten(finish.message))}" if finish.message else f"{reason}."


def _reason(owner: Owner) -> str:
    if owner.finish is None:
        return owner.ending
    return ": ".join(filter(None, (owner.finish.reason, owner.finish.message)))


def _failed_child(facts: GangFacts) -> Owner | None:
    """Return the child Job that failed first."""
    failed = [
        job
        for job in facts.jobs
        if job.meta.ref.uid != facts.owner.meta.ref.uid
        and job.finish is not None
        and job.finish.outcome is Outcome.FAILED
    ]
    return min(
        failed,
        key=lambda job: (
            job.finish is None or job.finish.at is None,
            job.finish.at.timestamp() if job.finish and job.finish.at else 0.0,
            job.meta.ref.name,
        ),
        default=None,
    )


def _exits(ended: Exit | None) -> str:
    """Return how the containers of failed pods ended; the exit of most of them."""
    if ended is None:
        return ""
    why = f" ({ended.reason})" if ended.reason and ended.reason != "Error" else ""
    pods = count(len(ended.pods), "pod")
    return f" Container {ended.container} of {pods} ended with exit code {ended.code}{why}."


RULE = GangRule("failed", Stage.RUN, "Failed", 20, find)
