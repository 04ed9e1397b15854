"""`reasons/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.fields import problems
from gangboard.api.paging import read_list_query, short_list_response
from gangboard.api.parameters import ReasonQuery
from gangboard.api.serializers.reasons import (
    ReasonSerializer,
    ReasonsSerializer,
    ReasonTotalsSerializer,
)
from gangboard.api.views import ReadView
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.reasons import read_reasons


class ReasonsView(ReadView):
    """What keeps the most gangs and accelerators from running now."""

    @extend_schema(
        operation_id="list_reasons",
        parameters=[ReasonQuery],
        responses={200: ReasonsSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """Count the gangs that wait or are in trouble by stage and reason.

        What could not be looked at is in `unknown` and `unseen`, and in no other number.
        """
        query, paging = read_list_query(request, ReasonQuery, ReasonSerializer)
        viewer, now = self.viewer(), self.now()
        found = read_reasons(
            viewer=viewer,
            cluster=query.get("cluster", ""),
            namespace=query.get("namespace", ""),
            clusters=read_freshness(viewer=viewer, now=now),
            now=now,
        )
        return short_list_response(
            request,
            paging,
            ReasonSerializer,
            found.rows,
            found.place_of(query["ordering"]),
            order=query["ordering"],
            **ReasonTotalsSerializer(found, context={"now": now}).data,
        )
