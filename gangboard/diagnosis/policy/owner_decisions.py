"""The owner as a whole: by its queue, by its Jobs one by one, or by its own suspend field."""

from __future__ import annotations

from functools import partial

from gangboard.diagnosis.policy import owner_consequences as consequences
from gangboard.diagnosis.policy import refusals, steps
from gangboard.diagnosis.policy.decision import Decision, DesiredAction, shown, watch
from gangboard.diagnosis.policy.gang_index import GangIndex
from gangboard.diagnosis.policy.refusals import PlanRefusal
from gangboard.diagnosis.policy.steps import FieldChange
from gangboard.domain.action import ActionContext, Lever, Step, Verb
from gangboard.domain.hold import ACTION_ANNOTATION
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.reading.wording import label
from gangboard.domain.registry import OwnerKind


def decide(gang: GangIndex, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return what is done to the topmost owner, or why nothing is."""
    refused = refusals.owner_out_of_reach(gang)
    if refused is not None:
        return refused
    if desired.until is not None:
        return refusals.until_misplaced(desired.verb, gang.name)
    if gang.is_queued:
        return _by_queue(gang, desired)
    if gang.is_native(desired.levers) and gang.jobs and not gang.owner.suspended:
        return _one_by_one(gang, desired)
    if gang.kind is None or Lever.SUSPEND not in gang.kind.levers:
        return refusals.no_lever(gang)
    return _by_field(gang, gang.kind, desired)


# Kueue


def _by_queue(gang: GangIndex, desired: DesiredAction) -> Decision | PlanRefusal:
    if not gang.entries:
        return PlanRefusal(
            f"{gang.name} is in queue {gang.queue} of Kueue, which undoes a change of "
            "spec.suspend, and no Workload of Kueue is known for it: it is not made yet, or may not "
            "be read."
        )
    active = desired.verb is Verb.RESUME
    changed = tuple(entry for entry in gang.entries if entry.active is not active)
    if not changed:
        return refusals.nothing_to_do(_queue_state(gang, active=active))
    for entry in changed:
        refused = refusals.generation_unknown(entry.meta)
        if refused is not None:
            return refused
    tell = consequences.of_activation if active else consequences.of_deactivation
    return Decision(
        Lever.KUEUE,
        lambda: tuple(steps.patch_entry(gang.context, one, active=active) for one in changed),
        before=_fields(changed, active=not active),
        after=_fields(changed, active=active),
        watch_seconds=watch(gang.owner.grace_seconds),
        reactions=(*tell(gang), *consequences.of_maker(gang, desired.verb)),
        warnings=consequences.warnings_of_queue(gang, changed, active=active),
    )


def _queue_state(gang: GangIndex, *, active: bool) -> str:
    if not active:
        return f"{gang.name} is deactivated in Kueue already"
    if gang.is_admitted and not gang.owner.suspended:
        return f"{gang.name} is not suspended"
    where = f" in queue {gang.queue}" if gang.queue else ""
    return f"{gang.name} is active in Kueue and waits{where}"


def _fields(entries: tuple[QueueEntry, ...], *, active: bool) -> dict[str, str]:
    return {f"{label(entry.meta.ref)} spec.active": shown(active) for entry in entries}


# Child Jobs one by one


def _one_by_one(gang: GangIndex, desired: DesiredAction) -> Decision | PlanRefusal:
    """Return a patch of each Job: `spec.suspend` of such a JobSet must stay unset (jobset#1202)."""
    suspend = desired.verb is Verb.SUSPEND
    changed = tuple(
        job
        for job in gang.jobs.values()
        if job.finish is None
        and job.meta.deleting_since is None
        and job.suspended is not suspend
        and not (job.suspended and gang.holds_on(job))
    )
    if not changed:
        state = "has no Job that is not suspended" if suspend else "has no Job to resume"
        return refusals.nothing_to_do(f"{gang.name} {state}")
    for job in changed:
        refused = refusals.generation_unknown(job.meta)
        if refused is not None:
            return refused
    fields = [f"{label(job.meta.ref)} spec.suspend" for job in changed]
    tell = consequences.of_suspend if suspend else consequences.of_resume
    return Decision(
        Lever.NATIVE,
        partial(_patches, gang.context, changed, desired),
        before=dict.fromkeys(fields, shown(not suspend)),
        after=dict.fromkeys(fields, shown(suspend)),
        watch_seconds=watch(max(job.grace_seconds for job in changed)),
        reactions=tell(gang, one_by_one=True),
        warnings=consequences.warnings(gang),
    )


def _patches(
    context: ActionContext, jobs: tuple[Owner, ...], desired: DesiredAction
) -> tuple[Step, ...]:
    suspend = desired.verb is Verb.SUSPEND
    return tuple(steps.suspend_job(context, job, desired.action, suspend=suspend) for job in jobs)


# The owner's own field


def _by_field(gang: GangIndex, kind: OwnerKind, desired: DesiredAction) -> Decision | PlanRefusal:
    owner, suspend = gang.owner, desired.verb is Verb.SUSPEND
    if owner.suspended is suspend:
        state = "suspended already" if suspend else "not suspended"
        return refusals.nothing_to_do(f"{gang.name} is {state}")
    refused = refusals.generation_unknown(owner.meta)
    if refused is not None:
        return refused
    # What is not suspended may lack the field; then only the generation tells.
    change = FieldChange(kind.suspend_field, suspend, True if owner.suspended else None)
    field = ".".join(kind.suspend_field)
    return Decision(
        Lever.SUSPEND,
        lambda: (
            steps.patch_owner(
                gang.context,
                kind,
                "Suspend" if suspend else "Resume",
                change,
                {ACTION_ANNOTATION: desired.action},
            ),
        ),
        before={field: shown(not suspend)},
        after={field: shown(suspend)},
        watch_seconds=watch(owner.grace_seconds),
        reactions=(
            *consequences.of_field(gang, kind, desired.verb),
            *consequences.of_maker(gang, desired.verb),
        ),
        warnings=consequences.warnings(gang),
    )
