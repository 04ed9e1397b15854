"""From the name of a pod, a Job or a node to its gang: for links in other tools."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from gangboard.readmodels.gangs import find_gangs_named
from gangboard.web.addresses import read_text
from gangboard.web.auth import viewer_for

_PLACES = ("cluster", "namespace")


@require_safe
def find(request: HttpRequest) -> HttpResponseRedirect:
    """Lead to the gang that has this name, or a part of this name; to a search where it is not one gang."""
    name = read_text(request.GET, "name")
    places = {place: text for place in _PLACES if (text := read_text(request.GET, place))}
    found = find_gangs_named(name, viewer=viewer_for(request), **places) if name else ()
    if len(found) == 1:
        return HttpResponseRedirect(reverse("gang", args=found))
    query = {"q": name, **places} if name else places
    return HttpResponseRedirect(f"{reverse('board')}?{urlencode(query)}")
