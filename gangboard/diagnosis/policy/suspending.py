"""Suspends one Job of a JobSet by the best lever that keeps it so in its cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gangboard.diagnosis import registry
from gangboard.diagnosis.policy import consequences, job_warnings, refusals, steps
from gangboard.diagnosis.policy.decision import (
    PROVED_SECONDS,
    Decision,
    DesiredAction,
    Options,
    shown,
    watch,
)
from gangboard.diagnosis.policy.gang_index import GangIndex, is_paused
from gangboard.diagnosis.policy.phrases import moment
from gangboard.diagnosis.policy.refusals import PlanRefusal
from gangboard.diagnosis.policy.steps import FieldChange
from gangboard.domain.action import ActionContext, ClusterLevers, Lever, Step
from gangboard.domain.hold import ACTION_ANNOTATION, PAUSED_PARALLELISM
from gangboard.domain.owner import Owner
from gangboard.domain.reading.wording import label

_PARALLELISM = ("spec", "parallelism")


def decide(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return how a child Job is suspended, or why it is not."""
    refused = (
        refusals.job_out_of_reach(gang, job)
        or _stopped_already(gang, job)
        or refusals.generation_unknown(job.meta)
    )
    if refused is not None:
        return refused
    lever = _choose(gang, job, desired.levers)
    if lever is Lever.NATIVE and job.suspended:
        return refusals.nothing_to_do(f"{label(job.meta.ref)} is suspended already")
    if isinstance(lever, PlanRefusal):
        return lever
    if desired.until is not None:
        if lever is not Lever.HOLD:
            return refusals.until_misplaced(desired.verb, label(job.meta.ref))
        refused = _end_impossible(gang, job, desired)
        if refused is not None:
            return refused
    make = {Lever.HOLD: _hold, Lever.PARALLELISM: _pause, Lever.NATIVE: _plain}[lever]
    return make(gang, job, desired)


def _stopped_already(gang: GangIndex, job: Owner) -> PlanRefusal | None:
    name, holds = label(job.meta.ref), gang.holds_on(job)
    if job.suspended and holds:
        by = f" of {holds[0].by}" if holds[0].by else ""
        return refusals.nothing_to_do(
            f"{name} is held already, by Hold {holds[0].meta.ref.name}{by}"
        )
    if is_paused(job):
        return refusals.nothing_to_do(
            f"{name} is paused already (parallelism 0, {job.paused_parallelism} is kept)"
        )
    return None


def _choose(gang: GangIndex, job: Owner, levers: ClusterLevers) -> Lever | PlanRefusal:
    """Return the best lever of the kind above the Job that works here."""
    controller = job.meta.controller
    kind = (
        registry.owner_kind(controller.group, controller.kind) if controller is not None else None
    )
    name = label(job.meta.ref)
    if controller is None or kind is None or not kind.child_levers:
        above = f"a {controller.kind}" if controller is not None else gang.name
        return PlanRefusal(f"gangboard knows no way to suspend one Job of {above}: {name} stays.")
    if levers.forced:
        return Lever.NATIVE
    tried = Options()
    for lever in kind.child_levers:
        missing = _CHECKS[lever](gang, levers, job)
        if missing is None:
            return lever
        tried.reasons.append(missing)
    instead = f"the whole of {gang.name} can be suspended" if _can_stop_all(gang) else ""
    return tried.refuse(f"{name} cannot be suspended alone so that it stays", instead)


def _can_stop_all(gang: GangIndex) -> bool:
    if gang.owner.suspended or gang.kind is None:
        return False
    return bool(gang.entries) if gang.is_queued else Lever.SUSPEND in gang.kind.levers


def _native_missing(gang: GangIndex, levers: ClusterLevers, _job: Owner) -> PlanRefusal | None:
    return refusals.native_unavailable(gang, levers)


def _hold_missing(_gang: GangIndex, levers: ClusterLevers, _job: Owner) -> PlanRefusal | None:
    return refusals.hold_unavailable(levers)


def _is_no_child_lever(_gang: GangIndex, _levers: ClusterLevers, _job: Owner) -> PlanRefusal | None:
    return PlanRefusal("its lever is not one for a single Job")


_CHECKS: dict[Lever, Callable[[GangIndex, ClusterLevers, Owner], PlanRefusal | None]] = {
    Lever.NATIVE: _native_missing,
    Lever.HOLD: _hold_missing,
    Lever.PARALLELISM: refusals.parallelism_unavailable,
    Lever.SUSPEND: _is_no_child_lever,
    Lever.KUEUE: _is_no_child_lever,
}


def _end_impossible(gang: GangIndex, job: Owner, desired: DesiredAction) -> PlanRefusal | None:
    until = desired.until
    if until is None:
        return None
    if until <= desired.now:
        return PlanRefusal(f"The end {moment(until)} is past: a Hold needs a later one.")
    there = gang.holds_on(job)
    if there and all(hold.until != until.replace(microsecond=0) for hold in there):
        return PlanRefusal(
            f"{label(job.meta.ref)} has Hold {there[0].meta.ref.name} already, which has another "
            "end: leave out the end, or resume the Job first."
        )
    return None


def _hold(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision:
    """Return create, prove, patch; of a Hold that is there already only prove and patch."""
    there = gang.holds_on(job)
    made = steps.hold_name(job.meta.ref.name, desired.action)
    name = there[0].meta.ref.name if there else made
    return Decision(
        Lever.HOLD,
        partial(_hold_steps, gang.context, job, desired, not there),
        before={"spec.suspend": shown(job.suspended), "Hold": name if there else "none"},
        after={"spec.suspend": "true", "Hold": name},
        watch_seconds=PROVED_SECONDS,
        reactions=(
            *consequences.about_there(there),
            *consequences.of_suspend(gang, job, Lever.HOLD, desired),
        ),
        warnings=(
            *job_warnings.about_hold(gang, desired.levers),
            *job_warnings.of_suspend(gang, job, Lever.HOLD, desired.chosen),
        ),
    )


def _hold_steps(
    context: ActionContext, job: Owner, desired: DesiredAction, create: bool
) -> tuple[Step, ...]:
    patch = steps.suspend_job(context, job, desired.action, suspend=True)
    proof = steps.prove_hold(context, job)
    if not create:
        return (proof, patch)
    return (steps.create_hold(context, job, desired), proof, patch)


def _pause(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision:
    kept = job.parallelism or 0
    notes = {ACTION_ANNOTATION: desired.action, PAUSED_PARALLELISM: str(kept)}
    return Decision(
        Lever.PARALLELISM,
        lambda: (
            steps.patch_job(
                gang.context, job, "Pause", [FieldChange(_PARALLELISM, 0, kept)], {**notes}
            ),
        ),
        before={"spec.parallelism": shown(kept)},
        after={"spec.parallelism": "0"},
        watch_seconds=watch(job.grace_seconds),
        reactions=consequences.of_suspend(gang, job, Lever.PARALLELISM, desired),
        warnings=(
            *job_warnings.about_claim(gang, desired.levers),
            *job_warnings.of_suspend(gang, job, Lever.PARALLELISM, desired.chosen),
        ),
    )


def _plain(gang: GangIndex, job: Owner, desired: DesiredAction) -> Decision:
    """Return the bare patch: for a JobSet that leaves its Jobs alone, or because it is forced."""
    native = gang.is_native(desired.levers)
    return Decision(
        Lever.NATIVE,
        lambda: (steps.suspend_job(gang.context, job, desired.action, suspend=True),),
        before={"spec.suspend": "false"},
        after={"spec.suspend": "true"},
        watch_seconds=watch(job.grace_seconds),
        reactions=consequences.of_suspend(gang, job, Lever.NATIVE, desired),
        warnings=(
            *(() if native else job_warnings.about_force(gang, job, desired.levers)),
            *job_warnings.of_suspend(gang, job, Lever.NATIVE, desired.chosen),
        ),
    )
