"""`queues/` and `queues/{cluster}/{name}/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.errors import NOT_FOUND
from gangboard.api.fields import problems
from gangboard.api.paging import cursor_errors, list_response, read_list_query
from gangboard.api.parameters import Query, QueueQuery, read_query
from gangboard.api.serializers.queues import (
    LostAliasSerializer,
    QueueDetailSerializer,
    QueueListSerializer,
    QueueSerializer,
    UnseenQueuesSerializer,
)
from gangboard.api.views import ReadView
from gangboard.readmodels.queues import QueueFilters, list_queues, queue_detail


class QueueListView(ReadView):
    """All queues that the caller may see."""

    @extend_schema(
        operation_id="list_queues",
        parameters=[QueueQuery],
        responses={200: QueueListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List queues with their quota and who is first in line, by cluster and name.

        Who may see a whole cluster sees all of its queues, anybody else those that his namespaces use. What
        could not be looked at is in `unseen`: absence from `results` means nothing there.
        """
        query, paging = read_list_query(request, QueueQuery, QueueSerializer)
        with cursor_errors():
            page = list_queues(
                viewer=self.viewer(),
                filters=QueueFilters(**query),
                limit=paging.limit,
                cursor=paging.cursor,
                now=self.now(),
            )
        return list_response(
            request,
            paging,
            QueueSerializer,
            page.rows,
            page.next_cursor,
            unseen=UnseenQueuesSerializer(page.unseen, many=True).data,
            lost_aliases=LostAliasSerializer(page.lost, many=True).data,
            serving=list(page.serving),
        )


class QueueView(ReadView):
    """One queue."""

    @extend_schema(
        operation_id="get_queue",
        responses={200: QueueDetailSerializer, **problems(400, 401, 404)},
    )
    def get(self, request: Request, cluster: str, name: str) -> Response:
        """Return a queue with all who wait in it and who has its quota."""
        read_query(request, Query)
        found = queue_detail(viewer=self.viewer(), cluster=cluster, name=name, now=self.now())
        if found is None:
            raise NotFound(NOT_FOUND)
        return Response(QueueDetailSerializer(found).data)
