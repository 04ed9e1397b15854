"""A gang as a file: its evidence for a ticket, and its objects as they are stored."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.readmodels.bundle import bundle_text
from gangboard.readmodels.gang_page import gang_detail
from gangboard.readmodels.stored_objects import stored_yaml
from gangboard.web.auth import viewer_for


@require_safe
def bundle(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Return the evidence of a gang as Markdown. Raises Http404 where it is not there or not to be seen."""
    now = timezone.now()
    found = gang_detail(viewer=viewer_for(request), gang_id=gang_id, now=now)
    if found is None:
        raise Http404
    name = f"gangboard-{gang_id}-{now:%Y%m%d-%H%M}.md"
    return HttpResponse(
        bundle_text(found, now),
        content_type="text/markdown; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@require_safe
def stored(request: HttpRequest, gang_id: str) -> HttpResponse:
    """Return the stored objects of a gang as YAML. Raises Http404 as `bundle` does."""
    text = stored_yaml(viewer=viewer_for(request), gang_id=gang_id)
    if text is None:
        raise Http404
    return HttpResponse(text, content_type="text/plain; charset=utf-8")
