"""checked → armed → proved → sent → applied: one step at a time, written down before it is sent.

A step is `sending` in the database before its request leaves, so a crash is known to be unknown and
is resolved by reading (unknown_outcomes.py); no step but a dry run and the removal of our own Hold is ever
sent a second time.
"""

from __future__ import annotations

import json
from typing import Any

from gangboard.actions import (
    actor_client,
    patches,
    preconditions,
    refusals,
    retries,
    step_results,
    unknown_outcomes,
)
from gangboard.actions.actor_client import Json
from gangboard.actions.drift_detection import unguard_others
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early
from gangboard.domain.action import ActionState, StepKind, StepState
from gangboard.domain.hold import HOLD_LEVER
from gangboard.kube.errors import KubeError, KubeErrorCode, WriteOutcome
from gangboard.kube.write_client import Answer
from gangboard.store.levers import save_lever_proof
from gangboard.store.models import ActionStep

PROOF_SECONDS = 2.0
"""A policy's cache takes 30 to 60 ms to see a new Hold (observed); several API servers, longer."""
PROOF_PAUSE = 0.1
_REHEARSED = "rehearsed"
_DONE = (StepState.DONE.value, StepState.SKIPPED.value)


def next_step(execution: ActionExecution) -> float:
    """Do the next thing that is to be done; return the seconds to wait after it. Raises KubeError."""
    step = next((step for step in execution.steps if step.state not in _DONE), None)
    if step is None:
        return _applied(execution)
    if step.state != StepState.PENDING.value:
        return unknown_outcomes.resolve(execution, step)
    unmet = preconditions.unmet(execution)
    if unmet is not None:
        return exit_early(execution, unmet)
    if not execution.context.get(_REHEARSED):
        return _rehearse(execution)
    if step.dry_run:
        return _prove(execution, step)
    return _send(execution, step)


def _rehearse(execution: ActionExecution) -> float:
    """Try every change as a dry run, so that what would be refused is known before anything changes."""
    for step in execution.steps:
        if step.kind not in (StepKind.PATCH.value, StepKind.CREATE.value):
            continue
        try:
            answer = actor_client.send(execution.client, step, dry_run=True)
        except KubeError as error:
            if error.code in retries.TRANSIENT_CODES - {KubeErrorCode.SERVER_ERROR}:
                raise
            found = refusals.exit_for(execution, step, error)
            return exit_early(
                execution,
                ActionExit(found.state, f"{found.sentence} This was a dry run: nothing was sent."),
            )
        dropped = _dropped(step, json.loads(answer.body))
        if dropped:
            return exit_early(execution, ActionExit(ActionState.REFUSED, dropped))
    execution.context[_REHEARSED] = True
    execution.checkpoint("rehearsal:answered")
    execution.write(context=True)
    return 0.0


def _dropped(step: ActionStep, raw: Json) -> str:
    """Say that a field is not kept by the API server: the CustomResourceDefinition there is older than it.

    It drops what its schema does not know, and answers 200.
    """
    if step.kind != StepKind.PATCH.value:
        return ""
    gone = [one for one in patches.wanted_fields(step.patch) if not patches.has(raw, one)]
    if not gone:
        return ""
    field = gone[0].strip("/").replace("/", ".")
    kind = step.subject["kind"]
    return (
        f"This cluster's {kind} has no {field}: the API server dropped it in a dry run. Nothing was "
        f"sent. A newer CustomResourceDefinition of {kind} may have it."
    )


def _prove(execution: ActionExecution, step: ActionStep) -> float:
    """Ask by dry runs until the answer is the one that is needed, for a moment at most."""
    wanted = step.kind == StepKind.PROVE_HOLD.value
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
        if patches.value_at(raw, "/spec/suspend") is wanted:
            break
        if waited > PROOF_SECONDS:
            return _refuted(execution, step, raw, sends)
        execution.clock.sleep(PROOF_PAUSE)
    execution.checkpoint(f"{step.kind}:answered")
    result = f"It came back {'suspended' if wanted else 'not suspended'} after {waited:.2f} s."
    columns = {"state": StepState.DONE.value, "result": result, "sends": sends, "at": execution.now}
    if wanted:
        execution.write(
            ActionState.PROVED,
            "The Hold is in force: a dry run of a resume came back suspended.",
            step=step,
            step_columns=columns,
            also=lambda: _note(execution, held=True),
        )
    else:
        execution.write(step=step, step_columns=columns)
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _refuted(execution: ActionExecution, step: ActionStep, raw: Json, sends: int) -> float:
    """End: the Hold did not come into force, or something else holds the Job still."""
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
        execution.write(also=lambda: _note(execution, held=False))
        return exit_early(execution, ActionExit(ActionState.REFUSED, sentence), step, columns)
    annotations = raw["metadata"].get("annotations") or {}
    holder = annotations.get("gangboard.dev/held-by", "another Hold")
    return exit_early(
        execution,
        ActionExit(
            ActionState.FAILED,
            f"Its Hold was removed, but a resume is still turned back (by {holder}): "
            f"{execution.object_name} stays suspended.",
        ),
        step,
        columns,
    )


def _note(execution: ActionExecution, *, held: bool) -> None:
    if execution.action.cluster_id is not None:
        save_lever_proof(execution.action.cluster_id, HOLD_LEVER, held=held, at=execution.now)


def _send(execution: ActionExecution, step: ActionStep) -> float:
    """Write down that it is sent, send it, write down what came of it."""
    execution.checkpoint(f"{step.kind}:before-writing")
    state, columns = _on_the_way(execution, step)
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
    execution.must_be_ours()
    try:
        answer = actor_client.send(execution.client, step)
    except KubeError as error:
        execution.checkpoint(f"{step.kind}:answered")
        return _failed(execution, step, error)
    execution.checkpoint(f"{step.kind}:answered")
    return _took(execution, step, answer)


def _on_the_way(
    execution: ActionExecution, step: ActionStep
) -> tuple[ActionState | None, dict[str, Any]]:
    """Return state and columns of an action whose next step leaves now.

    A Hold that is made can be taken away again; with anything else the action counts as sent.
    """
    if step.kind == StepKind.CREATE_HOLD.value:
        execution.context["hold"] = step_results.sent_hold(step, execution.now)
        return None, {}
    return ActionState.SENT, {"sent_at": execution.action.sent_at or execution.now}


def _failed(execution: ActionExecution, step: ActionStep, error: KubeError) -> float:
    if error.write_outcome is WriteOutcome.NOT_SENT:
        # Certainly nothing has left: the step is as if it had never been begun.
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
            # From now on, not from when it left: the server may have been at it all the while.
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
    met = _met(execution, step, error)
    if met is not None:
        return met
    return exit_early(execution, _exit_for(execution, step, error), step, columns)


def _met(execution: ActionExecution, step: ActionStep, error: KubeError) -> float | None:
    """Go on when the patch's tests failed because it is so already; None otherwise."""
    if error.code != KubeErrorCode.INVALID or step.kind != StepKind.PATCH.value:
        return None
    try:
        raw = actor_client.get_object(execution.client, step.path)
    except KubeError:
        return None
    return step_results.met(execution, step, raw) if raw is not None else None


def _exit_for(execution: ActionExecution, step: ActionStep, error: KubeError) -> ActionExit:
    """Return the end that a refusal means, also when what it was about cannot be read now."""
    try:
        return refusals.exit_for(execution, step, error)
    except KubeError:
        said = error.api_status.message or error.sentence
        return ActionExit(
            ActionState.FAILED, f"The API server did not accept it: {said.rstrip('.')}."
        )


def _took(execution: ActionExecution, step: ActionStep, answer: Answer) -> float:
    """Take in the answer to a step that was carried out."""
    columns = {"status": answer.status, "audit_id": answer.audit_id[:64]}
    if step.kind == StepKind.DELETE_HOLD.value:
        execution.write(step=step, step_columns=columns)
        return unknown_outcomes.resolve(execution, step)
    raw = json.loads(answer.body)
    if step.kind == StepKind.CREATE_HOLD.value:
        return step_results.armed(execution, step, raw, columns)
    if step.kind == StepKind.CREATE.value:
        return step_results.created(execution, step, columns)
    return step_results.patched(execution, step, raw, columns)


def _applied(execution: ActionExecution) -> float:
    execution.checkpoint("applied:before-writing")
    execution.write(
        ActionState.APPLIED,
        f"{execution.done_word}; it is being watched.",
        applied_at=execution.now,
        sent_at=execution.action.sent_at or execution.now,
        context=True,
        also=lambda: unguard_others(execution.action),
    )
    execution.checkpoint("applied:written")
    return 0.0
