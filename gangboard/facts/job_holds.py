"""Holds of Jobs: the author of each, how to release it, and whether it outlived a restart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from gangboard.domain.advice import AdviceKind, AdvisedStep
from gangboard.domain.hold import Hold
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.text import MOST_NAMED, names, quote, shorten
from gangboard.domain.verdict import Evidence
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import hold_key, job_key
from gangboard.facts.suspensions import minute_text, suspension_of, suspension_text

_UNKNOWN = "no Hold, by whom is not known"
_NOT_SEEN = "whether by a Hold is not known"


def resume_advice(gang: Gang, suspended: Iterable[Owner]) -> tuple[AdvisedStep, ...]:
    """Return the step that resumes these Jobs (`resume_step`), or no advice.

    A suspension by a user, with a Hold, gangboard or kubectl, is deliberate. Its page has the button.
    A queue, a role that they depend on, an unknown owner above, or another controller (`spec.managedBy`) would suspend
    them again.
    If their controller resumes them by itself and no Hold prevents it, its log has the reason.
    """
    if gang.owner.meta.controller is not None or gang.owner.managed_by:
        return ()
    if (
        gang.traits.resumes_jobs
        and gang.cluster.holds_known
        and not (gang.owner.suspended or gang.holds)
    ):
        maker = gang.traits.controller
        return (
            AdvisedStep(
                f"{maker[:1].upper()}{maker[1:]} resumes it: if it does not, its log says why.",
                AdviceKind.LOOK,
            ),
        )
    resumable = [
        job
        for job in suspended
        if not gang.queue_statuses[job.meta.ref.uid].is_managed
        and not job.managed_by
        and not _is_meant(gang, job)
        and not (job.role_name and job.role_name in gang.unmet)
    ]
    if not resumable:
        return ()
    them = "it" if len(resumable) == 1 else "them"
    return (resume_step(gang, resumable, f" to let {them} run."),)


def _is_meant(gang: Gang, job: Owner) -> bool:
    """Return whether a person suspended a Job deliberately, by its Hold, the record, or the field manager."""
    known = suspension_of(gang, job)
    return gang.hold_of(job) is not None or (known is not None and known.by_person)


def resume_step(gang: Gang, suspended: Sequence[Owner], ending: str) -> AdvisedStep:
    """Return `Release Hold a of Job a and resume Job b` for Jobs of one kind, at least one.

    `ending` follows these words in the sentence, with its full stop. The policy rejects the resume of a Job with a Hold
    (real-control-plane.md §3). If Holds cannot be read, the advice includes a possible Hold.
    """
    held = [(hold, job) for job in suspended if (hold := gang.hold_of(job)) is not None]
    held_uids = {job.meta.ref.uid for _, job in held}
    free = [job.meta for job in suspended if job.meta.ref.uid not in held_uids]
    steps = []
    if held:
        released = _several(hold.meta.ref for hold, _ in held)
        steps.append(f"release {released} of {_several(job.meta.ref for _, job in held)}")
    if free:
        steps.append(f"resume {_several(meta.ref for meta in free)}")
    if not gang.cluster.holds_known and any(meta.controller is not None for meta in free):
        steps.append(f"release any Hold that may be on {'it' if len(free) == 1 else 'them'}")
    text = " and ".join(steps)
    names_all = max(len(held), len(free)) <= MOST_NAMED
    return AdvisedStep(
        f"{text[:1].upper()}{text[1:]}{ending}",
        AdviceKind.RESUME,
        objects=tuple(job.meta.ref for job in suspended) if names_all else (),
    )


def _several(refs: Iterable[ObjectRef]) -> str:
    """Return `Job a` or `Jobs a and b` for objects of one kind."""
    objects = list(refs)
    return (
        f"{objects[0].kind}{'' if len(objects) == 1 else 's'} {names(ref.name for ref in objects)}"
    )


def is_held(job: Owner, hold: Hold | None) -> bool:
    """Return whether a Hold keeps the Job suspended now. A Hold on a running Job has no effect."""
    return hold is not None and job.suspended and job.finish is None


def jobs_with_holders_text(gang: Gang, jobs: Iterable[Owner]) -> str:
    """Return `a and b (held by alice since …: disk); c (…)` for suspended Jobs."""
    held: dict[tuple[str, str], list[tuple[Owner, Hold]]] = {}
    free: dict[str, list[str]] = {}
    for job in jobs:
        hold = gang.hold_of(job)
        if hold is not None:
            held.setdefault((_holder(hold), hold.reason), []).append((job, hold))
        else:
            free.setdefault(_by_whom(gang, job), []).append(job.meta.ref.name)
    groups = [
        (names(job.meta.ref.name for job, _ in listed), _held_words(listed))
        for listed in held.values()
    ]
    groups += [(names(listed), holder) for holder, listed in free.items()]
    shown = [f"{listed} ({holder})" if holder else listed for listed, holder in groups[:MOST_NAMED]]
    rest = len(groups) - len(shown)
    return "; ".join((*shown, f"{rest} more, see the Holds") if rest else shown)


def _holder(hold: Hold) -> str:
    return f"held by {quote(hold.by)}" if hold.by else f"held by Hold {hold.meta.ref.name}"


def _held_words(held: Sequence[tuple[Owner, Hold]]) -> str:
    """Return `held by alice since 2026-11-21 11:55 UTC: disk` for Holds of one person with one reason."""
    first = held[0][1]
    times = [hold.meta.created_at for _, hold in held if hold.meta.created_at is not None]
    since = f" since {minute_text(min(times))}" if times else ""
    reason = f": {quote(first.reason)}" if first.reason.strip() else ""
    return f"{_holder(first)}{since}{reason}"


def _by_whom(gang: Gang, job: Owner) -> str:
    """Return the author of the suspension of a Job without a Hold."""
    known = suspension_of(gang, job)
    # A controller writes this field of the Jobs that it makes or resumes, so only a person's write counts.
    if known is not None and known.by_person:
        return f"suspended {suspension_text(known)}"
    if job.meta.controller is None:
        return ""  # no controller resumes it, so it needs no Hold
    return _UNKNOWN if gang.cluster.holds_known else _NOT_SEEN


def recreated_under_hold_text(gang: Gang, jobs: Iterable[Owner]) -> str:
    """Return the sentence about held Jobs that a restart of their owner re-created, or an empty text.

    The policy suspends a Job that is created under its Hold, so the Hold outlives the restart.
    """
    if gang.owner.restarts < 1:
        return ""
    job_names = [job.meta.ref.name for job in jobs if _is_born_suspended(job, gang.hold_of(job))]
    if not job_names:
        return ""
    restart = gang.owner.restarts
    return f"Restart {restart} re-created {names(job_names)}, and the Hold keeps {'it' if len(job_names) == 1 else 'them'}."


def _is_born_suspended(job: Owner, hold: Hold | None) -> bool:
    if hold is None or not is_held(job, hold):
        return False
    held_at, made_at = hold.meta.created_at, job.meta.created_at
    return held_at is not None and made_at is not None and made_at > held_at


def hold_evidence(gang: Gang, jobs: Iterable[Owner]) -> tuple[Evidence, ...]:
    """Return the Holds of these Jobs as evidence, or else the last action of gangboard on them."""
    evidence = []
    for job in jobs:
        hold = gang.hold_of(job)
        if hold is not None:
            evidence.append(Evidence("Hold", _described(hold), hold.meta.ref))
        elif job.last_action:
            evidence.append(Evidence("last action of gangboard", job.last_action, job.meta.ref))
    return tuple(evidence)


def idle_hold_evidence(gang: Gang) -> tuple[Evidence, ...]:
    """Return the Holds without effect, each with the reason. Pages never show them as holding.

    A Hold suspends no Job by itself. It takes effect when the Job is suspended, and only with its policy.
    """
    jobs = {job_key(job): job for job in gang.jobs}
    return tuple(
        Evidence("Hold without effect", f"{_described(hold)}: {why}", hold.meta.ref)
        for hold in gang.holds
        if (why := _why_idle(jobs.get(hold_key(hold)), hold.job_name))
    )


def _why_idle(job: Owner | None, name: str) -> str:
    if job is None:
        return f"there is no Job {name} now"
    if job.finish is not None:
        return f"Job {name} has ended"
    if not job.suspended:
        return f"Job {name} is not suspended; it is armed only, or its policy is not in force"
    return ""


def _described(hold: Hold) -> str:
    """Return `Hold run-w-1 by alice (reason) until 2026-11-21 18:00:00 UTC` with the known parts."""
    words = [f"Hold {hold.meta.ref.name}"]
    if hold.by:
        words.append(f"by {shorten(hold.by)}")
    if hold.reason:
        words.append(f"({shorten(hold.reason)})")
    if hold.until is not None:
        words.append(f"until {_time(hold.until)}")
    return " ".join(words)


def _time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"
