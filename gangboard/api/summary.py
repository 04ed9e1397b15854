"""`summary/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.fields import problems
from gangboard.api.parameters import SummaryQuery, check_values, read_query
from gangboard.api.serializers.clusters import SummarySerializer
from gangboard.api.views import ReadView
from gangboard.readmodels.summary import summary


class SummaryView(ReadView):
    """How many gangs are how."""

    @extend_schema(
        operation_id="get_summary",
        parameters=[SummaryQuery],
        responses={200: SummarySerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """Count the gangs that the caller may see, by health, code and cluster.

        What could not be looked at is in `unseen`: there may be more than is counted there.
        """
        query = read_query(request, SummaryQuery)
        now, viewer = self.now(), self.viewer()
        check_values(viewer, cluster=query.get("cluster", ""))
        found = summary(viewer=viewer, now=now, **query)
        return Response(SummarySerializer(found, context={"now": now}).data)
