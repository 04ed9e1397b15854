"""The Board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.board import Board, Line, read_board
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gangs import GROUPINGS, GangFilters
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.state_labels import reason_title
from gangboard.readmodels.tiles import Tile
from gangboard.readmodels.unseen import Unseen, find_unread
from gangboard.store.access import Viewer
from gangboard.web.addresses import Address, make_select, read_board_address
from gangboard.web.auth import viewer_for
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates
from gangboard.web.pagination import paginate

_COLUMNS = (
    ("Status", "health", "column-status"),
    ("Gang", "name", "column-gang"),
    ("Members ready", "", "column-members"),
    ("Why", "", "column-why"),
    ("Queue", "", "column-queue"),
    ("For", "since", "column-since"),
    ("Accelerators", "-accelerators", "column-accelerators"),
    ("Priority", "priority", "column-priority"),
)
"""(label, ordering at the first click, class)."""
Offers = Mapping[str, tuple[OfferRow, ...]]
"""What may be asked of the owner, by id of the gang."""


@dataclass(frozen=True, slots=True)
class Column:
    """One heading of the table, with its link where rows can be sorted by it."""

    label: str
    css: str
    href: str
    sort: str
    """Value of aria-sort, or empty."""


@dataclass(frozen=True, slots=True)
class TileButton:
    """One tile: a press shows only these gangs, a second one all again."""

    tile: Tile
    value: str
    pressed: bool


@require_GET
def board(request: HttpRequest) -> HttpResponse:
    """Show the Board; to a change of its filters only what changes."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_board_address(request.GET)
    shown, page = _read(viewer, address, now)
    whole = request.headers.get("HX-Target") != "board"
    return render_page(
        request,
        "board/page.html" if whole else "board/answer.html",
        viewer=viewer,
        now=now,
        page=page,
        section="board",
        live=address.live,
        context=_context(shown, address),
    )


@require_GET
def board_updates(request: HttpRequest) -> HttpResponse:
    """Answer the Board's waiting request."""
    viewer = viewer_for(request)
    address = read_board_address(request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _read(viewer, address, timezone.now())[1]

    return wait_for_updates(request, viewer, address.live, read)


def _read(
    viewer: Viewer, address: Address[GangFilters], now: datetime
) -> tuple[Board, tuple[Fragment | FragmentList, ...]]:
    clusters = read_freshness(viewer=viewer, now=now)
    liveness = read_liveness(now=now)

    def read(cursor: str) -> Board:
        return read_board(
            viewer=viewer, filters=address.filters, cursor=cursor, clusters=clusters, now=now
        )

    shown, pager = paginate(address, read)
    rows = [line.row for line in shown.lines if line.row is not None]
    offers = board_offers(viewer=viewer, rows=rows, clusters=clusters)
    asked = address.filters.cluster
    unread = find_unread(one for one in clusters.values() if asked in ("", one.cluster))
    fragments = (
        *layout_fragments(clusters, liveness),
        *_fragments(shown, address, offers, unread),
        pager,
    )
    return shown, fragments


def _fragments(
    shown: Board, address: Address[GangFilters], offers: Offers, unread: tuple[Unseen, ...]
) -> tuple[Fragment | FragmentList, ...]:
    tiles = tuple(_tile(tile, address) for tile in shown.tiles)
    rest = address.without("health")
    count = {
        "total": shown.total,
        "hidden": shown.hidden,
        "show_all": address.link(show_finished="1"),
        "any_cluster": shown.any_cluster,
        "filtered": any(name not in ("ordering", "group_by") for name, _ in address.pairs),
    }
    nothing = {**count, "lines": bool(shown.lines), "unread": bool(unread)}
    return (
        Fragment("tiles", "board/tiles.html", {"tiles": tiles, "pairs": rest}, (tiles, rest)),
        Fragment("count", "board/count.html", count, tuple(count.values())),
        Fragment("unread", "board/unread.html", {"unseen": unread}, unread),
        FragmentList("gangs", tuple(_line(line, offers) for line in shown.lines)),
        Fragment("nothing", "board/nothing.html", nothing, nothing),
    )


def _line(line: Line, offers: Offers) -> Fragment:
    if line.row is None:
        return Fragment(line.id, "board/heading.html", {"heading": line.heading}, line.shown)
    menu = offers.get(line.row.id, ())
    context = {"row": line.row, "offers": menu}
    return Fragment(line.id, "board/row.html", context, (line.shown, menu))


def _tile(tile: Tile, address: Address[GangFilters]) -> TileButton:
    pressed = tile.face.word in address.filters.health
    return TileButton(tile, "" if pressed else tile.face.word, pressed)


def _context(shown: Board, address: Address[GangFilters]) -> dict[str, object]:
    filters, choices = address.filters, shown.choices
    return {
        "filters": filters,
        "selects": (
            make_select("cluster", "Cluster", choices.clusters, filters.cluster),
            make_select("namespace", "Namespace", choices.namespaces, filters.namespace),
            make_select("kind", "Kind", choices.kinds, filters.kind),
            make_select("queue", "Queue", choices.queues, filters.queue),
            make_select("group_by", "Group by", GROUPINGS, filters.group_by, "none"),
        ),
        "columns": tuple(_column(*column, address) for column in _COLUMNS),
        "kept": tuple(
            pair for pair in address.pairs if pair[0] in ("health", "code", "stage", "ordering")
        ),
        "reason": reason_title(filters.code) if filters.code else "",
        "without_reason": address.link(code=""),
    }


def _column(label: str, ordering: str, css: str, address: Address[GangFilters]) -> Column:
    if not ordering:
        return Column(label, css, "", "")
    name, current = ordering.removeprefix("-"), address.filters.ordering
    if current.removeprefix("-") != name:
        return Column(label, css, address.link(ordering=ordering), "")
    if name == "health":
        return Column(label, css, "", "descending")
    other = name if current.startswith("-") else f"-{name}"
    sort = "descending" if current.startswith("-") else "ascending"
    return Column(label, css, address.link(ordering=other), sort)
