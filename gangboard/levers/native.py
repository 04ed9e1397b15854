"""`native`: `spec.suspend` of one Job, which the controller above does not revert.

The owner must request that (`Owner.independent_claim`), and gangboard must have seen that this build of the
controller does it. The whole owner is then also suspended Job by Job, because its own field must stay unset
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
    watch_seconds,
    yaml_value,
)
from gangboard.policy.phrases import gang_resumed, gang_stopped, job_resumed, pods_of_job
from gangboard.policy.requests import resume_job, suspend_job

_BUILD_LENGTH = 12
"""The number of characters of a build in the list of levers."""


class Native(Lever):
    """The suspend field of one Job."""

    key = "native"
    position = 10
    label = "spec.suspend of the Job, left alone by its owner"
    title = "Suspend one Job by itself"
    forced_label = "spec.suspend of the Job, not proved"
    after_restart = "re-created running: its suspension is lost"
    writes = ("spec", "suspend")
    is_bare = True
    depends_on_build = True

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
        """Return a patch of the Job, or of each Job if the subject is the owner."""
        if subject is gang.owner:
            return _decide_job_by_job(gang, desired)
        if desired.verb is Verb.SUSPEND:
            return _suspend(gang, subject, desired)
        return _resume(
            gang, subject, desired, is_proved=not self.applies_job_by_job(gang, desired.levers)
        )

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return UNPROVED until gangboard has seen this build of the controller honour the request."""
        build = f"this build of {kinds} ({levers.build[:_BUILD_LENGTH]})" if levers.build else kinds
        observation = "was seen" if levers.native_honoured else "was not seen"
        text = f"For {kinds}s that ask for Independent: {build} {observation} to honour it."
        if not levers.native_honoured:
            return LeverState(Readiness.UNPROVED, text)
        return LeverState.ready(text, closed_reason)

    def why_not(self, gang: Gang, subject: Owner, levers: ClusterLevers) -> PlanRefusal | None:
        """Refuse an owner that does not request independent Jobs, or whose controller does not honour that."""
        if not gang.owner.independent_claim:
            return PlanRefusal(f"{gang.name} would resume it")
        return None if levers.native_honoured else PlanRefusal(_not_honoured(gang, levers))

    def fallback_warnings(self, gang: Gang, levers: ClusterLevers) -> tuple[str, ...]:
        """Warn that the controller was not seen to honour the owner's request."""
        if not gang.owner.independent_claim or levers.native_honoured:
            return ()
        return (f"{_not_honoured(gang, levers)}.",)

    def applies_job_by_job(self, gang: Gang, levers: ClusterLevers) -> bool:
        """Return whether the Jobs can be suspended one by one."""
        return bool(gang.owner.independent_claim) and levers.native_honoured


def _not_honoured(gang: Gang, levers: ClusterLevers) -> str:
    build = f" ({levers.build})" if levers.build else ""
    return (
        f"{gang.name} asked for Independent ({gang.owner.independent_claim}), "
        f"but this controller{build} was not seen to honour it"
    )


def _suspend(gang: Gang, job: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    if job.suspended:
        return nothing_to_do(f"{label(job.meta.ref)} is suspended already")
    return Decision(
        lambda: (suspend_job(gang, job, desired.action, suspend=True),),
        before={"spec.suspend": "false"},
        after={"spec.suspend": "true"},
        watch_seconds=watch_seconds(job.grace_seconds),
        reactions=(pods_of_job(gang, job),),
    )


def _resume(gang: Gang, job: Owner, desired: DesiredAction, *, is_proved: bool) -> Decision:
    """Return the resume of a Job without a known Hold.

    With `is_proved` a dry run comes first, because an unknown Hold may reject the resume.
    """

    def make() -> tuple[Step, ...]:
        steps = resume_job(gang, job, desired.action)
        return steps if is_proved else tuple(step for step in steps if step.kind is StepKind.PATCH)

    return Decision(
        make,
        before={"spec.suspend": "true"},
        after={"spec.suspend": "false"},
        watch_seconds=watch_seconds(job.grace_seconds),
        reactions=job_resumed(gang, job),
    )


def _decide_job_by_job(gang: Gang, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return a patch of each Job that is not in the desired state yet."""
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
        before=dict.fromkeys(fields, yaml_value(not suspend)),
        after=dict.fromkeys(fields, yaml_value(suspend)),
        watch_seconds=watch_seconds(max(job.grace_seconds for job in changed)),
        reactions=_gang_reactions(gang, suspend=suspend),
    )


def _patches(gang: Gang, jobs: tuple[Owner, ...], desired: DesiredAction) -> tuple[Step, ...]:
    suspend = desired.verb is Verb.SUSPEND
    return tuple(suspend_job(gang, job, desired.action, suspend=suspend) for job in jobs)


def _gang_reactions(gang: Gang, *, suspend: bool) -> tuple[str, ...]:
    if not suspend:
        return (gang_resumed(gang), "Its Jobs are resumed one by one.")
    return (
        gang_stopped(gang),
        f"Its Jobs are suspended one by one, as it asks: {gang.name} itself does not count as "
        "suspended.",
    )
