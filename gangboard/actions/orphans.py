"""Holds that nobody asked for: made by an action that has failed, and left behind all the same.

An action removes its own Hold before it ends. What is found here came later: a request that was
stopped on its way for longer than anyone waits for it. The action is given back to a worker, which
removes the Hold as it would have done.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from gangboard.actions.door import object_path
from gangboard.domain.action import ActionState, Verb
from gangboard.domain.hold import HOLD_GROUP, Hold
from gangboard.store.grounds import HOLDS
from gangboard.store.models import Action, WatchedObject
from gangboard.store.objects import unpack

_FAILED = (
    ActionState.REFUSED.value,
    ActionState.CONFLICT.value,
    ActionState.GONE.value,
    ActionState.EXPIRED.value,
    ActionState.FAILED.value,
)
QUIET = timedelta(seconds=30)


def give_back(now: datetime) -> list[str]:
    """Return ids of ended actions whose Hold is there and should not be; they are due again."""
    holds = {
        hold.action: hold
        for data in WatchedObject.objects.filter(
            resource=HOLDS, cluster__actor_credentials__isnull=False
        ).values_list("data", flat=True)
        if (hold := unpack(bytes(data), Hold)).action
    }
    rows = Action.objects.filter(
        pk__in=holds,
        verb=Verb.SUSPEND.value,
        state__in=_FAILED,
        guarded=False,
        due_at=None,
        finished_at__lt=now - QUIET,
    )
    found = []
    for action in rows:
        context = _with_exit(action, holds[action.pk], now)
        if context is not None:
            Action.objects.filter(pk=action.pk, due_at=None).update(context=context, due_at=now)
            found.append(action.pk)
    return found


def _with_exit(action: Action, hold: Hold, now: datetime) -> dict[str, Any] | None:
    ref, context = hold.meta.ref, dict(action.context)
    if context.get("removed_hold") == ref.uid:
        return None  # seen gone already: the poll is behind
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
