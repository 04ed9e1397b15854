"""The owner as a whole: by its queue, by its Jobs one by one, or by its own suspend field."""

from __future__ import annotations

from functools import partial

from gangboard.diagnosis.policy import owner_consequences as consequences
from gangboard.diagnosis.policy import refusals, steps
from gangboard.diagnosis.policy.decision import Decision, Wish, shown, watch
from gangboard.diagnosis.policy.refusals import Refusal
from gangboard.diagnosis.policy.steps import Change
from gangboard.diagnosis.policy.survey import Survey
from gangboard.domain.action import Ground, Lever, Step, Verb
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.reading.wording import label
from gangboard.domain.registry import OwnerKind


def decide(survey: Survey, wish: Wish) -> Decision | Refusal:
    """Return what is done to the topmost owner, or why nothing is."""
    refused = refusals.owner_out_of_reach(survey)
    if refused is not None:
        return refused
    if wish.order.until is not None:
        return refusals.until_misplaced(wish.verb, survey.name)
    if survey.is_queued:
        return _by_queue(survey, wish)
    if survey.is_native(wish.levers) and survey.jobs and not survey.owner.suspended:
        return _one_by_one(survey, wish)
    if survey.kind is None or Lever.SUSPEND not in survey.kind.levers:
        return Refusal(f"gangboard knows no way to suspend {survey.name}.")
    return _by_field(survey, survey.kind, wish)


# Kueue


def _by_queue(survey: Survey, wish: Wish) -> Decision | Refusal:
    if not survey.entries:
        return Refusal(
            f"{survey.name} is in queue {survey.queue} of Kueue, which undoes a change of "
            "spec.suspend, and no Workload of Kueue is known for it: it is not made yet, or may not "
            "be read."
        )
    active = wish.verb is Verb.RESUME
    changed = tuple(entry for entry in survey.entries if entry.active is not active)
    if not changed:
        return refusals.nothing_to_do(_queue_state(survey, active=active))
    for entry in changed:
        refused = refusals.generation_unknown(entry.meta)
        if refused is not None:
            return refused
    tell = consequences.of_activation if active else consequences.of_deactivation
    return Decision(
        Lever.KUEUE,
        lambda: tuple(steps.patch_entry(survey.ground, one, active=active) for one in changed),
        before=_fields(changed, active=not active),
        after=_fields(changed, active=active),
        watch_seconds=watch(survey.owner.grace_seconds),
        reactions=tell(survey),
        warnings=consequences.warnings_of_queue(survey, changed, active=active),
    )


def _queue_state(survey: Survey, *, active: bool) -> str:
    if not active:
        return f"{survey.name} is deactivated in Kueue already"
    if survey.is_admitted and not survey.owner.suspended:
        return f"{survey.name} is not suspended"
    where = f" in queue {survey.queue}" if survey.queue else ""
    return f"{survey.name} is active in Kueue and waits{where}"


def _fields(entries: tuple[QueueEntry, ...], *, active: bool) -> dict[str, str]:
    return {f"{label(entry.meta.ref)} spec.active": shown(active) for entry in entries}


# Child Jobs one by one


def _one_by_one(survey: Survey, wish: Wish) -> Decision | Refusal:
    """Return a patch of each Job: `spec.suspend` of such a JobSet must stay unset (jobset#1202)."""
    suspend = wish.verb is Verb.SUSPEND
    changed = tuple(
        job
        for job in survey.jobs.values()
        if job.finish is None
        and job.meta.deleting_since is None
        and job.suspended is not suspend
        and not (job.suspended and survey.holds_on(job))
    )
    if not changed:
        state = "has no Job that is not suspended" if suspend else "has no Job to resume"
        return refusals.nothing_to_do(f"{survey.name} {state}")
    for job in changed:
        refused = refusals.generation_unknown(job.meta)
        if refused is not None:
            return refused
    fields = [f"{label(job.meta.ref)} spec.suspend" for job in changed]
    tell = consequences.of_suspend if suspend else consequences.of_resume
    return Decision(
        Lever.NATIVE,
        partial(_patches, survey.ground, changed, wish),
        before=dict.fromkeys(fields, shown(not suspend)),
        after=dict.fromkeys(fields, shown(suspend)),
        watch_seconds=watch(max(job.grace_seconds for job in changed)),
        reactions=tell(survey, one_by_one=True),
        warnings=consequences.warnings(survey),
    )


def _patches(ground: Ground, jobs: tuple[Owner, ...], wish: Wish) -> tuple[Step, ...]:
    suspend = wish.verb is Verb.SUSPEND
    return tuple(steps.suspend_job(ground, job, wish.order.action, suspend=suspend) for job in jobs)


# The owner's own field


def _by_field(survey: Survey, kind: OwnerKind, wish: Wish) -> Decision | Refusal:
    owner, suspend = survey.owner, wish.verb is Verb.SUSPEND
    if owner.suspended is suspend:
        state = "suspended already" if suspend else "not suspended"
        return refusals.nothing_to_do(f"{survey.name} is {state}")
    refused = refusals.generation_unknown(owner.meta)
    if refused is not None:
        return refused
    # What is not suspended may lack the field; then only the generation tells.
    change = Change(kind.suspend_field, suspend, True if owner.suspended else None)
    field = ".".join(kind.suspend_field)
    tell = consequences.of_suspend if suspend else consequences.of_resume
    return Decision(
        Lever.SUSPEND,
        lambda: (
            steps.patch_owner(
                survey.ground,
                kind,
                "Suspend" if suspend else "Resume",
                change,
                {ACTION_ANNOTATION: wish.order.action},
            ),
        ),
        before={field: shown(not suspend)},
        after={field: shown(suspend)},
        watch_seconds=watch(owner.grace_seconds),
        reactions=tell(survey, one_by_one=False),
        warnings=consequences.warnings(survey),
    )
