"""The progress of actions, updated live until they are over: in the dialog, and as the page of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from gangboard.actions import service
from gangboard.actions.requests import MOST_AT_ONCE, RequestError
from gangboard.pages.confirm.batches import (
    BatchRow,
    ProgressEnd,
    RejectedTarget,
    read_batch,
    read_followed,
)
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList, write_version
from gangboard.pages.core.live.page import Fragments, LivePage
from gangboard.pages.core.live.views import wait_for_updates
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer

ACT_HEADER = "X-Act"
"""Header of responses that the dialog shows regardless of their status."""


def progress_dialog(
    request: HttpRequest,
    viewer: Viewer,
    *,
    action_ids: Sequence[str],
    batch: str = "",
    refused: tuple[RejectedTarget, ...] = (),
) -> HttpResponse:
    """Return the content of the dialog after a request."""
    now = timezone.now()
    pairs = [("batch", batch)] if batch else [("action", id_) for id_ in action_ids]
    followed = read_followed(viewer, batch, action_ids)
    page = _dialog_fragments(viewer, followed, now)
    context: dict[str, Any] = {
        "now": now,
        "viewer": viewer,
        "fragments": {fragment.id.replace("-", "_"): fragment for fragment in page},
        "live": f"{reverse('progress-updates')}?{urlencode(pairs)}",
        "live_id": "live-asked",
        "version": write_version(page, int(now.timestamp() * 1000)),
        "title": _title(followed.rows),
        "refused": refused,
        "batch": batch,
        "action_id": "" if batch or not action_ids else action_ids[0],
    }
    return render(request, "confirm/asked.html", context)


@require_GET
def progress_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the dialog."""
    viewer = viewer_for(request)
    batch = request.GET.get("batch", "")[:32]
    action_ids = tuple(id_[:32] for id_ in request.GET.getlist("action")[:MOST_AT_ONCE])
    pairs = [("batch", batch)] if batch else [("action", id_) for id_ in action_ids]

    def read(viewer: Viewer) -> Fragments:
        followed = read_followed(viewer, batch, action_ids)
        return _dialog_fragments(viewer, followed, timezone.now()) if followed.rows else ()

    address = f"{reverse('progress-updates')}?{urlencode(pairs)}"
    return wait_for_updates(request, viewer, address, read, element="live-asked", personal=True)


class BatchPage(LivePage[BatchRow]):
    """The page of actions that were confirmed together."""

    name = "batch"
    template_name = "confirm/batch.html"
    section = "actions"
    personal = True
    refused: tuple[RejectedTarget, ...] = ()
    """Objects whose requests were refused by the confirmation that leads to this page."""
    sentence = ""
    """The result of the pressed button."""

    def read(self, frame: Frame) -> BatchRow | None:
        """Return the actions of the batch."""
        return read_batch(viewer=frame.viewer, batch=self.kwargs["batch"])

    def fragments(self, frame: Frame, data: BatchRow) -> Fragments:
        """Return a card for each action."""
        return _card_fragments(frame.viewer, data, dialog=False)

    def context(self, frame: Frame, data: BatchRow) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the results of the request that leads to the page."""
        batch = self.kwargs["batch"]
        return {"batch": batch, "refused": self.refused, "sentence": self.sentence}


@require_POST
def stop(request: HttpRequest, batch: str) -> HttpResponse:
    """Stop the unsent actions of a batch and show the result."""
    viewer = viewer_for(request)
    if read_batch(viewer=viewer, batch=batch) is None:
        raise Http404
    try:
        stopped = service.stop_batch(viewer, batch, now=timezone.now())
    except RequestError as error:
        return _show_sentence(request, viewer, batch, printable(str(error)), error.code.status)
    row = read_batch(viewer=viewer, batch=batch)
    if row is None:
        raise Http404
    if not stopped:
        return _show_sentence(request, viewer, batch, row.nothing_to_stop, 409)
    if request.headers.get("HX-Request") or row.unsent:
        return _show_sentence(request, viewer, batch, _stopped_sentence(stopped, row.unsent))
    return HttpResponseRedirect(reverse("batch", args=[batch]), status=303)


def _stopped_sentence(stopped: int, unsent: int) -> str:
    sentence = f"{stopped} {'was' if stopped == 1 else 'were'} stopped before anything was sent."
    if not unsent:
        return sentence
    unsent_sentence = (
        "1 is not sent yet; you may not stop it."
        if unsent == 1
        else (f"{unsent} are not sent yet; you may not stop them.")
    )
    return f"{sentence} {unsent_sentence}"


def _show_sentence(
    request: HttpRequest, viewer: Viewer, batch: str, sentence: str, status: int = 200
) -> HttpResponse:
    """Return one sentence, beside the button or on the page of the batch."""
    if not request.headers.get("HX-Request"):
        return batch_page(request, viewer, batch, sentence=sentence, status=status)
    response = render(request, "confirm/said.html", {"sentence": sentence}, status=status)
    response[ACT_HEADER] = "yes"
    return response


def batch_page(
    request: HttpRequest,
    viewer: Viewer,
    batch: str,
    *,
    refused: tuple[RejectedTarget, ...] = (),
    sentence: str = "",
    status: int = 200,
) -> HttpResponse:
    """Return the page of a batch, with the objects whose requests were refused."""
    page = BatchPage(refused=refused, sentence=sentence, status=status)
    page.setup(request, batch=batch)
    return page.show(viewer)


def _title(rows: tuple[ActionRow, ...]) -> str:
    if len(rows) == 1:
        return f"{rows[0].button} {rows[0].kind} {rows[0].name}"
    return f"{len(rows)} actions"


def _dialog_fragments(viewer: Viewer, batch: BatchRow, now: datetime) -> Fragments:
    """Return the fragments of the dialog. It has its own banners, because it covers those of the page."""
    banners = read_liveness(now=now).banners
    top = Fragment("asked-banners", "frame/banners.html", {"banners": banners}, banners)
    return (top, *_card_fragments(viewer, batch, dialog=True))


def _card_fragments(viewer: Viewer, batch: BatchRow, *, dialog: bool) -> Fragments:
    rows, result = batch.rows, ProgressEnd.of(batch.rows, viewer=viewer)
    has_several = len(rows) > 1
    state = {
        "unsent": batch.unsent if has_several else 0,
        "stoppable": batch.stoppable if has_several else 0,
        "stops_all": batch.stoppable == batch.unsent,
        "total": len(rows),
    }
    return (
        FragmentList(
            "asked",
            tuple(
                Fragment(f"asked-{row.id}", "confirm/card.html", {"row": row}, row) for row in rows
            ),
        ),
        Fragment("asked-rest", "confirm/rest.html", state, state),
        Fragment("asked-end", "confirm/end.html", {"end": result, "dialog": dialog}, result),
    )
