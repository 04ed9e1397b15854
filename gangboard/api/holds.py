"""`holds/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.fields import problems
from gangboard.api.parameters import HoldQuery, read_query
from gangboard.api.serializers.actions import (
    HoldListSerializer,
    HoldSerializer,
    UnseenHoldsSerializer,
)
from gangboard.api.views import ReadView, next_url
from gangboard.readmodels.cursors import CursorError
from gangboard.readmodels.holds import HoldFilters, holds


class HoldListView(ReadView):
    """All Holds that the caller may see."""

    @extend_schema(
        operation_id="list_holds",
        parameters=[HoldQuery],
        responses={200: HoldListSerializer, **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List who holds what, since when, and whether it is still in force.

        Clusters whose Holds cannot be listed are in `unseen`: absence from `results` means nothing
        there.
        """
        query = read_query(request, HoldQuery)
        limit, cursor = query.pop("limit"), query.pop("cursor", None)
        try:
            page = holds(
                viewer=self.viewer(),
                filters=HoldFilters(**query),
                limit=limit,
                cursor=cursor,
                now=self.now(),
            )
        except CursorError as error:
            raise ValidationError({"cursor": [str(error)]}) from error
        return Response(
            {
                "next": next_url(request, page.next_cursor),
                "results": HoldSerializer(page.rows, many=True).data,
                "unseen": UnseenHoldsSerializer(page.unseen, many=True).data,
            }
        )
