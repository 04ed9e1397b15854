"""A record as a file: asked for by a form, one at a time of a person, and written down."""

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
"""Ending → (media type, writer)."""


MOST_AT_ONCE = 4
"""Exports of everybody that this web process sends at once."""
SOON = 10
"""Seconds after which one of them may be over."""
OWN = "An export of yours is still under way. Begin another when it is over."
OTHERS = "Other people's exports are under way. Try again in a few seconds."
_slots = threading.BoundedSemaphore(MOST_AT_ONCE)


class _Lines:
    """The lines of a file. The server closes it at its end, and when the browser has gone."""

    def __init__(self, lines: Iterator[str], end: Callable[[], None]) -> None:
        self._lines = lines
        self.close = end

    def __iter__(self) -> Iterator[str]:
        return self._lines


def send_file(
    request: HttpRequest,
    viewer: Viewer,
    what: str,
    form: Format[Row] | None,
    ending: str,
    asked: Sequence[tuple[str, str]],
    read: Callable[[], Iterable[Row]],
) -> HttpResponseBase:
    """Send rows line by line; `what` is `actions`, `audit` or `board`, `asked` the filters for the audit.

    Raises Http404 without a form. One at a time of a person, because it reads all there is, and
    MOST_AT_ONCE of everybody: each holds a thread and a connection for as long as its reader is slow.
    """
    if form is None:
        raise Http404
    section = "board" if what == "board" else "actions"
    if not _slots.acquire(blocking=False):
        return _later(request, viewer, SOON, section, OTHERS)
    with ExitStack() as unless_sent:
        unless_sent.callback(_slots.release)
        media_type, write = form
        now = timezone.now()
        filters = ", ".join(f"{name}={value}" for name, value in asked) or "everything"
        name = "record of actions" if what == "actions" else what
        sentence = f"The {name} was exported as {ending}: {filters}."
        wait = service.begin_export(viewer, sentence, now=now)
        if wait:
            return _later(request, viewer, wait, section, OWN)
        lines = _Lines(write(read()), lambda: _end(viewer))
        unless_sent.pop_all()
    file = f"gangboard-{what}-{now:%Y%m%d-%H%M}.{ending}"
    return StreamingHttpResponse(
        lines,
        content_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


def _end(viewer: Viewer) -> None:
    _slots.release()
    service.end_export(viewer)


def _later(
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
