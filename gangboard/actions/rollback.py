"""Rollback of an armed Hold: a Job that the Hold suspended must not stay suspended.

While a Hold exists, every write to its Job becomes a suspension, whoever writes. If the action then
fails and removes its Hold, the Job would stay suspended until the next write.
"""

from __future__ import annotations

import json
from typing import Any

from gangboard.actions import patches, requeueing
from gangboard.actions.actor_client import Json, get_object
from gangboard.actions.execution import ActionExecution
from gangboard.domain.action import StepKind, StepState, Verb
from gangboard.domain.hold import ACTION_ANNOTATION, HELD_BY
from gangboard.kube.errors import KubeError
from gangboard.store.models import ActionStep

_NAME = "Resume the Job again"
_ENTRY_NAME = "Put the Job back into its queue"
_POLICY_SECONDS, _PAUSE = 2.0, 0.1
_RESUME = b'{"spec":{"suspend":false}}'


def roll_back(execution: ActionExecution) -> str:
    """Resume the Job if the action's own Hold suspended it. Return a sentence, or an empty string.

    Call it after the Hold is gone. An action sends at most one such patch. Raises KubeError if a read
    fails.
    """
    entry_step = requeueing.return_step(execution)
    if entry_step is not None:
        return _put_back(execution, entry_step)
    subjects = execution.context.get("subjects") or ()
    if not subjects:
        return ""
    subject = subjects[0]
    raw = get_object(execution.client, subject["path"])
    name = subject["name"]
    step = next((step for step in execution.steps if step.name == _NAME), None)
    is_same = raw is not None and raw["metadata"]["uid"] == subject["uid"]
    # The Hold of a relocation also suspends a Job that its owner created again.
    may_differ = execution.action.verb == Verb.RELOCATE
    if raw is None or not (is_same or may_differ) or not _is_suspended_by_action(execution, raw):
        if step is None:
            is_running = raw is not None and patches.value_at(raw, "/spec/suspend") is not True
            return f"{name} runs again." if may_differ and is_running else ""
        _record(execution, step, StepState.DONE, "It is resumed.")
        return f"{name} is resumed."
    if step is not None:
        _record(execution, step, StepState.FAILED, "It is still suspended.")
        return f"{name} is still suspended. Resume it if it should run."
    if _is_owner_suspended(execution):
        return ""
    if not _can_resume(execution, subject["path"]):
        return f"{name} is suspended and another Hold keeps it so."
    return _resume(execution, subject["path"], raw, name)


def _record(execution: ActionExecution, step: ActionStep, state: StepState, result: str) -> None:
    """Close the step unless it is closed already: it is sent once, and ends once."""
    if step.state == StepState.SENDING.value:
        execution.write(step=step, step_columns={"state": state.value, "result": result})


def _is_suspended_by_action(execution: ActionExecution, raw: Json) -> bool:
    """Return whether the Job is suspended by the action's Hold, or by the suspend of a relocation."""
    annotations = raw["metadata"].get("annotations") or {}
    hold = execution.context.get("hold")
    by_hold = hold is not None and annotations.get(HELD_BY) == hold["name"]
    by_patch = patches.last_action_id(raw) == execution.action.pk
    if patches.value_at(raw, "/spec/suspend") is not True:
        return False
    if execution.action.verb == Verb.RELOCATE:
        return by_hold or by_patch
    return by_hold and not by_patch


def _is_owner_suspended(execution: ActionExecution) -> bool:
    owner = execution.context.get("above")
    raw = get_object(execution.client, owner["path"]) if owner is not None else None
    return raw is not None and patches.value_at(raw, "/spec/suspend") is True


def _can_resume(execution: ActionExecution, path: str) -> bool:
    """Wait until the admission policy no longer sees the Hold: 10 to 30 ms were observed."""
    started = execution.clock.monotonic()
    while execution.clock.monotonic() - started <= _POLICY_SECONDS:
        if patches.value_at(
            json.loads(execution.client.merge_patch(path, _RESUME).body), "/spec/suspend"
        ):
            execution.clock.sleep(_PAUSE)
        else:
            return True
    return False


def _resume(execution: ActionExecution, path: str, raw: Json, name: str) -> str:
    held_by = f"/metadata/annotations/{HELD_BY.replace('/', '~1')}"
    mark = f"/metadata/annotations/{ACTION_ANNOTATION.replace('/', '~1')}"
    holder = (raw["metadata"].get("annotations") or {}).get(HELD_BY)
    test = [{"op": "test", "path": held_by, "value": holder}] if holder else []
    removal = [{"op": "remove", "path": held_by}] if holder else []
    patch = json.dumps(
        [
            {"op": "test", "path": "/metadata/uid", "value": raw["metadata"]["uid"]},
            {"op": "test", "path": "/spec/suspend", "value": True},
            *test,
            {"op": "add", "path": "/spec/suspend", "value": False},
            *removal,
            {"op": "add", "path": mark, "value": execution.action.pk},
        ],
        separators=(",", ":"),
    )
    subject = {**execution.steps[0].subject, "name": raw["metadata"]["name"], "kind": "Job"}
    message = f"{name} is being resumed: it was suspended by this action."
    why = _send(execution, _undo_step(execution, _NAME, subject, path, patch), message)
    if execution.action.verb == Verb.RELOCATE:
        return f"{name} could not be resumed: {why}" if why else f"{name} was resumed."
    stopped = f"The Hold had suspended {name} when another client wrote to it"
    return (
        f"{stopped}, and it could not be resumed: {why}" if why else f"{stopped}; it was resumed."
    )


def _undo_step(
    execution: ActionExecution, name: str, subject: dict[str, Any], path: str, patch: str
) -> ActionStep:
    return ActionStep(
        action=execution.action,
        position=max((step.position for step in execution.steps), default=-1) + 1,
        kind=StepKind.PATCH.value,
        name=name,
        subject=subject,
        method="PATCH",
        path=path,
        patch=patch,
        state=StepState.SENDING.value,
        sends=1,
        at=execution.now,
    )


def _send(execution: ActionExecution, step: ActionStep, message: str) -> str:
    """Store a patch, send it once, and store its result. Return why it failed, or an empty string."""
    execution.checkpoint("undo:before-writing")
    execution.write(message=message, in_transaction=step.save)
    execution.reload_steps()
    execution.checkpoint("undo:about-to-send")
    execution.check_lease()
    why, state = "", StepState.DONE
    try:
        execution.client.json_patch(step.path, step.patch.encode())
    except KubeError as error:
        if not _has_effect(execution, step):
            why, state = error.sentence, StepState.FAILED
    execution.checkpoint("undo:answered")
    stored = next(other for other in execution.steps if other.name == step.name)
    _record(execution, stored, state, why or "It is resumed.")
    return why


def _has_effect(execution: ActionExecution, step: ActionStep) -> bool:
    """Return whether the object has the values of a patch that failed, such as from its own controller."""
    try:
        raw = get_object(execution.client, step.path)
    except KubeError:
        return False
    if raw is None or raw["metadata"]["uid"] != patches.tested_value(step.patch, "/metadata/uid"):
        return False
    return patches.has_values(raw, patches.patched_fields(step.patch))


# Queue entries


def _put_back(execution: ActionExecution, planned: ActionStep) -> str:
    """Activate the queue entry that the action made inactive. `planned` is its own step for that.

    Returns a sentence, or an empty string. An action sends at most one such patch. Raises KubeError.
    """
    raw, name = get_object(execution.client, planned.path), requeueing.entry_name(planned)
    step = next((step for step in execution.steps if step.name == _ENTRY_NAME), None)
    if raw is None or raw["metadata"]["uid"] != planned.subject["uid"]:
        return f"{name} is gone: its queue decides anew about {execution.object_name}."
    back = f"{execution.object_name} is back in its queue."
    if patches.has_values(raw, patches.patched_fields(planned.patch)):
        if step is None:
            return ""
        _record(execution, step, StepState.DONE, "It is active.")
        return back
    if step is not None:
        _record(execution, step, StepState.FAILED, "It is still inactive.")
        return f"{name} is still inactive. Resume {execution.object_name} if it should run."
    if patches.last_action_id(raw) != execution.action.pk:
        return f"Another client made {name} inactive, so it stays so."
    try:
        # The patch is sent only once, so errors that pass are met before.
        execution.client.json_patch(planned.path, planned.patch.encode(), dry_run=True)
    except KubeError as error:
        if not error.permanent:
            raise
        return f"{name} could not be activated again: {error.sentence}"
    undo = _undo_step(execution, _ENTRY_NAME, planned.subject, planned.path, planned.patch)
    message = f"{execution.object_name} is being put back into its queue."
    why = _send(execution, undo, message)
    return f"{name} could not be activated again: {why}" if why else back
