"""Orphaned Holds: created by an action that has failed, and still in the cluster.

An action removes its own Hold before it ends. An orphaned Hold appears later, because its request was
delayed on the way for longer than the action waited. The action is requeued, and a worker removes the
Hold.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from gangboard.actions.finishing import KEEPS_HOLD
from gangboard.actions.hold_cache import CachedHold, read_holds
from gangboard.actions.step_results import hold_from_step
from gangboard.domain.action import ActionState, StepKind, Verb
from gangboard.domain.hold import Hold
from gangboard.store.models import Action, ActionStep

_FAILED = (
    ActionState.REFUSED.value,
    ActionState.CONFLICT.value,
    ActionState.GONE.value,
    ActionState.EXPIRED.value,
    ActionState.FAILED.value,
)
QUIET = timedelta(seconds=30)


def requeue(now: datetime, holds: Collection[CachedHold]) -> list[str]:
    """Make ended actions with an orphaned Hold due again. Return their ids.

    `holds` are the existing Holds.
    """
    holds_made_by_actions = [hold for hold in holds if hold.action]
    # An end in the future was written before the clock was set back.
    rows = Action.objects.filter(
        Q(finished_at__lt=now - QUIET) | Q(finished_at__gt=now + QUIET),
        pk__in={hold.action for hold in holds_made_by_actions},
        verb__in=(Verb.SUSPEND.value, Verb.RELOCATE.value),
        state__in=_FAILED,
        guarded=False,
        due_at=None,
    )
    failed = {
        (action.cluster_id, action.pk): action
        for action in rows
        if not action.context.get(KEEPS_HOLD)
    }
    if not failed:
        return []
    steps, requeued = _creation_steps(failed.values()), []
    # People copy annotations, so several Holds can have the id of one action.
    for cached, hold in read_holds(
        [hold for hold in holds_made_by_actions if _key(hold) in failed]
    ):
        action, step = failed[_key(cached)], steps.get(cached.action)
        # The action has already seen this Hold gone, so the poll is behind.
        is_removed = action.context.get("removed_hold") == cached.uid
        if step is None or is_removed or not _is_created_by(step, hold):
            continue
        context = _with_exit(action, step, cached.uid, now)
        Action.objects.filter(pk=cached.action, due_at=None).update(context=context, due_at=now)
        requeued.append(cached.action)
    return requeued


def _key(hold: CachedHold) -> tuple[int | None, str]:
    return hold.cluster_id, hold.action


def _creation_steps(rows: Collection[Action]) -> dict[str, ActionStep]:
    """Return id of an action → its step that created a Hold."""
    kind = StepKind.CREATE_HOLD.value
    steps = ActionStep.objects.filter(action__in=rows, kind=kind, sends__gt=0)
    return {step.action_id: step for step in steps}


def _is_created_by(step: ActionStep, hold: Hold) -> bool:
    """Return whether the step created the Hold. The annotation proves nothing, because anybody can copy it."""
    body = json.loads(step.patch)
    meta, spec = body["metadata"], body["spec"]
    ref = hold.meta.ref
    sent = (meta["namespace"], meta["name"], spec["jobName"], spec["ownerUID"])
    return sent == (ref.namespace, ref.name, hold.job_name, hold.owner_uid)


def _with_exit(action: Action, step: ActionStep, uid: str, now: datetime) -> dict[str, Any]:
    context = dict(action.context)
    context["hold"] = {**hold_from_step(step, now), "uid": uid}
    context["exit"] = {
        "state": action.state,
        "sentence": action.message,
        "since": now.isoformat(),
        "tries": 0,
    }
    return context
