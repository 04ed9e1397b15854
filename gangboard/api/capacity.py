"""`capacity/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.fields import problems
from gangboard.api.paging import read_list_query, short_list_response
from gangboard.api.parameters import CapacityQuery
from gangboard.api.serializers.capacity import CapacityListSerializer, ClusterCapacitySerializer
from gangboard.api.views import ReadView
from gangboard.readmodels.capacity import read_capacity
from gangboard.readmodels.freshness import read_freshness


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
        query, paging = read_list_query(request, CapacityQuery, ClusterCapacitySerializer)
        viewer, now = self.viewer(), self.now()
        found = read_capacity(
            viewer=viewer,
            cluster=query.get("cluster", ""),
            by=query.get("by", ""),
            clusters=read_freshness(viewer=viewer, now=now),
        )
        return short_list_response(
            request,
            paging,
            ClusterCapacitySerializer,
            found.clusters,
            lambda row: (row.cluster,),
            context={"now": now},
        )
