"""`native`: `spec.suspend` of one Job, left alone by the controller above it.

That controller must have been asked to (`Owner.independent_claim`), and this build of it seen to do so.
Where both are true, the owner as a whole is suspended Job by Job, too: its own field must stay unset
(jobset#1202).
"""

from __future__ import annotations

from functools import partial

from gangboard.domain.action import ClusterLevers, Step, StepKind, Verb
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever, LeverState, Readiness
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
    shown,
    watch,
)
from gangboard.policy.phrases import gang_resumed, gang_stopped, job_resumed, pods_of_job
from gangboard.policy.requests import resume_job, suspend_job

_SHORT_BUILD = 12
"""Characters of a build that are shown."""


def _is_left_alone(gang: Gang, levers: ClusterLevers) -> bool:
    """Whether its Jobs may be suspended one by one: asked for, and seen honoured."""
    return bool(gang.owner.independent_claim) and levers.native_honoured


def _missing(gang: Gang, _job: Owner, levers: ClusterLevers) -> PlanRefusal | None:
    if not gang.owner.independent_claim:
        return PlanRefusal(f"{gang.name} would resume it")
    return None if levers.native_honoured else PlanRefusal(_not_honoured(gang, levers))


def _not_honoured(gang: Gang, levers: ClusterLevers) -> str:
    build = f" ({levers.build})" if levers.build else ""
    return (
        f"{gang.name} asked for Independent ({gang.owner.independent_claim}), "
        f"but this controller{build} was not seen to honour it"
    )


def _passed_over(gang: Gang, levers: ClusterLevers) -> tuple[str, ...]:
    """Say that independent Jobs were asked for and nobody was seen to honour it."""
    if not gang.owner.independent_claim or levers.native_honoured:
        return ()
    return (f"{_not_honoured(gang, levers)}.",)


def _suspend(gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    if subject is gang.owner:
        return _one_by_one(gang, desired)
    if subject.suspended:
        return nothing_to_do(f"{label(subject.meta.ref)} is suspended already")
    return Decision(
        lambda: (suspend_job(gang, subject, desired.action, suspend=True),),
        before={"spec.suspend": "false"},
        after={"spec.suspend": "true"},
        watch_seconds=watch(subject.grace_seconds),
        reactions=(pods_of_job(gang, subject),),
    )


def _resume(gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return the resume of a Job that nothing holds: nobody undoes that.

    It is proved by dry run first unless its controller lets it be: a Hold may be there unseen.
    """
    if subject is gang.owner:
        return _one_by_one(gang, desired)
    left_alone = _is_left_alone(gang, desired.levers)

    def make() -> tuple[Step, ...]:
        found = resume_job(gang, subject, desired.action)
        return tuple(one for one in found if one.kind is StepKind.PATCH) if left_alone else found

    return Decision(
        make,
        before={"spec.suspend": "true"},
        after={"spec.suspend": "false"},
        watch_seconds=watch(subject.grace_seconds),
        reactions=job_resumed(gang, subject),
    )


def _one_by_one(gang: Gang, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return a patch of each Job that is not as it is asked for."""
    suspend = desired.verb is Verb.SUSPEND
    changed = tuple(
        job
        for job in gang.child_jobs.values()
        if job.finish is None
        and job.meta.deleting_since is None
        and job.suspended is not suspend
        and not (job.suspended and gang.holds_on(job))
    )
    if not changed:
        state = "has no Job that is not suspended" if suspend else "has no Job to resume"
        return nothing_to_do(f"{gang.name} {state}")
    for job in changed:
        refused = generation_unknown(job.meta)
        if refused is not None:
            return refused
    fields = [f"{label(job.meta.ref)} spec.suspend" for job in changed]
    return Decision(
        partial(_patches, gang, changed, desired),
        before=dict.fromkeys(fields, shown(not suspend)),
        after=dict.fromkeys(fields, shown(suspend)),
        watch_seconds=watch(max(job.grace_seconds for job in changed)),
        reactions=_of_all(gang, suspend=suspend),
    )


def _patches(gang: Gang, jobs: tuple[Owner, ...], desired: DesiredAction) -> tuple[Step, ...]:
    suspend = desired.verb is Verb.SUSPEND
    return tuple(suspend_job(gang, job, desired.action, suspend=suspend) for job in jobs)


def _of_all(gang: Gang, *, suspend: bool) -> tuple[str, ...]:
    if not suspend:
        return (gang_resumed(gang), "Its Jobs are resumed one by one.")
    return (
        gang_stopped(gang),
        f"Its Jobs are suspended one by one, as it asks: {gang.name} itself does not count as "
        "suspended.",
    )


def _readiness(levers: ClusterLevers, kinds: str, shut: str) -> LeverState:
    """Return what is known of owners that ask for Independent: a claim until it was seen."""
    build = f"this build of {kinds} ({levers.build[:_SHORT_BUILD]})" if levers.build else kinds
    seen = "was seen" if levers.native_honoured else "was not seen"
    said = f"For {kinds}s that ask for Independent: {build} {seen} to honour it."
    if not levers.native_honoured:
        return LeverState(Readiness.UNPROVED, said)
    return LeverState.ready(said, shut)


LEVER = Lever(
    key="native",
    position=10,
    label="spec.suspend of the Job, left alone by its owner",
    title="Suspend one Job by itself",
    suspend=_suspend,
    resume=_resume,
    readiness=_readiness,
    missing=_missing,
    passed_over=_passed_over,
    goes_first=_is_left_alone,
    writes=("spec", "suspend"),
    is_bare=True,
    told_by_build=True,
    forced_label="spec.suspend of the Job, not proved",
    after_restart="re-created running: its suspension is lost",
)
