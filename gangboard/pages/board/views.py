"""The Board."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.utils import timezone
from django.views.decorators.http import require_POST

from gangboard.actions.requests import MOST_AT_ONCE
from gangboard.pages.board.address import read_board_address
from gangboard.pages.board.preferences import read_choices
from gangboard.pages.board.queries import export_gangs, read_board
from gangboard.pages.board.rows import COLUMNS, CSV_COLUMNS, Board, Line, Tile
from gangboard.pages.core.columns import headings_of
from gangboard.readmodels.action_offers import board_offers
from gangboard.readmodels.action_rows import OfferRow
from gangboard.readmodels.csv_lines import write_csv
from gangboard.readmodels.gangs import GROUPINGS, ORDERINGS, GangFilters, GangRow
from gangboard.readmodels.known_trends import since_known
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import reason_title
from gangboard.readmodels.trends import DAY, Curve, Trends, read_gang_trends
from gangboard.readmodels.unseen import Unseen, find_unread
from gangboard.web.addresses import Address, make_select
from gangboard.web.auth import viewer_for
from gangboard.web.exports import Formats, send_file
from gangboard.web.frame import Frame
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import Fragments
from gangboard.web.not_counted import not_counted_line
from gangboard.web.pagination import ListPage, Paginated
from gangboard.web.templatetags.trends import over_period

_NO_FILTERS = frozenset({"ordering", "group_by", "columns"})
"""Of the pairs of an address: what leaves no gang out."""
FORMATS: Formats[GangRow] = {
    "csv": ("text/csv; charset=utf-8", partial(write_csv, columns=CSV_COLUMNS))
}
_OPTIONAL_IN_ORDER = tuple(column for column in COLUMNS if column.choice)
_HEADING_SPAN = len(COLUMNS) - len(_OPTIONAL_IN_ORDER) + 2
"""Columns under the title of a group. Two are of the page: the box to tick and the menu."""
Offers = Mapping[str, tuple[OfferRow, ...]]
"""What may be asked of the owner, by id of the gang."""


@dataclass(frozen=True, slots=True)
class TileButton:
    """One tile: a press adds these gangs to those of other pressed tiles, a second one takes them out."""

    tile: Tile
    value: str
    """The health words that are shown after a press, with commas."""
    pressed: bool
    over_day: str
    """Between which numbers it was over the last day; empty where no curve can be drawn."""


class BoardPage(ListPage[Board, GangFilters]):
    """The Board; to a change of its filters only what changes."""

    name = "board"
    section = "board"
    welcomes = True

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Read the address, and whether all of the page is asked for."""
        super().setup(request, *args, **kwargs)
        whole = request.headers.get("HX-Target") != "board"
        self.template_name = "board/page.html" if whole else "board/answer.html"

    def read_address(self, query: QueryDict) -> Address[GangFilters]:
        """Return the state that a query asks for."""
        return read_board_address(query)

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

    def fragments(self, frame: Frame, found: Paginated[Board]) -> Fragments:
        """Return the tiles and a row for each gang, with what may be asked of its owner."""
        clusters = frame.clusters
        rows = [line.row for line in found.page.lines if line.row is not None]
        offers = board_offers(viewer=frame.viewer, rows=rows, clusters=clusters)
        asked = self.address.filters.cluster
        unread = find_unread(one for one in clusters.values() if asked in ("", one.cluster))
        line = not_counted_line(clusters, asked)
        trends = self._trends(frame)
        return (
            *_tile_fragments(found.page, self.address, trends),
            line,
            *_fragments(found.page, self.address, offers, unread),
            found.pager,
        )

    def _trends(self, frame: Frame) -> Trends:
        """Return the curves of the tiles; none where these count only some gangs of a cluster."""
        filters = self.address.filters
        if filters.narrows_clusters:
            return Trends(DAY, DAY.begin(frame.now))
        trends = read_gang_trends(
            viewer=frame.viewer, clusters=frame.clusters, now=frame.now, cluster=filters.cluster
        )
        return since_known(trends)

    def context(self, frame: Frame, found: Paginated[Board]) -> dict[str, object]:
        """Return the filters, the headings, and what this person has chosen."""
        choices = read_choices(frame.viewer, self.request.GET)
        shown = _context(found.page, self.address)
        most = MOST_AT_ONCE if frame.viewer.operates_somewhere else 0
        return {**shown, "choices": choices, "most_at_once": most}


@require_POST
def export(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send the gangs that the filters ask for, those of all pages."""
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


def _tile_fragments(shown: Board, address: Address[GangFilters], trends: Trends) -> Fragments:
    """Return the tiles, and apart from them the curves: a number that changes does not send these anew."""
    curves = {word: curve for word, curve in trends.gangs.items() if curve.can_be_drawn}
    tiles = tuple(
        _tile(tile, address, _over_day(curves.get(tile.face.word), trends)) for tile in shown.tiles
    )
    drawn = {"trends": trends, "curves": tuple(curves.values())}
    return (
        FragmentList("healths", tiles),
        # Without a curve there is nothing that goes on with the clock.
        Fragment("curves", "board/curves.html", drawn, trends if curves else ()),
    )


def _fragments(
    shown: Board, address: Address[GangFilters], offers: Offers, unread: tuple[Unseen, ...]
) -> Fragments:
    count = {
        "total": shown.total,
        "hidden": shown.hidden,
        "gone": address.filters.gone,
        "living": address.link(gone=""),
        "show_all": address.link(show_finished="1"),
        "filtered": any(name not in _NO_FILTERS for name, _ in address.pairs),
    }
    nothing = {
        **count,
        "lines": bool(shown.lines),
        "unread": bool(unread),
        "q": printable(address.filters.q),
    }
    partly = tuple(one for one in unread if one.is_counted)
    return (
        Fragment("count", "board/count.html", count, tuple(count.values())),
        Fragment("unread", "board/unread.html", {"unseen": partly}, partly),
        FragmentList("gangs", tuple(_line(line, offers) for line in shown.lines)),
        Fragment("nothing", "board/nothing.html", nothing, nothing),
    )


def _line(line: Line, offers: Offers) -> Fragment:
    if line.row is None:
        context = {"heading": line.heading, "span": _HEADING_SPAN, "optional": _OPTIONAL_IN_ORDER}
        return Fragment(line.id, "board/heading.html", context, line.shown)
    context = {"row": line.row, "columns": COLUMNS}
    if line.row.gone_at is not None:
        return Fragment(line.id, "board/gone_row.html", context, line.shown)
    menu = offers.get(line.row.id, ())
    return Fragment(line.id, "board/row.html", {**context, "offers": menu}, (line.shown, menu))


def _tile(tile: Tile, address: Address[GangFilters], over_day: str) -> Fragment:
    word, chosen = tile.face.word, address.filters.health
    if address.filters.gone:
        chosen = ()  # tiles count gangs that exist, and lead back to these
    others = tuple(one for one in chosen if one != word)
    pressed = word in chosen
    value = ",".join(others if pressed else (*chosen, word))
    button = TileButton(tile, value, pressed, over_day)
    return Fragment(f"tile-{tile.face.word}", "board/tile.html", {"button": button}, button)


def _over_day(curve: Curve | None, trends: Trends) -> str:
    return f"{curve.range_text}, {over_period(trends)}" if curve is not None else ""


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
        "columns": headings_of(COLUMNS, filters.ordering, ORDERINGS, _ordered_by(address)),
        "kept": tuple(
            pair
            for pair in address.pairs
            if pair[0] in ("health", "code", "stage", "ordering", "columns")
        ),
        "reason": reason_title(filters.code) if filters.code else "",
        "without_reason": address.link(code=""),
        "any_health": address.without("health", "gone"),
        "query": urlencode(address.pairs),
    }


def _ordered_by(address: Address[GangFilters]) -> Callable[[str], str]:
    """Return a function from an ordering to the address with it."""

    def link(ordering: str) -> str:
        return address.link(ordering=ordering)

    return link
