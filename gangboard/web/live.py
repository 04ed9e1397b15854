"""The waiting request of an open page: answered with what is new, or with 204 after a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from gangboard.store.access import Viewer, viewer_of
from gangboard.web.parts import Part, Rows, find_news, read_version, write_version
from gangboard.web.waiting import Notifier, Ticket, TooManyWaiting, notifier

WAIT = 25.0
"""Seconds after which a page without news is told so; proxies cut silence at 30 or 60."""
FALL_BACK = "2"
"""Seconds between two questions of a page that may not wait."""
LONGEST_TAB = 64

Read = Callable[[Viewer], Sequence[Part | Rows]]
"""Reads the page as it is now. An empty sequence: there is no such page (any more)."""


def answer(request: HttpRequest, viewer: Viewer, live: str, read: Read) -> HttpResponse:
    """Wait for news of the page and return them; 204 when there are none.

    `live` is the address of this request without the version.
    """
    known = read_version(request.GET.get("version", ""))
    tab = request.headers.get("X-Tab", "")[:LONGEST_TAB] or str(id(request))
    try:
        # With the user's id nobody can send away the pages of somebody else.
        ticket = notifier.enter(f"{viewer.user_id} {tab}", most=settings.WAITERS)
    except TooManyWaiting:
        page = read(viewer)
        return _render(request, viewer, page, known, live) or _nothing({"X-Live-Again": FALL_BACK})
    try:
        return _wait(request, viewer, known, live, read, notifier, ticket)
    finally:
        notifier.leave(ticket)


def _wait(
    request: HttpRequest,
    viewer: Viewer,
    known: frozenset[bytes],
    live: str,
    read: Read,
    news: Notifier,
    ticket: Ticket,
) -> HttpResponse:
    deadline = time.monotonic() + WAIT
    while True:
        # Before reading: what is committed after this wakes us, what was before is read.
        seen = news.position(viewer)
        response = _render(request, viewer, read(viewer), known, live)
        if response is not None:
            return response
        connection.close()
        if not news.wait(ticket, viewer, seen, deadline - time.monotonic()):
            return _nothing({})
        # Roles may have changed while it waited.
        viewer = viewer_of(request.user)


def _render(
    request: HttpRequest,
    viewer: Viewer,
    page: Sequence[Part | Rows],
    known: frozenset[bytes],
    live: str,
) -> HttpResponse | None:
    """Return the answer with the news, None when there are none."""
    if not page:
        return _nothing({"HX-Refresh": "true"})
    news = find_news(page, known)
    if not news:
        return None
    context = {
        "news": news,
        "live": live,
        "version": write_version(page),
        "now": timezone.now(),
        "viewer": viewer,
    }
    return render(request, "live/news.html", context)


def _nothing(headers: dict[str, str]) -> HttpResponse:
    return HttpResponse(status=204, headers=headers)
