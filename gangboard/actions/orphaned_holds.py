"""Holds that belong to no open action: made by an action that has failed, and left behind all the same.

An action removes its own Hold before it ends. What is found here came later: a request that was
stopped on its way for longer than anyone waits for it. The action is given back to a worker, which
removes the Hold as it would have done.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from gangboard.actions.actor_client import object_path
from gangboard.actions.seen_holds import Mark, read_holds
from gangboard.domain.action import ActionState, Verb
from gangboard.domain.hold import HOLD_GROUP, Hold
from gangboard.store.models import Action

_FAILED = (
    ActionState.REFUSED.value,
    ActionState.CONFLICT.value,
    ActionState.GONE.value,
    ActionState.EXPIRED.value,
    ActionState.FAILED.value,
)
QUIET = timedelta(seconds=30)


def requeue(now: datetime, seen: Collection[Mark]) -> list[str]:
    """Return ids of ended actions whose Hold is there and should not be; they are due again.

    `seen`: the Holds that are there.
    """
    marks = {(mark.cluster_id, mark.action): mark for mark in seen if mark.action}
    rows = Action.objects.filter(
        pk__in={action_id for _, action_id in marks},
        verb=Verb.SUSPEND.value,
        state__in=_FAILED,
        guarded=False,
        due_at=None,
        finished_at__lt=now - QUIET,
    )
    actions: dict[Mark, Action] = {}
    for action in rows:
        mark = marks.get((action.cluster_id or 0, action.pk))
        # Where it was seen gone already, the poll is behind.
        if mark is not None and action.context.get("removed_hold") != mark.uid:
            actions[mark] = action
    found = []
    for mark, hold in read_holds(actions):
        context = _with_exit(actions[mark], hold, now)
        Action.objects.filter(pk=mark.action, due_at=None).update(context=context, due_at=now)
        found.append(mark.action)
    return found


def _with_exit(action: Action, hold: Hold, now: datetime) -> dict[str, Any]:
    ref, context = hold.meta.ref, dict(action.context)
    context["hold"] = {
        "name": ref.name,
        "namespace": ref.namespace,
        "path": object_path(HOLD_GROUP, hold.meta.api_version, "holds", ref.namespace, ref.name),
        "job": hold.job_name,
        "owner_uid": hold.owner_uid,
        "uid": ref.uid,
        "sent_at": now.isoformat(),
    }
    context["exit"] = {
        "state": action.state,
        "sentence": action.message,
        "since": now.isoformat(),
        "tries": 0,
    }
    return context
