"""Actions in and out of their tables: the outbox, its fenced leases.

A worker owns the row of an action as it owns a cluster: by a number that goes up at each change of
hands. All of its writes go through `writing(lease)`, which confirms the number first, so a worker
that was taken over writes nothing. Times of leases and of due rows are those of the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from gangboard.store.models import Action, ActionStep, Cluster, Switch
from gangboard.store.row_leases import DatabaseClock, RowLeases

LEASE_SECONDS = 30.0
"""How long a holder may be silent before another worker takes its action. Longer than the deadline
of any single request, so that whoever takes over knows that the last request has ended."""
LEASES = RowLeases("held_until", LEASE_SECONDS)
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


def put_off(lease: ActionLease, clock: DatabaseClock, seconds: float) -> None:
    """Let go of an action that is to be looked at again in a while. Raises ActionLostError."""
    with writing(lease, clock):
        Action.objects.filter(pk=lease.action_id).update(
            due_at=clock.database_now(seconds), held_until=None, holder=""
        )


def release_lease(lease: ActionLease) -> None:
    """Let go of an action with which nothing is left to do."""
    _row(lease).update(held_until=None, holder="")


def _row(lease: ActionLease) -> QuerySet[Action]:
    """Return the row while it says that it is held so."""
    return Action.objects.filter(pk=lease.action_id, holder=lease.holder, number=lease.number)


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


def cluster_of(action_id: str) -> int:
    """Return the cluster of an action; 0 where the action or its cluster was removed."""
    row = Action.objects.filter(pk=action_id).values_list("cluster_id", flat=True)
    return row.first() or 0


def change(row: Action | ActionStep, columns: dict[str, Any]) -> None:
    """Write columns of an action or a step, in the table and in the object at hand."""
    type(row)._default_manager.filter(pk=row.pk).update(**columns)
    for name, value in columns.items():
        setattr(row, name, value)


def tell(cluster_id: int | None) -> None:
    """Raise the data version of a cluster: pages that wait learn that something has changed."""
    if cluster_id is not None:
        Cluster.objects.filter(pk=cluster_id).update(data_version=F("data_version") + 1)


def is_read_only(cluster_id: int | None) -> str:
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
