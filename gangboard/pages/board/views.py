"""The page of the Board, its updates and its CSV file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.utils import timezone
from django.views.decorators.http import require_POST

from gangboard.actions.requests import MOST_AT_ONCE
from gangboard.pages.board.address import read_board_address, read_columns, write_columns
from gangboard.pages.board.preferences import read_choices, read_shown_columns
from gangboard.pages.board.queries import export_gangs, read_board
from gangboard.pages.board.rows import (
    CSV_COLUMNS,
    Board,
    Line,
    Tile,
    columns_with,
    label_key_of,
)
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.columns import Column, headings_of
from gangboard.pages.core.exports import Formats, send_file
from gangboard.pages.core.layout import Frame, not_counted_line
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments
from gangboard.pages.core.pagination import ListPage, Paginated
from gangboard.pages.core.query_state import Address, make_select
from gangboard.pages.core.tables import write_csv
from gangboard.pages.templatetags.trends import over_period
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.cluster_visibility import UnobservedCluster, unread_clusters
from gangboard.readmodels.filters import label_text
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.gangs import GROUPINGS, ORDERINGS, GangFilters, GangRow
from gangboard.readmodels.state_labels import reason_title
from gangboard.readmodels.trends import DAY, Curve, Trends, read_gang_trends, since_known

_KEPT = frozenset({"health", "code", "stage", "label", "submitter", "ordering", "columns"})
"""Parts of an address that have no control in the form of the filters."""
_NO_FILTERS = frozenset({"ordering", "group_by", "columns"})
"""Parts of an address that leave no gang out."""
FORMATS: Formats[GangRow] = {
    "csv": ("text/csv; charset=utf-8", partial(write_csv, columns=CSV_COLUMNS))
}
Offers = Mapping[str, tuple[OfferRow, ...]]
"""Buttons of the owner by id of the gang."""


@dataclass(frozen=True, slots=True)
class TileButton:
    """A tile. A press adds its gangs to those of other pressed tiles, a second press takes them out."""

    tile: Tile
    value: str
    """Healths of the Board after a press, separated by commas."""
    pressed: bool
    over_day: str
    """The range of its number over the last day. Empty if there is no curve."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that links set. A press removes it."""

    text: str
    href: str


class BoardPage(ListPage[Board, GangFilters]):
    """The Board. A change of its filters gets only the parts that change."""

    name = "board"
    section = "board"
    welcomes = True
    columns: tuple[str, ...] | None
    """The optional columns. None until a page without columns in its address has read the choice of its viewer."""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Read the address, and whether the browser needs the whole page."""
        super().setup(request, *args, **kwargs)
        self.columns = read_columns(request.GET)
        self.personal = self.address.filters.mine
        is_part = request.headers.get("HX-Target") == "board"
        self.template_name = "board/answer.html" if is_part else "board/page.html"

    def read_address(self, query: QueryDict) -> Address[GangFilters]:
        """Return the state of the Board in a query."""
        return read_board_address(query)

    @property
    def live(self) -> str:
        """Return the address of the waiting request, with the labels whose columns the viewer chose."""
        labels = tuple(filter(label_key_of, self.columns or ()))
        if not labels or read_columns(self.request.GET) is not None:
            return super().live
        columns = urlencode({"columns": write_columns(labels)})
        return f"{super().live}{'&' if '?' in super().live else '?'}{columns}"

    def read_list(self, frame: Frame, cursor: str) -> Board:
        """Return the gangs that the filters leave."""
        return read_board(
            viewer=frame.viewer,
            filters=self.address.filters,
            cursor=cursor,
            limit=self.page_size,
            clusters=frame.clusters,
            now=frame.now,
        )

    def fragments(self, frame: Frame, paginated: Paginated[Board]) -> Fragments:
        """Return the tiles, and a row for each gang with the buttons of its owner."""
        if self.columns is None and not self.updates:
            self.columns = read_shown_columns(frame.viewer, self.request.GET)
        clusters = frame.clusters
        rows = [line.row for line in paginated.page.lines if line.row is not None]
        offers = board_offers(viewer=frame.viewer, rows=rows, clusters=clusters)
        name = self.address.filters.cluster
        unread = unread_clusters(each for each in clusters.values() if name in ("", each.cluster))
        trends = self._trends(frame)
        return (
            *_tile_fragments(paginated.page, self.address, trends),
            not_counted_line(clusters, name),
            *_fragments(
                paginated.page, self.address, offers, unread, columns_with(self.columns or ())
            ),
            paginated.pager,
        )

    def _trends(self, frame: Frame) -> Trends:
        """Return the curves of the tiles. There is none if the filters leave out gangs of a cluster."""
        filters = self.address.filters
        if filters.narrows_clusters:
            return Trends(DAY, DAY.begin(frame.now))
        trends = read_gang_trends(
            viewer=frame.viewer, clusters=frame.clusters, now=frame.now, cluster=filters.cluster
        )
        return since_known(trends)

    def context(self, frame: Frame, paginated: Paginated[Board]) -> dict[str, object]:
        """Return the filters, the headings, and the choices of the person."""
        choices = read_choices(frame.viewer, self.request.GET, self.columns or ())
        most = MOST_AT_ONCE if frame.viewer.operates_somewhere else 0
        context = _context(paginated.page, self.address, columns_with(self.columns or ()))
        return {**context, "choices": choices, "most_at_once": most}


@require_POST
def export(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send the gangs that the filters leave, of all pages of the list."""
    viewer = viewer_for(request)
    address = read_board_address(request.GET)
    return send_file(
        request,
        viewer,
        "board",
        FORMATS.get(ending),
        ending,
        address.pairs,
        lambda: export_gangs(viewer, address.filters, now=timezone.now()),
    )


def _tile_fragments(board: Board, address: Address[GangFilters], trends: Trends) -> Fragments:
    """Return the tiles and their curves. A change of a number does not send the curves again."""
    curves = {health: curve for health, curve in trends.gangs.items() if curve.can_be_drawn}
    tiles = tuple(
        _tile(tile, address, _over_day(curves.get(tile.face.word), trends)) for tile in board.tiles
    )
    drawn = {"trends": trends, "curves": tuple(curves.values())}
    return (
        FragmentList("healths", tiles),
        # The clock moves only curves.
        Fragment("curves", "board/curves.html", drawn, trends if curves else ()),
    )


def _fragments(
    board: Board,
    address: Address[GangFilters],
    offers: Offers,
    unread: tuple[UnobservedCluster, ...],
    columns: tuple[Column, ...],
) -> Fragments:
    count = {
        "total": board.total,
        "hidden": board.hidden,
        "gone": address.filters.gone,
        "living": address.link(gone=""),
        "show_all": address.link(show_finished="1"),
        "filtered": any(name not in _NO_FILTERS for name, _ in address.pairs),
    }
    nothing = {
        **count,
        "lines": bool(board.lines),
        "unread": bool(unread),
        "q": printable(address.filters.q),
    }
    partly = tuple(cluster for cluster in unread if cluster.is_counted)
    return (
        Fragment("count", "board/count.html", count, tuple(count.values())),
        Fragment("unread", "board/unread.html", {"unseen": partly}, partly),
        FragmentList("gangs", tuple(_line(line, offers, columns) for line in board.lines)),
        Fragment("nothing", "board/nothing.html", nothing, nothing),
    )


def _line(line: Line, offers: Offers, columns: tuple[Column, ...]) -> Fragment:
    if line.row is None:
        optional = tuple(column for column in columns if column.choice or column.item)
        # The title also covers the columns of the check box and of the menu.
        span = len(columns) - len(optional) + 2
        heading = {"heading": line.heading, "span": span, "optional": optional}
        return Fragment(line.id, "board/heading.html", heading, line.shown)
    context = {"row": line.row, "columns": columns}
    if line.row.gone_at is not None:
        return Fragment(line.id, "board/gone_row.html", context, line.shown)
    menu = offers.get(line.row.id, ())
    return Fragment(line.id, "board/row.html", {**context, "offers": menu}, (line.shown, menu))


def _tile(tile: Tile, address: Address[GangFilters], over_day: str) -> Fragment:
    # Tiles count gangs that exist, and lead back from the deleted ones.
    chosen = () if address.filters.gone else address.filters.health
    health = tile.face.word
    is_pressed = health in chosen
    after = (each for each in chosen if each != health) if is_pressed else (*chosen, health)
    button = TileButton(tile, ",".join(after), is_pressed, over_day)
    return Fragment(f"tile-{health}", "board/tile.html", {"button": button}, button)


def _over_day(curve: Curve | None, trends: Trends) -> str:
    return f"{curve.range_text}, {over_period(trends)}" if curve is not None else ""


def _chips(address: Address[GangFilters]) -> Iterator[Chip]:
    filters = address.filters
    if filters.code:
        yield Chip(f"Reason: {reason_title(filters.code)}", address.link(code=""))
    if filters.submitter:
        yield Chip(f"Submitter: {printable(filters.submitter)}", address.link(submitter=""))
    for label in filters.labels:
        rest = ",".join(label_text(other) for other in filters.labels if other is not label)
        yield Chip(f"Label: {printable(label_text(label))}", address.link(label=rest))


def _context(
    board: Board, address: Address[GangFilters], columns: tuple[Column, ...]
) -> dict[str, object]:
    filters, choices = address.filters, board.choices
    return {
        "filters": filters,
        "selects": (
            make_select("cluster", "Cluster", choices.clusters, filters.cluster),
            make_select("namespace", "Namespace", choices.namespaces, filters.namespace),
            make_select("kind", "Kind", choices.kinds, filters.kind),
            make_select("queue", "Queue", choices.queues, filters.queue),
            make_select("group_by", "Group by", GROUPINGS, filters.group_by, "none"),
        ),
        "columns": headings_of(
            columns, filters.ordering, ORDERINGS, lambda text: address.link(ordering=text)
        ),
        "kept": tuple(pair for pair in address.pairs if pair[0] in _KEPT),
        "chips": tuple(_chips(address)),
        "any_health": address.without("health", "gone"),
        "query": urlencode(address.pairs),
    }
