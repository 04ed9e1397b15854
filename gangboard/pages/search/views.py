"""The page of the search."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import layout_fragments, render_page
from gangboard.pages.core.query_state import read_text
from gangboard.pages.search.queries import (
    MOST_HITS,
    PlaceHit,
    SearchResults,
    search_everything,
)
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Redirect to the only hit, or show all hits. With `all` in the address, a single hit is also shown."""
    viewer, now = viewer_for(request), timezone.now()
    text = read_text(request.GET, "q")
    clusters = read_freshness(viewer=viewer, now=now)
    results = search_everything(text, viewer=viewer, clusters=clusters, now=now)
    if results.hits == 1 and "all" not in request.GET and (only := _address(results)):
        return HttpResponseRedirect(only)
    return render_page(
        request,
        "search/page.html",
        viewer=viewer,
        now=now,
        page=layout_fragments(clusters, read_liveness(now=now)),
        section="",
        live="",
        context={"q": text, "shown": printable(text), "found": results, "most": MOST_HITS},
    )


def _address(results: SearchResults) -> str:
    """Return the address of the only hit; empty if its name fits no address."""
    for hit in (*results.gangs, *results.deleted):
        return reverse("gang", args=(hit.row.id,))
    for page, places in (("node", results.nodes), ("queue", results.queues)):
        for place in places:
            return _place_address(page, place)
    for place in results.namespaces:
        query = urlencode({"cluster": place.cluster, "namespace": place.name})
        return f"{reverse('board')}?{query}"
    return ""


def _place_address(page: str, place: PlaceHit) -> str:
    try:
        return reverse(page, args=(place.cluster, place.name))
    except NoReverseMatch:
        return ""
