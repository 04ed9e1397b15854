"""The Board of one viewer: tiles, choices of the filters, lines, and the gangs of the CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Q, QuerySet, Sum

from gangboard.domain.health import Health
from gangboard.pages.board.rows import Board, Choices, Heading, Line, Tile
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import (
    Freshness,
    Level,
    knows_zero,
    read_freshness,
    silent_ids,
)
from gangboard.readmodels.gang_query import GangFilters, select_gangs, sort_keys
from gangboard.readmodels.gangs import GangRow, GangsPage, build_rows, list_gangs
from gangboard.readmodels.state_labels import face_of, reason_title
from gangboard.store.access import Viewer
from gangboard.store.models import Gang, UsageMeter

PAGE = 100
"""Rows of one page of the Board."""
BATCH = 500
"""Gangs of a CSV file that are read together."""


def read_board(
    *,
    viewer: Viewer,
    filters: GangFilters,
    cursor: str | None = None,
    limit: int = PAGE,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> Board:
    """Return the Board (3 queries, one more each with groups, deleted gangs, and accelerators of suspended gangs).

    Raises CursorError, and ValueError for an unknown ordering or group_by.
    """
    page = list_gangs(
        viewer=viewer, filters=filters, limit=limit, cursor=cursor, now=now, clusters=clusters
    )
    tiles = count_by_health(viewer=viewer, filters=filters, clusters=clusters)
    total, hidden = _totals(tiles, filters)
    if filters.gone:
        total = select_gangs(viewer=viewer, filters=filters, silent=()).count()
    return Board(
        tiles=tiles,
        choices=_choices(viewer, clusters),
        lines=tuple(_lines(page, _headings(viewer, filters, clusters), filters)),
        next_cursor=page.next_cursor,
        total=total,
        hidden=hidden,
    )


def _totals(tiles: Iterable[Tile], filters: GangFilters) -> tuple[int | None, int]:
    """Return the gangs that the filters leave, and the succeeded ones that they hide."""
    chosen = [tile for tile in tiles if not filters.health or tile.face.word in filters.health]
    known = [tile.gangs for tile in chosen if tile.gangs is not None]
    if not known:
        return None, 0
    gangs = sum(known)
    hidden = sum(tile.last_succeeded for tile in chosen) if filters.hides_finished else 0
    return gangs - hidden, hidden


def _choices(viewer: Viewer, clusters: Mapping[int, Freshness]) -> Choices:
    rows = (
        Gang.objects.filter(viewer.gang_filter(), gone_at=None)
        .values_list("namespace", "kind", "queue")
        .distinct()
    )
    namespaces, kinds, queues = (
        {row[column] for row in rows if row[column]} for column in range(3)
    )
    return Choices(
        clusters=tuple(cluster.cluster for cluster in clusters.values()),
        namespaces=tuple(sorted(namespaces)),
        kinds=tuple(sorted(kinds)),
        queues=tuple(sorted(queues)),
    )


def _headings(
    viewer: Viewer, filters: GangFilters, clusters: Mapping[int, Freshness]
) -> dict[str, Heading]:
    """Return the headings by key, with counts over all pages (1 query, none without groups)."""
    if not filters.group_by:
        return {}
    columns = {
        "reason": ("shown_health", "shown_code"),
        "namespace": ("namespace",),
        "cluster": ("cluster_id",),
    }[filters.group_by]
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent_ids(clusters))
    counted = gangs.values_list(*columns).annotate(gangs=Count("*"), devices=Sum("accelerators"))
    headings = {}
    for *values, number, devices in counted:
        heading = _heading(values, number, devices, filters.group_by, clusters)
        headings[heading.key] = heading
    return headings


def _heading(
    values: list[object],
    number: int,
    devices: float,
    group_by: str,
    clusters: Mapping[int, Freshness],
) -> Heading:
    if group_by == "reason":
        health, code = str(values[0]), str(values[1])
        return Heading(f"{health}/{code}", reason_title(code), face_of(health), number, devices)
    if group_by == "cluster":
        names = [cluster.cluster for id_, cluster in clusters.items() if id_ == values[0]]
        name = names[0] if names else ""
    else:
        name = str(values[0])
    return Heading(name, printable(name), None, number, devices)


def _lines(
    page: GangsPage, headings: Mapping[str, Heading], filters: GangFilters
) -> Iterable[Line]:
    previous = None
    for row in page.rows:
        key = _group_key(row, filters.group_by)
        if key != previous and key in headings:
            yield Line(id=f"h-{key}", heading=headings[key])
        previous = key
        yield Line(id=f"g-{row.id}", row=row)


def _group_key(row: GangRow, group_by: str) -> str:
    if group_by == "reason":
        return f"{row.health}/{row.code}"
    return row.cluster if group_by == "cluster" else row.namespace


def count_by_health(
    *, viewer: Viewer, filters: GangFilters, clusters: Mapping[int, Freshness]
) -> tuple[Tile, ...]:
    """Return a tile for each health, worst first. The filter `health` does not narrow them.

    This takes 1 query, and 1 more if suspended gangs request accelerators.
    """
    silent = silent_ids(clusters)
    gangs = select_gangs(viewer=viewer, filters=filters.of_any_health(), silent=silent)
    rows = gangs.values_list("shown_health").annotate(
        gangs=Count("*"),
        devices=Sum("accelerators"),
        ended=Count("cluster_id", filter=Q(health=Health.SUCCEEDED.value)),
    )
    counts = {health: (gangs, devices, ended) for health, gangs, devices, ended in rows}
    healths = [*(health.value for health in Health), *sorted(set(counts) - set(Health))]
    chosen = (each for each in clusters.values() if filters.cluster in ("", each.cluster))
    without_gangs = (0 if knows_zero(chosen) else None, 0.0, 0)
    notes = {Health.UNKNOWN.value: _silence_note(clusters), Health.SUCCEEDED.value: "finished"}
    in_use = {Health.SUSPENDED.value: _suspended_in_use(gangs, counts)}
    return tuple(
        Tile(
            face_of(health),
            *counts.get(health, without_gangs),
            note=notes.get(health, ""),
            in_use=in_use.get(health, 0.0),
        )
        for health in healths
    )


def _suspended_in_use(gangs: QuerySet[Any], counts: Mapping[str, tuple[int, float, int]]) -> float:
    """Return the accelerators that suspended gangs have on nodes, because only a part of them is suspended."""
    suspended = Health.SUSPENDED.value
    if suspended not in counts or not counts[suspended][1]:
        return 0.0
    ids = gangs.filter(shown_health=suspended).values("id")
    meters = UsageMeter.objects.filter(gang_id__in=ids)
    return meters.aggregate(total=Sum(F("used") + F("held")))["total"] or 0.0


def _silence_note(clusters: Mapping[int, Freshness]) -> str:
    silent = [each.cluster for each in clusters.values() if each.level is Level.SILENT]
    if len(silent) == 1:
        return f"{silent[0]} is silent"
    return f"{len(silent)} clusters are silent" if silent else ""


def export_gangs(viewer: Viewer, filters: GangFilters, *, now: datetime) -> Iterator[GangRow]:
    """Yield each gang that the filters leave and the viewer may see, in the order of the filters.

    All ids are read first. Verdicts change while the file is sent, and a gang that moves in the order would be in
    the file twice or never. The rows are read in batches, without gangs that are deleted meanwhile.
    """
    clusters = read_freshness(viewer=viewer, now=now)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent_ids(clusters))
    order = (key.order_by for key in sort_keys(filters))
    ids = list(gangs.order_by(*order).values_list("id", flat=True))
    unread = ("memory", "detail") if viewer.sees_everything else ("memory",)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        stored = Gang.objects.filter(viewer.gang_filter(), gone_at__isnull=not filters.gone)
        rows = stored.defer(*unread).in_bulk(batch)
        present = [rows[id_] for id_ in batch if id_ in rows]
        yield from build_rows(present, viewer=viewer, clusters=clusters, now=now)
