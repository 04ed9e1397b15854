"""The Groups page: every group as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.groups import GroupFilters, GroupPage, group_kinds, list_groups
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web.addresses import Address, make_select, read_address, select_cluster
from gangboard.web.auth import viewer_for
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates
from gangboard.web.pagination import PAGE_SIZE, paginate


@require_GET
def groups(request: HttpRequest) -> HttpResponse:
    """Show one page of the groups."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_address("groups", GroupFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    return render_page(
        request,
        "groups/page.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, address, now),
        section="groups",
        live=address.live,
        context={
            "filters": address.filters,
            "selects": (
                select_cluster(clusters, address.filters.cluster),
                make_select("kind", "Kind", group_kinds(), address.filters.kind),
            ),
        },
    )


@require_GET
def groups_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the Groups page."""
    viewer = viewer_for(request)
    address = read_address("groups", GroupFilters, request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _page(viewer, address, timezone.now())

    return wait_for_updates(request, viewer, address.live, read)


def _page(
    viewer: Viewer, address: Address[GroupFilters], now: datetime
) -> tuple[Fragment | FragmentList, ...]:
    clusters = read_freshness(viewer=viewer, now=now)
    liveness = read_liveness(now=now)

    def read(cursor: str) -> GroupPage:
        return list_groups(
            viewer=viewer,
            filters=address.filters,
            limit=PAGE_SIZE,
            cursor=cursor,
            now=now,
            clusters=clusters,
        )

    found, pager = paginate(address, read)
    nothing = {
        "empty": not found.rows,
        "filtered": bool(address.pairs),
        "unseen": bool(found.unseen),
    }
    return (
        *layout_fragments(clusters, liveness),
        Fragment("unseen", "groups/unseen.html", {"unseen": found.unseen}, found.unseen),
        FragmentList(
            "group-rows",
            tuple(
                Fragment(f"p-{row.uid}", "groups/row.html", {"row": row}, row) for row in found.rows
            ),
        ),
        Fragment("nothing", "groups/nothing.html", nothing, tuple(nothing.values())),
        pager,
    )
