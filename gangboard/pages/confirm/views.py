"""The confirmation of an action, as a page and as the content of a dialog.

The form has a CSRF token, so it is never part of a page that is shared between people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from gangboard.actions import service
from gangboard.actions.requests import RequestError, RequestErrorCode, RequestResult
from gangboard.pages.confirm.batches import RejectedTarget
from gangboard.pages.confirm.forms import ActionForm
from gangboard.pages.confirm.preview import may_force, read_confirmation
from gangboard.pages.confirm.progress import ACT_HEADER, batch_page, progress_dialog
from gangboard.pages.confirm.rows import Confirmation
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.fresh_sign_in import require_fresh
from gangboard.pages.core.layout import plain_page
from gangboard.pages.core.saved_forms import saved_form, saves_form
from gangboard.readmodels.actions import action_row
from gangboard.store.access import Viewer

NO_SUCH_OBJECT = "The object does not exist, or you may not see it."


@saves_form(
    "confirm", fields=("verb", "target", "reason", "zone", "until", "avoid", "forced", "gang")
)
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Show the effect of an action, or request it. A GET has no side effects."""
    viewer = viewer_for(request)
    data = request.POST if request.method == "POST" else saved_form(request) or request.GET
    form = ActionForm(data)
    if form.missing_input:
        return _render_problem(request, viewer, form.missing_input, 400)
    if len(form.requests) > 1 and (redirect := require_fresh(request)):
        return redirect
    if request.method == "POST":
        return _submit(request, viewer, form)
    return _show_form(request, viewer, form)


def _show_form(request: HttpRequest, viewer: Viewer, form: ActionForm) -> HttpResponse:
    now = timezone.now()
    confirmation = read_confirmation(viewer=viewer, form=form, now=now)
    if all(target.error_code is RequestErrorCode.NOT_FOUND for target in confirmation.previews):
        return _show_missing(request, viewer)
    is_forcible = may_force(viewer=viewer, confirmation=confirmation, now=now)
    confirmation = replace(confirmation, may_force=is_forcible)
    return _render_form(request, viewer, confirmation, now, confirmation.status)


def _submit(request: HttpRequest, viewer: Viewer, form: ActionForm) -> HttpResponse:
    now = timezone.now()
    if not form.is_valid():
        problem = str(form.errors["until"][0])
        return _show_problem(request, viewer, form, problem, 400, now, wrong_field="until")
    action_requests = form.requests
    try:
        if len(action_requests) == 1:
            accepted = service.request(viewer, action_requests[0], now=now)
            return _show_accepted(request, viewer, accepted.action_id)
        _, results = service.request_many(viewer, action_requests, now=now)
    except RequestError as error:
        if error.code is RequestErrorCode.NOT_FOUND:
            return _show_missing(request, viewer)
        details = {"action_id": error.action_id, "wrong_field": error.field}
        return _show_problem(request, viewer, form, str(error), error.code.status, now, **details)
    return _show_accepted_many(request, viewer, form, results, now)


def _show_accepted(request: HttpRequest, viewer: Viewer, action_id: str) -> HttpResponse:
    if _in_dialog(request):
        return _for_dialog(progress_dialog(request, viewer, action_ids=(action_id,)))
    return _see_other(reverse("action", args=[action_id]))


def _show_accepted_many(
    request: HttpRequest,
    viewer: Viewer,
    form: ActionForm,
    results: tuple[RequestResult, ...],
    now: datetime,
) -> HttpResponse:
    """Redirect to the page of the batch. If objects were refused, show the page directly to name them."""
    action_ids = tuple(result.action_id for result in results if not result.refused)
    refused = tuple(RejectedTarget.of(result) for result in results if result.refused)
    if not action_ids:
        sentence = f"No action was requested: {refused[0].why}" if refused else "Nothing was done."
        return _show_problem(request, viewer, form, sentence, 409, now)
    first = action_row(viewer=viewer, action_id=action_ids[0])
    # A form that is submitted again with the same key has the batch of the first time.
    batch = first.batch if first is not None else ""
    if _in_dialog(request):
        return _for_dialog(
            progress_dialog(request, viewer, action_ids=action_ids, batch=batch, refused=refused)
        )
    if refused or not batch:
        return batch_page(request, viewer, batch, refused=refused)
    return _see_other(reverse("batch", args=[batch]))


def _show_problem(
    request: HttpRequest,
    viewer: Viewer,
    form: ActionForm,
    problem: str,
    status: int,
    now: datetime,
    *,
    action_id: str = "",
    wrong_field: str = "",
) -> HttpResponse:
    """Show the form again with its values, the current plans, and the problem."""
    confirmation = read_confirmation(viewer=viewer, form=form, now=now)
    confirmation = replace(
        confirmation, problem=problem, action_id=action_id, wrong_field=wrong_field
    )
    return _render_form(request, viewer, confirmation, now, status)


def _render_form(
    request: HttpRequest, viewer: Viewer, confirmation: Confirmation, now: datetime, status: int
) -> HttpResponse:
    gang = confirmation.form.cleaned_data["gang"]
    back = reverse("gang", args=[gang]) if gang else reverse("board")
    context: dict[str, Any] = {"confirmation": confirmation, "now": now, "back": back}
    return _render(request, viewer, "confirm/form", context, status)


def _render_problem(
    request: HttpRequest, viewer: Viewer, sentence: str, status: int
) -> HttpResponse:
    return _render(request, viewer, "confirm/nothing_to_ask", {"sentence": sentence}, status)


def _show_missing(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    if not _in_dialog(request):
        raise Http404
    return _render_problem(request, viewer, NO_SUCH_OBJECT, 404)


def _render(
    request: HttpRequest, viewer: Viewer, name: str, context: Mapping[str, Any], status: int
) -> HttpResponse:
    """Return the content of the dialog, or a page around the same content."""
    if _in_dialog(request):
        content = {**context, "dialog": True}
        return _for_dialog(render(request, f"{name}.html", content, status=status))
    return plain_page(
        request,
        f"{name}_page.html",
        viewer=viewer,
        section="actions",
        context=context,
        status=status,
    )


def _in_dialog(request: HttpRequest) -> bool:
    return request.headers.get("HX-Target") == "act-body"


def _for_dialog(response: HttpResponse) -> HttpResponse:
    response[ACT_HEADER] = "yes"
    return response


def _see_other(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)
