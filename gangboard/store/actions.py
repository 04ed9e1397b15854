"""Actions in and out of their tables: the outbox, its fenced leases.

A worker owns the row of an action as it owns a cluster: by a number that goes up at each change of
hands. All of its writes go through `writing(lease)`, which confirms the number first, so a worker
that was taken over writes nothing. Times of leases and of due rows are those of the database.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from gangboard.domain.action import ActionRequest, ActionState, ActionTarget, Verb
from gangboard.store.access import Viewer
from gangboard.store.audit import audit
from gangboard.store.gangs import gang_id
from gangboard.store.models import Action, ActionStep, Cluster, Gang, Switch
from gangboard.store.row_leases import DatabaseClock, RowLeases

LEASE_SECONDS = 30.0
"""How long a holder may be silent before another worker takes its action. Longer than the deadline
of any single request, so that whoever takes over knows that the last request has ended."""
LEASES = RowLeases("held_until", LEASE_SECONDS)
LONGEST_DELAY = 300.0
"""The most seconds that an action is put off: longer than any backoff."""
LIFE_SECONDS = 300.0
"""How long a request may wait before it is sent; then the one who asked has moved on."""
GANGBOARD = "gangboard"
"""The actor of what nobody asked for at that moment: the end of a Hold."""
READ_ONLY = "read-only"
"""Name of the switch of the whole installation."""


class ActionLostError(RuntimeError):
    """Another worker has the action now: nothing may be sent or written for it."""


@dataclass(frozen=True, slots=True)
class ActionLease:
    """Proof of holding an action: valid as long as the row still says the same."""

    action_id: str
    holder: str
    number: int


def create(
    action_request: ActionRequest,
    cluster: Cluster,
    gang: Gang | None,
    viewer: Viewer | None,
    *,
    word: str = "",
    batch: str = "",
    now: datetime,
    clock: DatabaseClock,
) -> Action:
    """Write the row of a request, which is due at once, and its audit line; belongs inside a transaction.

    `viewer` is who asks; None: gangboard itself. `word` is that of the button, empty where it is the verb.
    Raises IntegrityError: the key is used, or an action is open.
    """
    target = action_request.target
    actor = viewer.name if viewer is not None else GANGBOARD
    token = viewer.token if viewer is not None else ""
    action = Action.objects.create(
        id=uuid.uuid4().hex,
        verb=action_request.verb.value,
        cluster=cluster,
        cluster_name=cluster.name,
        gang_id=gang.pk if gang is not None else gang_id(cluster.name, target.uid),
        api_group=target.api_group,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        uid=target.uid,
        generation=target.generation,
        reason=action_request.reason,
        until=action_request.until,
        forced=action_request.forced,
        user_id=viewer.user_id if viewer is not None else None,
        actor_name=actor,
        may_act=viewer is None or viewer.may_act,
        token=token,
        via=action_request.via,
        idempotency_key=action_request.idempotency_key,
        body_hash=body_hash(action_request),
        batch=batch,
        state=ActionState.REQUESTED.value,
        context={
            name: value
            for name, value in (("ended_hold", action_request.ended_hold), ("button", word))
            if value
        },
        message="Waits for a worker.",
        requested_at=now,
        expires_at=clock.database_now(LIFE_SECONDS),
        due_at=clock.database_now(),
    )
    bump_data_version(cluster.pk)
    audit(
        "requested",
        f"{actor} asked to {action.button.lower()} {target.kind} {target.namespace}/{target.name}: "
        f"{action_request.reason}",
        at=now,
        actor=actor,
        action=action,
        source=viewer.address if viewer is not None else "",
        details={
            "via": action_request.via,
            "forced": action_request.forced,
            "batch": batch,
            "token": token,
        },
    )
    return action


def body_hash(action_request: ActionRequest) -> str:
    """Return a hash of the request: two requests under one key differ in it."""
    target = action_request.target
    parts: list[object] = [
        action_request.verb,
        target.cluster,
        target.api_group,
        target.kind,
        target.namespace,
    ]
    parts += [
        target.name,
        target.uid,
        target.generation,
        action_request.reason,
        action_request.forced,
    ]
    parts.append(action_request.until.isoformat() if action_request.until is not None else None)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def read_request(action: Action) -> ActionRequest:
    """Return what was asked for, from its row."""
    target = ActionTarget(
        cluster=action.cluster_name,
        api_group=action.api_group,
        kind=action.kind,
        namespace=action.namespace,
        name=action.name,
        uid=action.uid,
        generation=action.generation,
    )
    return ActionRequest(
        verb=Verb(action.verb),
        target=target,
        reason=action.reason,
        until=action.until,
        idempotency_key=action.idempotency_key,
        forced=action.forced,
        via=action.via,
        ended_hold=action.context.get("ended_hold", ""),
    )


def acquire_lease(action_id: str, holder: str, clock: DatabaseClock) -> ActionLease | None:
    """Take an action that is due and that nobody holds; None when there is nothing to take."""
    due = Action.objects.filter(pk=action_id, due_at__lte=clock.database_now())
    number = LEASES.take_numbered(due, holder, clock)
    return None if number is None else ActionLease(action_id, holder, number)


@contextmanager
def writing(lease: ActionLease, clock: DatabaseClock) -> Iterator[None]:
    """Open a transaction that is only committed while the action is ours. Raises ActionLostError."""
    with transaction.atomic():
        if LEASES.extend(_row(lease), clock) != 1:
            raise ActionLostError(f"action {lease.action_id} was taken over")
        yield


def reschedule(lease: ActionLease, clock: DatabaseClock, seconds: float) -> None:
    """Let go of an action that is to be looked at again in a while. Raises ActionLostError."""
    with writing(lease, clock):
        Action.objects.filter(pk=lease.action_id).update(
            due_at=clock.database_now(min(seconds, LONGEST_DELAY)), held_until=None, holder=""
        )


def release_lease(lease: ActionLease) -> None:
    """Let go of an action with which nothing is left to do."""
    _row(lease).update(held_until=None, holder="")


def _row(lease: ActionLease) -> QuerySet[Action]:
    """Return the row while it says that it is held so."""
    return Action.objects.filter(pk=lease.action_id, holder=lease.holder, number=lease.number)


def repair_future_times(clock: DatabaseClock) -> None:
    """Bring times back that lie further ahead than any may, because the clock was set back.

    Otherwise an action would wait until the clock has caught up, and its object would take no other action. It is due
    now; its lease and its life last no longer than those that begin now.
    """
    rows = Action.objects.filter(due_at__isnull=False)
    due = Q(due_at__gt=clock.database_now(LONGEST_DELAY))
    held = Q(held_until__gt=clock.database_now(LEASE_SECONDS))
    living = Q(expires_at__gt=clock.database_now(LIFE_SECONDS))
    if not rows.filter(due | held | living).exists():
        return
    rows.filter(living).update(expires_at=clock.database_now(LIFE_SECONDS))
    LEASES.shorten(rows, clock)
    rows.filter(due).update(due_at=clock.database_now())


def due_actions(
    clock: DatabaseClock, *, waited: float = 0.0, most: int = 200, cluster_id: int | None = None
) -> list[str]:
    """Return ids of actions that have been due for so many seconds and that nobody holds.

    Those due longest first, of each cluster in turn: many of one do not hide those of another. With
    `cluster_id` only those of one cluster.
    """
    found = Action.objects.filter(LEASES.is_free(clock), due_at__lte=clock.database_now(-waited))
    if cluster_id is not None:
        found = found.filter(cluster_id=cluster_id)
    turn = Window(RowNumber(), partition_by=F("cluster_id"), order_by=(F("due_at"), F("pk")))
    rows = found.annotate(turn=turn).order_by("turn", "due_at", "pk")
    return list(rows.values_list("pk", flat=True)[:most])


def cluster_id_of(action_id: str) -> int:
    """Return the cluster of an action; 0 where the action or its cluster was removed."""
    row = Action.objects.filter(pk=action_id).values_list("cluster_id", flat=True)
    return row.first() or 0


def update_row(row: Action | ActionStep, columns: dict[str, Any]) -> None:
    """Write columns of an action or a step, in the table and in the object at hand."""
    type(row)._default_manager.filter(pk=row.pk).update(**columns)
    for name, value in columns.items():
        setattr(row, name, value)


def bump_data_version(cluster_id: int | None) -> None:
    """Raise the data version of a cluster: pages that wait learn that something has changed."""
    if cluster_id is not None:
        Cluster.objects.filter(pk=cluster_id).update(data_version=F("data_version") + 1)


def read_only_reason(cluster_id: int | None) -> str:
    """Return the switch that keeps everything from being sent, in a sentence; empty when none does.

    Read immediately before each request (2 queries).
    """
    if Switch.objects.filter(name=READ_ONLY, is_on=True).exists():
        return "gangboard is switched to read-only."
    if cluster_id is None:
        return ""
    name = Cluster.objects.filter(pk=cluster_id, read_only=True).values_list("name", flat=True)
    found = name.first()
    return f"Cluster {found} is switched to read-only." if found else ""
