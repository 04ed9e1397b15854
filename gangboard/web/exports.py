"""A record as a file: asked for by a form, one at a time of a person, and written down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone

from gangboard.actions import service
from gangboard.store.access import Viewer
from gangboard.web.layout import plain_page

Row = TypeVar("Row")
Format = tuple[str, Callable[[Iterable[Row]], Iterator[str]]]
Formats = dict[str, Format[Row]]
"""Ending → (media type, writer)."""


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

    Raises Http404 without a form. One at a time of a person, because it reads all there is.
    """
    if form is None:
        raise Http404
    media_type, write = form
    now = timezone.now()
    filters = ", ".join(f"{name}={value}" for name, value in asked) or "everything"
    name = "record of actions" if what == "actions" else what
    wait = service.begin_export(viewer, f"The {name} was exported as {ending}: {filters}.", now=now)
    if wait:
        return _later(request, viewer, wait, "board" if what == "board" else "actions")
    file = f"gangboard-{what}-{now:%Y%m%d-%H%M}.{ending}"
    return StreamingHttpResponse(
        _Lines(write(read()), lambda: service.end_export(viewer)),
        content_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{file}"'},
    )


def _later(request: HttpRequest, viewer: Viewer, wait: int, section: str) -> HttpResponse:
    response = plain_page(
        request,
        "actions/export_later.html",
        viewer=viewer,
        section=section,
        context={"section": section},
        status=429,
    )
    response["Retry-After"] = str(wait)
    return response
