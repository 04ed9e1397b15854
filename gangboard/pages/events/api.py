"""`events/`: the feed, with a long poll."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from django.db import connection
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.errors import RefusedRequest
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.paging import invalid_cursor
from gangboard.pages.core.api.parameters import (
    FIELDS,
    HEALTHS,
    USUAL_PAGE,
    HealthsField,
    Query,
    check_fields,
    check_values,
    only,
    read_query,
)
from gangboard.pages.core.api.views import ReadView, next_url
from gangboard.pages.core.live.throttle import Throttle
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.events.feed_cursors import (
    NOW,
    BadCursorError,
    FeedCursor,
    GoneError,
    check_cursor,
    read_cursor,
)
from gangboard.pages.events.queries import EventFilters, read_changes
from gangboard.pages.events.rows import TYPES, ChangePage, ChangeRow
from gangboard.pages.events.waiting import FeedCrowdedError, feed_watch
from gangboard.readmodels.cursors import LARGEST_PAGE
from gangboard.store.access import Viewer
from gangboard.store.feed import newest_number, number_events

LONGEST_WAIT = 25
"""Seconds. A proxy cuts a silent connection after 30 or 60."""
AT_ONCE = 3
"""Requests that use the database at once, as many as the API has threads."""
PATIENCE = 5.0
"""Seconds for which a request waits for one of these places, then it goes on without."""
ASK_AGAIN = "2"
"""Seconds for Retry-After where too many requests wait already."""
event_throttle = Throttle(AT_ONCE, PATIENCE)
"""The one of this process."""


class EventQuery(Query):
    """The query of `events/`."""

    cursor = serializers.CharField(
        required=False,
        help_text="`cursor` of an earlier answer or of an event. Without it, the oldest stored event comes first. With `now`, only later events.",
    )
    wait = serializers.IntegerField(
        min_value=0,
        max_value=LONGEST_WAIT,
        default=0,
        help_text="Seconds to wait for an event if there is none.",
    )
    limit = serializers.IntegerField(
        min_value=1, max_value=LARGEST_PAGE, default=USUAL_PAGE, help_text="Events in one answer."
    )
    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(
        required=False, max_length=253, help_text="Name of a namespace."
    )
    type = serializers.ChoiceField(TYPES, required=False, help_text="What happened.")
    health = HealthsField(
        required=False, help_text=f"One or more of {', '.join(HEALTHS)}; separated by commas."
    )
    code = serializers.CharField(required=False, max_length=64, help_text="Reason code.")
    gang = serializers.CharField(required=False, max_length=32, help_text="Id of a gang.")
    fields = FIELDS  # type: ignore[assignment]  # as DRF's own attribute


class ChangeListSerializer(serializers.Serializer[Any]):
    """Some events in their order."""

    next = serializers.URLField(
        help_text="The same request for the events after these. It is never null."
    )
    cursor = serializers.CharField(help_text="The cursor in `next`.")
    results = serializer_of(ChangeRow)(many=True)


class EventListView(ReadView):
    """What changed."""

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer while few others use the database."""
        with event_throttle.acquired():
            return super().dispatch(request, *args, **kwargs)

    @extend_schema(
        operation_id="list_events",
        parameters=[EventQuery],
        responses={200: ChangeListSerializer, **problems(400, 401, 410)},
    )
    def get(self, request: Request) -> Response:
        """List new verdicts, deletions and ended actions, the oldest first, and wait for the next one.

        Each event comes once and in the same order for everybody. Events are kept for 7 days.
        """
        query = read_query(request, EventQuery)
        wait, limit, text = query.pop("wait"), query.pop("limit"), query.pop("cursor", "")
        field_names = query.pop("fields", None)
        check_fields(field_names, serializer_of(ChangeRow))
        viewer = self.viewer()
        filters = EventFilters(**query)
        check_values(viewer, cluster=filters.cluster, code=filters.code)
        after = _cursor(text, self.now())
        page, waited = self._wait(viewer, after, filters, limit, wait)
        rows = serializer_of(ChangeRow)(page.rows, many=True).data
        results = [only(field_names, row) for row in rows]
        answer = {"next": next_url(request, page.cursor), "cursor": page.cursor, "results": results}
        return Response(answer, headers=None if waited else {"Retry-After": ASK_AGAIN})

    def _wait(
        self, viewer: Viewer, after: FeedCursor, filters: EventFilters, limit: int, seconds: int
    ) -> tuple[ChangePage, bool]:
        """Return the events, and False if it should have waited for them and could not."""

        def read() -> ChangePage:
            number_events()
            return read_changes(
                viewer=viewer, after=after, filters=filters, limit=limit, now=self.now()
            )

        page = read()
        deadline = time.monotonic() + seconds
        if page.rows or not seconds:
            return page, True
        try:
            with feed_watch.entered(viewer.user_id):
                while not page.rows:
                    connection.close()
                    remaining = deadline - time.monotonic()
                    with event_throttle.released():
                        moved = feed_watch.wait(page.after, viewer.sees, remaining)
                    viewer = self._viewer_again()
                    if not moved:
                        break
                    after = FeedCursor(page.after, after.at)
                    page = read()
        except FeedCrowdedError:
            return page, False
        return page, True

    def _viewer_again(self) -> Viewer:
        """Return the viewer with the rights of now: a token may have been revoked meanwhile."""
        self.request = self.initialize_request(self.request._request)
        self.check_permissions(self.request)
        return self.viewer()


def _cursor(text: str, now: datetime) -> FeedCursor:
    """Return the cursor of a request. Raises ValidationError, and RefusedRequest (410) if it is too old."""
    if not text:
        return FeedCursor(0, now)
    if text == NOW:
        number_events()
        return FeedCursor(newest_number(), now)
    try:
        cursor = read_cursor(text)
        check_cursor(cursor, newest=newest_number(), now=now)
    except BadCursorError as error:
        raise invalid_cursor(error) from error
    except GoneError as error:
        raise RefusedRequest(410, str(error)) from error
    return cursor
