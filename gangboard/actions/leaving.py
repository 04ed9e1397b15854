"""How an action ends, and that no Hold of its own is left when it ends otherwise than asked.

A Hold that was made for an action which then fails is removed before the action is over: with its
uid as precondition, again and again until it is seen gone, by whichever worker has the action. Only
when that takes longer than a person should wait is the end said before, and the removal goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from gangboard.actions import patches, undoing
from gangboard.actions.actor_client import NoActorError, get_object
from gangboard.actions.run import Run
from gangboard.domain.action import ActionState, StepKind, StepState, Verb
from gangboard.kube.errors import KubeError
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
class Exit:
    """An end of an action other than the one that was asked for."""

    state: ActionState
    sentence: str
    columns: dict[str, Any] = field(default_factory=dict)


def leave(
    run: Run,
    exit_: Exit,
    step: ActionStep | None = None,
    step_columns: dict[str, Any] | None = None,
) -> float:
    """End the action, after its own Hold is gone where it has made one.

    What came of its last step is written in the same transaction, so that no crash parts the two.
    """
    exit_ = replace(exit_, sentence=f"{exit_.sentence} {_done_before(run)}".strip())
    hold = run.context.get("hold")
    if hold is None or run.action.verb != Verb.SUSPEND:
        finish(run, exit_, step=step, step_columns=step_columns)
        return 0.0
    run.context["exit"] = {
        "state": exit_.state.value,
        "sentence": exit_.sentence,
        "since": run.now.isoformat(),
        "tries": 0,
    }
    run.checkpoint("exit:begin")
    run.write(
        message=f"{exit_.sentence} Hold {hold['name']} is being removed.",
        step=step,
        step_columns=step_columns,
        context=True,
        also=lambda: _add_removal(run, hold),
        **exit_.columns,
    )
    run.reload_steps()
    return 0.0


def _done_before(run: Run) -> str:
    """Return which changes of an action that ends half-way stay done; empty for none."""
    if run.action.applied_at is not None:
        return ""
    kinds = (StepKind.PATCH.value, StepKind.DELETE_HOLD.value)
    done = [
        step.name for step in run.steps if step.kind in kinds and step.state == StepState.DONE.value
    ]
    return f"Done before that: {'; '.join(done)}." if done else ""


def finish(
    run: Run,
    exit_: Exit,
    also: Callable[[], None] | None = None,
    *,
    step: ActionStep | None = None,
    step_columns: dict[str, Any] | None = None,
) -> None:
    """Write the final state. Steps that were not begun are skipped."""

    def close() -> None:
        ActionStep.objects.filter(action=run.action, state=StepState.PENDING.value).update(
            state=StepState.SKIPPED.value
        )
        if also is not None:
            also()

    run.checkpoint("end:before")
    run.write(
        exit_.state,
        exit_.sentence,
        step=step,
        step_columns=step_columns,
        finished_at=run.now,
        due_at=None,
        context=True,
        also=close,
        **exit_.columns,
    )
    run.checkpoint("end:after")


def _add_removal(run: Run, hold: dict[str, Any]) -> None:
    _, created = ActionStep.objects.get_or_create(
        action=run.action,
        kind=StepKind.DELETE_HOLD.value,
        defaults={
            "position": max((step.position for step in run.steps), default=-1) + 1,
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
        ActionStep.objects.filter(action=run.action, state=StepState.PENDING.value).update(
            state=StepState.SKIPPED.value
        )


def remove_hold(run: Run) -> float:
    """Try once to remove the action's own Hold; return seconds until the next try, 0 when done."""
    exit_ = run.context["exit"]
    step = _removal_step(run)
    try:
        gone = _try(run, step)
    except NoActorError as error:
        return _still_there(run, step, str(error), permanent=True)
    except KubeError as error:
        return _still_there(run, step, error.sentence, permanent=error.permanent)
    if not gone:
        return _still_there(run, step, "", permanent=False)
    more = _undone(run)
    if more is None:
        return _LONGEST_LOOK
    sentence = f"{_and_removed(exit_['sentence'], run.context['hold']['name'])} {more}".strip()
    run.context["removed_hold"] = run.context["hold"].get("uid", "")
    columns = {"state": StepState.DONE.value, "result": "It is gone.", "at": run.now}

    def close() -> None:
        actions.change_step(step, columns)

    if run.action.finished_at is None:
        finish(run, Exit(ActionState(exit_["state"]), sentence), close)
    else:
        run.write(message=sentence, due_at=None, context=True, also=close)
    return 0.0


def _undone(run: Run) -> str | None:
    """Resume what the armed Hold has suspended; None: it cannot be read now, try again."""
    try:
        return undoing.undo(run)
    except KubeError as error:
        if error.permanent or _waited(run) > PATIENCE_SECONDS:
            return f"Whether {run.object_name} is suspended could not be read: {error.sentence}"
        return None


def _waited(run: Run) -> float:
    since = datetime.fromisoformat(run.context["exit"]["since"])
    return (run.now - since).total_seconds()


def _and_removed(sentence: str, name: str) -> str:
    more = f"Hold {name} was removed again."
    return sentence if more in sentence else f"{sentence} {more}"


def _removal_step(run: Run) -> ActionStep:
    """Return the step of the removal; an action that was given back may not have one yet."""
    for step in run.steps:
        if step.kind == StepKind.DELETE_HOLD:
            return step
    run.write(also=lambda: _add_removal(run, run.context["hold"]))
    run.reload_steps()
    return _removal_step(run)


def _try(run: Run, step: ActionStep) -> bool:
    """Remove it once and look; return whether it is gone. Raises KubeError."""
    hold = run.context["hold"]
    raw = get_object(run.client, hold["path"])
    if raw is None:
        return bool(hold.get("uid")) or _has_settled(run, hold)
    if hold.get("uid") not in (None, raw["metadata"]["uid"]):
        return True  # another one has its name
    if not hold.get("uid") and patches.mark_of(raw) != run.action.pk:
        return True
    run.checkpoint("removal:about-to-send")
    run.write(step=step, step_columns={"sends": step.sends + 1, "at": run.now})
    run.must_be_ours()
    try:
        run.client.delete(hold["path"], uid=raw["metadata"]["uid"])
    except KubeError as error:
        if not error.is_object_missing and error.code != "conflict":
            raise
    run.checkpoint("removal:answered")
    raw = get_object(run.client, hold["path"])
    return raw is None or (bool(hold.get("uid")) and raw["metadata"]["uid"] != hold["uid"])


def _has_settled(run: Run, hold: dict[str, Any]) -> bool:
    """Whether a creation whose answer is missing would be seen by now."""
    sent_at = datetime.fromisoformat(hold["sent_at"])
    return (run.now - sent_at).total_seconds() >= SETTLE_SECONDS


def _still_there(run: Run, step: ActionStep, why: str, *, permanent: bool) -> float:
    exit_ = run.context["exit"]
    exit_["tries"] += 1
    waited = _waited(run)
    delay: float = min(_LONGEST, _SHORTEST * 2 ** min(exit_["tries"] - 1, 20))
    if run.action.finished_at is not None:
        run.write(step=step, step_columns={"result": why}, context=True)
        return max(delay, 10.0)
    if not permanent and waited < PATIENCE_SECONDS:
        run.write(step=step, step_columns={"result": why}, context=True)
        return delay
    hold = run.context["hold"]
    because = f" ({why.rstrip('.')})" if why else ""
    sentence = (
        f"{exit_['sentence']} Hold {hold['name']} could not be removed yet{because}: gangboard goes "
        f"on trying; kubectl delete hold {hold['name']} -n {hold['namespace']} does it too."
    )
    run.write(
        ActionState(exit_["state"]),
        sentence,
        step=step,
        step_columns={"result": why},
        finished_at=run.now,
        context=True,
    )
    return max(delay, 10.0)
