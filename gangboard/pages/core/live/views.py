"""The waiting request of an open page. Its answer has the changed fragments, or is 204 after a timeout."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone

from gangboard.pages.core.live.cache import CachedPage, Page, page_cache
from gangboard.pages.core.live.fragments import (
    Fragment,
    FragmentList,
    Version,
    diff_page,
    read_version,
    write_version,
)
from gangboard.pages.core.live.notifier import Ticket, TooManyWaiting, notifier
from gangboard.pages.core.live.throttle import FALL_BACK, live_throttle
from gangboard.store.access import Viewer, viewer_of

WAIT = 25.0
"""Seconds to wait for updates. Proxies close silent connections after 30 or 60."""
VERSION_HEADER = "X-Live-Version"
"""Header with the version that the page shows."""
LONGEST_TAB = 64

ReadPage = Callable[[Viewer], Sequence[Fragment | FragmentList]]
"""Reads the current page. It returns an empty sequence if the page does not exist (any more)."""


@dataclass(frozen=True, slots=True)
class _UpdateRequest:
    """The waiting request of one open page."""

    request: HttpRequest
    known: Version
    address: str
    read: ReadPage
    element: str
    """Id of the requesting element, which the answer replaces."""
    personal: bool
    """Whether users with the same roles may see different content."""

    def respond(self, viewer: Viewer, position: str) -> HttpResponse | None:
        """Return the answer for the current data. None: the browser shows everything already."""
        user_id = viewer.user_id if self.personal else None
        cached = page_cache.get(
            # The rendered fragments contain times.
            (user_id, viewer.scopes, self.address, timezone.get_current_timezone_name()),
            position,
            self.known,
            lambda: self.read(viewer),
        )
        if not cached.page:
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
        body = page_cache.answer(cached, self.known, lambda: self._render(cached))
        return None if body is None else HttpResponse(body)

    def _render(self, cached: CachedPage) -> bytes:
        page: Page = cached.page
        context = {
            "diff": diff_page(page, self.known),
            "live": self.address,
            "live_id": self.element,
            "version": write_version(page, cached.read_at),
            "now": timezone.now(),
        }
        return render_to_string("live/updates.html", context).encode()


def wait_for_updates(
    request: HttpRequest,
    viewer: Viewer,
    address: str,
    read: ReadPage,
    *,
    element: str = "live",
    personal: bool = False,
) -> HttpResponse:
    """Wait for updates of the page and return them, or 204 after the timeout.

    `address` is the address of this request. A `personal` page is not shared by users with equal roles.
    """
    known = read_version(request.headers.get(VERSION_HEADER, ""))
    update = _UpdateRequest(request, known, address, read, element, personal)
    tab = request.headers.get("X-Tab", "")[:LONGEST_TAB] or str(id(request))
    try:
        ticket = notifier.enter(viewer.user_id, tab, most=settings.WAITERS)
    except TooManyWaiting:
        response = update.respond(viewer, notifier.position(viewer))
        return response or HttpResponse(status=204, headers={"X-Live-Again": FALL_BACK})
    try:
        return _wait(update, viewer, ticket)
    finally:
        notifier.leave(ticket)


def _wait(update: _UpdateRequest, viewer: Viewer, ticket: Ticket) -> HttpResponse:
    deadline = time.monotonic() + WAIT
    roles = notifier.roles
    while True:
        # Take the position before reading. A later commit wakes this request, an earlier one is in the reading.
        position = notifier.position(viewer)
        response = update.respond(viewer, position)
        if response is not None:
            return response
        connection.close()
        with live_throttle.released():
            moved = notifier.wait(ticket, viewer, position, deadline - time.monotonic())
        if not moved:
            return HttpResponse(status=204)
        if notifier.roles != roles:
            roles, viewer = notifier.roles, viewer_of(update.request.user)
