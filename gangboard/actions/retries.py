"""Retries after an error of a cluster: wait and try again, or end the action with a sentence of its own."""

from __future__ import annotations

from datetime import datetime

from gangboard.actions.actor_client import NoActorError
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early, finish
from gangboard.actions.live_objects import UnreadableError
from gangboard.actions.preconditions import is_expired
from gangboard.domain.action import ActionState, StepState, Verb
from gangboard.kube.errors import KubeError, KubeErrorCode

TRANSIENT_CODES = frozenset(
    {
        KubeErrorCode.UNREACHABLE,
        KubeErrorCode.TIMEOUT,
        KubeErrorCode.THROTTLED,
        KubeErrorCode.BROKEN_OFF,
        KubeErrorCode.SERVER_ERROR,
        KubeErrorCode.NOT_JSON,
    }
)
"""Codes of errors that may be over a moment later."""
UNKNOWN_SECONDS = 1800.0
"""How long an outcome is tried to be read before it is said that it is not known."""
_FIRST, _LONGEST_BEFORE, _LONGEST_AFTER = 0.5, 15.0, 120.0


def after_error(
    execution: ActionExecution, error: KubeError | NoActorError | UnreadableError
) -> float:
    """Note that a read or a dry run failed; return the seconds until the next try."""
    sentence = error.sentence if isinstance(error, KubeError) else str(error)
    passing = isinstance(error, KubeError) and error.code in TRANSIENT_CODES
    wait = error.retry_after if isinstance(error, KubeError) else None
    trouble = execution.context.setdefault(
        "trouble", {"since": execution.now.isoformat(), "tries": 0}
    )
    trouble["tries"] += 1
    growing = _FIRST * 2 ** min(trouble["tries"] - 1, 20)
    if _is_unresolved(execution):
        return _still_unknown(execution, sentence, wait or min(_LONGEST_AFTER, growing))
    if execution.state is ActionState.APPLIED:
        return _still_unverified(execution, sentence, wait or min(_LONGEST_AFTER, growing))
    if not passing:
        return exit_early(
            execution, ActionExit(ActionState.FAILED, _nothing_sent(execution, sentence))
        )
    if is_expired(execution):
        return exit_early(execution, _too_late(execution, sentence))
    until = execution.action.expires_at.strftime("%H:%M:%S UTC")
    execution.write(message=f"{sentence} gangboard tries again until {until}.", context=True)
    return wait or min(_LONGEST_BEFORE, growing)


def clear(execution: ActionExecution) -> None:
    """Forget the errors: the cluster answers again."""
    execution.context.pop("trouble", None)


def _too_late(execution: ActionExecution, sentence: str) -> ActionExit:
    if execution.action.sent_at is not None:
        return ActionExit(ActionState.FAILED, f"Not finished within five minutes. {sentence}")
    return ActionExit(ActionState.EXPIRED, f"Not sent within five minutes of the click. {sentence}")


def _nothing_sent(execution: ActionExecution, sentence: str) -> str:
    if execution.action.sent_at is not None or execution.context.get("hold"):
        return sentence
    return f"{sentence} Nothing was changed."


def _is_unresolved(execution: ActionExecution) -> bool:
    open_states = (StepState.SENDING.value, StepState.UNKNOWN.value)
    return any(step.state in open_states for step in execution.steps)


def _waited(execution: ActionExecution) -> float:
    since = datetime.fromisoformat(execution.context["trouble"]["since"])
    return (execution.now - since).total_seconds()


def _still_unknown(execution: ActionExecution, sentence: str, delay: float) -> float:
    if _waited(execution) >= UNKNOWN_SECONDS:
        minutes = int(_waited(execution) // 60)
        return exit_early(
            execution,
            ActionExit(
                ActionState.FAILED,
                f"It is not known whether {execution.object_name} was changed: the answer was lost, and it "
                f"could not be read for {minutes} minutes. {sentence}",
            ),
        )
    execution.write(
        ActionState.UNKNOWN,
        f"The answer was lost, and the object cannot be read yet. {sentence}",
        context=True,
    )
    return delay


def _still_unverified(execution: ActionExecution, sentence: str, delay: float) -> float:
    if _waited(execution) >= UNKNOWN_SECONDS:
        minutes = int(_waited(execution) // 60)
        finish(
            execution,
            ActionExit(
                ActionState.FAILED,
                f"It was applied, but whether it has held is not known: {execution.object_name} could not "
                f"be read for {minutes} minutes. {sentence}",
                {"guarded": execution.action.verb == Verb.SUSPEND},
            ),
        )
        return 0.0
    execution.write(message=f"Applied, but it cannot be watched now. {sentence}", context=True)
    return delay
