"""Unknown outcomes: a request left, and no answer tells what became of it. Reading does."""

from __future__ import annotations

import json
from datetime import datetime

from gangboard.actions import actor_client, outcomes, patches, refusals
from gangboard.actions.actor_client import get_object
from gangboard.actions.leaving import SETTLE_SECONDS, Exit, leave
from gangboard.actions.run import Run
from gangboard.domain.action import ActionState, StepKind, StepState
from gangboard.kube.errors import KubeError
from gangboard.store.models import ActionStep

PAUSE = 0.5
REMOVAL_SECONDS = 30.0
"""How long a Hold is tried to be removed for a release."""


def resolve(run: Run, step: ActionStep) -> float:
    """Find out by reading whether a step was carried out. Raises KubeError when that is impossible."""
    if step.kind == StepKind.CREATE_HOLD.value:
        return _created(run, step)
    if step.kind == StepKind.DELETE_HOLD.value:
        return _deleted(run, step)
    return _patched(run, step)


def _created(run: Run, step: ActionStep) -> float:
    hold = run.context["hold"]
    raw = get_object(run.client, hold["path"])
    if raw is not None and patches.mark_of(raw) == run.action.pk:
        return outcomes.armed(run, step, raw, {})
    if raw is None and not _has_settled(run, step):
        return PAUSE
    run.context.pop("hold")
    if raw is not None:
        sentence = f"Another Hold has the name {hold['name']}; nothing was changed."
        return _lost(run, step, Exit(ActionState.CONFLICT, sentence))
    sentence = (
        f"Hold {hold['name']} is not there: its request was lost, or somebody removed it. "
        f"{run.object_name} was not touched."
    )
    return _lost(run, step, Exit(ActionState.FAILED, sentence))


def _patched(run: Run, step: ActionStep) -> float:
    raw = get_object(run.client, step.path)
    name = f"{step.subject['kind']} {step.subject['name']}"
    uid, generation = step.subject["uid"], patches.tested(step.patch, "/metadata/generation")
    if raw is None:
        return _lost(run, step, Exit(ActionState.GONE, f"{name} is gone."))
    meta = raw["metadata"]
    if meta["uid"] != uid:
        sentence = refusals.another_object(name, uid, meta["uid"])
        return _lost(run, step, Exit(ActionState.GONE, sentence))
    if _is_ours(run, step, raw):
        return outcomes.found_applied(run, step, raw)
    met = outcomes.met(run, step, raw)
    if met is not None:
        return met
    if not _has_settled(run, step):
        return PAUSE
    if meta.get("generation") == generation:
        sentence = f"It was not carried out (its answer was lost): {name} was not changed."
        return _lost(run, step, Exit(ActionState.FAILED, sentence))
    sentence = (
        f"It was not carried out: {name} was changed by somebody else meanwhile "
        f"(generation {meta.get('generation')}, this was about {generation})."
    )
    return _lost(run, step, Exit(ActionState.CONFLICT, sentence))


def _is_ours(run: Run, step: ActionStep, raw: actor_client.Json) -> bool:
    """Whether the object bears our mark; without one in the patch, whether it has what we asked for."""
    if patches.leaves_mark(step.patch):
        return patches.mark_of(raw) == run.action.pk
    wanted = patches.wanted_fields(step.patch)
    before = patches.tested(step.patch, "/metadata/generation")
    return raw["metadata"].get("generation") != before and patches.has_all(raw, wanted)


def _lost(run: Run, step: ActionStep, exit_: Exit) -> float:
    columns = {"state": StepState.FAILED.value, "result": exit_.sentence}
    return leave(run, exit_, step, columns)


def _deleted(run: Run, step: ActionStep) -> float:
    """See the Hold gone, or remove it once more: of all steps this one may be repeated."""
    uid = json.loads(step.patch)["preconditions"]["uid"]
    raw = get_object(run.client, step.path)
    if raw is None or raw["metadata"]["uid"] != uid:
        columns = {"state": StepState.DONE.value, "result": "The Hold is gone.", "at": run.now}
        state = ActionState.SENT if run.state is ActionState.UNKNOWN else None
        run.write(state, step=step, step_columns=columns)
        run.checkpoint(f"{step.kind}:recorded")
        return 0.0
    assert run.action.sent_at is not None  # noqa: S101  # written before it was sent
    if (run.now - run.action.sent_at).total_seconds() > REMOVAL_SECONDS:
        sentence = (
            f"Hold {step.subject['name']} could not be removed; {run.object_name} stays held."
        )
        return _lost(run, step, Exit(ActionState.FAILED, sentence))
    run.checkpoint(f"{step.kind}:about-to-repeat")
    run.write(step=step, step_columns={"sends": step.sends + 1})
    run.must_be_ours()
    try:
        actor_client.send(run.client, step)
    except KubeError as error:
        if not error.is_object_missing and error.code != "conflict":
            if not error.permanent:
                raise
            return _lost(run, step, refusals.exit_for(run, step, error))
    return PAUSE if raw["metadata"].get("deletionTimestamp") else 0.0


def _has_settled(run: Run, step: ActionStep) -> bool:
    """Whether a request whose connection was lost cannot be carried out any more."""
    assert isinstance(step.at, datetime)  # noqa: S101  # written before it was sent
    return (run.now - step.at).total_seconds() >= SETTLE_SECONDS
