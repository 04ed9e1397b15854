"""The page of checks: a form, and the forecasts for each gang and cluster."""

from __future__ import annotations

from datetime import timedelta

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from gangboard.decode.manifests import ManifestError
from gangboard.pages.check.forms import CheckForm
from gangboard.pages.check.queries import NoClusterError, begin, read_check
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import plain_page
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Viewer
from gangboard.store.checks import CheckError

RESULT = "check/result.html"
LONGEST_WAIT = timedelta(seconds=20)
"""Time after which the page stops to ask for missing answers by itself."""


@sensitive_post_parameters("manifests")
@sensitive_variables()
@require_http_methods(["GET", "HEAD", "POST"])
def check_form(request: HttpRequest) -> HttpResponse:
    """Show the form, or begin a check of its manifests."""
    viewer = viewer_for(request)
    clusters = [
        freshness.cluster
        for freshness in read_freshness(viewer=viewer, now=timezone.now()).values()
    ]
    if request.method != "POST":
        return _form_page(request, viewer, CheckForm(clusters=clusters))
    form = CheckForm(request.POST, request.FILES, clusters=clusters)
    if not form.is_valid():
        return _form_page(request, viewer, form, status=400)
    chosen = form.cleaned_data["cluster"]
    try:
        check_id = begin(
            viewer=viewer,
            text=form.cleaned_data["text"],
            clusters=(chosen,) if chosen else (),
            namespace=form.cleaned_data["namespace"],
        )
    except (ManifestError, CheckError) as error:
        form.add_error(None, str(error))
    except NoClusterError:
        form.add_error(None, "You see no such cluster.")
    else:
        return HttpResponseRedirect(reverse("check-result", args=[check_id]), status=303)
    return _form_page(request, viewer, form, status=400)


def _form_page(
    request: HttpRequest, viewer: Viewer, form: CheckForm, *, status: int = 200
) -> HttpResponse:
    return plain_page(
        request,
        "check/page.html",
        viewer=viewer,
        section="check",
        context={"form": form},
        status=status,
    )


@require_safe
def check_result(request: HttpRequest, check_id: str) -> HttpResponse:
    """Show the forecasts. htmx requests only the part that changes while answers are missing."""
    viewer, now = viewer_for(request), timezone.now()
    result = read_check(check_id, viewer=viewer, now=now)
    if result is None:
        raise Http404
    context = {
        "result": result,
        "asks_again": not result.complete and now - result.created_at < LONGEST_WAIT,
    }
    if request.headers.get("HX-Request") == "true":
        # Screen readers read a replaced part again, so replace it only if it has changed.
        if context["asks_again"] and request.GET.get("shown") == str(result.answered):
            return HttpResponse(status=204)
        return render(request, RESULT, {**context, "now": now})
    return plain_page(
        request, "check/result_page.html", viewer=viewer, section="check", context=context
    )
