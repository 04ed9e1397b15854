"""`holds/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.fields import problems
from gangboard.api.paging import cursor_errors, list_response, read_list_query
from gangboard.api.parameters import HoldQuery
from gangboard.api.serializers.actions import (
    HoldListSerializer,
    HoldSerializer,
    UnseenHoldsSerializer,
)
from gangboard.api.views import ReadView
from gangboard.readmodels.holds import HoldFilters, holds


class HoldListView(ReadView):
    """All Holds that the caller may see."""

    @extend_schema(
        operation_id="list_holds",
        parameters=[HoldQuery],
        responses={200: HoldListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List who holds what, since when, and whether it is still in force.

        Clusters whose Holds cannot be listed are in `unseen`: absence from `results` means nothing
        there.
        """
        query, paging = read_list_query(request, HoldQuery, HoldSerializer)
        with cursor_errors():
            page = holds(
                viewer=self.viewer(),
                filters=HoldFilters(**query),
                limit=paging.limit,
                cursor=paging.cursor,
                now=self.now(),
            )
        unseen = UnseenHoldsSerializer(page.unseen, many=True).data
        return list_response(
            request, paging, HoldSerializer, page.rows, page.next_cursor, unseen=unseen
        )
