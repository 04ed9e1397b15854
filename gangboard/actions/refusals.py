"""What a server's refusal of a write means for the action: one end and one sentence each."""

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
"""What apiserver says of a JSON patch with a failing test (422 Invalid), without saying which."""


def exit_for(execution: ActionExecution, step: ActionStep, error: KubeError) -> ActionExit:
    """Return how an action ends whose step the server has refused. Raises KubeError from reading."""
    said = error.api_status.message or error.sentence
    subject = step.subject
    name = f"{subject['kind']} {subject['name']}"
    if error.code == KubeErrorCode.FORBIDDEN:
        return ActionExit(ActionState.FAILED, _forbidden(said))
    if error.is_object_missing:
        return ActionExit(ActionState.GONE, f"{name} is gone: {said}.")
    if error.code == KubeErrorCode.ALREADY_EXISTS:
        return ActionExit(
            ActionState.CONFLICT, f"{name} is there already and was not made by this action."
        )
    if error.code == KubeErrorCode.CONFLICT:
        return ActionExit(ActionState.CONFLICT, f"{name} was changed at the same moment: {said}.")
    is_rejected = error.code == KubeErrorCode.INVALID and said.rstrip(".") == _PATCH_REJECTED
    if is_rejected and step.method == "PATCH":
        return _moved_on(execution, step, name)
    if error.code == KubeErrorCode.THROTTLED:
        return ActionExit(
            ActionState.FAILED,
            "It was not done: the API server asked to slow down (429). Ask again in a moment.",
        )
    if error.code == KubeErrorCode.UNAUTHORIZED:
        return ActionExit(
            ActionState.FAILED, f"The API server rejected the actor's credentials: {said}."
        )
    return ActionExit(ActionState.FAILED, f"The API server did not accept it: {said.rstrip('.')}.")


def _forbidden(said: str) -> str:
    """Tell RBAC, which names what the role lacks, from admission, which says why in its own words."""
    if " cannot " in said and " resource " in said:
        return (
            f"gangboard's actor may not do this, its role lacks the right: {said.rstrip('.')}. "
            "manage.py print_rbac prints the role that it needs."
        )
    return f"The API server forbids it: {said.rstrip('.')}."


def _moved_on(execution: ActionExecution, step: ActionStep, name: str) -> ActionExit:
    """Read which of the patch's tests has failed."""
    raw = get_object(execution.client, step.path)
    if raw is None:
        return ActionExit(ActionState.GONE, f"{name} is gone.")
    meta = raw["metadata"]
    uid = patches.tested(step.patch, "/metadata/uid")
    if meta["uid"] != uid:
        return ActionExit(ActionState.GONE, another_object(name, uid, meta["uid"]))
    generation = patches.tested(step.patch, "/metadata/generation")
    if meta.get("generation") != generation:
        return ActionExit(ActionState.CONFLICT, changed(name, generation, meta.get("generation")))
    for operation in json.loads(step.patch):
        pointer = operation["path"]
        if operation["op"] == "test" and pointer.startswith("/spec/"):
            found = patches.value_at(raw, pointer)
            if found != operation["value"]:
                return ActionExit(
                    ActionState.CONFLICT,
                    f"{name} has {patches.in_words({pointer: found})} now.",
                )
    return ActionExit(ActionState.CONFLICT, f"{name} was changed at the same moment; ask again.")


def another_object(name: str, wanted: str, found: str) -> str:
    """Say that the name belongs to another object now."""
    return f"Another object now has this name: {name} has uid {found}, this was about {wanted}."


def changed(name: str, wanted: int | None, found: int | None) -> str:
    """Say that the spec was changed since somebody looked."""
    return (
        f"{name} has changed since you looked: it is at generation {found}, you saw {wanted}. "
        "Look again and ask again."
    )
