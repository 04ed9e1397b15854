"""The search over everything, which every page has on top."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.printable import printable
from gangboard.readmodels.search_results import (
    MOST_HITS,
    PlaceHit,
    SearchResults,
    search_everything,
)
from gangboard.web.addresses import read_text
from gangboard.web.auth import viewer_for
from gangboard.web.layout import layout_fragments, render_page


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Lead to the only hit, or show all of them; `all` in the address shows them also when it is one."""
    viewer, now = viewer_for(request), timezone.now()
    text = read_text(request.GET, "q")
    clusters = read_freshness(viewer=viewer, now=now)
    found = search_everything(text, viewer=viewer, clusters=clusters, now=now)
    if found.hits == 1 and "all" not in request.GET and (only := _address(found)):
        return HttpResponseRedirect(only)
    return render_page(
        request,
        "search/page.html",
        viewer=viewer,
        now=now,
        page=layout_fragments(clusters, read_liveness(now=now)),
        section="",
        live="",
        context={"q": text, "shown": printable(text), "found": found, "most": MOST_HITS},
    )


def _address(found: SearchResults) -> str:
    """Return the page of the only hit; empty where its name fits no address."""
    for hit in (*found.gangs, *found.deleted):
        return reverse("gang", args=(hit.row.id,))
    for page, places in (("node", found.nodes), ("queue", found.queues)):
        for place in places:
            return _place_address(page, place)
    pairs = [{"cluster": one.cluster, "namespace": one.name} for one in found.namespaces]
    return f"{reverse('board')}?{urlencode(pairs[0])}" if pairs else ""


def _place_address(page: str, place: PlaceHit) -> str:
    try:
        return reverse(page, args=(place.cluster, place.name))
    except NoReverseMatch:
        return ""
