"""Retries after errors of a cluster, with backoff, until the action has to end."""

from __future__ import annotations

from datetime import datetime

from gangboard.actions.actor_client import NoActorError
from gangboard.actions.execution import ActionExecution
from gangboard.actions.finishing import ActionExit, exit_early, finish, is_cordon_open
from gangboard.actions.live_objects import UnreadableError
from gangboard.actions.preconditions import is_expired
from gangboard.actions.refusals import lacks_right
from gangboard.domain.action import ActionState, StepKind, StepState, Verb
from gangboard.kube.errors import KubeError, KubeErrorCode

TRANSIENT_CODES = frozenset(
    {
        KubeErrorCode.UNREACHABLE,
        KubeErrorCode.TIMEOUT,
        KubeErrorCode.THROTTLED,
        KubeErrorCode.POLICY_NOT_READY,
        KubeErrorCode.BROKEN_OFF,
        KubeErrorCode.SERVER_ERROR,
        KubeErrorCode.NOT_JSON,
    }
)
"""Codes of errors that may be over a moment later."""
UNKNOWN_SECONDS = 1800.0
"""How long gangboard tries to read an outcome before the action ends as unknown."""
ROLE_SECONDS = 30.0
"""How long a relocation that has changed something already tries a missing right again."""
_FIRST_RETRY = 0.5
_LONGEST_BEFORE_SENDING, _LONGEST_AFTER_SENDING = 15.0, 120.0


def after_error(
    execution: ActionExecution, error: KubeError | NoActorError | UnreadableError
) -> float:
    """Record that a read or a dry run failed. Return the seconds until the next try."""
    sentence = error.sentence if isinstance(error, KubeError) else str(error)
    is_transient = isinstance(error, KubeError) and (
        error.code in TRANSIENT_CODES or are_roles_loading(execution, error)
    )
    retry_after = error.retry_after if isinstance(error, KubeError) else None
    failure = execution.context.setdefault(
        "trouble", {"since": execution.now.isoformat(), "tries": 0}
    )
    failure["tries"] += 1
    failure["sentence"] = sentence
    backoff = _FIRST_RETRY * 2 ** min(failure["tries"] - 1, 20)
    if _is_unresolved(execution):
        delay = retry_after or min(_LONGEST_AFTER_SENDING, backoff)
        return _retry_unknown(execution, sentence, delay)
    if execution.state is ActionState.APPLIED:
        delay = retry_after or min(_LONGEST_AFTER_SENDING, backoff)
        return _retry_verification(execution, sentence, delay)
    if not is_transient:
        return exit_early(
            execution, ActionExit(ActionState.FAILED, _with_nothing_changed(execution, sentence))
        )
    if _is_relocating(execution):
        return _retry_relocation(execution, sentence, retry_after or backoff)
    if is_expired(execution):
        return exit_early(execution, _expired(execution, sentence))
    until = execution.action.expires_at.strftime("%H:%M:%S UTC")
    execution.write(message=f"{sentence} gangboard tries again until {until}.", context=True)
    return retry_after or min(_LONGEST_BEFORE_SENDING, backoff)


def are_roles_loading(execution: ActionExecution, error: KubeError) -> bool:
    """Return whether a 403 may come from an API server that has just started.

    Such a server refuses what it allows, until it has loaded its roles (observed on 1.37). A relocation that has
    begun would end there and leave its Job suspended. Other actions end at once, so that people learn of a missing
    right.
    """
    is_sent = execution.action.sent_at is not None or execution.context.get("hold") is not None
    has_begun = execution.action.verb == Verb.RELOCATE and is_sent
    is_right = error.code == KubeErrorCode.FORBIDDEN and lacks_right(error.api_status.message)
    if not has_begun or not is_right:
        return False
    since = execution.context.setdefault("forbidden_since", execution.now.isoformat())
    return (execution.now - datetime.fromisoformat(since)).total_seconds() < ROLE_SECONDS


def _is_relocating(execution: ActionExecution) -> bool:
    """Return whether a Job is on its way. It may take longer than the life of an unsent request."""
    return execution.action.verb == Verb.RELOCATE and execution.action.sent_at is not None


def _retry_relocation(execution: ActionExecution, sentence: str, delay: float) -> float:
    if _waited(execution) >= UNKNOWN_SECONDS:
        return exit_early(execution, ActionExit(ActionState.FAILED, sentence))
    execution.write(message=f"{sentence} gangboard tries again.", context=True)
    return min(_LONGEST_BEFORE_SENDING, delay)


def clear(execution: ActionExecution) -> None:
    """Reset the backoff after the cluster has answered."""
    execution.context.pop("trouble", None)


def _expired(execution: ActionExecution, sentence: str) -> ActionExit:
    if execution.action.sent_at is not None:
        return ActionExit(ActionState.FAILED, f"Not finished within five minutes. {sentence}")
    return ActionExit(ActionState.EXPIRED, f"Not sent within five minutes of the click. {sentence}")


def _with_nothing_changed(execution: ActionExecution, sentence: str) -> str:
    if (
        execution.action.sent_at is not None
        or execution.context.get("hold")
        or is_cordon_open(execution)
    ):
        return sentence
    return f"{sentence} Nothing was changed."


def _is_unresolved(execution: ActionExecution) -> bool:
    open_states = (StepState.SENDING.value, StepState.UNKNOWN.value)
    return any(
        step.state in open_states and step.kind != StepKind.UNCORDON.value
        for step in execution.steps
    )


def _waited(execution: ActionExecution) -> float:
    since = datetime.fromisoformat(execution.context["trouble"]["since"])
    return (execution.now - since).total_seconds()


def _retry_unknown(execution: ActionExecution, sentence: str, delay: float) -> float:
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


def _retry_verification(execution: ActionExecution, sentence: str, delay: float) -> float:
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
