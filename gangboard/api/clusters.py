"""`clusters/` and `clusters/{name}/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.errors import NOT_FOUND
from gangboard.api.fields import problems
from gangboard.api.paging import read_list_query, short_list_response
from gangboard.api.parameters import PageQuery, Query, read_query
from gangboard.api.serializers.clusters import ClusterListSerializer, ClusterSerializer
from gangboard.api.views import ReadView
from gangboard.readmodels.clusters import cluster_detail, list_clusters


class ClusterListView(ReadView):
    """All clusters of which the caller may see something."""

    @extend_schema(
        operation_id="list_clusters",
        parameters=[PageQuery],
        responses={200: ClusterListSerializer, **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List clusters by name."""
        _, paging = read_list_query(request, PageQuery, ClusterSerializer)
        found = list_clusters(viewer=self.viewer(), now=self.now())
        return short_list_response(
            request, paging, ClusterSerializer, found, lambda row: (row.name,)
        )


class ClusterView(ReadView):
    """One cluster."""

    @extend_schema(
        operation_id="get_cluster", responses={200: ClusterSerializer, **problems(400, 401, 404)}
    )
    def get(self, request: Request, name: str) -> Response:
        """Return a cluster: whether it answers, what it serves, what is forbidden."""
        read_query(request, Query)
        found = cluster_detail(name, viewer=self.viewer(), now=self.now())
        if found is None:
            raise NotFound(NOT_FOUND)
        return Response(ClusterSerializer(found).data)
