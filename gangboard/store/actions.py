"""Actions in and out of their tables: the outbox, its fenced leases.

A worker owns the row of an action as it owns a cluster: by a number that goes up at each change of
hands. All of its writes go through `writing(claim)`, which confirms the number first, so a worker
that was taken over writes nothing. Times of leases and of due rows are those of the database.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from django.db import models, transaction
from django.db.models import F, Q, Window
from django.db.models.functions import Now, RowNumber

from gangboard.store.models import Action, ActionStep, Cluster, Switch

LEASE_SECONDS = 30.0
"""How long a holder may be silent before another worker takes its action. Longer than the deadline
of any single request, so that whoever takes over knows that the last request has ended."""
READ_ONLY = "read-only"
"""Name of the switch of the whole installation."""


class ActionLostError(RuntimeError):
    """Another worker has the action now: nothing may be sent or written for it."""


class DatabaseClock(Protocol):
    """Where leases get their time from."""

    def database_now(self, later: float = 0.0) -> models.Expression:
        """Now by the clock of the database, plus seconds."""


class RealDatabaseClock:
    """The database's own clock."""

    def database_now(self, later: float = 0.0) -> models.Expression:
        """Now by the clock of the database, plus seconds."""
        if not later:
            return Now()
        seconds = models.Value(timedelta(seconds=later))
        return models.ExpressionWrapper(Now() + seconds, output_field=models.DateTimeField())


@dataclass(frozen=True, slots=True)
class Claim:
    """Proof of holding an action: valid as long as the row still says the same."""

    action_id: str
    holder: str
    number: int


def claim(action_id: str, holder: str, clock: DatabaseClock) -> Claim | None:
    """Take an action that is due and that nobody holds; None when there is nothing to take."""
    now = clock.database_now()
    row = Action.objects.filter(pk=action_id, due_at__lte=now).filter(
        Q(held_until=None) | Q(held_until__lt=now)
    )
    taken = row.update(
        holder=holder, number=F("number") + 1, held_until=clock.database_now(LEASE_SECONDS)
    )
    if not taken:
        return None
    number = Action.objects.filter(pk=action_id, holder=holder).values_list("number", flat=True)
    found = number.first()
    return None if found is None else Claim(action_id, holder, found)


@contextmanager
def writing(held: Claim, clock: DatabaseClock) -> Iterator[None]:
    """Open a transaction that is only committed while the action is ours. Raises ActionLostError."""
    with transaction.atomic():
        rows = Action.objects.filter(
            pk=held.action_id, holder=held.holder, number=held.number
        ).update(held_until=clock.database_now(LEASE_SECONDS))
        if rows != 1:
            raise ActionLostError(f"action {held.action_id} was taken over")
        yield


def put_off(held: Claim, clock: DatabaseClock, seconds: float) -> None:
    """Let go of an action that is to be looked at again in a while. Raises ActionLostError."""
    with writing(held, clock):
        Action.objects.filter(pk=held.action_id).update(
            due_at=clock.database_now(seconds), held_until=None, holder=""
        )


def release(held: Claim) -> None:
    """Let go of an action with which nothing is left to do."""
    Action.objects.filter(pk=held.action_id, holder=held.holder, number=held.number).update(
        held_until=None, holder=""
    )


def due_actions(
    clock: DatabaseClock, *, waited: float = 0.0, most: int = 200, cluster_id: int | None = None
) -> list[str]:
    """Return ids of actions that have been due for so many seconds and that nobody holds.

    Those due longest first, of each cluster in turn: many of one do not hide those of another. With
    `cluster_id` only those of one cluster.
    """
    found = Action.objects.filter(due_at__lte=clock.database_now(-waited)).filter(
        Q(held_until=None) | Q(held_until__lt=clock.database_now())
    )
    if cluster_id is not None:
        found = found.filter(cluster_id=cluster_id)
    turn = Window(RowNumber(), partition_by=F("cluster_id"), order_by=(F("due_at"), F("pk")))
    rows = found.annotate(turn=turn).order_by("turn", "due_at", "pk")
    return list(rows.values_list("pk", flat=True)[:most])


def cluster_of(action_id: str) -> int:
    """Return the cluster of an action; 0 where the action or its cluster was removed."""
    row = Action.objects.filter(pk=action_id).values_list("cluster_id", flat=True)
    return row.first() or 0


def change(action: Action, columns: dict[str, Any]) -> None:
    """Write columns of an action, in the row and in the object at hand."""
    Action.objects.filter(pk=action.pk).update(**columns)
    for name, value in columns.items():
        setattr(action, name, value)


def change_step(step: ActionStep, columns: dict[str, Any]) -> None:
    """Write columns of a step, in the row and in the object at hand."""
    ActionStep.objects.filter(pk=step.pk).update(**columns)
    for name, value in columns.items():
        setattr(step, name, value)


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
