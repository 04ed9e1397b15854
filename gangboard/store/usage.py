"""Accelerator time of gangs, kept as open meters and as sums by day.

A meter is open while a gang does the same with the same accelerators. At its end, its time is added to the rows of the
UTC days in which it was open. A time without contact to the cluster is `unobserved`, whatever the gang did before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection

from gangboard.domain.usage import AMOUNTS, AcceleratorUse
from gangboard.store.bulk_statements import delete_in_batches, upsert_rows
from gangboard.store.models import Cluster, Outage, UsageDay, UsageMeter
from gangboard.store.observations import SILENT_AFTER

Interval = tuple[datetime, datetime]
_KEY = ("cluster_id", "day", "namespace", "queue", "submitter", "stage", "code")
_METER_COLUMNS = (
    *("gang_id", "cluster_id", "uid", "namespace", "queue", "submitter", "stage", "code"),
    *AMOUNTS,
    "since",
)


@dataclass(frozen=True, slots=True)
class UsagePlace:
    """What the accelerator time of a gang is summed by."""

    namespace: str
    queue: str
    submitter: str
    stage: str
    code: str


@dataclass(frozen=True, slots=True)
class Meter:
    """A gang that does the same with the same accelerators since a time."""

    gang_id: str
    uid: str
    place: UsagePlace
    use: AcceleratorUse
    since: datetime

    def counts_like(self, other: Meter) -> bool:
        """Return whether both add the same amounts to the same rows."""
        return (self.place, self.use) == (other.place, other.use)


@dataclass(frozen=True, slots=True)
class DayPart:
    """The part of a period within one UTC day."""

    day: date
    observed: float
    """Seconds with contact to the cluster."""
    unobserved: float
    """Seconds without contact."""


def read_meters(cluster_id: int) -> Iterator[Meter]:
    """Yield the open meters of a cluster (1 query)."""
    for row in UsageMeter.objects.filter(cluster_id=cluster_id).iterator():
        yield meter_of(row)


def meter_of(row: UsageMeter) -> Meter:
    """Return a stored meter."""
    place = UsagePlace(row.namespace, row.queue, row.submitter, row.stage, row.code)
    use = AcceleratorUse(*(getattr(row, name) for name in AMOUNTS))
    return Meter(row.gang_id, row.uid, place, use, row.since)


def save_meters(
    cluster_id: int, *, ended: Sequence[Meter], opened: Sequence[Meter], at: datetime
) -> None:
    """End meters, and open others. A gang in both gets the new meter. Call it inside `writing`."""
    _add_time(cluster_id, ended, at)
    reopened = {meter.gang_id for meter in opened}
    closed = [meter.gang_id for meter in ended if meter.gang_id not in reopened]
    if closed:
        UsageMeter.objects.filter(cluster_id=cluster_id, gang_id__in=closed).delete()
    rows = [_row(cluster_id, meter) for meter in opened]
    upsert_rows(UsageMeter._meta.db_table, _METER_COLUMNS, ("gang_id",), rows)


def begin_usage(cluster_id: int, *, at: datetime) -> None:
    """Record that the accelerator time of a cluster is known from now on. Call it inside `writing`."""
    Cluster.objects.filter(pk=cluster_id, usage_since=None).update(usage_since=at)


def silences(cluster_id: int, since: datetime, until: datetime) -> list[Interval]:
    """Return the times without contact to a cluster that overlap a period, the oldest first (2 queries).

    A silence that lasts has no row. After it, the first verdicts can be stored before its row.
    """
    if until - since <= SILENT_AFTER:
        return []
    outages = Outage.objects.filter(
        cluster_id=cluster_id, ended_at__gt=since, began_at__lt=until
    ).order_by("began_at")
    intervals = list(outages.values_list("began_at", "ended_at"))
    contact_at = Cluster.objects.filter(pk=cluster_id).values_list("contact_at", flat=True).first()
    if contact_at is not None and until - contact_at > SILENT_AFTER:
        intervals.append((contact_at, until))
    return intervals


def day_parts(
    since: datetime, until: datetime, silent: Sequence[Interval] = ()
) -> Iterator[DayPart]:
    """Yield the parts of a period by UTC day. `silent` are the times without contact, the oldest first."""
    begin = since.astimezone(UTC)
    while begin < until:
        midnight = datetime.combine(begin.date() + timedelta(days=1), time(), UTC)
        end = min(midnight, until)
        unobserved = _overlap(begin, end, silent)
        observed = max(0.0, (end - begin).total_seconds() - unobserved)
        yield DayPart(begin.date(), observed, unobserved)
        begin = end


def amounts_of(use: AcceleratorUse, part: DayPart) -> tuple[float, ...]:
    """Return the accelerator-seconds of a gang in a part of a day, in the order of AMOUNTS."""
    seen = [getattr(use, name) * part.observed for name in AMOUNTS]
    seen[-1] += use.total * part.unobserved
    return tuple(seen)


def delete_old_usage(*, before: datetime) -> None:
    """Delete the days that ended before a time, in batches."""
    delete_in_batches(UsageDay.objects.filter(day__lt=before.astimezone(UTC).date()))


def _overlap(begin: datetime, end: datetime, intervals: Iterable[Interval]) -> float:
    """Return the seconds of a period that lie in any of the intervals, the oldest first."""
    seconds, position = 0.0, begin
    for interval_begin, interval_end in intervals:
        start, stop = max(interval_begin, position), min(interval_end, end)
        if stop > start:
            seconds += (stop - start).total_seconds()
            position = stop
    return seconds


def _row(cluster_id: int, meter: Meter) -> tuple[object, ...]:
    place, use = meter.place, meter.use
    return (
        *(meter.gang_id, cluster_id, meter.uid, place.namespace, place.queue, place.submitter),
        *(place.stage, place.code),
        *(getattr(use, name) for name in AMOUNTS),
        meter.since,
    )


def _add_time(cluster_id: int, ended: Sequence[Meter], at: datetime) -> None:
    """Add the time of ended meters to the rows of its days."""
    if not ended:
        return
    silent = silences(cluster_id, min(meter.since for meter in ended), at)
    sums: defaultdict[tuple[Any, ...], list[float]] = defaultdict(lambda: [0.0] * len(AMOUNTS))
    for meter in ended:
        place = meter.place
        for part in day_parts(meter.since, at, silent):
            key = (part.day, place.namespace, place.queue, place.submitter, place.stage, place.code)
            row = sums[key]
            for index, amount in enumerate(amounts_of(meter.use, part)):
                row[index] += amount
    _add_rows([(cluster_id, *key, *amounts) for key, amounts in sums.items() if any(amounts)])


def _add_rows(rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, or add their amounts to those that exist."""
    table, columns = UsageDay._meta.db_table, (*_KEY, *AMOUNTS)
    additions = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in AMOUNTS)
    marks = ", ".join(["%s"] * len(columns))
    statement = (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) "  # noqa: S608  # names are our own
        f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {additions}"
    )
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)
