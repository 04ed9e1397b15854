"""`suspended`: the owner, the maker of its Jobs, or each of its unfinished Jobs is suspended outside of a queue.

The sentence says who suspended the owner, when and why, or who holds the child Jobs. A deliberate suspension
has no next step, unless a silent node keeps old pods, for which a resume can wait. If only an object below the
owner is suspended, the page has no button to resume it, so the advice has the command.

A controller can compute `Suspended=True` from the owner's spec alone (Trainer v2.2.0 sets it in 46 ms,
real-owners.md §1.3). The rule therefore counts pods to see whether the gang has stopped. The PodGroup of a
suspended gang keeps its old condition, which is not shown.
"""

from __future__ import annotations

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.text import (
    all_of,
    is_or_are,
    label,
    remaining_pods_text,
    sentence,
    sentence_case,
)
from gangboard.domain.verdict import Finding
from gangboard.facts.copied_commands import resume_command
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.facts.job_holds import hold_evidence, jobs_with_holders_text, resume_advice
from gangboard.facts.queue_sentences import jobs_suspended_by_queue
from gangboard.facts.silent_nodes import report_overdue
from gangboard.facts.suspensions import (
    suspend_evidence,
    suspension_of,
    suspension_text,
)
from gangboard.plugins.rule import GangRule


def find(gang: Gang) -> Finding | None:
    """Return a finding if the whole gang is suspended and no queue holds it."""
    owner = gang.owner
    if owner.finish is not None:
        return None
    if owner.suspended:
        if gang.queue.standing is not QueueStanding.FREE:
            return None
        return _finding(gang, _owner_text(gang, owner), (owner,))
    middle = next((made for made in gang.middle if made.suspended and made.finish is None), None)
    if middle is not None:
        return _finding(gang, _middle_text(gang, middle), (middle,), _resume_middle(gang, middle))
    unfinished = tuple(job for job in gang.jobs if job.finish is None)
    if (
        not unfinished
        or not all(job.suspended for job in unfinished)
        or jobs_suspended_by_queue(gang, gang.jobs)
    ):
        return None
    listed = jobs_with_holders_text(gang, unfinished)
    number = len(unfinished)
    subject = "1 unfinished Job" if number == 1 else sentence_case(all_of(number, "unfinished Job"))
    return _finding(gang, f"{subject} {is_or_are(number)} suspended: {listed}", unfinished)


def _owner_text(gang: Gang, owner: Owner) -> str:
    """Return `Suspended by ada at …: make room`. Without a known author it says that the owner is suspended."""
    suspension = suspension_of(gang, owner)
    return (
        f"Suspended {suspension_text(suspension)}"
        if suspension
        else f"The {owner.meta.ref.kind} is suspended"
    )


def _middle_text(gang: Gang, suspended: Owner) -> str:
    """Return that an object below a running owner is suspended. Its controller has not undone that."""
    suspension = suspension_of(gang, suspended)
    subject = f"{label(gang.owner.meta.ref)} is not, but {label(suspended.meta.ref)} is suspended"
    return f"{subject} {suspension_text(suspension, 'since')}" if suspension else subject


def _resume_middle(gang: Gang, suspended: Owner) -> tuple[AdvisedStep, ...]:
    """Return the command that resumes an object which its controller leaves suspended.

    Only a person can tell whether it should run.
    """
    if not gang.traits.leaves_suspended:
        return ()
    ref = suspended.meta.ref
    text = f"If {label(ref)} need not stay suspended, resume it: {label(gang.owner.meta.ref)} does not."
    resume = resume_command(gang.traits_of(ref), ref)
    return (AdvisedStep(text, AdviceKind.RESUME, resume),)


def _finding(
    gang: Gang,
    text: str,
    suspended: tuple[Owner, ...],
    steps: tuple[AdvisedStep, ...] = (),
) -> Finding:
    overdue = report_overdue(gang, gang.pods)
    sentences = (
        sentence(text),
        sentence(remaining_pods_text(gang.pods)),
        overdue.text,
    )
    since = [
        condition.since
        for owner in suspended
        if (condition := find_condition(owner.conditions, "Suspended")) is not None
        and condition.is_true
        and condition.since is not None
    ]
    if not since:
        suspensions = (suspension_of(gang, owner) for owner in suspended)
        since = [
            suspension.time
            for suspension in suspensions
            if suspension is not None and suspension.time is not None
        ]
    return gang_finding(
        RULE,
        Health.SUSPENDED,
        " ".join(filter(None, sentences)),
        # The suspension of an owner is deliberate, and its controller resumes its children.
        advice=(
            *(
                resume_advice(gang, suspended)
                if suspended[0] in gang.jobs and not gang.owner.suspended
                else steps
            ),
            *overdue.steps,
        ),
        evidence=(
            *(suspend_evidence(gang, owner) for owner in suspended),
            *hold_evidence(gang, suspended),
            *overdue.evidence,
        ),
        since=max(since, default=None),
        recheck_at=overdue.recheck_at,
    )


RULE = GangRule("suspended", Stage.ADMISSION, "Suspended", 50, find)
