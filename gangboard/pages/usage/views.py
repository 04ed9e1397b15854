"""The pages of accelerator time and of evictions, and both as files.

They cover days and weeks, so they have no live updates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from gangboard.domain.eviction import EvictionCode
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.exports import Formats, send_file
from gangboard.pages.core.layout import NavigationItem, plain_page
from gangboard.pages.core.pagination import PAGE_SIZE, read_rows
from gangboard.pages.core.query_state import (
    Address,
    Option,
    Select,
    make_select,
    read_address,
    select_cluster,
)
from gangboard.pages.core.tables import csv_of, write_csv
from gangboard.pages.usage.eviction_queries import (
    EvictionFilters,
    all_evictions,
    count_evictions,
    eviction_page,
)
from gangboard.pages.usage.eviction_rows import EvictionPage
from gangboard.pages.usage.queries import (
    FIRST_DAY,
    LAST_DAY,
    UsageQuery,
    read_usage,
    usual_period,
)
from gangboard.pages.usage.rows import FILE_COLUMNS, GROUPING_LABELS, UsageRow
from gangboard.readmodels.evictions import LABELS, EvictionRow
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Viewer

SECTION = "capacity"
MOST_ROWS = 500
"""Rows of the page. A file has all of them."""
_TABS = (("usage", "Accelerator-hours"), ("evictions", "Preemptions and evictions"))


@dataclass(frozen=True, slots=True)
class UsageFilters:
    """The filters of the page, as texts of the address."""

    begin: str = ""
    end: str = ""
    cluster: str = ""
    namespace: str = ""
    by: str = ""
    """A key of GROUPINGS."""
    then: str = ""
    """A second key of GROUPINGS."""


@require_safe
def usage(request: HttpRequest) -> HttpResponse:
    """Show the accelerator time of a period."""
    viewer, now = viewer_for(request), timezone.now()
    address = read_address("usage", UsageFilters, request.GET)
    query, problem = query_of(address.filters, now)
    clusters = read_freshness(viewer=viewer, now=now)
    found = read_usage(viewer=viewer, query=query, clusters=clusters, now=now)
    context = {
        "usage": found,
        "shown_rows": found.rows[:MOST_ROWS],
        "more_rows": len(found.rows) - MOST_ROWS if len(found.rows) > MOST_ROWS else 0,
        "problem": problem,
        "filters": address.filters,
        "begin": query.begin.isoformat(),
        "end": query.end.isoformat(),
        "has_clusters": bool(clusters),
        "query": urlencode(address.pairs),
        "tabs": _tabs("usage"),
        "selects": (
            select_cluster(clusters, address.filters.cluster),
            _select_group("by", "By", query.by[0], "namespace"),
            _select_group("then", "and by", query.by[1] if len(query.by) > 1 else "", ""),
        ),
    }
    return plain_page(request, "usage/page.html", viewer=viewer, section=SECTION, context=context)


@require_safe
def evictions(request: HttpRequest) -> HttpResponse:
    """Show the evictions of the last days, counted and one by one."""
    viewer, now = viewer_for(request), timezone.now()
    address = read_address("evictions", EvictionFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    filters = address.filters

    def read(cursor: str) -> EvictionPage:
        return eviction_page(
            viewer=viewer, filters=filters, clusters=clusters, cursor=cursor, limit=PAGE_SIZE
        )

    rows, pager = read_rows(address, read)
    context = {
        "counts": count_evictions(viewer=viewer, filters=filters, clusters=clusters, now=now),
        "rows": rows,
        "pager": pager,
        "filters": address.filters,
        "has_clusters": bool(clusters),
        "query": urlencode(address.pairs),
        "tabs": _tabs("evictions"),
        "selects": (
            select_cluster(clusters, address.filters.cluster),
            _select_code(address.filters.code),
        ),
    }
    return plain_page(
        request, "usage/evictions.html", viewer=viewer, section=SECTION, context=context
    )


def query_of(filters: UsageFilters, now: datetime) -> tuple[UsageQuery, str]:
    """Return the query of an address, and a sentence about what is wrong with its dates, or an empty text.

    Wrong dates and unknown groups have the usual values.
    """
    usual_begin, usual_end = usual_period(now)
    begin, end = _day(filters.begin), _day(filters.end)
    problem = ""
    if (filters.begin and begin is None) or (filters.end and end is None):
        problem = "A date is written as YYYY-MM-DD and is in the years 2000 to 2199."
    begin, end = begin or usual_begin, end or usual_end
    if begin > end:
        problem = problem or "The period ends before it begins."
        begin, end = usual_begin, usual_end
    by = filters.by if filters.by in GROUPING_LABELS else "namespace"
    then = filters.then if filters.then in GROUPING_LABELS and filters.then != by else ""
    groups = (by, then) if then else (by,)
    return UsageQuery(begin, end, groups, filters.cluster, filters.namespace), problem


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if FIRST_DAY <= day <= LAST_DAY else None


def _select_group(name: str, label: str, chosen: str, usual: str) -> Select:
    options = tuple(
        Option(key, text, key == chosen) for key, text in GROUPING_LABELS.items() if key != usual
    )
    return Select(name, label, options, GROUPING_LABELS.get(usual, "nothing"))


def _select_code(chosen: str) -> Select:
    select = make_select("code", "What", tuple(code.value for code in EvictionCode), chosen)
    options = tuple(
        Option(option.value, LABELS.get(option.value, option.label), option.chosen)
        for option in select.options
    )
    return Select("code", "What", options)


def _tabs(current: str) -> tuple[NavigationItem, ...]:
    return tuple(
        NavigationItem(label, reverse(name), "page" if name == current else "")
        for name, label in _TABS
    )


FORMATS: Formats[UsageRow] = {
    "csv": ("text/csv; charset=utf-8", partial(write_csv, columns=FILE_COLUMNS))
}


def _eviction_lines(rows: Iterable[EvictionRow]) -> Iterator[str]:
    return csv_of(EvictionRow, rows)


EVICTION_FORMATS: Formats[EvictionRow] = {"csv": ("text/csv; charset=utf-8", _eviction_lines)}


@require_POST
def export_usage(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send the rows of the page as a file."""
    address = read_address("usage", UsageFilters, request.GET)
    return _send(request, address, FORMATS, ending, lambda viewer: _usage_rows(viewer, address))


@require_POST
def export_evictions(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send all evictions that the filters leave as a file."""
    address = read_address("evictions", EvictionFilters, request.GET)

    def read(viewer: Viewer) -> Iterator[EvictionRow]:
        clusters = read_freshness(viewer=viewer, now=timezone.now())
        return all_evictions(viewer, address.filters, clusters)

    return _send(request, address, EVICTION_FORMATS, ending, read)


def _usage_rows(viewer: Viewer, address: Address[UsageFilters]) -> tuple[UsageRow, ...]:
    now = timezone.now()
    query, _ = query_of(address.filters, now)
    clusters = read_freshness(viewer=viewer, now=now)
    return read_usage(viewer=viewer, query=query, clusters=clusters, now=now).rows


def _send(
    request: HttpRequest, address: Address[Any], formats: Formats[Any], ending: str, read: Any
) -> HttpResponseBase:
    viewer = viewer_for(request)
    return send_file(
        request,
        viewer,
        address.page,
        formats.get(ending),
        ending,
        address.pairs,
        lambda: read(viewer),
    )
