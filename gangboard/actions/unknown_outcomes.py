"""Requests with an unknown outcome: their answer was lost, so gangboard reads the object."""

from __future__ import annotations

import json
from datetime import datetime

from gangboard.actions import actor_client, cordons, patches, refusals, relocation, step_results
from gangboard.actions.actor_client import get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import SETTLE_SECONDS, ActionExit, exit_early
from gangboard.domain.action import ActionState, StepKind, StepState
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.store.models import ActionStep

PAUSE = 0.5
REMOVAL_SECONDS = 30.0
"""How long a release retries the removal of its Hold."""


def resolve(execution: ActionExecution, step: ActionStep) -> float:
    """Determine from a read whether a step was carried out. Raises KubeError if the read fails."""
    if step.kind == StepKind.CREATE_HOLD.value:
        return _resolve_hold_creation(execution, step)
    if step.kind == StepKind.CREATE.value:
        return _resolve_creation(execution, step)
    if step.kind == StepKind.DELETE_HOLD.value:
        return _resolve_hold_deletion(execution, step)
    if step.kind == StepKind.CORDON.value:
        return _resolve_cordon(execution, step)
    return _resolve_patch(execution, step)


def _resolve_cordon(execution: ActionExecution, step: ActionStep) -> float:
    """Look for the mark of this action on the node."""
    raw = get_object(execution.client, step.path)
    if raw is not None and cordons.has_mark(execution, raw):
        return cordons.record_cordoned(execution, step, {})
    if raw is not None and not _has_settled(execution, step):
        return PAUSE
    name = f"Node {step.subject['name']}"
    sentence = (
        f"{name} is gone."
        if raw is None
        else f"It is unknown whether {name} was cordoned: the answer was lost, and it is not cordoned by this action."
    )
    return _fail(execution, step, ActionExit(ActionState.FAILED, sentence))


def _resolve_creation(execution: ActionExecution, step: ActionStep) -> float:
    """Look for the object of the step. Its controller may have deleted it after it acted."""
    raw = get_object(execution.client, f"{step.path}/{step.subject['name']}")
    name = f"{step.subject['kind']} {step.subject['name']}"
    if raw is not None and patches.last_action_id(raw) == execution.action.pk:
        return step_results.record_created(execution, step, {})
    if raw is not None:
        sentence = f"Another {name} exists; nothing was changed."
        return _fail(execution, step, ActionExit(ActionState.CONFLICT, sentence))
    if not _has_settled(execution, step):
        return PAUSE
    sentence = (
        f"Whether {name} was created is unknown: the answer was lost, and it does not exist now."
    )
    return _fail(execution, step, ActionExit(ActionState.FAILED, sentence))


def _resolve_hold_creation(execution: ActionExecution, step: ActionStep) -> float:
    hold = execution.context["hold"]
    raw = get_object(execution.client, hold["path"])
    if raw is not None and patches.last_action_id(raw) == execution.action.pk:
        return step_results.record_armed(execution, step, raw, {})
    if raw is None and not _has_settled(execution, step):
        return PAUSE
    execution.context.pop("hold")
    if raw is not None:
        sentence = f"Another Hold has the name {hold['name']}; nothing was changed."
        return _fail(execution, step, ActionExit(ActionState.CONFLICT, sentence))
    sentence = (
        f"Hold {hold['name']} does not exist: the request was lost, or the Hold was removed. "
        f"{execution.object_name} was not changed."
    )
    return _fail(execution, step, ActionExit(ActionState.FAILED, sentence))


def _resolve_patch(execution: ActionExecution, step: ActionStep) -> float:
    raw = get_object(execution.client, step.path)
    name = f"{step.subject['kind']} {step.subject['name']}"
    uid, generation = step.subject["uid"], patches.tested_value(step.patch, "/metadata/generation")
    if raw is None:
        return _fail(execution, step, ActionExit(ActionState.GONE, f"{name} is gone."))
    meta = raw["metadata"]
    if meta["uid"] != uid:
        sentence = refusals.another_object(name, uid, meta["uid"])
        return _fail(execution, step, ActionExit(ActionState.GONE, sentence))
    if _is_ours(execution, step, raw):
        return step_results.record_found_applied(execution, step, raw)
    delay = step_results.accept_same_change(execution, step, raw)
    if delay is not None:
        return delay
    if not _has_settled(execution, step):
        return PAUSE
    if generation is None or meta.get("generation") == generation:
        sentence = f"It was not carried out (its answer was lost): {name} was not changed."
        return _fail(execution, step, ActionExit(ActionState.FAILED, sentence))
    sentence = f"It was not carried out: {name} was changed by another client meanwhile (generation {meta.get('generation')}, the action is for {generation})."
    return _fail(execution, step, ActionExit(ActionState.CONFLICT, sentence))


def _is_ours(execution: ActionExecution, step: ActionStep, raw: actor_client.Json) -> bool:
    """Return whether this action changed the object.

    The action's annotation proves it. If the patch sets no annotation, the patched values decide.
    """
    if step.kind in (StepKind.EXCLUDE.value, StepKind.RESTART.value):
        # An earlier step of the action has set the annotation.
        return relocation.is_done(step, raw)
    if patches.sets_action_annotation(step.patch):
        return patches.last_action_id(raw) == execution.action.pk
    expected = patches.patched_fields(step.patch)
    before = patches.tested_value(step.patch, "/metadata/generation")
    return raw["metadata"].get("generation") != before and patches.has_values(raw, expected)


def _fail(execution: ActionExecution, step: ActionStep, exit_: ActionExit) -> float:
    columns = {"state": StepState.FAILED.value, "result": exit_.sentence}
    return exit_early(execution, exit_, step, columns)


def _resolve_hold_deletion(execution: ActionExecution, step: ActionStep) -> float:
    """Confirm that the Hold is gone, or delete it again. Only this kind of step may be repeated."""
    uid = json.loads(step.patch)["preconditions"]["uid"]
    raw = get_object(execution.client, step.path)
    if raw is None or raw["metadata"]["uid"] != uid:
        columns = {
            "state": StepState.DONE.value,
            "result": "The Hold is gone.",
            "at": execution.now,
        }
        state = ActionState.SENT if execution.state is ActionState.UNKNOWN else None
        execution.write(state, step=step, step_columns=columns)
        execution.checkpoint(f"{step.kind}:recorded")
        return 0.0
    # Not the time of the request: after a crash another worker begins much later.
    since = execution.context.setdefault("removing_since", execution.now.isoformat())
    if (execution.now - datetime.fromisoformat(since)).total_seconds() > REMOVAL_SECONDS:
        sentence = (
            f"Hold {step.subject['name']} could not be removed; {execution.object_name} stays held."
        )
        return _fail(execution, step, ActionExit(ActionState.FAILED, sentence))
    execution.checkpoint(f"{step.kind}:about-to-repeat")
    execution.write(step=step, step_columns={"sends": step.sends + 1}, context=True)
    execution.check_lease()
    try:
        actor_client.send(execution.client, step)
    except KubeError as error:
        if not error.is_object_missing and error.code != KubeErrorCode.CONFLICT:
            if not error.permanent:
                raise
            return _fail(execution, step, refusals.exit_for(execution, step, error))
    return PAUSE if raw["metadata"].get("deletionTimestamp") else 0.0


def _has_settled(execution: ActionExecution, step: ActionStep) -> bool:
    """Return whether a request whose connection was lost can no longer be carried out."""
    assert isinstance(step.at, datetime)  # noqa: S101  # written before it was sent
    return (execution.now - step.at).total_seconds() >= SETTLE_SECONDS
