"""The pages of the API reference. They are the same for everybody who has signed in."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from gangboard.pages.api_reference.api_document import find_resource, read_problem, read_resources
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import plain_page

SECTION = "reference"


@require_safe
def reference(request: HttpRequest) -> HttpResponse:
    """Show all calls, and the rules that apply to all of them."""
    return plain_page(
        request,
        "api_reference/page.html",
        viewer=viewer_for(request),
        section=SECTION,
        context={
            "resources": read_resources(),
            "problem": read_problem(),
            "address": request.build_absolute_uri("/api/v1/"),
        },
    )


@require_safe
def resource_reference(request: HttpRequest, resource: str) -> HttpResponse:
    """Show the calls of one resource with parameters, answers and fields."""
    api_resource = find_resource(resource)
    if api_resource is None:
        raise Http404
    return plain_page(
        request,
        "api_reference/resource.html",
        viewer=viewer_for(request),
        section=SECTION,
        context={"resource": api_resource, "resources": read_resources()},
    )
