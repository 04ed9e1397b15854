"""Relocation of a Job through its queue entry, which its queue admits again afterwards.

The first step makes the entry inactive, and the queue suspends the Job. The last step makes it active, and the queue
admits the Job when it has quota. The entry alone shows after a crash how far the relocation is.
"""

from __future__ import annotations

from gangboard.actions import patches
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit
from gangboard.actions.live_objects import LiveEntry, LiveReader
from gangboard.domain.action import ActionState, StepKind
from gangboard.store.models import ActionStep


def return_step(execution: ActionExecution) -> ActionStep | None:
    """Return the step that puts the Job back into its queue, or None for a Job without a queue entry."""
    for step in execution.steps:
        if step.kind == StepKind.RESTART.value and step.subject["uid"] != execution.action.uid:
            return step
    return None


def entry_name(step: ActionStep) -> str:
    """Return kind and name of the entry for sentences."""
    return f"{step.subject['kind']} {step.subject['name']}"


def release_progress(
    execution: ActionExecution, step: ActionStep, *, suspended: bool
) -> ActionExit | str:
    """Return a clause about what keeps the queue from letting go of the Job, or an empty string.

    The queue releases the quota once it has finished its own changes of the Job. Returns the end of the action if the
    entry is active again or gone. Raises KubeError and UnreadableError.
    """
    live, name = _read(execution, step), entry_name(step)
    if live is None:
        sentence = (
            f"{name} was deleted meanwhile: its queue decides anew about {execution.object_name}."
        )
        return ActionExit(ActionState.GONE, sentence)
    fields = patches.patched_fields(step.patch)
    if patches.has_values(live.raw, fields):
        by = _last_manager(step, live)
        sentence = f"{by} set {patches.describe_fields(fields)} of {name} meanwhile."
        return ActionExit(ActionState.CONFLICT, sentence)
    if not suspended:
        return f"its queue has not suspended it yet, although {name} is inactive"
    return f"its queue has not released the quota of {name} yet" if live.entry.has_quota else ""


def admission_progress(execution: ActionExecution, step: ActionStep) -> ActionExit | str:
    """Return how a requeued Job waits in its queue (a clause), or the end of the action if it is out of the queue.

    Raises KubeError and UnreadableError.
    """
    live, name = _read(execution, step), entry_name(step)
    if live is None:
        return f"it waits for a new queue entry, because {name} was deleted"
    fields = patches.patched_fields(step.patch)
    if not patches.has_values(live.raw, fields):
        now = {pointer: patches.value_at(live.raw, pointer) for pointer in fields}
        by = _last_manager(step, live)
        sentence = (
            f"{by} set {patches.describe_fields(now)} of {name} while it was watched. "
            f"{execution.object_name} has no pods now; the exclusion is in its template."
        )
        return ActionExit(ActionState.REVERTED, sentence)
    given_up = live.entry.given_up
    if given_up is not None:
        sentence = f"Its queue does not admit {name} again: {given_up.cause}. {given_up.advice}"
        return ActionExit(ActionState.FAILED, sentence)
    place = f"queue {live.entry.queue}" if live.entry.queue else "its queue"
    message = live.entry.message
    cause = f": {message.cause}" if message is not None and message.cause else ""
    return f"it waits in {place}, not admitted yet{cause}"


def _last_manager(step: ActionStep, live: LiveEntry) -> str:
    """Return the field manager that last set the field of the step."""
    pointer = next(iter(patches.patched_fields(step.patch)))
    manager, _ = patches.field_manager(live.raw, pointer)
    return manager or "Another client"


def _read(execution: ActionExecution, step: ActionStep) -> LiveEntry | None:
    """Return the entry of the step, or None if it is gone."""
    reader = LiveReader(execution.client, execution.context.get("versions", {}))
    live = reader.read_entry(step.subject["group"], step.subject["kind"], step.path)
    return live if live is not None and live.entry.meta.ref.uid == step.subject["uid"] else None
