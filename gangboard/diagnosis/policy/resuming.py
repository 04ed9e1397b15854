"""Resumes one Job of a JobSet by undoing what is there: a Hold, parallelism 0, or a bare suspend."""

from __future__ import annotations

from functools import partial

from gangboard.diagnosis.policy import consequences, job_warnings, refusals, steps
from gangboard.diagnosis.policy.decision import (
    PROVED_SECONDS,
    Decision,
    DesiredAction,
    shown,
    watch,
)
from gangboard.diagnosis.policy.gang_index import GangIndex, is_paused
from gangboard.diagnosis.policy.refusals import PlanRefusal
from gangboard.diagnosis.policy.steps import FieldChange
from gangboard.domain.action import ActionContext, Lever, Step, StepKind
from gangboard.domain.hold import ACTION_ANNOTATION, PAUSED_PARALLELISM, Hold
from gangboard.domain.owner import Owner
from gangboard.domain.reading.wording import label

_PARALLELISM = ("spec", "parallelism")


def decide(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return how a child Job is resumed, or why it is not."""
    name, holds = label(job.meta.ref), gang.holds_on(job)
    if desired.until is not None:
        return refusals.until_misplaced(desired.verb, name)
    if holds:
        return _release(gang, job, desired, holds)
    refused = refusals.job_out_of_reach(gang, job) or refusals.generation_unknown(job.meta)
    if refused is not None:
        return refused
    if is_paused(job):
        return _unpause(gang, job, desired)
    if not job.suspended:
        state = "asks for no pods (parallelism 0), which gangboard did not set"
        return refusals.nothing_to_do(
            f"{name} {'is not suspended' if job.parallelism != 0 else state}"
        )
    wait = gang.wait_of(job)
    if wait is not None:
        return PlanRefusal(f"{wait.why}: {name} starts when {wait.until}.")
    return _plain_resume(gang, job, desired)


def _release(
    gang: GangIndex, job: Owner, desired: DesiredAction, holds: tuple[Hold, ...]
) -> Decision:
    """Return the removal of every Hold on it, and the resume where the Job may run.

    Removing a Hold needs nothing of the owner, so it is possible also where nothing else is.
    """
    refused = refusals.job_out_of_reach(gang, job) or refusals.generation_unknown(job.meta)
    only = refused is not None or gang.wait_of(job) is not None or not job.suspended
    suspend = shown(job.suspended)
    return Decision(
        Lever.HOLD,
        partial(_release_steps, gang.context, job, desired, holds, only),
        before={"spec.suspend": suspend, "Hold": ", ".join(hold.meta.ref.name for hold in holds)},
        after={"spec.suspend": suspend if only else "false", "Hold": "none"},
        watch_seconds=PROVED_SECONDS,
        reactions=consequences.of_release(gang, job, refused.why if refused else "", only=only),
        warnings=(
            *job_warnings.about_holders(holds, desired.by),
            *(() if only else job_warnings.of_resume(gang, job)),
        ),
    )


def _release_steps(
    context: ActionContext, job: Owner, desired: DesiredAction, holds: tuple[Hold, ...], only: bool
) -> tuple[Step, ...]:
    removed = tuple(steps.delete_hold(context, hold) for hold in holds)
    return removed if only else removed + _resume_steps(context, job, desired)


def _resume_steps(context: ActionContext, job: Owner, desired: DesiredAction) -> tuple[Step, ...]:
    return (
        steps.prove_release(context, job),
        steps.suspend_job(context, job, desired.action, suspend=False),
    )


def _unpause(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision:
    kept = job.paused_parallelism or 0
    notes = {ACTION_ANNOTATION: desired.action, PAUSED_PARALLELISM: None}
    return Decision(
        Lever.PARALLELISM,
        lambda: (
            steps.patch_job(
                gang.context, job, "Unpause", [FieldChange(_PARALLELISM, kept, 0)], {**notes}
            ),
        ),
        before={"spec.parallelism": "0"},
        after={"spec.parallelism": shown(kept)},
        watch_seconds=watch(job.grace_seconds),
        reactions=consequences.of_resume(gang, job),
        warnings=(
            *job_warnings.about_switched_off(desired.levers),
            *job_warnings.of_resume(gang, job),
        ),
    )


def _plain_resume(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision:
    """Return the resume of a Job that nothing holds: nobody undoes that.

    It is proved by dry run first unless its JobSet lets it be: a Hold may be there unseen.
    """
    native = gang.is_native(desired.levers)

    def make() -> tuple[Step, ...]:
        found = _resume_steps(gang.context, job, desired)
        return tuple(one for one in found if one.kind is StepKind.PATCH) if native else found

    return Decision(
        Lever.NATIVE,
        make,
        before={"spec.suspend": "true"},
        after={"spec.suspend": "false"},
        watch_seconds=watch(job.grace_seconds),
        reactions=consequences.of_resume(gang, job),
        warnings=job_warnings.of_resume(gang, job),
    )
