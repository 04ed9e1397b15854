"""The Groups page: every group as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.cursors import CursorError
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.groups import GroupPage, group_kinds, list_groups
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web import live
from gangboard.web.addresses import GroupsAddress, make_select
from gangboard.web.frame import frame_parts, render_page
from gangboard.web.gate import signed_in
from gangboard.web.parts import Part, Rows

PAGE = 100


@signed_in
@require_GET
def groups(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show one page of the groups."""
    now = timezone.now()
    address = GroupsAddress.read(request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    return render_page(
        request,
        "groups/page.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, address, now),
        section="groups",
        live=_live(address),
        context={
            "filters": address.filters,
            "selects": (
                make_select(
                    "cluster",
                    "Cluster",
                    tuple(cluster.cluster for cluster in clusters.values()),
                    address.filters.cluster,
                ),
                make_select("kind", "Kind", group_kinds(), address.filters.kind),
            ),
        },
    )


@signed_in
@require_GET
def groups_news(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer the waiting request of the Groups page."""
    address = GroupsAddress.read(request.GET)

    def read(viewer: Viewer) -> Sequence[Part | Rows]:
        return _page(viewer, address, timezone.now())

    return live.answer(request, viewer, _live(address), read)


def _live(address: GroupsAddress) -> str:
    return f"{reverse('groups-news')}?{address.live_query()}"


def _page(viewer: Viewer, address: GroupsAddress, now: datetime) -> tuple[Part | Rows, ...]:
    clusters = read_freshness(viewer=viewer, now=now)
    liveness = read_liveness(now=now)

    def read(cursor: str) -> GroupPage:
        return list_groups(
            viewer=viewer,
            filters=address.filters,
            limit=PAGE,
            cursor=cursor,
            now=now,
            clusters=clusters,
        )

    try:
        found = read(address.cursor)
    except CursorError:
        # An old link to a later page: the first page is better than an error.
        address = replace(address, cursor="")
        found = read("")
    home = reverse("groups")
    query = urlencode(address.pairs)
    pager = {
        "next": f"{home}?{urlencode([*address.pairs, ('cursor', found.next_cursor)])}"
        if found.next_cursor
        else "",
        "first": f"{home}?{query}" if address.cursor else "",
    }
    nothing = {"empty": not found.rows, "filtered": bool(address.pairs)}
    return (
        *frame_parts(clusters, liveness),
        Rows(
            "group-rows",
            tuple(Part(f"p-{row.uid}", "groups/row.html", {"row": row}, row) for row in found.rows),
        ),
        Part("nothing", "groups/nothing.html", nothing, tuple(nothing.values())),
        Part("pager", "board/pager.html", pager, tuple(pager.values())),
    )
