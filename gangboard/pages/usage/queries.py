"""Sums of accelerator time over a period, and the times that are not known.

Ended meters are in the rows of their days, and open meters are added up to now. A cluster that is silent now counts
as known up to its last answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.conf import settings
from django.db.models import DateField, DateTimeField, F, Q, Sum, Value

from gangboard.domain.usage import AMOUNTS, AcceleratorUse
from gangboard.pages.usage.rows import (
    GROUPINGS,
    NO_HOURS,
    AcceleratorUsage,
    Coverage,
    CoverageRow,
    GapRow,
    Hours,
    UsageRow,
    hours_of,
    row_of,
)
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, Outage, UsageDay, UsageMeter
from gangboard.store.usage import Interval, amounts_of, day_parts

FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2199, 12, 31)
"""Limits of a period. Times near the limits of `datetime` cannot be printed in every time zone."""
USUAL_WEEKS = 4
"""Weeks of the period if the viewer chooses none: this one and those before."""
MOST_GAPS = 200
"""Gaps that are listed. All of them are in the coverage."""
_DAY = timedelta(days=1)
_COLUMNS = ("namespace", "queue", "submitter", "stage", "code")
_SUMS = tuple(f"sum_{name}" for name in AMOUNTS)
_NO_DAY = Value(None, output_field=DateField())
_NO_TIME = Value(None, output_field=DateTimeField())


@dataclass(frozen=True, slots=True)
class UsageQuery:
    """The period, the selection, and what to sum by."""

    begin: date
    end: date
    """The last day of the period."""
    by: tuple[str, ...] = ("namespace",)
    """Keys of GROUPINGS."""
    cluster: str = ""
    namespace: str = ""


def usual_period(now: datetime) -> tuple[date, date]:
    """Return the first and the last day of the last four weeks, which begin on a Monday."""
    today = now.astimezone(UTC).date()
    return monday_of(today) - timedelta(weeks=USUAL_WEEKS - 1), today


def monday_of(day: date) -> date:
    """Return the Monday of a day's week."""
    return day - timedelta(days=day.weekday())


@dataclass(frozen=True, slots=True)
class _Period:
    """A period, as times."""

    begin: datetime
    end: datetime
    """Its end, or now."""

    @property
    def seconds(self) -> float:
        return max(0.0, (self.end - self.begin).total_seconds())


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one cluster in a period."""

    freshness: Freshness
    gaps: tuple[GapRow, ...]
    silent: tuple[Interval, ...]
    """Times without contact, the oldest first."""
    observed: float
    """Seconds."""


def read_usage(
    *, viewer: Viewer, query: UsageQuery, clusters: Mapping[int, Freshness], now: datetime
) -> AcceleratorUsage:
    """Return the accelerator time that the viewer may see (3 queries). `clusters` are all that the viewer sees."""
    selected = {
        id_: freshness
        for id_, freshness in clusters.items()
        if query.cluster in ("", freshness.cluster)
    }
    period = _period_of(query.begin, query.end, now)
    known = _known(selected, period, now)
    sums: defaultdict[tuple[object, ...], list[float]] = defaultdict(lambda: [0.0] * len(AMOUNTS))
    for key, amounts in _amounts(viewer, query, known, period):
        total = sums[key]
        for index, amount in enumerate(amounts):
            total[index] += amount
    observed = any(cluster.observed for cluster in known.values())
    return AcceleratorUsage(
        begin=query.begin,
        end=query.end,
        by=query.by,
        rows=_rows(query, sums, selected),
        sums=_sum(list(sums.values())) if observed or sums else None,
        known=_coverage(known, period),
    )


def read_coverage(
    clusters: Mapping[int, Freshness], *, begin: date, end: date, now: datetime
) -> Coverage:
    """Return how much is known of these clusters in a period (2 queries)."""
    period = _period_of(begin, end, now)
    return _coverage(_known(clusters, period, now), period)


def _coverage(known: Mapping[int, _Known], period: _Period) -> Coverage:
    gaps = [gap for cluster in known.values() for gap in cluster.gaps]
    return Coverage(
        coverage=tuple(
            CoverageRow(
                cluster=cluster.freshness.cluster,
                observed_seconds=int(cluster.observed),
                period_seconds=int(period.seconds),
            )
            for cluster in known.values()
        ),
        gaps=tuple(sorted(gaps, key=_newest_first)[:MOST_GAPS]),
    )


def _newest_first(gap: GapRow) -> tuple[float, str]:
    return -gap.began_at.timestamp(), gap.cluster


def _period_of(first: date, last: date, now: datetime) -> _Period:
    begin = datetime.combine(first, time(), UTC)
    end = datetime.combine(last + _DAY, time(), UTC)
    return _Period(begin, max(begin, min(end, now)))


def _known(clusters: Mapping[int, Freshness], period: _Period, now: datetime) -> dict[int, _Known]:
    """Return what is known of each cluster (2 queries)."""
    starts = dict(Cluster.objects.filter(pk__in=list(clusters)).values_list("pk", "usage_since"))
    outages = Outage.objects.filter(
        cluster_id__in=list(clusters), ended_at__gt=period.begin, began_at__lt=period.end
    ).order_by("began_at")
    silent: defaultdict[int, list[Interval]] = defaultdict(list)
    for cluster_id, began_at, ended_at in outages.values_list("cluster_id", "began_at", "ended_at"):
        silent[cluster_id].append((began_at, ended_at))
    return {
        id_: _known_of(freshness, starts.get(id_), silent[id_], period, now)
        for id_, freshness in clusters.items()
    }


def _known_of(
    cluster: Freshness,
    recorded_since: datetime | None,
    silent: list[Interval],
    period: _Period,
    now: datetime,
) -> _Known:
    gaps = []
    begin = period.begin
    oldest = now - timedelta(days=max(settings.USAGE_DAYS, settings.HISTORY_DAYS))
    if begin < oldest and recorded_since is not None and recorded_since < oldest:
        begin = min(oldest, period.end)
        gaps.append(_gap(cluster, period.begin, begin, "deleted"))
    start = period.end if recorded_since is None else min(recorded_since, period.end)
    if start > begin:
        lasts = recorded_since is None and period.end == now
        gaps.append(_gap(cluster, begin, None if lasts else start, "not-recorded"))
        begin = start
    silent = [interval for interval in silent if interval[1] > begin]
    gaps += [_gap(cluster, max(begin, began), ended, "outage") for began, ended in silent]
    last = cluster.contact_at
    if cluster.is_silent and last is not None and last < period.end and begin < period.end:
        silent.append((last, period.end))
        ended = None if period.end == now else period.end
        gaps.append(_gap(cluster, max(begin, last), ended, "outage"))
    observed = sum(part.observed for part in day_parts(begin, period.end, silent))
    return _Known(cluster, tuple(gaps), tuple(silent), observed)


def _gap(cluster: Freshness, began: datetime, ended: datetime | None, reason: str) -> GapRow:
    return GapRow(cluster=cluster.cluster, began_at=began, ended_at=ended, reason=reason)


def _amounts(
    viewer: Viewer, query: UsageQuery, known: Mapping[int, _Known], period: _Period
) -> Iterator[tuple[tuple[object, ...], tuple[float, ...]]]:
    """Yield the key and the amounts of each stored group, and of each open meter by day (1 query).

    One statement reads both, so a meter that ends meanwhile counts once.
    """
    grouped = {field for group in query.by for field in GROUPINGS[group]}
    columns = ("cluster_id", *(name for name in _COLUMNS if name in grouped))
    names = (*columns, "on_day", "open_since", *_SUMS)
    places = viewer.gang_filter() & Q(cluster_id__in=list(known))
    if query.namespace:
        places &= Q(namespace=query.namespace)
    on_day = F("day") if grouped & {"day", "week"} else _NO_DAY
    days = (
        UsageDay.objects.filter(places, day__gte=query.begin, day__lte=query.end)
        .annotate(on_day=on_day)
        .values(*columns, "on_day")
        .annotate(open_since=_NO_TIME, **{f"sum_{name}": Sum(name) for name in AMOUNTS})
        .values_list(*names)
    )
    meters = (
        UsageMeter.objects.filter(places, since__lt=period.end)
        .annotate(on_day=_NO_DAY, open_since=F("since"))
        .annotate(**{f"sum_{name}": F(name) for name in AMOUNTS})
        .values_list(*names)
    )
    for values in days.order_by().union(meters, all=True):
        row = dict(zip(names, values, strict=True))
        amounts = tuple(float(row[name]) for name in _SUMS)
        if row["open_since"] is None:
            yield _key(query, row, row["on_day"]), amounts
            continue
        use, silent = AcceleratorUse(*amounts), known[row["cluster_id"]].silent
        for part in day_parts(max(row["open_since"], period.begin), period.end, silent):
            yield _key(query, row, part.day), amounts_of(use, part)


def _key(query: UsageQuery, row: Mapping[str, object], day: date | None) -> tuple[object, ...]:
    """Return the values that a row is grouped by, in the order of `_fields`."""
    days = {"day": day, "week": None if day is None else monday_of(day)}
    return tuple(
        days[field] if field in days else row["cluster_id" if field == "cluster" else field]
        for field in _fields(query)
    )


def _fields(query: UsageQuery) -> tuple[str, ...]:
    return tuple(field for group in query.by for field in GROUPINGS[group])


def _rows(
    query: UsageQuery,
    sums: Mapping[tuple[object, ...], Sequence[float]],
    clusters: Mapping[int, Freshness],
) -> tuple[UsageRow, ...]:
    rows = []
    for key, amounts in sums.items():
        values = dict(zip(_fields(query), key, strict=True))
        if "cluster" in values:
            values["cluster"] = clusters[values["cluster"]].cluster  # type: ignore[index]  # its id
        hours = hours_of(tuple(amounts))
        if hours != NO_HOURS:
            rows.append(row_of(values, hours))
    return tuple(sorted(rows, key=place_of))


def place_of(row: UsageRow) -> tuple[float | str, ...]:
    """Return the place of a row: the newest week or day first, then the most hours."""
    days = [-value.toordinal() if value is not None else 0 for value in (row.week, row.day)]
    texts = (row.cluster, row.namespace, row.queue, row.submitter, row.stage, row.code)
    return (*days, -row.hours.total, *(text or "" for text in texts))


def _sum(rows: Sequence[Sequence[float]]) -> Hours:
    return hours_of(tuple(sum(row[index] for row in rows) for index in range(len(AMOUNTS))))
