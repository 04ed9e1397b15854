"""The Board: tiles, choices of the filters, groups of rows, rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Sum

from gangboard.readmodels.freshness import Freshness, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.gangs import GangRow, GangsPage, list_gangs
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face, face_of, reason_title
from gangboard.readmodels.tiles import Tile, count_by_health
from gangboard.store.access import Viewer
from gangboard.store.models import Gang

PAGE = 100
"""Rows of one page of the Board."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filters can be set to: what occurs among the gangs that the viewer may see."""

    clusters: tuple[str, ...]
    namespaces: tuple[str, ...]
    kinds: tuple[str, ...]
    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """The line above the rows of one group."""

    key: str
    title: str
    face: Face | None
    gangs: int
    accelerators: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: a heading or a gang."""

    id: str
    heading: Heading | None = None
    row: GangRow | None = None

    @property
    def shown(self) -> object:
        """What is printed, without ages."""
        return self.heading if self.row is None else self.row.shown


@dataclass(frozen=True, slots=True)
class Board:
    """Everything on the Board but the frame around every page."""

    tiles: tuple[Tile, ...]
    choices: Choices
    lines: tuple[Line, ...]
    next_cursor: str | None
    total: int | None
    """Gangs that the filters ask for, on all pages. None as in `Tile.gangs`."""
    hidden: int
    """Succeeded gangs that are left out."""


def read_board(
    *,
    viewer: Viewer,
    filters: GangFilters,
    cursor: str | None = None,
    limit: int = PAGE,
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> Board:
    """Return the Board (3 queries, one more with groups and one with deleted gangs). Raises CursorError, and ValueError for filters."""
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
    asked = [tile for tile in tiles if not filters.health or tile.face.word in filters.health]
    known = [tile.gangs for tile in asked if tile.gangs is not None]
    if not known:
        return None, 0
    gangs = sum(known)
    hidden = sum(tile.last_succeeded for tile in asked) if filters.hides_finished else 0
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
