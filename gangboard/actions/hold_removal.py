"""Removal of the Hold of an action that ends early, and the resume of the Job that it suspended.

The worker that holds the action deletes the Hold with its uid as precondition, and repeats that until
the Hold is gone. If this takes longer than PATIENCE_SECONDS, the action gets its final state and the
removal continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gangboard.actions import cordons, patches, rollback
from gangboard.actions.actor_client import NoActorError, get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import (
    BEYOND_GRACE,
    SETTLE_SECONDS,
    ActionExit,
    add_removal,
    finish,
    has_moved_job,
    is_cordon_open,
    leave_suspended,
)
from gangboard.actions.live_objects import LiveReader
from gangboard.actions.relocation import is_suspension_confirmed
from gangboard.actions.retries import are_roles_loading
from gangboard.domain.action import ActionState, StepKind, StepState, Verb
from gangboard.domain.pod import Pod
from gangboard.domain.shell import command, line_in_cluster
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.store import actions
from gangboard.store.models import ActionStep

PATIENCE_SECONDS = 60.0
"""How long the end of an action waits for the removal of its Hold."""
CONFIRMATION_SECONDS = 10.0
"""How long it waits until the Job controller confirms that a relocated Job is suspended."""
_POD_PAUSE = 0.5
_SHORTEST_RETRY, _LONGEST_RETRY = 0.5, 300.0
_ROLLBACK_RETRY = 2.0


def remove_hold(execution: ActionExecution) -> float:
    """Try once to remove the action's own Hold. Return the seconds until the next try, 0 if done."""
    exit_ = execution.context["exit"]
    # The admission system gets the node back first, so that it need not replace it any more.
    delay = cordons.lift(execution)
    if delay and cordons.is_patient(execution):
        return delay
    if execution.context.get("hold") is None:
        return _end_without_hold(execution)
    step = _removal_step(execution)
    try:
        pods = _ending_pods(execution)
        if pods:
            return _wait_for_pods(execution, pods)
        is_removed = _try_removal(execution, step)
    except NoActorError as error:
        return _retry_removal(execution, step, str(error), permanent=True)
    except KubeError as error:
        permanent = error.permanent and not are_roles_loading(execution, error)
        return _retry_removal(execution, step, error.sentence, permanent=permanent)
    if not is_removed:
        return _retry_removal(execution, step, "", permanent=False)
    rollback_sentence = _roll_back(execution)
    if rollback_sentence is None:
        return _ROLLBACK_RETRY
    removed = _with_removal(exit_["sentence"], execution.context["hold"]["name"])
    sentence = _joined(removed, rollback_sentence, cordons.remaining_sentence(execution))
    execution.context["removed_hold"] = execution.context["hold"].get("uid", "")
    columns = {"state": StepState.DONE.value, "result": "It is gone.", "at": execution.now}

    def close() -> None:
        actions.update_row(step, columns)

    if execution.action.finished_at is None:
        finish(execution, ActionExit(ActionState(exit_["state"]), sentence), close)
    else:
        if is_cordon_open(execution):
            execution.context.pop("exit")
            execution.write(message=sentence, context=True, in_transaction=close)
            return 0.0
        execution.write(message=sentence, due_at=None, context=True, in_transaction=close)
    return 0.0


def _end_without_hold(execution: ActionExecution) -> float:
    """Resume the Job that a relocation without a Hold has suspended, and end the action."""
    pods = _ending_pods(execution)
    if pods:
        return _wait_for_pods(execution, pods)
    rollback_sentence = _roll_back(execution) if has_moved_job(execution) else ""
    if rollback_sentence is None:
        return _ROLLBACK_RETRY
    exit_ = execution.context["exit"]
    sentence = _joined(exit_["sentence"], rollback_sentence, cordons.remaining_sentence(execution))
    finish(execution, ActionExit(ActionState(exit_["state"]), sentence))
    return 0.0


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _ending_pods(execution: ActionExecution) -> tuple[Pod, ...]:
    """Return the pods of a relocated Job that are being deleted, or that its controller is about to delete.

    If the Job were resumed now, each of its indexes could run twice at once (observed). Raises KubeError.
    """
    if execution.action.verb != Verb.RELOCATE or execution.action.finished_at is not None:
        return ()
    reader = LiveReader(execution.client, execution.context.get("versions", {}))
    pods = reader.pods(execution.action.namespace, execution.context.get("jobs", {}))
    remaining = tuple(pod for pod in pods if pod.is_live)
    terminating = tuple(pod for pod in remaining if pod.is_terminating)
    if terminating or not remaining or not _may_still_delete_pods(execution):
        return terminating
    return remaining


def _may_still_delete_pods(execution: ActionExecution) -> bool:
    """Return whether the Job controller may be about to delete the pods of the suspended Job. Raises KubeError.

    It confirms a suspension after it has deleted the pods. After `CONFIRMATION_SECONDS` it does not run: it deletes
    nothing, and reads the Job anew when it starts.
    """
    if _waited(execution) > CONFIRMATION_SECONDS:
        return False
    subjects = execution.context.get("subjects") or ()
    raw = get_object(execution.client, subjects[0]["path"]) if subjects else None
    if raw is None or patches.value_at(raw, "/spec/suspend") is not True:
        return False
    return not is_suspension_confirmed(raw)


def _wait_for_pods(execution: ActionExecution, pods: Sequence[Pod]) -> float:
    """Wait for the end of pods, or end the action and leave the Job suspended."""
    waited = _waited(execution)
    if waited <= execution.context["grace"] + BEYOND_GRACE:
        return _POD_PAUSE
    leave_suspended(execution, execution.context["exit"]["sentence"], pods, waited)
    return 0.0


def _roll_back(execution: ActionExecution) -> str | None:
    """Resume the Job that the armed Hold suspended. Return None if a read failed, to try again."""
    try:
        return rollback.roll_back(execution)
    except KubeError as error:
        is_permanent = error.permanent and not are_roles_loading(execution, error)
        if is_permanent or _waited(execution) > PATIENCE_SECONDS:
            return f"It is unknown if {execution.object_name} is suspended: {error.sentence}"
        return None


def _waited(execution: ActionExecution) -> float:
    since = datetime.fromisoformat(execution.context["exit"]["since"])
    return (execution.now - since).total_seconds()


def _with_removal(sentence: str, name: str) -> str:
    removal = f"Hold {name} was removed again."
    return sentence if removal in sentence else f"{sentence} {removal}"


def _removal_step(execution: ActionExecution) -> ActionStep:
    """Return the step that removes the Hold. An action requeued by `orphaned_holds` may lack it."""
    for step in execution.steps:
        if step.kind == StepKind.DELETE_HOLD:
            return step
    execution.write(in_transaction=lambda: add_removal(execution, execution.context["hold"]))
    execution.reload_steps()
    return _removal_step(execution)


def _try_removal(execution: ActionExecution, step: ActionStep) -> bool:
    """Delete the Hold once, then read it. Return whether it is gone. Raises KubeError."""
    hold = execution.context["hold"]
    raw = get_object(execution.client, hold["path"])
    if raw is None:
        return bool(hold.get("uid")) or _has_settled(execution, hold)
    if hold.get("uid") not in (None, raw["metadata"]["uid"]):
        return True  # another Hold has its name
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
    """Return whether a creation with a lost answer would be visible by now."""
    sent_at = datetime.fromisoformat(hold["sent_at"])
    return (execution.now - sent_at).total_seconds() >= SETTLE_SECONDS


def _retry_removal(
    execution: ActionExecution, step: ActionStep, why: str, *, permanent: bool
) -> float:
    exit_ = execution.context["exit"]
    exit_["tries"] += 1
    waited = _waited(execution)
    delay: float = min(_LONGEST_RETRY, _SHORTEST_RETRY * 2 ** min(exit_["tries"] - 1, 20))
    if execution.action.finished_at is not None:
        execution.write(step=step, step_columns={"result": why}, context=True)
        return max(delay, 10.0)
    if not permanent and waited < PATIENCE_SECONDS:
        execution.write(step=step, step_columns={"result": why}, context=True)
        return delay
    hold = execution.context["hold"]
    because = f" ({why.rstrip('.')})" if why else ""
    arguments = command("kubectl delete hold {} -n {}", hold["name"], hold["namespace"])
    cluster, name = execution.action.cluster, execution.action.cluster_name
    by_hand = line_in_cluster(arguments, name, cluster.context if cluster is not None else "")
    sentence = f"{exit_['sentence']} Hold {hold['name']} could not be removed yet{because}: gangboard keeps trying{f'; {by_hand} does it too' if by_hand else ''}."
    execution.write(
        ActionState(exit_["state"]),
        sentence,
        step=step,
        step_columns={"result": why},
        finished_at=execution.now,
        context=True,
    )
    return max(delay, 10.0)
