"""The past of a gang on its page, and the page of a deleted gang, of which only that is left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gang_history import DeletedGang, GangHistory, find_deleted_gang
from gangboard.readmodels.gang_page import gang_detail
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.verdict_spans import make_strip
from gangboard.store.access import Viewer
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates

DELETED = "gone"
"""Parameter with which an open page of a deleted gang asks for updates."""


def past_fragment(past: GangHistory, now: datetime) -> Fragment:
    """Return the strip and the wait of a gang."""
    context = {
        "strip": make_strip(past.spans, now, past.outages),
        "more": past.more,
        "wait": past.wait,
        "typical": past.typical,
    }
    return Fragment("past", "gang/past.html", context, past.shown)


def show_deleted_gang(
    request: HttpRequest, viewer: Viewer, gang_id: str, now: datetime
) -> HttpResponse:
    """Show what is left of a deleted gang; one without a past and one that may not be seen look the same."""
    gang = find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)
    if gang is None:
        raise Http404
    return render_page(
        request,
        "gang/gone.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, gang, now),
        section="board",
        live=_live(gang_id),
        context={"gang": gang},
    )


def deleted_gang_updates(request: HttpRequest, viewer: Viewer, gang_id: str) -> HttpResponse:
    """Answer the waiting request of the page of a deleted gang."""

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        now = timezone.now()
        gang = find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)
        # A gang that is there again has a page of its own.
        is_back = gang_detail(viewer=viewer, gang_id=gang_id, now=now) is not None
        return () if gang is None or is_back else _page(viewer, gang, now)

    return wait_for_updates(request, viewer, _live(gang_id), read)


def _live(gang_id: str) -> str:
    return f"{reverse('gang-updates', args=[gang_id])}?{DELETED}=1"


def _page(viewer: Viewer, gang: DeletedGang, now: datetime) -> tuple[Fragment | FragmentList, ...]:
    clusters = read_freshness(viewer=viewer, now=now)
    said = (gang.face, gang.code, gang.message, gang.since, gang.gone_at, gang.verdict)
    return (
        *layout_fragments(clusters, read_liveness(now=now)),
        Fragment("verdict", "gang/gone_verdict.html", {"gang": gang}, said),
        past_fragment(gang.gang_history, now),
        Fragment("history", "gang/history.html", {"timeline": gang.timeline}, gang.timeline),
    )
