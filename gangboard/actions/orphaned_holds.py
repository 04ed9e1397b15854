"""Holds that belong to no open action: made by an action that has failed, and left behind all the same.

An action removes its own Hold before it ends. What is found here came later: a request that was
stopped on its way for longer than anyone waits for it. The action is given back to a worker, which
removes the Hold as it would have done.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from gangboard.actions.hold_cache import Mark, read_holds
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


def requeue(now: datetime, seen: Collection[Mark]) -> list[str]:
    """Return ids of ended actions whose Hold is there and should not be; they are due again.

    `seen`: the Holds that are there.
    """
    marks = [mark for mark in seen if mark.action]
    # An end in the future was written before the clock was set back.
    rows = Action.objects.filter(
        Q(finished_at__lt=now - QUIET) | Q(finished_at__gt=now + QUIET),
        pk__in={mark.action for mark in marks},
        verb=Verb.SUSPEND.value,
        state__in=_FAILED,
        guarded=False,
        due_at=None,
    )
    failed = {(action.cluster_id, action.pk): action for action in rows}
    if not failed:
        return []
    sent, found = _sent_holds(failed.values()), []
    # Several Holds can bear one id: people copy annotations.
    for mark, hold in read_holds([mark for mark in marks if _key(mark) in failed]):
        action, step = failed[_key(mark)], sent.get(mark.action)
        # Where it was seen gone already, the poll is behind.
        is_gone = action.context.get("removed_hold") == mark.uid
        if step is None or is_gone or not _is_from(step, hold):
            continue
        context = _with_exit(action, step, mark.uid, now)
        Action.objects.filter(pk=mark.action, due_at=None).update(context=context, due_at=now)
        found.append(mark.action)
    return found


def _key(mark: Mark) -> tuple[int | None, str]:
    return mark.cluster_id, mark.action


def _sent_holds(rows: Collection[Action]) -> dict[str, ActionStep]:
    """Return id of an action → its step that sent a Hold."""
    kind = StepKind.CREATE_HOLD.value
    steps = ActionStep.objects.filter(action__in=rows, kind=kind, sends__gt=0)
    return {step.action_id: step for step in steps}


def _is_from(step: ActionStep, hold: Hold) -> bool:
    """Whether a Hold is the one that the step sent. Its annotation is no proof, because anybody can copy it."""
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
