"""checked → armed → proved → sent → applied: one step at a time, recorded before it is sent.

A step is stored as `sending` before its request leaves. After a crash its outcome is therefore known
to be unknown, and a read resolves it (`unknown_outcomes`). Three requests may be sent twice: a dry run, the
removal of the action's own Hold, and a request that a starting API server has refused.
"""

from __future__ import annotations

import json
from typing import Any

from gangboard.actions import (
    actor_client,
    cordons,
    patches,
    preconditions,
    refusals,
    relocation,
    retries,
    step_results,
    unknown_outcomes,
)
from gangboard.actions.actor_client import Json
from gangboard.actions.drift_detection import unguard_older_actions
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early
from gangboard.domain.action import ActionState, StepKind, StepState
from gangboard.domain.hold import HOLD_LEVER
from gangboard.kube.errors import KubeError, KubeErrorCode, WriteOutcome
from gangboard.kube.write_client import Answer
from gangboard.store.levers import save_lever_proof
from gangboard.store.models import ActionStep

PROOF_SECONDS = 2.0
"""An admission policy sees a new Hold after 30 to 60 ms (observed); with several API servers, later."""
PROOF_PAUSE = 0.1
_REHEARSED = "rehearsed"
_REHEARSED_KINDS = (StepKind.PATCH.value, StepKind.CREATE.value, StepKind.CORDON.value)
_WAITS = {
    StepKind.WAIT_STOPPED.value: relocation.wait_stopped,
    StepKind.WAIT_TAINTED.value: cordons.wait_tainted,
    StepKind.WAIT_REPLACED.value: cordons.wait_replaced,
}
_DONE = (StepState.DONE.value, StepState.SKIPPED.value)


def next_step(execution: ActionExecution) -> float:
    """Carry out the next step. Return the seconds to wait after it. Raises KubeError."""
    step = next((step for step in execution.steps if _is_next(step)), None)
    if step is None:
        return _record_applied(execution)
    if step.state != StepState.PENDING.value:
        return unknown_outcomes.resolve(execution, step)
    exit_ = preconditions.check_preconditions(execution)
    if exit_ is not None:
        return exit_early(execution, exit_)
    if not execution.context.get(_REHEARSED):
        return _rehearse(execution)
    if step.kind in _WAITS:
        return _WAITS[step.kind](execution, step)
    if relocation.must_rehearse(execution, step):
        return relocation.rehearse(execution, step)
    if step.kind == StepKind.RESTART.value and relocation.skip_restart(execution, step):
        return 0.0
    if step.dry_run:
        return _prove(execution, step)
    return _send(execution, step)


def _is_next(step: ActionStep) -> bool:
    """Return whether a step is open. The end of a cordon is none: it follows when the new pods have nodes."""
    return step.state not in _DONE and step.kind != StepKind.UNCORDON.value


def _rehearse(execution: ActionExecution) -> float:
    """Send every change as a dry run, to detect refusals before anything changes."""
    for step in execution.steps:
        if step.kind not in _REHEARSED_KINDS:
            continue
        try:
            answer = actor_client.send(execution.client, step, dry_run=True)
        except KubeError as error:
            is_transient = error.code in retries.TRANSIENT_CODES - {KubeErrorCode.SERVER_ERROR}
            if is_transient or retries.are_roles_loading(execution, error):
                raise
            exit_ = refusals.exit_for(execution, step, error)
            return exit_early(
                execution,
                ActionExit(exit_.state, f"{exit_.sentence} This was a dry run: nothing was sent."),
            )
        sentence = _dropped_field_sentence(step, json.loads(answer.body))
        if sentence:
            return exit_early(execution, ActionExit(ActionState.REFUSED, sentence))
    execution.context[_REHEARSED] = True
    execution.checkpoint("rehearsal:answered")
    execution.write(context=True)
    return 0.0


def _dropped_field_sentence(step: ActionStep, raw: Json) -> str:
    """Return a sentence about a patched field that the API server dropped, or an empty string.

    An API server answers 200 and drops fields that the schema of an older CustomResourceDefinition lacks.
    """
    if step.kind != StepKind.PATCH.value:
        return ""
    pointers = patches.patched_fields(step.patch)
    dropped = [pointer for pointer in pointers if not patches.has_field(raw, pointer)]
    if not dropped:
        return ""
    field = dropped[0].strip("/").replace("/", ".")
    kind = step.subject["kind"]
    return (
        f"This cluster's {kind} has no {field}: the API server dropped it in a dry run. Nothing was "
        f"sent. A newer CustomResourceDefinition of {kind} may have it."
    )


def _prove(execution: ActionExecution, step: ActionStep) -> float:
    """Repeat a dry run until its answer is the expected one, for at most PROOF_SECONDS."""
    expects_suspended = step.kind == StepKind.PROVE_HOLD.value
    started = execution.clock.monotonic()
    sends = step.sends
    while True:
        execution.checkpoint(f"{step.kind}:about-to-send")
        raw = json.loads(actor_client.send(execution.client, step).body)
        sends += 1
        waited = execution.clock.monotonic() - started
        if raw["metadata"]["uid"] != step.subject["uid"]:
            name = f"{step.subject['kind']} {step.subject['name']}"
            uids = (step.subject["uid"], raw["metadata"]["uid"])
            return exit_early(
                execution, ActionExit(ActionState.GONE, refusals.another_object(name, *uids))
            )
        if patches.value_at(raw, "/spec/suspend") is expects_suspended:
            break
        if waited > PROOF_SECONDS:
            return _record_refuted(execution, step, raw, sends)
        execution.clock.sleep(PROOF_PAUSE)
    execution.checkpoint(f"{step.kind}:answered")
    result = f"It came back {'suspended' if expects_suspended else 'not suspended'} after {waited:.2f} s."
    columns = {"state": StepState.DONE.value, "result": result, "sends": sends, "at": execution.now}
    if expects_suspended:
        execution.write(
            ActionState.PROVED,
            "The Hold is in force: a dry run of a resume came back suspended.",
            step=step,
            step_columns=columns,
            in_transaction=lambda: _save_proof(execution, held=True),
        )
    else:
        execution.write(step=step, step_columns=columns)
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _record_refuted(execution: ActionExecution, step: ActionStep, raw: Json, sends: int) -> float:
    """End the action: the Hold did not come into force, or another Hold still holds the Job."""
    columns = {
        "state": StepState.FAILED.value,
        "sends": sends,
        "at": execution.now,
        "result": f"After {PROOF_SECONDS:g} s it still came back as before.",
    }
    if step.kind == StepKind.PROVE_HOLD.value:
        sentence = (
            f"The Hold did not come into force within {PROOF_SECONDS:g} s: a resume of "
            f"{execution.object_name} would have gone through, so it was not suspended. The policy "
            "gangboard-hold is missing or changed, or this API server ignores it (before 1.36 the "
            "feature gate MutatingAdmissionPolicy is off)."
        )
        execution.write(in_transaction=lambda: _save_proof(execution, held=False))
        return exit_early(execution, ActionExit(ActionState.REFUSED, sentence), step, columns)
    annotations = raw["metadata"].get("annotations") or {}
    holder = annotations.get("gangboard.dev/held-by", "another Hold")
    return exit_early(
        execution,
        ActionExit(
            ActionState.FAILED,
            f"Its Hold was removed, but another Hold ({holder}) still undoes a resume: "
            f"{execution.object_name} stays suspended.",
        ),
        step,
        columns,
    )


def _save_proof(execution: ActionExecution, *, held: bool) -> None:
    if execution.action.cluster_id is not None:
        save_lever_proof(execution.action.cluster_id, HOLD_LEVER, held=held, at=execution.now)


def _send(execution: ActionExecution, step: ActionStep) -> float:
    """Record the step as sending, send it, and record its result."""
    execution.checkpoint(f"{step.kind}:before-writing")
    state, columns = _sending_columns(execution, step)
    execution.write(
        state,
        f"{step.name}: being sent.",
        step=step,
        step_columns={
            "state": StepState.SENDING.value,
            "sends": step.sends + 1,
            "at": execution.now,
        },
        context=True,
        **columns,
    )
    execution.checkpoint(f"{step.kind}:about-to-send")
    if step.kind == StepKind.CORDON.value and (exit_ := cordons.other_cordon(execution)):
        columns = {"state": StepState.SKIPPED.value, "sends": step.sends - 1}
        return exit_early(execution, exit_, step, columns)
    execution.check_lease()
    try:
        answer = actor_client.send(execution.client, step)
    except KubeError as error:
        execution.checkpoint(f"{step.kind}:answered")
        return _record_error(execution, step, error)
    execution.checkpoint(f"{step.kind}:answered")
    return _record_answer(execution, step, answer)


def _sending_columns(
    execution: ActionExecution, step: ActionStep
) -> tuple[ActionState | None, dict[str, Any]]:
    """Return the state and columns of an action before its next step is sent.

    The action can remove a Hold that it created and end its cordon, so only other steps make it count as sent.
    """
    if step.kind == StepKind.CORDON.value:
        return None, {}
    if step.kind == StepKind.CREATE_HOLD.value:
        execution.context["hold"] = step_results.hold_from_step(step, execution.now)
        return None, {}
    return ActionState.SENT, {"sent_at": execution.action.sent_at or execution.now}


def _record_error(execution: ActionExecution, step: ActionStep, error: KubeError) -> float:
    if (
        error.write_outcome is WriteOutcome.NOT_SENT
        or error.code == KubeErrorCode.POLICY_NOT_READY
        or retries.are_roles_loading(execution, error)
    ):
        # Nothing was changed, so the step is pending again.
        columns = {"state": StepState.PENDING.value, "sends": step.sends - 1}
        columns["result"] = error.sentence
        if step.kind == StepKind.CREATE_HOLD.value:
            del execution.context["hold"]
        execution.write(step=step, step_columns=columns, context=True)
        return retries.after_error(execution, error)
    if error.write_outcome is WriteOutcome.UNKNOWN:
        execution.write(
            ActionState.UNKNOWN,
            f"The answer to “{step.name}” was lost; gangboard reads the object to learn the result. "
            f"{error.sentence}",
            step=step,
            # The settle time counts from now, because the server may have worked on it until now.
            step_columns={
                "state": StepState.UNKNOWN.value,
                "result": error.sentence,
                "at": execution.now,
            },
        )
        execution.checkpoint(f"{step.kind}:recorded")
        return 0.0
    if step.kind == StepKind.DELETE_HOLD.value and (
        error.is_object_missing or error.code == KubeErrorCode.CONFLICT
    ):
        return unknown_outcomes.resolve(execution, step)
    if step.kind == StepKind.CREATE_HOLD.value:
        del execution.context["hold"]
    columns = {
        "state": StepState.FAILED.value,
        "result": error.api_status.message or error.sentence,
        "status": error.status,
        "audit_id": error.audit_id[:64],
    }
    delay = _accept_same_change(execution, step, error)
    if delay is not None:
        return delay
    if step.kind == StepKind.EXCLUDE.value:
        return relocation.refuse(execution, step, error)
    return exit_early(execution, _exit_for(execution, step, error), step, columns)


def _accept_same_change(
    execution: ActionExecution, step: ActionStep, error: KubeError
) -> float | None:
    """Record the step as done if its tests failed because the change was made already; else None."""
    if error.code != KubeErrorCode.INVALID or step.kind != StepKind.PATCH.value:
        return None
    try:
        raw = actor_client.get_object(execution.client, step.path)
    except KubeError:
        return None
    return step_results.accept_same_change(execution, step, raw) if raw is not None else None


def _exit_for(execution: ActionExecution, step: ActionStep, error: KubeError) -> ActionExit:
    """Return the end for a refused request, also if its object cannot be read now."""
    try:
        return refusals.exit_for(execution, step, error)
    except KubeError:
        message = error.api_status.message or error.sentence
        return ActionExit(
            ActionState.FAILED, f"The API server did not accept it: {message.rstrip('.')}."
        )


def _record_answer(execution: ActionExecution, step: ActionStep, answer: Answer) -> float:
    """Record the answer to a step that was carried out."""
    columns = {"status": answer.status, "audit_id": answer.audit_id[:64]}
    if step.kind == StepKind.DELETE_HOLD.value:
        execution.write(step=step, step_columns=columns)
        return unknown_outcomes.resolve(execution, step)
    if step.kind == StepKind.CORDON.value:
        return cordons.record_cordoned(execution, step, columns)
    raw = json.loads(answer.body)
    if step.kind == StepKind.CREATE_HOLD.value:
        return step_results.record_armed(execution, step, raw, columns)
    if step.kind == StepKind.CREATE.value:
        return step_results.record_created(execution, step, columns)
    relocation.record_proof(execution, step)
    return step_results.record_patched(execution, step, raw, columns)


def _record_applied(execution: ActionExecution) -> float:
    execution.checkpoint("applied:before-writing")
    execution.write(
        ActionState.APPLIED,
        f"{execution.done_word}; it is being watched.",
        applied_at=execution.now,
        sent_at=execution.action.sent_at or execution.now,
        context=True,
        in_transaction=lambda: unguard_older_actions(execution.action),
    )
    execution.checkpoint("applied:written")
    return 0.0
