"""`failed`: the owner's controller says that it has failed, or that it is about to.

`FailureTarget` announces the end of a Job while its pods still terminate (KEP-3998); from then on
nothing is replaced, so the missing pods are no news.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.text import (
    count,
    label,
    remaining_pods_text,
    sentence,
    shorten,
    staying_pods_sentence,
)
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.containers import ContainerExit, common_exit
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.facts.state_since import ending_announced_since
from gangboard.facts.unit import is_failure_reason
from gangboard.plugins.rule import GangRule

_SPENT = {"BackoffLimitExceeded": "has no retries left"}
"""What a reason of the Job controller means, where how its containers ended is told beside it."""


def find(gang: Gang) -> Finding | None:
    """Return a finding for a failed or failing owner: how its containers ended, else what its controller says.

    Of an owner and the child Job that failed first, the Job: that is nearer to the cause.
    """
    owner = gang.owner
    is_failing = owner.finish is None and is_failure_reason(owner.ending)
    if not is_failing and (owner.finish is None or owner.finish.outcome is not Outcome.FAILED):
        return None
    evidence = [Evidence("reason", _reason(owner), owner.meta.ref)]
    child = _failed_child(gang)
    if child is not None:
        evidence.append(Evidence("failed Job", _reason(child), child.meta.ref))
    ended = common_exit(gang.pods)
    left_over = staying_pods_sentence(gang.pods) if owner.finish is not None else ""
    return gang_finding(
        RULE,
        Health.FAILED,
        f"{_message(gang, child, ended)}{left_over}",
        advice=ended.advice if ended is not None else (),
        evidence=tuple(evidence),
        since=owner.finish.at if owner.finish is not None else ending_announced_since(owner),
    )


def _message(gang: Gang, child: Owner | None, ended: ContainerExit | None) -> str:
    owner = gang.owner
    who = f"the {owner.meta.ref.kind}" if child is None else label(child.meta.ref)
    reason, said = "", ""
    if child is None and owner.finish is None:
        left = remaining_pods_text(gang.pods)
        fails = f"is failing ({owner.ending}){f'; {left}' if left else ''}"
    else:
        finish = (child or owner).finish
        if finish is not None:
            reason, said = finish.reason, shorten(finish.message)
        fails = f"failed ({reason})" if reason else "failed"
    if ended is not None:
        fails = _SPENT.get(reason, fails)
        return f"{_exits(ended)}; {who} {fails}."
    return sentence(f"{who[0].upper()}{who[1:]} {fails}{f': {said}' if said else ''}")


def _reason(owner: Owner) -> str:
    if owner.finish is None:
        return owner.ending
    return ": ".join(filter(None, (owner.finish.reason, owner.finish.message)))


def _failed_child(gang: Gang) -> Owner | None:
    """Return the child Job that failed first."""
    failed = [
        job
        for job in gang.jobs
        if job.meta.ref.uid != gang.owner.meta.ref.uid
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


def _exits(ended: ContainerExit) -> str:
    """Return how the containers of failed pods ended; the exit of most of them."""
    why = f" ({ended.reason})" if ended.reason and ended.reason != "Error" else ""
    pods = count(len(ended.pods), "pod")
    return f"Container {ended.container} exited {ended.code}{why} in {pods}"


RULE = GangRule("failed", Stage.RUN, "Failed", 20, find)
