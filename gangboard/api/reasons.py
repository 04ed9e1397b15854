"""`reasons/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.fields import problems
from gangboard.api.parameters import ReasonQuery, read_query
from gangboard.api.serializers.reasons import ReasonsSerializer
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
    def get(self, request: Request) -> Response:
        """Count the gangs that wait or are in trouble by stage and reason, all on one page.

        What could not be looked at is in `unknown` and `unseen`, and in no other number.
        """
        query = read_query(request, ReasonQuery)
        viewer, now = self.viewer(), self.now()
        found = read_reasons(
            viewer=viewer,
            cluster=query.get("cluster", ""),
            namespace=query.get("namespace", ""),
            clusters=read_freshness(viewer=viewer, now=now),
            now=now,
        )
        return Response(ReasonsSerializer(found, context={"now": now}).data)
