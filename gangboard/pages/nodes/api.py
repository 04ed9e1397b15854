"""`nodes/{cluster}/{name}/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.nodes.queries import read_node
from gangboard.pages.nodes.rows import NodeDetail
from gangboard.readmodels.freshness import read_freshness


class NodeDetailView(ReadView):
    """One node."""

    @extend_schema(
        operation_id="get_node",
        responses={200: serializer_of(NodeDetail), **problems(400, 401, 404)},
    )
    def get(self, request: Request, cluster: str, name: str) -> Response:
        """Return a node with what it offers, who is on it, and what it says to each waiting gang.

        For who may see the whole cluster, and for who has pods on it: all else on it is then a sum.
        """
        read_query(request, Query)
        viewer, now = self.viewer(), self.now()
        clusters = read_freshness(viewer=viewer, now=now)
        node = read_node(viewer=viewer, cluster=cluster, name=name, clusters=clusters, now=now)
        if node is None:
            raise NotFound(NOT_FOUND)
        return Response(serializer_of(NodeDetail)(node).data)
