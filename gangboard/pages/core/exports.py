"""Exports of lists as files. Each export is recorded in the audit, and a user can run one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TypeVar

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone

from gangboard.actions import service
from gangboard.pages.core.layout import plain_page
from gangboard.store.access import Viewer

Row = TypeVar("Row")
Format = tuple[str, Callable[[Iterable[Row]], Iterator[str]]]
Formats = dict[str, Format[Row]]
"""File extension → (media type, writer)."""


MOST_AT_ONCE = 4
"""Exports that this web process sends at once, for all users together."""
SOON = 10
"""Seconds for Retry-After, when another export may have ended."""
OWN = "Your last export is still running. Start another when it has ended."
OTHERS = "Too many exports are running. Try again in a few seconds."
_NAMES = {
    "actions": "record of actions",
    "evictions": "list of evictions",
    "usage": "accelerator time",
}
_slots = threading.BoundedSemaphore(MOST_AT_ONCE)


class _Lines:
    """The lines of a file. The server closes it at the end, or when the browser disconnects."""

    def __init__(self, lines: Iterator[str], close: Callable[[], None]) -> None:
        self._lines = lines
        self.close = close

    def __iter__(self) -> Iterator[str]:
        return self._lines


def send_file(
    request: HttpRequest,
    viewer: Viewer,
    subject: str,
    form: Format[Row] | None,
    extension: str,
    filter_pairs: Sequence[tuple[str, str]],
    read: Callable[[], Iterable[Row]],
) -> HttpResponseBase:
    """Send rows line by line. Raises Http404 without `form`.

    `subject` is `actions`, `audit`, `board`, `evictions` or `usage`, and `filter_pairs` are the filters for the audit. A user can run one
    export at a time, because it reads all rows. All users together can run MOST_AT_ONCE, because an export holds
    a thread and a connection until its reader has received everything.
    """
    if form is None:
        raise Http404
    section = "actions" if subject == "audit" else subject
    if not _slots.acquire(blocking=False):
        return _busy_page(request, viewer, SOON, section, OTHERS)
    with ExitStack() as unless_sent:
        unless_sent.callback(_slots.release)
        media_type, write = form
        now = timezone.now()
        filters = ", ".join(f"{name}={value}" for name, value in filter_pairs) or "everything"
        sentence = f"The {_NAMES.get(subject, subject)} was exported as {extension}: {filters}."
        wait = service.begin_export(viewer, sentence, now=now)
        if wait:
            return _busy_page(request, viewer, wait, section, OWN)
        lines = _Lines(write(read()), lambda: _finish(viewer))
        unless_sent.pop_all()
    file = f"gangboard-{subject}-{now:%Y%m%d-%H%M}.{extension}"
    return StreamingHttpResponse(
        lines,
        content_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


def _finish(viewer: Viewer) -> None:
    _slots.release()
    service.end_export(viewer)


def _busy_page(
    request: HttpRequest, viewer: Viewer, wait: int, section: str, sentence: str
) -> HttpResponse:
    response = plain_page(
        request,
        "actions/export_later.html",
        viewer=viewer,
        section=section,
        context={"section": section, "sentence": sentence},
        status=429,
    )
    response["Retry-After"] = str(wait)
    return response
