"""`summary/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import LONGEST_NAME, Query, check_values, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.summary.queries import read_summary
from gangboard.pages.summary.rows import Summary


class SummaryQuery(Query):
    """The query of `summary/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(required=False, max_length=LONGEST_NAME)


class SummaryView(ReadView):
    """How many gangs are how."""

    @extend_schema(
        operation_id="get_summary",
        parameters=[SummaryQuery],
        responses={200: serializer_of(Summary), **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """Count the gangs that the caller may see, by health, code and cluster.

        What could not be looked at is in `unseen`: there may be more than is counted there.
        """
        query = read_query(request, SummaryQuery)
        now, viewer = self.now(), self.viewer()
        check_values(viewer, cluster=query.get("cluster", ""))
        summary = read_summary(viewer=viewer, now=now, **query)
        return Response(serializer_of(Summary)(summary, context={"now": now}).data)
