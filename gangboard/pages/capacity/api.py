"""`capacity/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.capacity.queries import read_capacity
from gangboard.pages.capacity.rows import ClusterCapacityRow
from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import read_list_query, short_list_response
from gangboard.pages.core.api.parameters import LONGEST_NAME, PageQuery
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.freshness import read_freshness

_LONGEST_LABEL = LONGEST_NAME + 1 + 63


class CapacityQuery(PageQuery):
    """The query of `capacity/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    by = serializers.CharField(
        required=False,
        max_length=_LONGEST_LABEL,
        help_text="Node label that defines the pools. Default: the pool labels of cloud providers.",
    )


class CapacityListSerializer(PageSerializer):
    """All clusters of which the caller may see something."""

    results = serializer_of(ClusterCapacityRow)(many=True)


class CapacityView(ReadView):
    """What the nodes offer, what is taken, and how large a gang would fit now."""

    @extend_schema(
        operation_id="list_capacity",
        parameters=[CapacityQuery],
        responses={200: CapacityListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List the clusters by name with their nodes by pool.

        Who may see a namespace of a cluster gets the numbers of all its nodes, who may see the whole of it
        also those by label and the shapes that wait. Where there are no numbers, `why` says why.
        """
        serializer = serializer_of(ClusterCapacityRow)
        query, paging = read_list_query(request, CapacityQuery, serializer)
        viewer, now = self.viewer(), self.now()
        capacity = read_capacity(
            viewer=viewer,
            cluster=query.get("cluster", ""),
            by=query.get("by", ""),
            clusters=read_freshness(viewer=viewer, now=now),
        )
        return short_list_response(
            request,
            paging,
            serializer,
            capacity.clusters,
            lambda row: (row.cluster,),
            context={"now": now},
        )
