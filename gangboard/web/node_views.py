"""All Jobs with pods on one node, to hold them with one confirmation before it is worked on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.actions.service import MOST_AT_ONCE
from gangboard.readmodels.action_offers import jobs_on_node
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.web.addresses import read_text
from gangboard.web.auth import viewer_for
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates


@require_GET
def node(request: HttpRequest) -> HttpResponse:
    """List the Jobs on a node, of the gangs that the viewer may see."""
    viewer = viewer_for(request)
    now = timezone.now()
    cluster, name = read_text(request.GET, "cluster"), read_text(request.GET, "node")
    page = _page(viewer, cluster, name, now)
    if not page:
        raise Http404
    return render_page(
        request,
        "actions/node.html",
        viewer=viewer,
        now=now,
        page=page,
        section="board",
        live=_live(cluster, name),
        context={"cluster": printable(cluster), "node": printable(name)},
    )


@require_GET
def node_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the page."""
    viewer = viewer_for(request)
    cluster, name = read_text(request.GET, "cluster"), read_text(request.GET, "node")

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _page(viewer, cluster, name, timezone.now())

    return wait_for_updates(request, viewer, _live(cluster, name), read)


def _live(cluster: str, node: str) -> str:
    return f"{reverse('node-updates')}?{urlencode({'cluster': cluster, 'node': node})}"


def _page(
    viewer: Viewer, cluster: str, node: str, now: datetime
) -> tuple[Fragment | FragmentList, ...]:
    """Return the page; empty when the viewer sees no such cluster. A node that it does not see
    and one without Jobs of its look the same.
    """
    clusters = read_freshness(viewer=viewer, now=now)
    if not node or not any(one.cluster == cluster for one in clusters.values()):
        return ()
    offers = jobs_on_node(viewer=viewer, cluster=cluster, node=node, now=now)
    state = {
        "offers": offers,
        "allowed": sum(offer.allowed for offer in offers),
        "most": MOST_AT_ONCE,
        "too_many": sum(offer.allowed for offer in offers) > MOST_AT_ONCE,
    }
    return (
        *layout_fragments(clusters, read_liveness(now=now)),
        Fragment("node-jobs", "actions/node_jobs.html", state, tuple(state.values())),
    )
