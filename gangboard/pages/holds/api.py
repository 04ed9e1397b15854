"""`holds/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import cursor_errors, list_response, read_list_query
from gangboard.pages.core.api.parameters import PageQuery
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.holds.queries import HoldFilters, read_holds
from gangboard.pages.holds.rows import HoldRow, UnseenHoldsRow


class HoldQuery(PageQuery):
    """The query of `holds/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(
        required=False, max_length=253, help_text="Name of a namespace."
    )
    q = serializers.CharField(
        required=False, max_length=200, help_text="Words that must all occur in name or namespace."
    )


class HoldListSerializer(PageSerializer):
    """One page of Holds."""

    results = serializer_of(HoldRow)(many=True)
    unseen = serializer_of(UnseenHoldsRow)(many=True)


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
        row = serializer_of(HoldRow)
        query, paging = read_list_query(request, HoldQuery, row)
        with cursor_errors():
            page = read_holds(
                viewer=self.viewer(),
                filters=HoldFilters(**query),
                limit=paging.limit,
                cursor=paging.cursor,
                now=self.now(),
            )
        unseen = serializer_of(UnseenHoldsRow)(page.unseen, many=True).data
        return list_response(request, paging, row, page.rows, page.next_cursor, unseen=unseen)
