"""Finishing of actions: no Hold of an action is left when it ends otherwise than asked.

A Hold that was made for an action which then fails is removed before the action is over: with its
uid as precondition, again and again until it is seen gone, by whichever worker has the action. Only
when that takes longer than a person should wait is the end said before, and the removal goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gangboard.actions import patches, rollback
from gangboard.actions.actor_client import NoActorError, get_object
from gangboard.actions.execution import ActionExecution
from gangboard.domain.action import ActionState, StepKind, StepState, Verb
from gangboard.domain.shell import command, line_in_cluster
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.store import actions
from gangboard.store.models import ActionStep

SETTLE_SECONDS = 3.0
"""A request whose connection was lost is over for the API server soon after; what is not there this
long after it was sent does not come any more."""
PATIENCE_SECONDS = 60.0
"""How long the end of an action waits for the removal of its Hold."""
_SHORTEST, _LONGEST = 0.5, 300.0
_LONGEST_LOOK = 2.0


@dataclass(frozen=True, slots=True)
class ActionExit:
    """An end of an action other than the one that was asked for."""

    state: ActionState
    sentence: str
    columns: dict[str, Any] = field(default_factory=dict)


def exit_early(
    execution: ActionExecution,
    exit_: ActionExit,
    step: ActionStep | None = None,
    step_columns: dict[str, Any] | None = None,
) -> float:
    """End the action, after its own Hold is gone where it has made one.

    What came of its last step is written in the same transaction, so that no crash parts the two.
    """
    exit_ = replace(exit_, sentence=f"{exit_.sentence} {_done_before(execution)}".strip())
    hold = execution.context.get("hold")
    if hold is None or execution.action.verb != Verb.SUSPEND:
        finish(execution, exit_, step=step, step_columns=step_columns)
        return 0.0
    execution.context["exit"] = {
        "state": exit_.state.value,
        "sentence": exit_.sentence,
        "since": execution.now.isoformat(),
        "tries": 0,
    }
    execution.checkpoint("exit:begin")
    execution.write(
        message=f"{exit_.sentence} Hold {hold['name']} is being removed.",
        step=step,
        step_columns=step_columns,
        context=True,
        also=lambda: _add_removal(execution, hold),
        **exit_.columns,
    )
    execution.reload_steps()
    return 0.0


def _done_before(execution: ActionExecution) -> str:
    """Return which changes of an action that ends half-way stay done; empty for none."""
    if execution.action.applied_at is not None:
        return ""
    kinds = (StepKind.PATCH.value, StepKind.CREATE.value, StepKind.DELETE_HOLD.value)
    done = [
        step.name
        for step in execution.steps
        if step.kind in kinds and step.state == StepState.DONE.value
    ]
    return f"Done before that: {'; '.join(done)}." if done else ""


def finish(
    execution: ActionExecution,
    exit_: ActionExit,
    also: Callable[[], None] | None = None,
    *,
    step: ActionStep | None = None,
    step_columns: dict[str, Any] | None = None,
) -> None:
    """Write the final state. Steps that were not begun are skipped."""

    def close() -> None:
        ActionStep.objects.filter(action=execution.action, state=StepState.PENDING.value).update(
            state=StepState.SKIPPED.value
        )
        if also is not None:
            also()

    execution.checkpoint("end:before")
    execution.write(
        exit_.state,
        exit_.sentence,
        step=step,
        step_columns=step_columns,
        finished_at=execution.now,
        due_at=None,
        context=True,
        also=close,
        **exit_.columns,
    )
    execution.checkpoint("end:after")


def _add_removal(execution: ActionExecution, hold: dict[str, Any]) -> None:
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
    if created:
        ActionStep.objects.filter(action=execution.action, state=StepState.PENDING.value).update(
            state=StepState.SKIPPED.value
        )


def remove_hold(execution: ActionExecution) -> float:
    """Try once to remove the action's own Hold; return seconds until the next try, 0 when done."""
    exit_ = execution.context["exit"]
    step = _removal_step(execution)
    try:
        gone = _try(execution, step)
    except NoActorError as error:
        return _still_there(execution, step, str(error), permanent=True)
    except KubeError as error:
        return _still_there(execution, step, error.sentence, permanent=error.permanent)
    if not gone:
        return _still_there(execution, step, "", permanent=False)
    more = _rolled_back(execution)
    if more is None:
        return _LONGEST_LOOK
    sentence = (
        f"{_and_removed(exit_['sentence'], execution.context['hold']['name'])} {more}".strip()
    )
    execution.context["removed_hold"] = execution.context["hold"].get("uid", "")
    columns = {"state": StepState.DONE.value, "result": "It is gone.", "at": execution.now}

    def close() -> None:
        actions.change(step, columns)

    if execution.action.finished_at is None:
        finish(execution, ActionExit(ActionState(exit_["state"]), sentence), close)
    else:
        execution.write(message=sentence, due_at=None, context=True, also=close)
    return 0.0


def _rolled_back(execution: ActionExecution) -> str | None:
    """Resume what the armed Hold has suspended; return None when it cannot be read now: try again."""
    try:
        return rollback.roll_back(execution)
    except KubeError as error:
        if error.permanent or _waited(execution) > PATIENCE_SECONDS:
            return (
                f"Whether {execution.object_name} is suspended could not be read: {error.sentence}"
            )
        return None


def _waited(execution: ActionExecution) -> float:
    since = datetime.fromisoformat(execution.context["exit"]["since"])
    return (execution.now - since).total_seconds()


def _and_removed(sentence: str, name: str) -> str:
    more = f"Hold {name} was removed again."
    return sentence if more in sentence else f"{sentence} {more}"


def _removal_step(execution: ActionExecution) -> ActionStep:
    """Return the step of the removal; an action that was given back may not have one yet."""
    for step in execution.steps:
        if step.kind == StepKind.DELETE_HOLD:
            return step
    execution.write(also=lambda: _add_removal(execution, execution.context["hold"]))
    execution.reload_steps()
    return _removal_step(execution)


def _try(execution: ActionExecution, step: ActionStep) -> bool:
    """Remove it once and look; return whether it is gone. Raises KubeError."""
    hold = execution.context["hold"]
    raw = get_object(execution.client, hold["path"])
    if raw is None:
        return bool(hold.get("uid")) or _has_settled(execution, hold)
    if hold.get("uid") not in (None, raw["metadata"]["uid"]):
        return True  # another one has its name
    if not hold.get("uid") and patches.last_action_id(raw) != execution.action.pk:
        return True
    execution.checkpoint("removal:about-to-send")
    execution.write(step=step, step_columns={"sends": step.sends + 1, "at": execution.now})
    execution.check_lease()
    try:
        execution.client.delete(hold["path"], uid=raw["metadata"]["uid"])
    except KubeError as error:
        if not error.is_object_missing and error.code != KubeErrorCode.CONFLICT:
            raise
    execution.checkpoint("removal:answered")
    raw = get_object(execution.client, hold["path"])
    return raw is None or (bool(hold.get("uid")) and raw["metadata"]["uid"] != hold["uid"])


def _has_settled(execution: ActionExecution, hold: dict[str, Any]) -> bool:
    """Whether a creation whose answer is missing would be seen by now."""
    sent_at = datetime.fromisoformat(hold["sent_at"])
    return (execution.now - sent_at).total_seconds() >= SETTLE_SECONDS


def _still_there(
    execution: ActionExecution, step: ActionStep, why: str, *, permanent: bool
) -> float:
    exit_ = execution.context["exit"]
    exit_["tries"] += 1
    waited = _waited(execution)
    delay: float = min(_LONGEST, _SHORTEST * 2 ** min(exit_["tries"] - 1, 20))
    if execution.action.finished_at is not None:
        execution.write(step=step, step_columns={"result": why}, context=True)
        return max(delay, 10.0)
    if not permanent and waited < PATIENCE_SECONDS:
        execution.write(step=step, step_columns={"result": why}, context=True)
        return delay
    hold = execution.context["hold"]
    because = f" ({why.rstrip('.')})" if why else ""
    words = command("kubectl delete hold {} -n {}", hold["name"], hold["namespace"])
    cluster, name = execution.action.cluster, execution.action.cluster_name
    by_hand = line_in_cluster(words, name, cluster.context if cluster is not None else "")
    sentence = (
        f"{exit_['sentence']} Hold {hold['name']} could not be removed yet{because}: gangboard goes "
        f"on trying{f'; {by_hand} does it too' if by_hand else ''}."
    )
    execution.write(
        ActionState(exit_["state"]),
        sentence,
        step=step,
        step_columns={"result": why},
        finished_at=execution.now,
        context=True,
    )
    return max(delay, 10.0)
