"""`waits/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.fields import problems
from gangboard.api.paging import read_list_query, short_list_response
from gangboard.api.parameters import WaitQuery
from gangboard.api.serializers.waits import QueueWaitsSerializer, WaitListSerializer
from gangboard.api.views import ReadView
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.waits_by_queue import SIZES, read_waits_by_queue


class WaitsView(ReadView):
    """How long gangs waited before they ran, by queue and size."""

    @extend_schema(
        operation_id="list_waits",
        parameters=[WaitQuery],
        responses={200: WaitListSerializer, **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the waits by cluster, queue and size.

        Drawn from the newest 300 gangs that came to run, that the caller may see, and that were watched from
        their creation on. Time in which a gang was suspended on purpose is no part of its wait.
        """
        query, paging = read_list_query(request, WaitQuery, QueueWaitsSerializer)
        viewer = self.viewer()
        found = read_waits_by_queue(
            viewer=viewer,
            clusters=read_freshness(viewer=viewer, now=self.now()),
            cluster=query.get("cluster", ""),
        )
        return short_list_response(
            request,
            paging,
            QueueWaitsSerializer,
            found.rows,
            lambda row: (row.cluster, row.queue, SIZES.index(row.size)),
            gangs=found.gangs,
        )
