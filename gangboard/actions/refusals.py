"""Mapping of API server errors on writes to the end of an action and its sentence."""

from __future__ import annotations

import json

from gangboard.actions import patches
from gangboard.actions.actor_client import get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit
from gangboard.domain.action import ActionState
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.store.models import ActionStep

_PATCH_REJECTED = "the server rejected our request due to an error in our request"
"""Message of the API server for a JSON patch with a failed test (422 Invalid). It does not name the test."""


def exit_for(execution: ActionExecution, step: ActionStep, error: KubeError) -> ActionExit:
    """Return the end of an action whose step the server refused. Raises KubeError if a read fails."""
    message = error.api_status.message or error.sentence
    subject = step.subject
    name = f"{subject['kind']} {subject['name']}"
    if error.code == KubeErrorCode.FORBIDDEN:
        return ActionExit(ActionState.FAILED, _forbidden(message))
    if error.is_object_missing:
        return ActionExit(ActionState.GONE, f"{name} is gone: {message}.")
    if error.code == KubeErrorCode.ALREADY_EXISTS:
        return ActionExit(
            ActionState.CONFLICT, f"{name} already exists and was not created by this action."
        )
    if error.code == KubeErrorCode.CONFLICT:
        return ActionExit(
            ActionState.CONFLICT, f"{name} was changed at the same moment: {message}."
        )
    is_rejected = error.code == KubeErrorCode.INVALID and message.rstrip(".") == _PATCH_REJECTED
    if is_rejected and step.method == "PATCH":
        return _moved_on(execution, step, name)
    if error.code == KubeErrorCode.THROTTLED:
        return ActionExit(
            ActionState.FAILED,
            "Not done: the API server asked to slow down (429). Try again in a moment.",
        )
    if error.code == KubeErrorCode.UNAUTHORIZED:
        return ActionExit(
            ActionState.FAILED, f"The API server rejected the actor's credentials: {message}."
        )
    return ActionExit(
        ActionState.FAILED, f"The API server did not accept it: {message.rstrip('.')}."
    )


def lacks_right(message: str) -> bool:
    """Return whether a 403 comes from RBAC, not from an admission policy."""
    return " cannot " in message and " resource " in message


def _forbidden(message: str) -> str:
    """Return the sentence for a 403, which comes from RBAC or from an admission policy."""
    if lacks_right(message):
        return (
            f"gangboard's actor may not do this, because its role lacks the right: {message.rstrip('.')}. "
            "manage.py print_rbac prints the role that it needs."
        )
    return f"The API server forbids it: {message.rstrip('.')}."


def _moved_on(execution: ActionExecution, step: ActionStep, name: str) -> ActionExit:
    """Read the object and return the end for the test of the patch that failed."""
    raw = get_object(execution.client, step.path)
    if raw is None:
        return ActionExit(ActionState.GONE, f"{name} is gone.")
    meta = raw["metadata"]
    uid = patches.tested_value(step.patch, "/metadata/uid")
    if uid is not None and meta["uid"] != uid:
        return ActionExit(ActionState.GONE, another_object(name, uid, meta["uid"]))
    generation = patches.tested_value(step.patch, "/metadata/generation")
    if generation is not None and meta.get("generation") != generation:
        return ActionExit(ActionState.CONFLICT, changed(name, generation, meta.get("generation")))
    for operation in json.loads(step.patch):
        pointer = operation["path"]
        if operation["op"] == "test" and pointer.startswith("/spec/"):
            value = patches.value_at(raw, pointer)
            if value != operation["value"]:
                return ActionExit(ActionState.CONFLICT, _other_value(name, pointer, value))
    return ActionExit(ActionState.CONFLICT, f"{name} was changed at the same moment; try again.")


def _other_value(name: str, pointer: str, value: object) -> str:
    """Return the sentence for a field that another client changed. It does not quote an object or a list, which is long."""
    if isinstance(value, dict | list):
        field = pointer.strip("/").replace("/", ".")
        return f"{name} has another {field} now: another client changed it."
    return f"{name} has {patches.describe_fields({pointer: value})} now."


def another_object(name: str, expected: str, actual: str) -> str:
    """Return the sentence for a name that belongs to another object now."""
    return f"Another object now has this name: {name} has uid {actual}, but the action is for {expected}."


def changed(name: str, expected: int | None, actual: int | None) -> str:
    """Return the sentence for a spec that changed after the person saw it."""
    return f"{name} has changed since you looked: it is at generation {actual}, you saw {expected}. Check it and try again."
