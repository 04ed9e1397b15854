"""`queues/`, `queues/{cluster}/{name}/` and `waits/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import (
    cursor_errors,
    list_response,
    read_list_query,
    short_list_response,
)
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.queues.queries import list_queues, queue_detail
from gangboard.pages.queues.rows import LostAliasRow, QueueDetailRow, QueueRow, UnseenQueuesRow
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.visible_queues import QUEUE_STATES, QueueFilters
from gangboard.readmodels.waits_by_queue import SIZES, QueueWaitsRow, read_waits_by_queue


class QueueQuery(PageQuery):
    """The query of `queues/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    state = serializers.ChoiceField(
        QUEUE_STATES, required=False, help_text="What the queue does now."
    )
    q = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words that must all occur in the name of the queue, of what it shares quota in, or of an alias with its namespace.",
    )


class WaitQuery(PageQuery):
    """The query of `waits/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")


class QueueListSerializer(PageSerializer):
    """One page of queues."""

    results = serializer_of(QueueRow)(many=True)
    unseen = serializer_of(UnseenQueuesRow)(many=True)
    lost_aliases = serializer_of(LostAliasRow)(
        many=True, help_text="Of all clusters that are asked for, on every page."
    )
    serving = serializers.ListField(
        child=serializers.CharField(),
        help_text="The clusters that serve queues: in all others there are none.",
    )


class WaitListSerializer(PageSerializer):
    """All waits of which the caller may know."""

    gangs = serializers.IntegerField(help_text="Of all rows together.")
    results = serializer_of(QueueWaitsRow)(many=True)


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
        serializer = serializer_of(QueueRow)
        query, paging = read_list_query(request, QueueQuery, serializer)
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
            serializer,
            page.rows,
            page.next_cursor,
            unseen=serializer_of(UnseenQueuesRow)(page.unseen, many=True).data,
            lost_aliases=serializer_of(LostAliasRow)(page.lost, many=True).data,
            serving=list(page.serving),
        )


class QueueView(ReadView):
    """One queue."""

    @extend_schema(
        operation_id="get_queue",
        responses={200: serializer_of(QueueDetailRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request, cluster: str, name: str) -> Response:
        """Return a queue with all who wait in it and who has its quota."""
        read_query(request, Query)
        row = queue_detail(viewer=self.viewer(), cluster=cluster, name=name, now=self.now())
        if row is None:
            raise NotFound(NOT_FOUND)
        return Response(serializer_of(QueueDetailRow)(row).data)


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
        serializer = serializer_of(QueueWaitsRow)
        query, paging = read_list_query(request, WaitQuery, serializer)
        viewer = self.viewer()
        waits = read_waits_by_queue(
            viewer=viewer,
            clusters=read_freshness(viewer=viewer, now=self.now()),
            cluster=query.get("cluster", ""),
        )
        return short_list_response(
            request,
            paging,
            serializer,
            waits.rows,
            lambda row: (row.cluster, row.queue, SIZES.index(row.size)),
            gangs=waits.gangs,
        )
