"""Records the accelerator time and the evictions of the gangs of one cluster, as they are assessed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from gangboard.domain.eviction import GangEviction
from gangboard.domain.usage import AcceleratorUse
from gangboard.facts.evictions import TOGETHER
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.evictions import (
    StoredEviction,
    add_eviction,
    read_recorded,
    recorded_as,
    update_eviction,
)
from gangboard.store.observations import CHUNK, writing
from gangboard.store.usage import Meter, UsagePlace, begin_usage, read_meters, save_meters


@dataclass(frozen=True, slots=True)
class UsageChanges:
    """Meters to end and to open."""

    ended: tuple[Meter, ...] = ()
    opened: tuple[Meter, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ended or self.opened)


class UsageRecorder:
    """Keeps the meters of one cluster, with a write only for a gang whose use or reason has changed.

    Only the holder of the lease writes meters, so the copy in memory is right. It is updated after the commit.
    """

    def __init__(self, lease: ClusterLease) -> None:
        self._lease = lease
        self._meters: dict[str, Meter] | None = None
        """uid of the owner → its open meter. None before the first use."""
        self._day: date | None = None
        """UTC day of the last `carry_over`."""
        self._has_begun = False

    @property
    def _open(self) -> dict[str, Meter]:
        if self._meters is None:
            self._meters = {meter.uid: meter for meter in read_meters(self._lease.cluster_id)}
        return self._meters

    def changes(
        self,
        uses: Iterable[tuple[Mapping[str, Any], AcceleratorUse]],
        deleted: Iterable[str],
        now: datetime,
    ) -> UsageChanges:
        """Return the meters that differ from the open ones.

        `uses` has the row of each assessed gang and what it does. `deleted` are uids of owners.
        """
        ended, opened = [], []
        for row, use in uses:
            place = UsagePlace(*(row[name] for name in UsagePlace.__dataclass_fields__))
            meter = Meter(row["id"], row["uid"], place, use, now)
            before = self._open.get(meter.uid)
            if before is not None and before.counts_like(meter):
                continue
            ended += [before] if before is not None else []
            opened += [meter] if use.total else []
        ended += [self._open[uid] for uid in deleted if uid in self._open]
        return UsageChanges(tuple(ended), tuple(opened))

    def save(self, changes: UsageChanges, now: datetime) -> None:
        """Store the changes. Call it inside `writing`, and `note_saved` after the commit."""
        if changes:
            cluster_id = self._lease.cluster_id
            save_meters(cluster_id, ended=changes.ended, opened=changes.opened, at=now)

    def note_saved(self, changes: UsageChanges) -> None:
        """Take over stored changes."""
        for meter in changes.ended:
            self._open.pop(meter.uid, None)
        for meter in changes.opened:
            self._open[meter.uid] = meter

    def begin(self, now: datetime) -> None:
        """Record that all gangs of the cluster have been assessed, so that their use is known from now on."""
        if not self._has_begun:
            with writing(self._lease):
                begin_usage(self._lease.cluster_id, at=now)
            self._has_begun = True

    def carry_over(self, now: datetime) -> None:
        """Once a day, add the time of all open meters to their days. A page then reads few days of open meters.

        Raises LeaseLostError.
        """
        day = now.astimezone(UTC).date()
        if self._day == day:
            return
        older = [meter for meter in self._open.values() if meter.since.astimezone(UTC).date() < day]
        for start in range(0, len(older), CHUNK):
            ended = older[start : start + CHUNK]
            changes = UsageChanges(
                tuple(ended), tuple(replace(meter, since=now) for meter in ended)
            )
            with writing(self._lease):
                self.save(changes, now)
            self.note_saved(changes)
        self._day = day


MOST_OF_GANG = 500
"""Stored evictions of one gang. More are not stored, because anyone who may write events could add any number."""


class EvictionRecorder:
    """Stores each eviction of the gangs of one cluster once."""

    def __init__(self) -> None:
        self._recorded: dict[str, list[StoredEviction]] = {}
        """uid of the owner → stored evictions of its gang, for gangs whose objects tell any."""

    def news(
        self, told: Sequence[tuple[Mapping[str, Any], tuple[GangEviction, ...]]]
    ) -> list[tuple[Mapping[str, Any], GangEviction]]:
        """Return the evictions that are not stored as told, with the row of their gang (at most 1 query)."""
        unread = {
            row["id"]: row["uid"]
            for row, evictions in told
            if evictions and row["uid"] not in self._recorded
        }
        if unread:
            recorded = read_recorded(list(unread))
            self._recorded.update({uid: recorded[gang_id] for gang_id, uid in unread.items()})
        return [
            (row, eviction)
            for row, evictions in told
            for eviction in evictions
            if not self._is_stored(self._recorded[row["uid"]], eviction)
        ]

    def save(self, news: Iterable[tuple[Mapping[str, Any], GangEviction]]) -> None:
        """Store new evictions, and what is newly known of stored ones. Call it inside `writing`."""
        for row, eviction in news:
            recorded = self._recorded[row["uid"]]
            known = recorded_as(eviction, recorded, TOGETHER)
            if known is None:
                add_eviction(row, eviction)
            else:
                update_eviction(known, eviction)

    def forget(self, uids: Iterable[str]) -> None:
        """Drop the evictions of these owners: after a write, and after their deletion. They are read again."""
        for uid in uids:
            self._recorded.pop(uid, None)

    def _is_stored(self, recorded: Sequence[StoredEviction], eviction: GangEviction) -> bool:
        known = recorded_as(eviction, recorded, TOGETHER)
        if known is None:
            return len(recorded) >= MOST_OF_GANG
        knows_taker = eviction.taker is None or bool(known.taker_uid)
        return knows_taker and eviction.last_at <= known.last_at
