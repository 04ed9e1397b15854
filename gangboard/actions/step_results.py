"""Recording of step results, from the API server's answer or from a later read."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from gangboard.actions import patches
from gangboard.actions.actor_client import Json
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early
from gangboard.domain.action import ActionState, StepKind, StepState, Verb
from gangboard.domain.hold import HELD_BY
from gangboard.policy.requests import json_text
from gangboard.store.actions import update_row
from gangboard.store.models import ActionStep


def hold_from_step(step: ActionStep, now: datetime) -> dict[str, Any]:
    """Return name, path and subject of the Hold that a step creates. Its uid is added once it exists."""
    body = json.loads(step.patch)
    name = body["metadata"]["name"]
    return {
        "name": name,
        "namespace": body["metadata"]["namespace"],
        "path": f"{step.path}/{name}",
        "job": body["spec"]["jobName"],
        "owner_uid": body["spec"]["ownerUID"],
        "sent_at": now.isoformat(),
    }


def record_armed(
    execution: ActionExecution, step: ActionStep, raw: Json, columns: dict[str, Any]
) -> float:
    """Record that the Hold exists."""
    uid = execution.context["hold"]["uid"] = raw["metadata"]["uid"]
    name = execution.context["hold"]["name"]
    columns = {**columns, "state": StepState.DONE.value, "result": f"Hold {name} exists."}
    execution.write(
        ActionState.ARMED,
        f"Hold {name} exists; it is not proved yet.",
        step=step,
        step_columns=columns,
        context=True,
        in_transaction=lambda: _complete_removal(execution, uid),
    )
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _complete_removal(execution: ActionExecution, uid: str) -> None:
    """Add the uid of the new Hold to the planned step that deletes it."""
    for step in execution.steps:
        if step.kind == StepKind.DELETE_HOLD.value and step.state == StepState.PENDING.value:
            options = json.loads(step.patch)
            options["preconditions"]["uid"] = uid
            columns = {"patch": json_text(options), "subject": {**step.subject, "uid": uid}}
            update_row(step, columns)


def record_patched(
    execution: ActionExecution, step: ActionStep, raw: Json, columns: dict[str, Any]
) -> float:
    """Record that a patch was applied, or end the action if the object lacks the patched values."""
    expected = patches.patched_fields(step.patch)
    _update_generation(execution, step, raw)
    columns = {**columns, "state": StepState.DONE.value}
    if patches.has_values(raw, expected):
        _mark_restarted(execution, step)
        columns["result"] = f"It has {patches.describe_fields(expected)} now."
        # An action whose earlier step had an unknown outcome is still in the state `unknown`.
        state = ActionState.SENT if execution.state is ActionState.UNKNOWN else None
        execution.write(state, step=step, step_columns=columns, context=True)
        execution.checkpoint(f"{step.kind}:recorded")
        return 0.0
    actual = {pointer: patches.value_at(raw, pointer) for pointer in expected}
    columns["result"] = f"It has {patches.describe_fields(actual)}."
    annotations = raw["metadata"].get("annotations") or {}
    holder = annotations.get("gangboard.dev/held-by", "")
    by = f" Hold {holder} undid it." if holder else ""
    sentence = (
        f"The API server took the patch, but {step.subject['kind']} {step.subject['name']} came "
        f"back with {patches.describe_fields(actual)}.{by}"
    )
    return exit_early(execution, ActionExit(ActionState.FAILED, sentence), step, columns)


def record_created(execution: ActionExecution, step: ActionStep, columns: dict[str, Any]) -> float:
    """Record that the object exists that asks a controller to act."""
    result = f"{step.subject['kind']} {step.subject['name']} exists."
    # While the outcome of the request was unknown, so was the state of the action.
    state = ActionState.SENT if execution.state is ActionState.UNKNOWN else None
    columns = {**columns, "state": StepState.DONE.value, "result": result}
    execution.write(state, step=step, step_columns=columns)
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _mark_restarted(execution: ActionExecution, step: ActionStep) -> None:
    """Remember that a relocated Job runs again, so a failure after this point suspends and resumes nothing."""
    is_resume = patches.patched_fields(step.patch).get("/spec/suspend") is False
    if is_resume or step.kind == StepKind.RESTART.value:
        execution.context["restarted"] = True


def accept_same_change(execution: ActionExecution, step: ActionStep, raw: Json) -> float | None:
    """Record the step as done if another client made the same change; else return None.

    While a Hold exists, every write to its Job becomes a suspension. Once the Hold is gone, the
    JobSet controller resumes the Job as soon as anything about it changes.
    """
    if _was_held(execution, step, raw):
        name = execution.object_name
        sentence = f"Another client wrote to {name} at that moment, and the Hold suspended it."
        return _record_applied(execution, step, raw, sentence)
    if _was_resumed(execution, step, raw):
        manager, _ = patches.field_manager(raw, "/spec/suspend")
        sentence = f"{manager or 'Another client'} resumed it first, as soon as its Hold was gone."
        return _record_applied(execution, step, raw, sentence)
    return None


def _was_held(execution: ActionExecution, step: ActionStep, raw: Json) -> bool:
    """Return whether the action's own Hold turned a write into the requested suspension."""
    hold = execution.context.get("hold")
    annotations = raw["metadata"].get("annotations") or {}
    return (
        hold is not None
        and step.kind == StepKind.PATCH.value
        and execution.action.verb != Verb.RESUME
        and annotations.get(HELD_BY) == hold["name"]
        and patches.value_at(raw, "/spec/suspend") is True
    )


def _was_resumed(execution: ActionExecution, step: ActionStep, raw: Json) -> bool:
    """Return whether the Job runs again after this action removed its Hold."""
    is_removed = any(
        other.kind == StepKind.DELETE_HOLD.value and other.state == StepState.DONE.value
        for other in execution.steps
    )
    return (
        is_removed
        and raw["metadata"]["uid"] == step.subject["uid"]
        and execution.action.verb == Verb.RESUME
        and patches.has_values(raw, patches.patched_fields(step.patch))
    )


def record_found_applied(execution: ActionExecution, step: ActionStep, raw: Json) -> float:
    """Record a step whose answer was lost and whose change a read has shown.

    Verification detects whether the change was undone in the meantime.
    """
    return _record_applied(
        execution, step, raw, "The answer was lost. The object shows that it was applied."
    )


def _record_applied(
    execution: ActionExecution, step: ActionStep, raw: Json, sentence: str
) -> float:
    _update_generation(execution, step, raw)
    _mark_restarted(execution, step)
    execution.write(
        ActionState.SENT,
        sentence,
        step=step,
        step_columns={"state": StepState.DONE.value, "result": sentence},
        context=True,
    )
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _update_generation(execution: ActionExecution, step: ActionStep, raw: Json) -> None:
    """Store the generation after our patch: a higher one means that another client changed the spec."""
    for subject in execution.context["subjects"]:
        if subject["path"] == step.path:
            subject["generation"] = raw["metadata"].get("generation")
