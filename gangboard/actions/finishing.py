"""The end of actions: the final state, and what an action that fails must undo first.

An action that fails removes its own Hold before it is over (`hold_removal`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gangboard.actions.execution import ActionExecution
from gangboard.actions.verify.pod_checks import places_text
from gangboard.domain.action import ActionState, StepKind, StepState, Verb
from gangboard.domain.pod import Pod
from gangboard.store.models import ActionStep

SETTLE_SECONDS = 3.0
"""The API server soon drops a request whose connection was lost. If a read shows no effect this long
after the request was sent, there will be none."""
BEYOND_GRACE = 60.0
"""How long after their grace period the pods of a relocated Job may exist, in seconds. The Job then stays
suspended."""
OPEN_CORDONS = (StepState.SENDING.value, StepState.UNKNOWN.value, StepState.DONE.value)
"""States of the step that cordons a node, in which the node may be cordoned."""
KEEPS_HOLD = "keeps_hold"
"""Key in the context of an ended action whose Hold must stay."""


@dataclass(frozen=True, slots=True)
class ActionExit:
    """An end of an action other than the requested one."""

    state: ActionState
    sentence: str
    columns: dict[str, Any] = field(default_factory=dict)


def exit_early(
    execution: ActionExecution,
    exit_: ActionExit,
    step: ActionStep | None = None,
    step_columns: dict[str, Any] | None = None,
) -> float:
    """End the action. If it created a Hold, remove the Hold first.

    The result of the last step is written in the same transaction, so a crash cannot separate them.
    """
    exit_ = replace(exit_, sentence=f"{exit_.sentence} {_completed_steps(execution)}".strip())
    hold = execution.context.get("hold")
    if not _must_undo(execution) and not _keeps_cordon(execution, step, step_columns):
        finish(execution, exit_, step=step, step_columns=step_columns)
        return 0.0
    execution.context["exit"] = {
        "state": exit_.state.value,
        "sentence": exit_.sentence,
        "since": execution.now.isoformat(),
        "tries": 0,
    }
    execution.checkpoint("exit:begin")
    undo = f"Hold {hold['name']} is being removed." if hold else "Its changes are being undone."
    execution.write(
        message=f"{exit_.sentence} {undo}",
        step=step,
        step_columns=step_columns,
        context=True,
        in_transaction=lambda: add_removal(execution, hold),
        **exit_.columns,
    )
    execution.reload_steps()
    return 0.0


def _must_undo(execution: ActionExecution) -> bool:
    """Return whether an action that ends early has a Hold to remove, or a Job to resume.

    A relocation undoes its suspend until the Job runs again.
    """
    has_hold = execution.context.get("hold") is not None
    if execution.action.verb == Verb.SUSPEND:
        return has_hold
    if execution.action.verb != Verb.RELOCATE or execution.context.get("restarted"):
        return False
    return has_hold or has_moved_job(execution)


def _keeps_cordon(
    execution: ActionExecution, step: ActionStep | None, columns: dict[str, Any] | None
) -> bool:
    """Return whether a node may be cordoned by the action once the result of its last step is written."""
    result = columns or {}
    is_unsent = result.get("state") == StepState.SKIPPED.value
    is_refused = result.get("status") is not None
    if step is not None and step.kind == StepKind.CORDON.value and (is_unsent or is_refused):
        return False
    return is_cordon_open(execution)


def step_of_kind(execution: ActionExecution, kind: StepKind) -> ActionStep | None:
    """Return the step of a kind that an action has at most once."""
    return next((step for step in execution.steps if step.kind == kind.value), None)


def is_cordon_open(execution: ActionExecution) -> bool:
    """Return whether a node may still be cordoned by the action.

    A refused request has a status. Without one its answer was lost, and it may still be carried out.
    """
    cordon = step_of_kind(execution, StepKind.CORDON)
    uncordon = step_of_kind(execution, StepKind.UNCORDON)
    if cordon is None or uncordon is None or uncordon.state == StepState.DONE.value:
        return False
    if cordon.state == StepState.FAILED.value:
        return cordon.status is None
    return cordon.state in OPEN_CORDONS


def has_moved_job(execution: ActionExecution) -> bool:
    """Return whether the action may have suspended its Job."""
    open_states = (StepState.PENDING.value, StepState.SKIPPED.value)
    return any(
        step.kind == StepKind.PATCH.value and step.state not in open_states
        for step in execution.steps
    )


def _completed_steps(execution: ActionExecution) -> str:
    """Return a sentence with the changes that remain when an action ends half-way, or an empty string."""
    if execution.action.applied_at is not None:
        return ""
    kinds = (
        StepKind.PATCH.value,
        StepKind.CREATE.value,
        StepKind.CORDON.value,
        StepKind.EXCLUDE.value,
        StepKind.DELETE_HOLD.value,
    )
    done = [
        step.name
        for step in execution.steps
        if step.kind in kinds and step.state == StepState.DONE.value
    ]
    return f"Done before that: {'; '.join(done)}." if done else ""


def finish(
    execution: ActionExecution,
    exit_: ActionExit,
    in_transaction: Callable[[], None] | None = None,
    *,
    step: ActionStep | None = None,
    step_columns: dict[str, Any] | None = None,
) -> None:
    """Write the final state. Pending steps are skipped.

    A cordon that outlasts the action keeps it due, without an exit that would be repeated.
    """
    keeps_cordon = _keeps_cordon(execution, step, step_columns)
    if keeps_cordon:
        execution.context.pop("exit", None)

    def close() -> None:
        pending = ActionStep.objects.filter(action=execution.action, state=StepState.PENDING.value)
        if keeps_cordon:
            pending = pending.exclude(kind=StepKind.UNCORDON.value)
        pending.update(state=StepState.SKIPPED.value)
        if in_transaction is not None:
            in_transaction()

    execution.checkpoint("end:before")
    execution.write(
        exit_.state,
        exit_.sentence,
        step=step,
        step_columns=step_columns,
        finished_at=execution.now,
        due_at=execution.now if keeps_cordon else None,
        context=True,
        in_transaction=close,
        **exit_.columns,
    )
    execution.checkpoint("end:after")


def add_removal(execution: ActionExecution, hold: dict[str, Any] | None) -> None:
    """Add the step that removes the Hold, or reuse the planned one. Steps that are not sent yet are skipped."""
    pending = ActionStep.objects.filter(
        action=execution.action, state=StepState.PENDING.value
    ).exclude(kind=StepKind.UNCORDON.value)
    if hold is None:
        pending.update(state=StepState.SKIPPED.value)
        return
    pending.filter(kind=StepKind.DELETE_HOLD.value).update(state=StepState.SENDING.value)
    _, created = ActionStep.objects.get_or_create(
        action=execution.action,
        kind=StepKind.DELETE_HOLD.value,
        defaults={
            "position": max((step.position for step in execution.steps), default=-1) + 1,
            "name": f"Remove Hold {hold['name']} again",
            "subject": {
                "group": "gangboard.dev",
                "kind": "Hold",
                "namespace": hold["namespace"],
                "name": hold["name"],
                "uid": hold.get("uid", ""),
            },
            "method": "DELETE",
            "path": hold["path"],
            "state": StepState.SENDING.value,
        },
    )
    if created or execution.action.verb == Verb.RELOCATE:
        pending.update(state=StepState.SKIPPED.value)


def leave_suspended(
    execution: ActionExecution, sentence: str, pods: Sequence[Pod], waited: float
) -> None:
    """End a relocation whose pods do not end. The Job stays suspended, and a Hold stays."""
    where = f": {places_text(tuple(pods))}" if pods else ""
    reason = (
        f"The pods of {execution.object_name} did not end within {waited:.0f} s{where}. It stays suspended, "
        "because its new pods would run beside them: resume it when they are gone."
    )
    execution.context[KEEPS_HOLD] = True
    execution.context.pop("exit", None)
    finish(
        execution,
        ActionExit(ActionState.FAILED, f"{sentence} {reason}".strip()),
        lambda: _skip_removal(execution),
    )


def _skip_removal(execution: ActionExecution) -> None:
    """Mark the step that removes the Hold as skipped."""
    removal = ActionStep.objects.filter(
        action=execution.action, state=StepState.SENDING.value, kind=StepKind.DELETE_HOLD.value
    )
    removal.update(state=StepState.SKIPPED.value)
