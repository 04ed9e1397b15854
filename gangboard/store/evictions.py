"""Evictions of gangs. Each is stored once, however often its objects and events are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gangboard.domain.eviction import GangEviction
from gangboard.domain.objects import ObjectRef
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.models import Eviction

_NOBODY = ObjectRef("", "", "", "", "")


@dataclass(frozen=True, slots=True)
class StoredEviction:
    """The fields by which a stored eviction is recognized."""

    pk: int
    code: str
    source: str
    at: datetime
    last_at: datetime
    taker_uid: str


def read_recorded(gang_ids: Sequence[str]) -> dict[str, list[StoredEviction]]:
    """Return the stored evictions of some gangs by gang id (1 query)."""
    recorded: defaultdict[str, list[StoredEviction]] = defaultdict(list)
    for row in Eviction.objects.filter(gang_id__in=gang_ids).order_by("at"):
        stored = StoredEviction(row.pk, row.code, row.source, row.at, row.last_at, row.taker_uid)
        recorded[row.gang_id].append(stored)
    return {gang_id: recorded[gang_id] for gang_id in gang_ids}


def recorded_as(
    eviction: GangEviction, recorded: Iterable[StoredEviction], tolerance: timedelta
) -> StoredEviction | None:
    """Return the row of an eviction, or None if it is new.

    The time that a queue entry tells is exact. Pods go one after the other, and their events expire in that order, so
    their evictions are the same if they overlap or are at most `tolerance` apart.
    """
    margin = timedelta() if eviction.source else tolerance
    for row in recorded:
        is_alike = (row.code, row.source) == (eviction.code, eviction.source)
        if is_alike and row.at - margin <= eviction.last_at and eviction.at <= row.last_at + margin:
            return row
    return None


def add_eviction(row: Mapping[str, Any], eviction: GangEviction) -> None:
    """Store a new eviction of a gang. `row` is the gang as stored. Call it inside `writing`."""
    Eviction.objects.create(
        cluster_id=row["cluster_id"],
        gang_id=row["id"],
        **{
            name: row[name]
            for name in ("api_group", "kind", "namespace", "name", "queue", "accelerators")
        },
        code=eviction.code.value,
        reason=eviction.reason[:200],
        source=eviction.source,
        at=eviction.at,
        last_at=eviction.last_at,
        **_taker_columns(eviction.taker or _NOBODY),
    )


def update_eviction(recorded: StoredEviction, eviction: GangEviction) -> None:
    """Add what is newly known of a stored eviction: later pods, and the taker. Call it inside `writing`."""
    changes: dict[str, object] = {"last_at": max(recorded.last_at, eviction.last_at)}
    if eviction.taker is not None and not recorded.taker_uid:
        changes |= _taker_columns(eviction.taker)
    Eviction.objects.filter(pk=recorded.pk).update(**changes)


def delete_old_evictions(*, before: datetime) -> None:
    """Delete the evictions before a time, in batches."""
    delete_in_batches(Eviction.objects.filter(at__lt=before))


def _taker_columns(taker: ObjectRef) -> dict[str, str]:
    """Return the columns of a taker. The API server does not check the length of names in events."""
    return {
        "taker_group": taker.group[:253],
        "taker_kind": taker.kind[:63],
        "taker_namespace": taker.namespace[:253],
        "taker_name": taker.name[:253],
        "taker_uid": taker.uid[:64],
    }
