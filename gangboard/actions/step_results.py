"""What the result of a step means for its action, as answered or as read afterwards."""

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
from gangboard.store.models import ActionStep


def hold_from_step(step: ActionStep, now: datetime) -> dict[str, Any]:
    """Return name, path and subject of the Hold that a step sends. Its uid is known once it exists."""
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


def armed(
    execution: ActionExecution, step: ActionStep, raw: Json, columns: dict[str, Any]
) -> float:
    """Take in that the Hold is there."""
    execution.context["hold"]["uid"] = raw["metadata"]["uid"]
    name = execution.context["hold"]["name"]
    columns = {**columns, "state": StepState.DONE.value, "result": f"Hold {name} is there."}
    execution.write(
        ActionState.ARMED,
        f"Hold {name} is there; it is not proved yet.",
        step=step,
        step_columns=columns,
        context=True,
    )
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def patched(
    execution: ActionExecution, step: ActionStep, raw: Json, columns: dict[str, Any]
) -> float:
    """Take in that a patch was carried out, and look whether the object has what it asked for."""
    wanted = patches.patched_fields(step.patch)
    _note_generation(execution, step, raw)
    columns = {**columns, "state": StepState.DONE.value}
    if patches.has_values(raw, wanted):
        columns["result"] = f"It has {patches.describe_fields(wanted)} now."
        # Before it was sent for the first time after an unknown outcome, the state was `unknown`.
        state = ActionState.SENT if execution.state is ActionState.UNKNOWN else None
        execution.write(state, step=step, step_columns=columns, context=True)
        execution.checkpoint(f"{step.kind}:recorded")
        return 0.0
    found = {pointer: patches.value_at(raw, pointer) for pointer in wanted}
    columns["result"] = f"It has {patches.describe_fields(found)}."
    annotations = raw["metadata"].get("annotations") or {}
    holder = annotations.get("gangboard.dev/held-by", "")
    by = f" Hold {holder} turned it back." if holder else ""
    sentence = (
        f"The API server took the patch, but {step.subject['kind']} {step.subject['name']} came "
        f"back with {patches.describe_fields(found)}.{by}"
    )
    return exit_early(execution, ActionExit(ActionState.FAILED, sentence), step, columns)


def created(execution: ActionExecution, step: ActionStep, columns: dict[str, Any]) -> float:
    """Take in that an object is there by which a controller is asked to act."""
    result = f"{step.subject['kind']} {step.subject['name']} is there."
    # Before it was known what had become of it, the state was `unknown`.
    state = ActionState.SENT if execution.state is ActionState.UNKNOWN else None
    columns = {**columns, "state": StepState.DONE.value, "result": result}
    execution.write(state, step=step, step_columns=columns)
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def met(execution: ActionExecution, step: ActionStep, raw: Json) -> float | None:
    """Go on when somebody else did what the patch asks for; return None when nobody has.

    While a Hold is there, every write to its Job is turned into a suspension. Once it is gone, the
    JobSet controller resumes the Job by itself as soon as anything about it changes.
    """
    if _was_held(execution, raw):
        name = execution.object_name
        sentence = f"Somebody else wrote to {name} in that moment, and the Hold suspended it."
        return _found(execution, step, raw, sentence)
    if _was_resumed(execution, step, raw):
        who, _ = patches.field_manager(raw, "/spec/suspend")
        sentence = f"{who or 'Somebody'} resumed it first, as soon as its Hold was gone."
        return _found(execution, step, raw, sentence)
    return None


def _was_held(execution: ActionExecution, raw: Json) -> bool:
    """Whether our own Hold has turned a write into the suspension that we asked for."""
    hold = execution.context.get("hold")
    annotations = raw["metadata"].get("annotations") or {}
    return (
        hold is not None
        and execution.action.verb == Verb.SUSPEND
        and annotations.get(HELD_BY) == hold["name"]
        and patches.value_at(raw, "/spec/suspend") is True
    )


def _was_resumed(execution: ActionExecution, step: ActionStep, raw: Json) -> bool:
    """Whether a Job whose Hold this action has removed runs again."""
    removed = any(
        one.kind == StepKind.DELETE_HOLD.value and one.state == StepState.DONE.value
        for one in execution.steps
    )
    same = raw["metadata"]["uid"] == step.subject["uid"]
    wanted = patches.patched_fields(step.patch)
    return (
        removed
        and same
        and execution.action.verb == Verb.RESUME
        and patches.has_values(raw, wanted)
    )


def record_found_applied(execution: ActionExecution, step: ActionStep, raw: Json) -> float:
    """Go on as if the answer had come. Whether it was undone meanwhile, verification tells."""
    return _found(
        execution, step, raw, "The answer was lost. The object shows that it was applied."
    )


def _found(execution: ActionExecution, step: ActionStep, raw: Json, sentence: str) -> float:
    _note_generation(execution, step, raw)
    execution.write(
        ActionState.SENT,
        sentence,
        step=step,
        step_columns={"state": StepState.DONE.value, "result": sentence},
        context=True,
    )
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _note_generation(execution: ActionExecution, step: ActionStep, raw: Json) -> None:
    """From now on a higher generation means that somebody else changed the spec."""
    for subject in execution.context["subjects"]:
        if subject["path"] == step.path:
            subject["generation"] = raw["metadata"].get("generation")
