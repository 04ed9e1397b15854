"""The confirmation of an action: as a page, and as the content of a dialog.

Actions are asked for only here. The form with its token is never part of what pages share.
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
from gangboard.domain.action import ActionRequest, Verb
from gangboard.pages.confirm.batches import RejectedTarget
from gangboard.pages.confirm.forms import ActionForm
from gangboard.pages.confirm.preview import preview_targets
from gangboard.pages.confirm.progress import ACT_HEADER, batch_page, progress_dialog
from gangboard.pages.confirm.queries import judge_selections, read_totals
from gangboard.pages.confirm.rows import ActionTotals, Confirmation, SelectionRow, TargetPreview
from gangboard.readmodels.actions import action_row
from gangboard.readmodels.advice import StoppedGang, costs_of
from gangboard.store.access import Viewer
from gangboard.web.auth import viewer_for
from gangboard.web.fresh import require_fresh
from gangboard.web.kept_forms import keeps_form, kept_form
from gangboard.web.layout import plain_page

THERE_IS_NONE = "There is no such object, or you may not see it."


@keeps_form("confirm", fields=("verb", "target", "reason", "zone", "until", "forced", "gang"))
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Show what would happen, or ask for it. GET sends and writes nothing."""
    viewer = viewer_for(request)
    asked = request.POST if request.method == "POST" else kept_form(request) or request.GET
    form = ActionForm(asked)
    if form.nothing_asked:
        return _render_problem(request, viewer, form.nothing_asked, 400)
    if len(form.requests) > 1 and (again := require_fresh(request)):
        return again
    if request.method == "POST":
        return _submit(request, viewer, form)
    return _show_form(request, viewer, form)


def _show_form(request: HttpRequest, viewer: Viewer, form: ActionForm) -> HttpResponse:
    now = timezone.now()
    previews, judged = _preview(viewer, form, now)
    if all(one.error_code is RequestErrorCode.NOT_FOUND for one in previews):
        return _missing(request, viewer)
    shown = Confirmation(
        form,
        previews,
        may_force=_may_force(viewer, form, previews),
        judged=judged,
        totals=_totals(form, previews),
        costs=_costs(viewer, form, previews),
    )
    return _render_form(request, viewer, shown, now, shown.status)


def _submit(request: HttpRequest, viewer: Viewer, form: ActionForm) -> HttpResponse:
    now = timezone.now()
    if not form.is_valid():
        problem = str(form.errors["until"][0])
        return _show_form_again(request, viewer, form, problem, 400, now, wrong_field="until")
    action_requests = form.requests
    try:
        if len(action_requests) == 1:
            accepted = service.request(viewer, action_requests[0], now=now)
            return _show_accepted(request, viewer, accepted.action_id)
        _, results = service.request_many(viewer, action_requests, now=now)
    except RequestError as error:
        if error.code is RequestErrorCode.NOT_FOUND:
            return _missing(request, viewer)
        status, field = error.code.status, error.field
        return _show_form_again(
            request, viewer, form, str(error), status, now, error.action_id, wrong_field=field
        )
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
    """Lead to the page of the batch; say at once what was not taken, because that has no page."""
    action_ids = tuple(one.action_id for one in results if not one.refused)
    refused = tuple(RejectedTarget.of(one) for one in results if one.refused)
    if not action_ids:
        sentence = f"Nothing was asked for: {refused[0].why}" if refused else "Nothing was done."
        return _show_form_again(request, viewer, form, sentence, 409, now)
    first = action_row(viewer=viewer, action_id=action_ids[0])
    # Sent once more with the same key it is the batch of the first time.
    batch = first.batch if first is not None else ""
    if _in_dialog(request):
        return _for_dialog(
            progress_dialog(request, viewer, action_ids=action_ids, batch=batch, refused=refused)
        )
    if refused or not batch:
        return batch_page(request, viewer, batch, refused=refused)
    return _see_other(reverse("batch", args=[batch]))


def _show_form_again(
    request: HttpRequest,
    viewer: Viewer,
    form: ActionForm,
    problem: str,
    status: int,
    now: datetime,
    action_id: str = "",
    *,
    wrong_field: str = "",
) -> HttpResponse:
    """Show the form once more: what was typed, how things are now, and what was wrong."""
    previews, judged = _preview(viewer, form, now)
    shown = Confirmation(
        form,
        previews,
        problem,
        action_id,
        wrong_field,
        judged=judged,
        totals=_totals(form, previews),
        costs=_costs(viewer, form, previews),
    )
    return _render_form(request, viewer, shown, now, status)


def _preview(
    viewer: Viewer, form: ActionForm, now: datetime
) -> tuple[tuple[TargetPreview, ...], tuple[SelectionRow, ...]]:
    """Return what would come of each object, and of those of a gang together."""
    given = form.cleaned_data
    judged = judge_selections(
        viewer=viewer,
        verb=given["verb"],
        targets=given["target"],
        forced=given["forced"],
        now=now,
    )
    together = {uid: one.uids for one in judged for uid in one.uids}
    return preview_targets(viewer, _to_preview(form), now=now, together=together), judged


def _totals(form: ActionForm, previews: tuple[TargetPreview, ...]) -> ActionTotals | None:
    if form.cleaned_data["verb"] is not Verb.SUSPEND:
        return None
    ready = {one.uid for one in previews if one.allowed}
    targets = form.cleaned_data["target"]
    return read_totals(one for one in targets if one.uid in ready)


def _costs(
    viewer: Viewer, form: ActionForm, previews: tuple[TargetPreview, ...]
) -> tuple[StoppedGang, ...]:
    if form.cleaned_data["verb"] is not Verb.SUSPEND:
        return ()
    ready = {one.uid for one in previews if one.allowed}
    return costs_of((one for one in form.cleaned_data["target"] if one.uid in ready), viewer=viewer)


def _to_preview(form: ActionForm) -> list[ActionRequest]:
    """Return what is asked for without an end: that is typed below the preview, and looked at when it is sent."""
    return [replace(one, until=None) for one in form.requests]


def _render_form(
    request: HttpRequest, viewer: Viewer, shown: Confirmation, now: datetime, status: int
) -> HttpResponse:
    context: dict[str, Any] = {"shown": shown, "now": now, "back": _back(shown.form)}
    return _render(request, viewer, "confirm/form", context, status)


def _render_problem(
    request: HttpRequest, viewer: Viewer, sentence: str, status: int
) -> HttpResponse:
    return _render(request, viewer, "confirm/nothing_to_ask", {"sentence": sentence}, status)


def _missing(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    if not _in_dialog(request):
        raise Http404
    return _render_problem(request, viewer, THERE_IS_NONE, 404)


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


def _may_force(viewer: Viewer, form: ActionForm, previews: tuple[TargetPreview, ...]) -> bool:
    """Whether to offer an admin a lever that is not proved, where every proved one is refused."""
    if form.cleaned_data["forced"] or form.cleaned_data["verb"] is not Verb.SUSPEND:
        return False
    if any(one.allowed or one.error_code is not None for one in previews):
        return False
    forced = [replace(one, forced=True) for one in _to_preview(form)]
    # Who is admin where the objects are is asked there, as for the API.
    return any(one.allowed for one in preview_targets(viewer, forced, now=timezone.now()))


def _back(form: ActionForm) -> str:
    gang = form.cleaned_data["gang"]
    return reverse("gang", args=[gang]) if gang else reverse("board")


def _in_dialog(request: HttpRequest) -> bool:
    return request.headers.get("HX-Target") == "act-body"


def _for_dialog(response: HttpResponse) -> HttpResponse:
    response[ACT_HEADER] = "yes"
    return response


def _see_other(address: str) -> HttpResponse:
    return HttpResponseRedirect(address, status=303)
