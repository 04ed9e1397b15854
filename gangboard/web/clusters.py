"""The Clusters page and the page of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.clusters import ClusterState, cluster_detail, find_slots, list_clusters
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web.auth import viewer_for
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates


@require_GET
def clusters(request: HttpRequest) -> HttpResponse:
    """Show all clusters of which the viewer may see something."""
    viewer = viewer_for(request)
    now = timezone.now()
    return render_page(
        request,
        "clusters/page.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, now),
        section="clusters",
        live=reverse("clusters-updates"),
        context={},
    )


@require_GET
def clusters_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the Clusters page."""
    viewer = viewer_for(request)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _page(viewer, timezone.now())

    return wait_for_updates(request, viewer, reverse("clusters-updates"), read)


@require_GET
def cluster(request: HttpRequest, name: str) -> HttpResponse:
    """Show one cluster with every resource; missing and forbidden look the same."""
    viewer = viewer_for(request)
    now = timezone.now()
    page = _detail_page(viewer, name, now)
    if not page:
        raise Http404
    return render_page(
        request,
        "clusters/detail.html",
        viewer=viewer,
        now=now,
        page=page,
        section="clusters",
        live=reverse("cluster-updates", args=[name]),
        context={"name": name, "card": page[2]},
    )


@require_GET
def cluster_updates(request: HttpRequest, name: str) -> HttpResponse:
    """Answer the waiting request of a cluster's page."""
    viewer = viewer_for(request)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _detail_page(viewer, name, timezone.now())

    return wait_for_updates(request, viewer, reverse("cluster-updates", args=[name]), read)


def _page(viewer: Viewer, now: datetime) -> tuple[Fragment | FragmentList, ...]:
    liveness = read_liveness(now=now)
    states = list_clusters(viewer=viewer, now=now)
    slots = find_slots(viewer=viewer, liveness=liveness, now=now)
    return (
        *layout_fragments(read_freshness(viewer=viewer, now=now), liveness),
        Fragment("slots", "clusters/slots.html", {"slots": slots}, slots),
        FragmentList("clusters", tuple(_card(state) for state in states)),
        Fragment("nothing", "clusters/nothing.html", {"empty": not states}, not states),
    )


def _detail_page(viewer: Viewer, name: str, now: datetime) -> tuple[Fragment | FragmentList, ...]:
    state = cluster_detail(name, viewer=viewer, now=now)
    if state is None:
        return ()
    clusters = read_freshness(viewer=viewer, now=now)
    resources = tuple(replace(row, contact_at=None) for row in state.resources)
    return (
        *layout_fragments(clusters, read_liveness(now=now)),
        _card(state),
        Fragment("outages", "clusters/outages.html", {"state": state}, state.outages),
        Fragment("resources", "clusters/resources.html", {"state": state}, resources),
    )


def _card(state: ClusterState) -> Fragment:
    return Fragment(f"c-{state.name}", "clusters/card.html", {"state": state}, _shown(state))


def _shown(state: ClusterState) -> tuple[object, ...]:
    """All that a card prints besides what a clock changes."""
    return (
        state.freshness.shown,
        state.headline,
        state.problem_since,
        state.server,
        state.server_version,
        state.listed_at,
        tuple(replace(row, contact_at=None) for row in state.faults),
        state.objects,
        state.expiry and state.expiry.tone,
        state.actor_expiry and state.actor_expiry.tone,
        state.levers,
        state.claims,
        state.holder,
        state.gangs,
    )
