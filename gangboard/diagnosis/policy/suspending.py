"""Suspends one Job of a JobSet by the best lever that keeps it so in its cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gangboard.diagnosis.policy import consequences, job_warnings, refusals, steps
from gangboard.diagnosis.policy.decision import (
    PROVED_SECONDS,
    Decision,
    Options,
    Wish,
    shown,
    watch,
)
from gangboard.diagnosis.policy.phrases import moment
from gangboard.diagnosis.policy.refusals import Refusal
from gangboard.diagnosis.policy.steps import Change
from gangboard.diagnosis.policy.survey import Survey, is_paused, kind_of
from gangboard.domain.action import ClusterLevers, Ground, Lever, Step
from gangboard.domain.hold import ACTION_ANNOTATION, PAUSED_PARALLELISM
from gangboard.domain.owner import Owner
from gangboard.domain.reading.wording import label

_PARALLELISM = ("spec", "parallelism")


def decide(survey: Survey, job: Owner, wish: Wish) -> Decision | Refusal:
    """Return how a child Job is suspended, or why it is not."""
    refused = (
        refusals.job_out_of_reach(survey, job)
        or _stopped_already(survey, job)
        or refusals.generation_unknown(job.meta)
    )
    if refused is not None:
        return refused
    lever = _choose(survey, job, wish.levers)
    if lever is Lever.NATIVE and job.suspended:
        return refusals.nothing_to_do(f"{label(job.meta.ref)} is suspended already")
    if isinstance(lever, Refusal):
        return lever
    order = wish.order
    if order.until is not None:
        if lever is not Lever.HOLD:
            return refusals.until_misplaced(wish.verb, label(job.meta.ref))
        refused = _end_impossible(survey, job, wish)
        if refused is not None:
            return refused
    make = {Lever.HOLD: _hold, Lever.PARALLELISM: _pause, Lever.NATIVE: _plain}[lever]
    return make(survey, job, wish)


def _stopped_already(survey: Survey, job: Owner) -> Refusal | None:
    name, holds = label(job.meta.ref), survey.holds_on(job)
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


def _choose(survey: Survey, job: Owner, levers: ClusterLevers) -> Lever | Refusal:
    """Return the best lever of the kind above the Job that works here."""
    controller = job.meta.controller
    kind = kind_of(controller) if controller is not None else None
    name = label(job.meta.ref)
    if controller is None or kind is None or not kind.child_levers:
        above = f"a {controller.kind}" if controller is not None else survey.name
        return Refusal(f"gangboard knows no way to suspend one Job of {above}: {name} stays.")
    if levers.forced:
        return Lever.NATIVE
    tried = Options()
    for lever in kind.child_levers:
        missing = _CHECKS[lever](survey, levers, job)
        if missing is None:
            return lever
        tried.reasons.append(missing)
    instead = f"the whole of {survey.name} can be suspended" if _can_stop_all(survey) else ""
    return tried.refuse(f"{name} cannot be suspended alone so that it stays", instead)


def _can_stop_all(survey: Survey) -> bool:
    if survey.owner.suspended or survey.kind is None:
        return False
    return bool(survey.entries) if survey.is_queued else Lever.SUSPEND in survey.kind.levers


def _native_missing(survey: Survey, levers: ClusterLevers, _job: Owner) -> Refusal | None:
    return refusals.native_unavailable(survey, levers)


def _hold_missing(_survey: Survey, levers: ClusterLevers, _job: Owner) -> Refusal | None:
    return refusals.hold_unavailable(levers)


def _is_no_child_lever(_survey: Survey, _levers: ClusterLevers, _job: Owner) -> Refusal | None:
    return Refusal("its lever is not one for a single Job")


_CHECKS: dict[Lever, Callable[[Survey, ClusterLevers, Owner], Refusal | None]] = {
    Lever.NATIVE: _native_missing,
    Lever.HOLD: _hold_missing,
    Lever.PARALLELISM: refusals.parallelism_unavailable,
    Lever.SUSPEND: _is_no_child_lever,
    Lever.KUEUE: _is_no_child_lever,
}


def _end_impossible(survey: Survey, job: Owner, wish: Wish) -> Refusal | None:
    until = wish.order.until
    if until is None:
        return None
    if until <= wish.now:
        return Refusal(f"The end {moment(until)} is past: a Hold needs a later one.")
    there = survey.holds_on(job)
    if there and all(hold.until != until.replace(microsecond=0) for hold in there):
        return Refusal(
            f"{label(job.meta.ref)} has Hold {there[0].meta.ref.name} already, which has another "
            "end: leave out the end, or resume the Job first."
        )
    return None


def _hold(survey: Survey, job: Owner, wish: Wish) -> Decision:
    """Return create, prove, patch; of a Hold that is there already only prove and patch."""
    there = survey.holds_on(job)
    made = steps.hold_name(job.meta.ref.name, wish.order.action)
    name = there[0].meta.ref.name if there else made
    return Decision(
        Lever.HOLD,
        partial(_hold_steps, survey.ground, job, wish, not there),
        before={"spec.suspend": shown(job.suspended), "Hold": name if there else "none"},
        after={"spec.suspend": "true", "Hold": name},
        watch_seconds=PROVED_SECONDS,
        reactions=(
            *consequences.about_there(there),
            *consequences.of_suspend(survey, job, Lever.HOLD, wish),
        ),
        warnings=(
            *job_warnings.about_hold(survey, wish.levers),
            *job_warnings.of_suspend(survey, job, Lever.HOLD, wish.chosen),
        ),
    )


def _hold_steps(ground: Ground, job: Owner, wish: Wish, create: bool) -> tuple[Step, ...]:
    patch = steps.suspend_job(ground, job, wish.order.action, suspend=True)
    proof = steps.prove_hold(ground, job)
    if not create:
        return (proof, patch)
    return (steps.create_hold(ground, job, wish.order), proof, patch)


def _pause(survey: Survey, job: Owner, wish: Wish) -> Decision:
    kept = job.parallelism or 0
    notes = {ACTION_ANNOTATION: wish.order.action, PAUSED_PARALLELISM: str(kept)}
    return Decision(
        Lever.PARALLELISM,
        lambda: (
            steps.patch_job(
                survey.ground, job, "Pause", [Change(_PARALLELISM, 0, kept)], {**notes}
            ),
        ),
        before={"spec.parallelism": shown(kept)},
        after={"spec.parallelism": "0"},
        watch_seconds=watch(job.grace_seconds),
        reactions=consequences.of_suspend(survey, job, Lever.PARALLELISM, wish),
        warnings=(
            *job_warnings.about_claim(survey, wish.levers),
            *job_warnings.of_suspend(survey, job, Lever.PARALLELISM, wish.chosen),
        ),
    )


def _plain(survey: Survey, job: Owner, wish: Wish) -> Decision:
    """Return the bare patch: for a JobSet that leaves its Jobs alone, or because it is forced."""
    native = survey.is_native(wish.levers)
    return Decision(
        Lever.NATIVE,
        lambda: (steps.suspend_job(survey.ground, job, wish.order.action, suspend=True),),
        before={"spec.suspend": "false"},
        after={"spec.suspend": "true"},
        watch_seconds=watch(job.grace_seconds),
        reactions=consequences.of_suspend(survey, job, Lever.NATIVE, wish),
        warnings=(
            *(() if native else job_warnings.about_force(survey, job, wish.levers)),
            *job_warnings.of_suspend(survey, job, Lever.NATIVE, wish.chosen),
        ),
    )
