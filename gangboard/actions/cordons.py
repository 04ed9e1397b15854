"""Steps of a relocation by a cordon, and the end of that cordon.

The steps of the action are the record: a cordon is open from the moment its request may have left until a read
shows that the node does not have the mark of this action. Every end of an action ends its cordon. If the node
cannot be reached, the action gets its final state after PATIENCE_SECONDS, and the attempts continue.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gangboard.actions import actor_client
from gangboard.actions.actor_client import Json, NoActorError, get_object
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import (
    OPEN_CORDONS,
    ActionExit,
    exit_early,
    is_cordon_open,
    step_of_kind,
)
from gangboard.actions.live_objects import LiveReader
from gangboard.domain.action import ActionState, StepKind, StepState
from gangboard.domain.hold import CORDONED_BY, HOLD_CORDON_LEVER
from gangboard.domain.pod_constraints import CORDON
from gangboard.domain.queue import QueueEntry
from gangboard.domain.shell import command, line_in_cluster
from gangboard.kube.errors import KubeError
from gangboard.store.levers import save_lever_proof
from gangboard.store.models import ActionStep

PAUSE = 0.25
TAINT_SECONDS = 30.0
"""How long the taint of a cordon may take. The node controller adds it within a second (observed)."""
REPLACED_SECONDS = 60.0
"""How long the new assignment may take. It takes up to 1.5 s after the last pod is gone (observed), and the
admission system may restart meanwhile."""
LATEST_ARRIVAL = 60.0
"""An API server ends a request after 60 s, so a cordon whose answer was lost cannot come later."""
PATIENCE_SECONDS = 60.0
"""How long the end of an action waits for the end of its cordon."""
_SHORTEST_RETRY, _LONGEST_RETRY, _RETRY_AFTER_END = 0.5, 300.0, 10.0
_ATTEMPTS = "uncordoning"
_ADMITTED_AT = "admitted_at"
"""Key of the context: when the whole owner was admitted, as read before its Job is resumed."""


# Before the Job moves


def other_cordon(execution: ActionExecution) -> ActionExit | None:
    """Return the end of an action if another one has a cordon for the same gang (1 query), else None.

    With a second cordoned node the admission system evicts the whole gang. Call it after the own step is stored
    as `sending`: of two actions at once, at least one sees the other.
    """
    gang = execution.action.gang_id
    cordons = ActionStep.objects.filter(
        action__gang_id=gang, kind=StepKind.CORDON.value, state__in=OPEN_CORDONS
    )
    ended = ActionStep.objects.filter(
        action__gang_id=gang, kind=StepKind.UNCORDON.value, state=StepState.DONE.value
    )
    other = (
        cordons.exclude(action=execution.action)
        .exclude(action__in=ended.values("action"))
        .select_related("action")
        .first()
    )
    if other is None:
        return None
    sentence = (
        f"{other.action.kind} {other.action.name} of the same gang leaves node {other.subject['name']} now, and a second "
        "cordon would end the whole gang: try again when that has ended."
    )
    return ActionExit(ActionState.CONFLICT, sentence)


def record_cordoned(execution: ActionExecution, step: ActionStep, columns: dict[str, Any]) -> float:
    """Record that the node is cordoned by this action."""
    result = f"Node {step.subject['name']} takes no new pods."
    state = ActionState.CHECKED if execution.state is ActionState.UNKNOWN else None
    columns = {**columns, "state": StepState.DONE.value, "result": result}
    execution.write(state, step=step, step_columns=columns)
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def has_mark(execution: ActionExecution, raw: Json) -> bool:
    """Return whether a node has the mark of this action."""
    annotations = raw["metadata"].get("annotations") or {}
    return annotations.get(CORDONED_BY) == execution.action.pk


def wait_tainted(execution: ActionExecution, step: ActionStep) -> float:
    """Check once whether the cordon is in force. Raises KubeError."""
    name = f"Node {step.subject['name']}"
    raw = get_object(execution.client, step.path)
    if raw is None:
        return exit_early(execution, ActionExit(ActionState.GONE, f"{name} was deleted meanwhile."))
    spec = raw.get("spec") or {}
    if any(taint.get("key") == CORDON for taint in spec.get("taints") or ()):
        return _end_wait(execution, step, f"It has the taint {CORDON}.")
    if spec.get("unschedulable") is not True:
        sentence = f"{name} is not cordoned any more: another client ended the cordon."
        return exit_early(execution, ActionExit(ActionState.CONFLICT, sentence))
    if _waited(execution, step) <= TAINT_SECONDS:
        return PAUSE
    sentence = f"{name} did not get the taint {CORDON} within {TAINT_SECONDS:g} s after its cordon."
    return exit_early(execution, ActionExit(ActionState.FAILED, sentence))


# While the Job is away


def wait_replaced(execution: ActionExecution, step: ActionStep) -> float:
    """Check once whether the admission system has assigned another node. Raises KubeError."""
    node = _left_node(execution)
    entry = read_entry(execution, step)
    lost = lost_assignment(step, entry)
    if lost or entry is None:
        return exit_early(execution, ActionExit(ActionState.FAILED, lost))
    is_assigned = any(node in assigned.nodes for assigned in entry.assigned)
    if not is_assigned and not entry.failed_nodes:
        places = ", ".join(sorted({name for item in entry.assigned for name in item.nodes}))
        execution.context[_ADMITTED_AT] = str(entry.admitted_at or "")
        execution.write(context=True, in_transaction=lambda: _save_proof(execution, held=True))
        return _end_wait(execution, step, f"Assigned now: {places}.")
    if _waited(execution, step) <= REPLACED_SECONDS:
        return PAUSE
    execution.write(in_transaction=lambda: _save_proof(execution, held=False))
    sentence = (
        f"Node {node} was not replaced in {_name(step)} within {REPLACED_SECONDS:g} s: its admission system has "
        "this switched off, or finds no other node."
    )
    return exit_early(execution, ActionExit(ActionState.FAILED, sentence))


def read_entry(execution: ActionExecution, step: ActionStep) -> QueueEntry | None:
    """Return the entry of a step as it is now, or None if it is gone. Raises KubeError and UnreadableError."""
    reader = LiveReader(execution.client, execution.context.get("versions", {}))
    live = reader.read_entry(step.subject["group"], step.subject["kind"], step.path)
    return live.entry if live is not None else None


def eviction_sentence(execution: ActionExecution) -> str:
    """Return a sentence if the whole owner was evicted during a relocation by a cordon, else empty.

    It can be admitted again before gangboard looks, which shows in the time of its admission.
    """
    step = step_of_kind(execution, StepKind.WAIT_REPLACED)
    if step is None:
        return ""
    entry = read_entry(execution, step)
    lost = lost_assignment(step, entry)
    before = execution.context.get(_ADMITTED_AT)
    if lost or entry is None or not before or str(entry.admitted_at) == before:
        return lost
    return f"{_name(step)} was evicted with all its pods, and is admitted again."


def lost_assignment(step: ActionStep, entry: QueueEntry | None) -> str:
    """Return a sentence if the whole owner was stopped by its admission system, else empty."""
    if entry is None or entry.meta.ref.uid != step.subject["uid"]:
        return f"{_name(step)} is gone: its owner was admitted anew, or deleted."
    if entry.admitted and entry.evicted is None:
        return ""
    reason = entry.evicted.reason if entry.evicted is not None else ""
    texts = [condition.message for condition in entry.conditions if condition.reason == reason]
    why = f": {texts[0].rstrip('.')}" if reason and texts and texts[0] else ""
    return f"{_name(step)} was evicted with all its pods{why}."


def _save_proof(execution: ActionExecution, *, held: bool) -> None:
    if execution.action.cluster_id is not None:
        cluster_id, now = execution.action.cluster_id, execution.now
        save_lever_proof(cluster_id, HOLD_CORDON_LEVER, held=held, at=now)


def _left_node(execution: ActionExecution) -> str:
    step = step_of_kind(execution, StepKind.WAIT_TAINTED)
    assert step is not None  # noqa: S101  # each relocation by a cordon has one
    return str(step.subject["name"])


def _name(step: ActionStep) -> str:
    return f"{step.subject['kind']} {step.subject['name']}"


def _end_wait(execution: ActionExecution, step: ActionStep, result: str) -> float:
    columns = {"state": StepState.DONE.value, "result": result, "at": execution.now}
    execution.write(step=step, step_columns=columns)
    execution.checkpoint(f"{step.kind}:recorded")
    return 0.0


def _waited(execution: ActionExecution, step: ActionStep) -> float:
    """Return the seconds since the first check of a step."""
    if step.at is None:
        execution.write(step=step, step_columns={"at": execution.now})
    assert isinstance(step.at, datetime)  # noqa: S101  # written above
    return (execution.now - step.at).total_seconds()


# The end of the cordon


def lift(execution: ActionExecution) -> float:
    """Try once to end the cordon of this action. Return the seconds until the next try, 0 if there is none."""
    if not is_cordon_open(execution):
        return 0.0
    step = step_of_kind(execution, StepKind.UNCORDON)
    assert step is not None  # noqa: S101  # planned together with the cordon
    now = execution.now
    attempt = execution.context.setdefault(_ATTEMPTS, {"since": now.isoformat(), "tries": 0})
    wait = _seconds_until(execution, attempt.get("not_before"))
    if wait > 0:
        return wait
    why = ""
    try:
        result = _try(execution, step)
    except NoActorError as error:
        result, why = "", str(error)
    except KubeError as error:
        result, why = "", error.sentence
    if result:
        columns = {"state": StepState.DONE.value, "result": result, "at": execution.now}
        execution.write(step=step, step_columns=columns, context=True)
        execution.checkpoint(f"{step.kind}:recorded")
        return 0.0
    delay: float = min(_LONGEST_RETRY, _SHORTEST_RETRY * 2 ** min(attempt["tries"], 20))
    if execution.action.finished_at is not None:
        delay = max(delay, _RETRY_AFTER_END)
    attempt["tries"] += 1
    attempt["not_before"] = (execution.now + timedelta(seconds=delay)).isoformat()
    columns = {"state": StepState.PENDING.value, "result": why}
    execution.write(step=step, step_columns=columns, context=True)
    return delay


def _seconds_until(execution: ActionExecution, time: str | None) -> float:
    return (datetime.fromisoformat(time) - execution.now).total_seconds() if time else 0.0


def is_patient(execution: ActionExecution) -> bool:
    """Return whether the end of the action still waits for the end of its cordon."""
    since = datetime.fromisoformat(execution.context[_ATTEMPTS]["since"])
    return (execution.now - since).total_seconds() < PATIENCE_SECONDS


def lift_after_end(execution: ActionExecution) -> float:
    """Try again to end the cordon of an action that has ended."""
    delay = lift(execution)
    if delay:
        return delay
    step = step_of_kind(execution, StepKind.UNCORDON)
    message = f"{execution.action.message} {step.result}" if step is not None else ""
    execution.write(message=message, due_at=None, context=True)
    return 0.0


def remaining_sentence(execution: ActionExecution) -> str:
    """Return a sentence about a cordon that outlasts its action, or empty."""
    step = step_of_kind(execution, StepKind.UNCORDON)
    if step is None or not is_cordon_open(execution):
        return ""
    node = step.subject["name"]
    because = f" ({step.result.rstrip('.')})" if step.result else ""
    cluster = execution.action.cluster
    by_hand = line_in_cluster(
        command("kubectl uncordon {}", node),
        execution.action.cluster_name,
        cluster.context if cluster is not None else "",
    )
    also = f"; {by_hand} does it too" if by_hand else ""
    return f"Node {node} could not be uncordoned yet{because}: gangboard keeps trying{also}."


def _try(execution: ActionExecution, step: ActionStep) -> str:
    """Uncordon the node if it has the mark of this action. Return the result, empty to try again. Raises KubeError."""
    raw = get_object(execution.client, step.path)
    if raw is None:
        return "The node is gone."
    if not has_mark(execution, raw):
        return _result_without_mark(execution)
    execution.checkpoint(f"{step.kind}:about-to-send")
    columns = {"state": StepState.SENDING.value, "sends": step.sends + 1, "at": execution.now}
    execution.write(step=step, step_columns=columns, context=True)
    execution.check_lease()
    answer = actor_client.send(execution.client, step)
    execution.checkpoint(f"{step.kind}:answered")
    execution.write(
        step=step, step_columns={"status": answer.status, "audit_id": answer.audit_id[:64]}
    )
    return f"Node {step.subject['name']} takes new pods again."


def _result_without_mark(execution: ActionExecution) -> str:
    """Return the result for a node without the mark: the cordon never came, was ended, or may still come."""
    cordoned = step_of_kind(execution, StepKind.CORDON)
    uncordoned = step_of_kind(execution, StepKind.UNCORDON)
    assert cordoned is not None and uncordoned is not None  # noqa: S101, PT018  # planned together
    if uncordoned.sends:
        return f"Node {uncordoned.subject['name']} takes new pods again."
    if cordoned.state == StepState.DONE.value:
        return "Another client removed the mark of this action, so the node stays as it is."
    if cordoned.at is None or (execution.now - cordoned.at).total_seconds() >= LATEST_ARRIVAL:
        return "The node was never cordoned."
    return ""
