"""`trends/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.fields import problems
from gangboard.api.parameters import TrendQuery, read_query
from gangboard.api.serializers.trends import TrendsSerializer
from gangboard.api.views import ReadView
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.trends import PERIODS, read_trends


class TrendsView(ReadView):
    """How gangs and accelerators were over the last days."""

    @extend_schema(
        operation_id="get_trends",
        parameters=[TrendQuery],
        responses={200: TrendsSerializer, **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """Return curves, summed over the clusters that the caller may see or of one of them.

        A value is null where a cluster could not be looked at: what is missing would look like a fall.
        """
        query = read_query(request, TrendQuery)
        viewer, now = self.viewer(), self.now()
        found = read_trends(
            viewer=viewer,
            clusters=read_freshness(viewer=viewer, now=now),
            now=now,
            cluster=query.get("cluster", ""),
            period=PERIODS[int(query["days"])],
            with_reasons=True,
        )
        return Response(TrendsSerializer(found).data)
