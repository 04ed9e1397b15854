"""The page of the search."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import layout_fragments, render_page
from gangboard.pages.core.query_state import read_text
from gangboard.pages.search.queries import search_everything
from gangboard.pages.search.rows import MOST_HITS
from gangboard.readmodels.cluster_visibility import unread_clusters
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
    if results.only_href and "all" not in request.GET:
        return HttpResponseRedirect(results.only_href)
    return render_page(
        request,
        "search/page.html",
        viewer=viewer,
        now=now,
        page=layout_fragments(clusters, read_liveness(now=now)),
        section="",
        live="",
        context={
            "q": text,
            "shown": printable(text),
            "groups": results.groups,
            "most": MOST_HITS,
            "unseen": unread_clusters(clusters.values()),
        },
    )
