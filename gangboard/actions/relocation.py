"""Steps that only a relocation has: wait for the end of the pods, exclude a place, and resume the Job.

After a crash the objects alone show how far it came: the Hold, `spec.suspend`, and the affinity in the
template of the Job.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gangboard.actions import actor_client, patches, refusals, requeueing
from gangboard.actions.actor_client import Json, get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import BEYOND_GRACE, ActionExit, exit_early, leave_suspended
from gangboard.actions.live_objects import LiveReader
from gangboard.actions.retries import TRANSIENT_CODES, are_roles_loading
from gangboard.actions.verify.pod_checks import ending_text, live_pods
from gangboard.domain.action import ActionState, Plan, StepKind, StepState, Verb
from gangboard.domain.hold import EXCLUSION, EXCLUSION_LEVER
from gangboard.domain.pod import Pod
from gangboard.domain.text import label
from gangboard.facts.surroundings import Surroundings
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.plugins import registry
from gangboard.policy.exclusions import AFFINITY, Exclusion, read_exclusion
from gangboard.policy.relocation_fit import excluded_nodes
from gangboard.policy.requests import pointer
from gangboard.store.levers import save_lever_proof
from gangboard.store.models import ActionStep

PAUSE = 0.25
_LOST = " The new Job has no exclusion."
_ACCEPTED = "exclusion_accepted"
AFFINITY_POINTER = pointer(AFFINITY)
_NOTES = pointer(("metadata", "annotations"))
_NOTE = pointer(("metadata", "annotations", EXCLUSION))


def baseline(
    planned: Plan, pods: Sequence[Pod], surroundings: Surroundings | None
) -> dict[str, Any]:
    """Return the pods before a relocation, and the names of the excluded nodes."""
    nodes = surroundings.nodes if surroundings is not None else ()
    left: set[str] = set()
    for step in planned.steps:
        if step.kind is StepKind.WAIT_TAINTED:
            left.add(step.subject.name)
        if step.kind is StepKind.EXCLUDE and (exclusion := _added_exclusion(step.patch)):
            left |= excluded_nodes(exclusion, nodes)
    return {"pods": sorted(pod.meta.ref.uid for pod in pods), "left": sorted(left)}


def subject(planned: Plan) -> dict[str, Any]:
    """Return the object to watch: the Job, which must run at the end."""
    step = next(step for step in planned.steps if step.kind is StepKind.WAIT_STOPPED)
    return {
        "name": label(step.subject),
        "path": step.path,
        "uid": step.subject.uid,
        "wanted": {"/spec/suspend": False},
        "generation": None,
    }


# Wait for the end of the pods


def wait_stopped(execution: ActionExecution, step: ActionStep) -> float:
    """Check once whether all pods of the suspended Job are gone. Raises KubeError."""
    raw = get_object(execution.client, step.path)
    exit_ = _replaced(execution, step, raw)
    if exit_ is not None or raw is None:
        return exit_early(execution, exit_ or _gone(execution))
    progress = _suspension_progress(execution, raw)
    if isinstance(progress, ActionExit):
        return exit_early(execution, progress)
    since = execution.context.get("stopping_since")
    if since is None:
        since = execution.context["stopping_since"] = execution.now.isoformat()
        execution.write(context=True)
    pods = live_pods(_pods(execution))
    if not pods and not progress and _is_stopped(raw):
        columns = {
            "state": StepState.DONE.value,
            "result": "Its pods are gone.",
            "at": execution.now,
        }
        execution.write(message="Its pods are gone.", step=step, step_columns=columns)
        execution.checkpoint(f"{step.kind}:recorded")
        return 0.0
    waited = (execution.now - datetime.fromisoformat(since)).total_seconds()
    is_suspended = patches.value_at(raw, "/spec/suspend") is True
    if waited > execution.context["grace"] + BEYOND_GRACE:
        if progress and not (pods and is_suspended):
            sentence = (
                f"{execution.object_name} could not be relocated: after {waited:.0f} s {progress}."
            )
            return exit_early(execution, ActionExit(ActionState.FAILED, sentence))
        leave_suspended(execution, "", pods, waited)
        return 0.0
    ending = ending_text(pods, execution.now) if is_suspended else ""
    ending = ending or progress or "the Job controller has not confirmed it yet"
    message = f"{'Suspended' if is_suspended else 'Being suspended'}: {ending}."
    if message != execution.action.message:
        execution.write(message=message)
    return PAUSE


def _suspension_progress(execution: ActionExecution, raw: Json) -> ActionExit | str:
    """Return a clause about what keeps a queue from letting go of the Job, or an empty string.

    Returns the end of the action if the Job was resumed meanwhile.
    """
    is_suspended = patches.value_at(raw, "/spec/suspend") is True
    step = requeueing.return_step(execution)
    if step is not None:
        return requeueing.release_progress(execution, step, suspended=is_suspended)
    if is_suspended:
        return ""
    manager, _ = patches.field_manager(raw, "/spec/suspend")
    sentence = f"{manager or 'Another client'} resumed {execution.object_name} meanwhile."
    return ActionExit(ActionState.CONFLICT, sentence)


def _pods(execution: ActionExecution) -> tuple[Pod, ...]:
    live = LiveReader(execution.client, execution.context.get("versions", {}))
    return live.pods(execution.action.namespace, execution.context["jobs"])


def _is_stopped(raw: Json) -> bool:
    """Return whether the template can change: the controller confirmed the suspension and counts no pod."""
    status = raw.get("status") or {}
    is_empty = not status.get("active") and not status.get("terminating")
    return is_empty and is_suspension_confirmed(raw)


def is_suspension_confirmed(raw: Json) -> bool:
    """Return whether the Job controller confirmed the suspension of a Job. It has deleted the pods before that."""
    kind = registry.owner_kind(*patches.kind_of(raw))
    return kind is not None and kind.has_acted(raw.get("status") or {})


def _replaced(execution: ActionExecution, step: ActionStep, raw: Json | None) -> ActionExit | None:
    """Return the end of an action whose Job was created again: its owner has restarted."""
    if raw is None or raw["metadata"]["uid"] == step.subject["uid"]:
        return None
    sentence = (
        f"{execution.object_name} was created again meanwhile: its owner has restarted.{_LOST}"
        if has_exclusion(execution)
        else f"{execution.object_name} was created again meanwhile: its owner has restarted."
    )
    return ActionExit(ActionState.GONE, sentence)


def _gone(execution: ActionExecution) -> ActionExit:
    return ActionExit(ActionState.GONE, f"{execution.object_name} was deleted meanwhile.")


# Exclude a place


def has_exclusion(execution: ActionExecution) -> bool:
    """Return whether the action changes the template. A cordon moves a Job without that."""
    return any(step.kind == StepKind.EXCLUDE.value for step in execution.steps)


def must_rehearse(execution: ActionExecution, step: ActionStep) -> bool:
    """Return whether the change of the template still needs its dry run, which works only at this point."""
    return step.kind == StepKind.EXCLUDE.value and not execution.context.get(_ACCEPTED)


def rehearse(execution: ActionExecution, step: ActionStep) -> float:
    """Send the change of the template as a dry run. Raises KubeError if the cluster does not answer."""
    execution.checkpoint(f"{step.kind}:rehearsal")
    try:
        actor_client.send(execution.client, step, dry_run=True)
    except KubeError as error:
        is_transient = error.code in TRANSIENT_CODES - {KubeErrorCode.SERVER_ERROR}
        if is_transient or are_roles_loading(execution, error):
            raise
        return refuse(execution, step, error)
    execution.context[_ACCEPTED] = True
    execution.write(context=True)
    return 0.0


def refuse(execution: ActionExecution, step: ActionStep, error: KubeError) -> float:
    """Record that the API server refuses the change of the template.

    A relocation ends and undoes its changes. A release continues without it: the exclusion stays.
    """
    exit_ = refusals.exit_for(execution, step, error)
    columns = {"result": exit_.sentence[:2000], "at": execution.now}
    if execution.action.verb != Verb.RELOCATE:
        execution.write(step=step, step_columns={**columns, "state": StepState.SKIPPED.value})
        return 0.0
    if exit_.state is ActionState.FAILED:
        execution.write(in_transaction=lambda: _save_proof(execution, held=False))
    sentence = f"{exit_.sentence} So the template of {execution.object_name} was not changed."
    failed = {**columns, "state": StepState.FAILED.value}
    return exit_early(execution, ActionExit(exit_.state, sentence), step, failed)


def record_proof(execution: ActionExecution, step: ActionStep) -> None:
    """Remember that this cluster lets gangboard change the template of a suspended Job."""
    if step.kind == StepKind.EXCLUDE.value:
        execution.write(in_transaction=lambda: _save_proof(execution, held=True))


def _save_proof(execution: ActionExecution, *, held: bool) -> None:
    if execution.action.cluster_id is not None:
        save_lever_proof(execution.action.cluster_id, EXCLUSION_LEVER, held=held, at=execution.now)


def is_done(step: ActionStep, raw: Json) -> bool:
    """Return whether an object has the values of a step that changes the template or resumes the Job."""
    wanted = patches.patched_fields(step.patch)
    if step.kind == StepKind.EXCLUDE.value:
        wanted[AFFINITY_POINTER] = wanted.get(AFFINITY_POINTER)
    return patches.has_values(raw, wanted)


def exclusion_of(execution: ActionExecution) -> Exclusion | None:
    """Return the exclusion that the action adds. None if it removes one."""
    for step in execution.steps:
        if step.kind == StepKind.EXCLUDE.value:
            return _added_exclusion(step.patch)
    return None


def _added_exclusion(patch: str) -> Exclusion | None:
    for operation in json.loads(patch):
        if operation["op"] != "add":
            continue
        if operation["path"] == _NOTE:
            return read_exclusion(operation["value"])
        if operation["path"] == _NOTES:
            return read_exclusion(operation["value"].get(EXCLUSION, ""))
    return None


# Resume


def skip_restart(execution: ActionExecution, step: ActionStep) -> bool:
    """Skip the resume if the owner was suspended meanwhile. Return whether it was. Raises KubeError."""
    owner = execution.context.get("above")
    raw = get_object(execution.client, owner["path"]) if owner is not None else None
    if owner is None or raw is None or patches.value_at(raw, "/spec/suspend") is not True:
        return False
    result = f"{owner['name']} is suspended now: the Job starts with it."
    execution.context["restarted"] = True
    columns = {"state": StepState.SKIPPED.value, "result": result}
    execution.write(step=step, step_columns=columns, context=True)
    return True
