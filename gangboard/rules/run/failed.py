"""`failed`: the owner's controller reports that it has failed or is about to fail.

`FailureTarget` announces the end of a Job while its pods still terminate (KEP-3998). From then on the
controller replaces no pods, so missing pods need no finding.
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
from gangboard.facts.silent_nodes import report_overdue
from gangboard.facts.state_since import ending_announced_since
from gangboard.facts.unit import is_failure_reason
from gangboard.plugins.rule import GangRule

_REASON_TEXTS = {"BackoffLimitExceeded": "has no retries left"}
"""Meaning of reasons of the Job controller, for a sentence that also has the exit of the containers."""


def find(gang: Gang) -> Finding | None:
    """Return a finding for a failed or failing owner: the exit of its containers, else its controller's message.

    The sentence is about the child Job that failed first, if there is one, because that is nearer to the cause.
    """
    owner = gang.owner
    is_failing = owner.finish is None and is_failure_reason(owner.ending)
    if not is_failing and (owner.finish is None or owner.finish.outcome is not Outcome.FAILED):
        return None
    evidence = [Evidence("reason", _reason(owner), owner.meta.ref)]
    child = _failed_child(gang)
    if child is not None:
        evidence.append(Evidence("failed Job", _reason(child), child.meta.ref))
    common = common_exit(gang.pods)
    remaining = staying_pods_sentence(gang.pods) if owner.finish is not None else ""
    # The Job reports its end only after its last pod.
    overdue = report_overdue(gang, gang.pods if owner.finish is None else ())
    sentences = (f"{_message(gang, child, common)}{remaining}", overdue.text)
    return gang_finding(
        RULE,
        Health.FAILED,
        " ".join(filter(None, sentences)),
        advice=(*(common.advice if common is not None else ()), *overdue.steps),
        evidence=(*evidence, *overdue.evidence),
        recheck_at=overdue.recheck_at,
        since=owner.finish.at if owner.finish is not None else ending_announced_since(owner),
    )


def _message(gang: Gang, child: Owner | None, common: ContainerExit | None) -> str:
    owner = gang.owner
    subject = f"the {owner.meta.ref.kind}" if child is None else label(child.meta.ref)
    reason, text = "", ""
    if child is None and owner.finish is None:
        terminating = remaining_pods_text(gang.pods)
        failure = f"is failing ({owner.ending}){f'; {terminating}' if terminating else ''}"
    else:
        finish = (child or owner).finish
        if finish is not None:
            reason, text = finish.reason, shorten(finish.message)
        failure = f"failed ({reason})" if reason else "failed"
    if common is not None:
        failure = _REASON_TEXTS.get(reason, failure)
        return f"{_exit_text(common)}; {subject} {failure}."
    return sentence(f"{subject[0].upper()}{subject[1:]} {failure}{f': {text}' if text else ''}")


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


def _exit_text(common: ContainerExit) -> str:
    """Return the exit that most containers of failed pods have."""
    reason = f" ({common.reason})" if common.reason and common.reason != "Error" else ""
    pods = count(len(common.pods), "pod")
    return f"Container {common.container} exited {common.code}{reason} in {pods}"


RULE = GangRule("failed", Stage.RUN, "Failed", 20, find)
