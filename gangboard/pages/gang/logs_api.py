"""`gangs/{id}/logs/`."""

from __future__ import annotations

import threading

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from gangboard.actions.container_logs import LogError, LogProblem, check_allowed
from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import LONGEST_NAME, Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.gang.logs import TAIL, find_source, read_one
from gangboard.problem_codes import ProblemCode

MOST_TAIL = 2_000
AT_ONCE = 2
"""Calls that read a log at once, because a cluster may take seconds and other calls need a thread."""
RETRY_SECONDS = 2
_REFUSALS = {
    LogProblem.OFF: (403, ProblemCode.FORBIDDEN, 0),
    LogProblem.NOT_ALLOWED: (403, ProblemCode.FORBIDDEN, 0),
    LogProblem.NO_LOG: (409, ProblemCode.CONFLICT, 0),
    LogProblem.NO_POD: (404, ProblemCode.NOT_FOUND, 0),
    LogProblem.BUSY: (503, ProblemCode.UNAVAILABLE, RETRY_SECONDS),
    LogProblem.CLUSTER: (502, ProblemCode.CLUSTER_FAILED, 0),
}
"""Problem → status, code, and seconds for Retry-After."""
_turns = threading.BoundedSemaphore(AT_ONCE)


class LogQuery(Query):
    """The query of `gangs/{id}/logs/`."""

    pod = serializers.CharField(max_length=LONGEST_NAME, help_text="Name of a pod of the gang.")
    container = serializers.CharField(
        max_length=LONGEST_NAME,
        required=False,
        default="",
        help_text="Name of a container. It is required if the pod has several.",
    )
    previous = serializers.BooleanField(
        required=False, default=False, help_text="The last ended run instead of the current one."
    )
    tail = serializers.IntegerField(
        min_value=1, max_value=MOST_TAIL, default=TAIL, help_text="Lines from the end."
    )


class GangLogView(ReadView):
    """The log of one container of a gang."""

    @extend_schema(
        operation_id="get_gang_logs",
        parameters=[LogQuery],
        responses={
            (200, "text/plain"): OpenApiTypes.STR,
            **problems(400, 401, 403, 404, 409, 502),
        },
    )
    def get(self, request: Request, gang_id: str) -> HttpResponse:
        """Return the last lines of a container, at most 1 MiB, for people with the role `logs`.

        Control characters are replaced. gangboard passes the log through and stores only who read it.
        """
        viewer = self.viewer()
        source = find_source(gang_id, viewer=viewer)
        if source is None:
            raise NotFound(NOT_FOUND)
        try:
            check_allowed(viewer, source.cluster, source.gang.namespace)
        except LogError as error:
            raise _refused(error) from error
        query = read_query(request, LogQuery)
        if query["pod"] not in source.members:
            raise NotFound(NOT_FOUND)
        if not _turns.acquire(blocking=False):
            raise _refused(LogError(LogProblem.BUSY, "Too many logs are being read."))
        try:
            pane = read_one(source, **query, viewer=viewer, now=self.now())
        except LogError as error:
            raise _refused(error) from error
        finally:
            _turns.release()
        text = "".join([*(f"[gangboard: {note}]\n" for note in pane.notes), pane.text])
        return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _refused(error: LogError) -> RefusedRequest:
    status, code, wait = _REFUSALS[error.problem]
    command = f" Permit it with: {error.command}" if error.command else ""
    return RefusedRequest(status, f"{error}{command}", code=code, wait=wait)
