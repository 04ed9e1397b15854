"""For whom a page is."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from gangboard.store.access import Viewer
from gangboard.web.auth import viewer_for


def admin_of(request: HttpRequest) -> Viewer:
    """Return the admin of everything who asks. Raises Http404 for anybody else."""
    viewer = viewer_for(request)
    if not viewer.is_admin:
        raise Http404
    return viewer
