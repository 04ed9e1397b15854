"""`suspended`: the owner is suspended by hand, or what makes its Jobs, or each of its unfinished child Jobs is.

It says who suspended the owner, when and why, and of child Jobs who holds them. A deliberate
suspension has no next step. Where only the object below the owner is suspended, the page has no button that
resumes it, so the advice has the command. `Suspended=True` of an owner can be computed from its spec alone (Trainer v2.2.0 sets it in 46 ms,
real-owners.md §1.3), so whether it has come to rest is counted from pods. The PodGroup keeps its
old condition while the gang is suspended: it is not shown.
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
from gangboard.facts.suspensions import (
    suspend_evidence,
    suspension_of,
    suspension_text,
)
from gangboard.plugins.rule import GangRule


def find(gang: Gang) -> Finding | None:
    """Return a finding when nothing of the gang is meant to run and no queue holds it."""
    owner = gang.owner
    if owner.finish is not None:
        return None
    if owner.suspended:
        if gang.queue.standing is not QueueStanding.FREE:
            return None
        return _finding(gang, _by_whom(gang, owner), (owner,))
    below = next((one for one in gang.middle if one.suspended and one.finish is None), None)
    if below is not None:
        return _finding(gang, _below(gang, below), (below,), _resume_below(gang, below))
    unfinished = tuple(job for job in gang.jobs if job.finish is None)
    if (
        not unfinished
        or not all(job.suspended for job in unfinished)
        or jobs_suspended_by_queue(gang, gang.jobs)
    ):
        return None
    listed = jobs_with_holders_text(gang, unfinished)
    number = len(unfinished)
    whole = "1 unfinished Job" if number == 1 else sentence_case(all_of(number, "unfinished Job"))
    return _finding(gang, f"{whole} {is_or_are(number)} suspended: {listed}", unfinished)


def _by_whom(gang: Gang, owner: Owner) -> str:
    """Return `Suspended by ada at …: make room`; without a name only that the owner is suspended."""
    known = suspension_of(gang, owner)
    return (
        f"Suspended {suspension_text(known)}"
        if known
        else f"The {owner.meta.ref.kind} is suspended"
    )


def _below(gang: Gang, suspended: Owner) -> str:
    """Say that what it made is suspended without it: its controller did not undo that, or not yet."""
    known = suspension_of(gang, suspended)
    what = f"{label(gang.owner.meta.ref)} is not, but {label(suspended.meta.ref)} is suspended"
    return f"{what} {suspension_text(known, 'since')}" if known else what


def _resume_below(gang: Gang, suspended: Owner) -> tuple[AdvisedStep, ...]:
    """Return how an object is resumed that its maker leaves suspended. Whether it should, only a person knows."""
    if not gang.traits.leaves_suspended:
        return ()
    ref = suspended.meta.ref
    text = f"If {label(ref)} need not stay suspended, resume it: {label(gang.owner.meta.ref)} does not."
    words = resume_command(gang.traits_of(ref), ref)
    return (AdvisedStep(text, AdviceKind.RESUME, words),)


def _finding(
    gang: Gang,
    what: str,
    suspended: tuple[Owner, ...],
    steps: tuple[AdvisedStep, ...] = (),
) -> Finding:
    left = remaining_pods_text(gang.pods)
    message = f"{sentence(what)} {sentence(left)}" if left else sentence(what)
    since = [
        condition.since
        for owner in suspended
        if (condition := find_condition(owner.conditions, "Suspended")) is not None
        and condition.is_true
        and condition.since is not None
    ]
    if not since:
        known = (suspension_of(gang, owner) for owner in suspended)
        since = [one.time for one in known if one is not None and one.time is not None]
    return gang_finding(
        RULE,
        Health.SUSPENDED,
        message,
        # An owner is suspended on purpose, and a controller resumes its own children by itself.
        advice=resume_advice(gang, suspended)
        if suspended[0] in gang.jobs and not gang.owner.suspended
        else steps,
        evidence=(
            *(suspend_evidence(gang, owner) for owner in suspended),
            *hold_evidence(gang, suspended),
        ),
        since=max(since, default=None),
    )


RULE = GangRule("suspended", Stage.ADMISSION, "Suspended", 50, find)
