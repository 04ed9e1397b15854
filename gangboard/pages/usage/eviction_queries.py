"""Evictions over time: one by one, and counted by day, gang, taker and queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.db.models import QuerySet

from gangboard.domain.eviction import EvictionCode
from gangboard.pages.usage.eviction_rows import (
    CountRow,
    DayRow,
    EvictionCounts,
    EvictionPage,
)
from gangboard.pages.usage.queries import read_coverage
from gangboard.readmodels.cursors import LARGEST_PAGE, SortKey, read_page
from gangboard.readmodels.evictions import EvictionRow, eviction_row, taker_text
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer
from gangboard.store.models import Eviction

DAYS = 14
"""Days that are counted, with today."""
MOST_COUNTED = 20_000
"""Newest evictions that are counted."""
MOST_ROWS = 10
"""Gangs, takers and queues with the most evictions."""
_KEYS = (SortKey("at", descending=True), SortKey("gang_id"), SortKey("pk", descending=True))
"""The gang id also makes a cursor of another list invalid here."""


@dataclass(frozen=True, slots=True)
class EvictionFilters:
    """Filters of evictions. An empty filter matches all."""

    cluster: str = ""
    namespace: str = ""
    queue: str = ""
    code: str = ""


def eviction_page(
    *,
    viewer: Viewer,
    filters: EvictionFilters,
    clusters: Mapping[int, Freshness],
    cursor: str | None = None,
    limit: int = 50,
) -> EvictionPage:
    """Return one page of evictions, the newest first (1 query). Raises CursorError."""
    rows = _select(viewer, filters, clusters)
    page, next_cursor = read_page(rows, _KEYS, cursor=cursor, limit=limit)
    return EvictionPage(
        tuple(
            eviction_row(row, viewer=viewer, cluster=clusters[row.cluster_id].cluster)
            for row in page
        ),
        next_cursor,
    )


def all_evictions(
    viewer: Viewer, filters: EvictionFilters, clusters: Mapping[int, Freshness]
) -> Iterator[EvictionRow]:
    """Yield every eviction that matches the filters, the newest first. Reads page by page to bound memory."""
    cursor: str | None = None
    while True:
        page = eviction_page(
            viewer=viewer, filters=filters, clusters=clusters, cursor=cursor, limit=LARGEST_PAGE
        )
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def count_evictions(
    *,
    viewer: Viewer,
    filters: EvictionFilters,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> EvictionCounts:
    """Return the numbers of the last days by UTC day, gang, taker and queue (3 queries)."""
    first = now.date() - timedelta(days=DAYS - 1)
    recent = _select(viewer, filters, clusters).filter(at__gte=datetime.combine(first, time(), UTC))
    rows = list(recent.order_by("-at", "-pk")[:MOST_COUNTED])
    victims = Counter(
        (clusters[row.cluster_id].cluster, f"{row.namespace}/{row.name}", row.gang_id)
        for row in rows
    )
    takers = Counter(
        (clusters[row.cluster_id].cluster, taker_text(row, viewer=viewer), "")
        for row in rows
        if row.code == EvictionCode.PREEMPTED
    )
    queues = Counter((clusters[row.cluster_id].cluster, row.queue, "") for row in rows)
    known = read_coverage(_selected(filters, clusters), begin=first, end=now.date(), now=now)
    was_observed = any(row.observed_seconds for row in known.coverage)
    return EvictionCounts(
        since=first,
        count=len(rows) if rows or was_observed else None,
        known=known,
        days=_days(rows),
        victims=_most(victims),
        takers=_most(takers, unknown="unknown"),
        queues=_most(queues, unknown="no queue"),
        is_cut=len(rows) == MOST_COUNTED,
    )


def _select(
    viewer: Viewer, filters: EvictionFilters, clusters: Mapping[int, Freshness]
) -> QuerySet[Eviction]:
    ids = list(_selected(filters, clusters))
    equal = {
        name: value for name in ("namespace", "queue", "code") if (value := getattr(filters, name))
    }
    return Eviction.objects.filter(viewer.gang_filter(), cluster_id__in=ids, **equal)


def _selected(filters: EvictionFilters, clusters: Mapping[int, Freshness]) -> dict[int, Freshness]:
    return {id_: row for id_, row in clusters.items() if filters.cluster in ("", row.cluster)}


def _days(rows: list[Eviction]) -> tuple[DayRow, ...]:
    numbers = Counter((row.at.date(), row.code) for row in rows)
    return tuple(
        DayRow(day=day, **{code.value: numbers[day, code.value] for code in EvictionCode})
        for day in sorted({row.at.date() for row in rows}, reverse=True)
    )


def _most(numbers: Counter[tuple[str, str, str]], *, unknown: str = "") -> tuple[CountRow, ...]:
    ranked = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))[:MOST_ROWS]
    return tuple(
        CountRow(cluster=cluster, name=printable(name) or unknown, gang=gang, count=number)
        for (cluster, name, gang), number in ranked
    )
