"""What to do when a cluster cannot be read, or refuses: wait, or end with a sentence of its own."""

from __future__ import annotations

from datetime import datetime

from gangboard.actions.actor_client import NoActorError
from gangboard.actions.gate import is_expired
from gangboard.actions.leaving import Exit, finish, leave
from gangboard.actions.live import UnreadableError
from gangboard.actions.run import Run
from gangboard.domain.action import ActionState, StepState, Verb
from gangboard.kube.errors import KubeError

PASSING = frozenset(
    {"unreachable", "timeout", "throttled", "broken-off", "server-error", "not-json"}
)
"""Codes of errors that may be over a moment later."""
UNKNOWN_SECONDS = 1800.0
"""How long an outcome is tried to be read before it is said that it is not known."""
_FIRST, _LONGEST_BEFORE, _LONGEST_AFTER = 0.5, 15.0, 120.0


def unreadable(run: Run, error: KubeError | NoActorError | UnreadableError) -> float:
    """Take in that a read or a dry run failed; return the seconds until the next try."""
    sentence = error.sentence if isinstance(error, KubeError) else str(error)
    passing = isinstance(error, KubeError) and error.code in PASSING
    wait = error.retry_after if isinstance(error, KubeError) else None
    trouble = run.context.setdefault("trouble", {"since": run.now.isoformat(), "tries": 0})
    trouble["tries"] += 1
    growing = _FIRST * 2 ** min(trouble["tries"] - 1, 20)
    if _is_unresolved(run):
        return _still_unknown(run, sentence, wait or min(_LONGEST_AFTER, growing))
    if run.state is ActionState.APPLIED:
        return _still_unverified(run, sentence, wait or min(_LONGEST_AFTER, growing))
    if not passing:
        return leave(run, Exit(ActionState.FAILED, _nothing_sent(run, sentence)))
    if is_expired(run):
        return leave(run, _too_late(run, sentence))
    until = run.action.expires_at.strftime("%H:%M:%S UTC")
    run.write(message=f"{sentence} It is tried again until {until}.", context=True)
    return wait or min(_LONGEST_BEFORE, growing)


def over(run: Run) -> None:
    """Take in that the cluster answers again."""
    run.context.pop("trouble", None)


def _too_late(run: Run, sentence: str) -> Exit:
    if run.action.sent_at is not None:
        return Exit(ActionState.FAILED, f"Not finished within five minutes. {sentence}")
    return Exit(ActionState.EXPIRED, f"Not sent within five minutes of the click. {sentence}")


def _nothing_sent(run: Run, sentence: str) -> str:
    if run.action.sent_at is not None or run.context.get("hold"):
        return sentence
    return f"{sentence} Nothing was changed."


def _is_unresolved(run: Run) -> bool:
    open_states = (StepState.SENDING.value, StepState.UNKNOWN.value)
    return any(step.state in open_states for step in run.steps)


def _waited(run: Run) -> float:
    since = datetime.fromisoformat(run.context["trouble"]["since"])
    return (run.now - since).total_seconds()


def _still_unknown(run: Run, sentence: str, delay: float) -> float:
    if _waited(run) >= UNKNOWN_SECONDS:
        minutes = int(_waited(run) // 60)
        return leave(
            run,
            Exit(
                ActionState.FAILED,
                f"It is not known whether {run.object_name} was changed: the answer was lost, and it "
                f"could not be read for {minutes} minutes. {sentence}",
            ),
        )
    run.write(
        ActionState.UNKNOWN,
        f"The answer was lost and it cannot be read yet what became of it. {sentence}",
        context=True,
    )
    return delay


def _still_unverified(run: Run, sentence: str, delay: float) -> float:
    if _waited(run) >= UNKNOWN_SECONDS:
        minutes = int(_waited(run) // 60)
        finish(
            run,
            Exit(
                ActionState.FAILED,
                f"It was applied, but whether it has held is not known: {run.object_name} could not "
                f"be read for {minutes} minutes. {sentence}",
                {"guarded": run.action.verb == Verb.SUSPEND},
            ),
        )
        return 0.0
    run.write(message=f"Applied; it cannot be watched now. {sentence}", context=True)
    return delay
