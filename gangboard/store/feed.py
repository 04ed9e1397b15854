"""The feed: events, numbered in the order in which readers can see them.

Ids do not give that order. Of two transactions the one with the lower id may end later, and a reader that has
seen the higher id would miss it. So events are written without a number, and `number_events` numbers the
visible ones, one process at a time. No event can appear before a number that was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum

from django.db import connection, transaction
from django.db.models import F, Q

from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.models import Action, FeedEvent, FeedHead, VerdictSpan

CHUNK = 500
"""Events of one statement, and of one transaction that numbers them."""
RETENTION_DAYS = 7
"""Days for which a reader of the feed may be away."""
Place = tuple[int, int, str]
"""Number, cluster id and namespace of an event."""
_EVENTS = FeedEvent._meta.db_table
_NUMBER = (
    f"UPDATE {_EVENTS} SET number = %s + found.place FROM (SELECT id,"  # noqa: S608  # our own name
    f" ROW_NUMBER() OVER (ORDER BY id) AS place FROM {_EVENTS} WHERE number IS NULL"
    f" ORDER BY id LIMIT %s) AS found WHERE {_EVENTS}.id = found.id"
)
"""Numbers the oldest events without a number. The statement works on SQLite and PostgreSQL."""


class FeedType(Enum):
    """The kind of an event."""

    VERDICT = "verdict"
    DELETED = "deleted"
    ACTION = "action"


def add_span_events(spans: Iterable[VerdictSpan], type: FeedType, *, at: datetime) -> None:  # noqa: A002  # its column
    """Write an event for each span, inside the transaction that stores the spans."""
    FeedEvent.objects.bulk_create(
        (
            FeedEvent(
                at=at,
                type=type.value,
                cluster_id=span.cluster_id,
                namespace=span.namespace,
                span=span,
            )
            for span in spans
        ),
        batch_size=CHUNK,
    )


def add_action_event(action: Action, *, at: datetime) -> None:
    """Write an event for a finished action, inside the transaction that finishes it.

    An action whose cluster was removed has no event, because no viewer could see it.
    """
    if action.cluster_id is None:
        return
    FeedEvent.objects.create(
        at=at,
        type=FeedType.ACTION.value,
        cluster_id=action.cluster_id,
        namespace=action.namespace,
        action=action,
    )


def number_events() -> int:
    """Number up to CHUNK events and return how many were numbered (2 to 4 queries)."""
    if not FeedEvent.objects.filter(number=None).exists():
        return 0
    FeedHead.objects.get_or_create(pk=1)
    with transaction.atomic():
        head = FeedHead.objects.select_for_update().get(pk=1)
        # After the lock, because its previous holder may have numbered some.
        with connection.cursor() as cursor:
            cursor.execute(_NUMBER, [head.number, CHUNK])
            numbered: int = cursor.rowcount
        FeedHead.objects.filter(pk=1).update(number=F("number") + numbered)
    return numbered


def newest_number() -> int:
    """Return the number of the newest event; 0 before the first (1 query)."""
    return FeedHead.objects.filter(pk=1).values_list("number", flat=True).first() or 0


def read_event_keys(after: int, until: int, *, limit: int) -> Sequence[Place]:
    """Return the keys of events after one number up to another, in order (1 query)."""
    events = FeedEvent.objects.filter(number__gt=after, number__lte=until).order_by("number")
    places = events.values_list("number", "cluster_id", "namespace")[:limit]
    return [(number or 0, cluster_id, namespace) for number, cluster_id, namespace in places]


def read_after(number: int, *, limit: int, condition: Q | None = None) -> Sequence[FeedEvent]:
    """Return the events after a number in order, with span, action and cluster (1 query).

    For a viewer, `condition` is `Viewer.gang_filter`.
    """
    events = FeedEvent.objects.filter(condition or Q(), number__gt=number).order_by("number")
    return list(events.select_related("span", "action", "cluster")[:limit])


def read_newest(*, limit: int, condition: Q) -> Sequence[FeedEvent]:
    """Return the newest numbered events, newest first, with span, action and cluster (1 query)."""
    events = FeedEvent.objects.filter(condition, number__isnull=False).order_by("-number")
    return list(events.select_related("span", "action", "cluster")[:limit])


def delete_old_events(*, before: datetime) -> int:
    """Delete the events before a time in batches, and return their number."""
    return delete_in_batches(FeedEvent.objects.filter(at__lt=before).order_by("at"))
