"""`groups/` and `groups/{id}/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.errors import NOT_FOUND
from gangboard.api.fields import problems
from gangboard.api.paging import cursor_errors, list_response, read_list_query
from gangboard.api.parameters import GroupQuery, Query, read_query
from gangboard.api.serializers.groups import (
    GroupListSerializer,
    GroupWithGangSerializer,
    UnseenGroupsSerializer,
)
from gangboard.api.views import ReadView
from gangboard.readmodels.groups import GroupFilters, group_detail, list_groups


class GroupListView(ReadView):
    """All groups that the caller may see."""

    @extend_schema(
        operation_id="list_groups",
        parameters=[GroupQuery],
        responses={200: GroupListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List Workloads, PodGroups, CompositePodGroups and their equivalents, by name.

        What could not be looked at is in `unseen`: absence from `results` means nothing there.
        """
        query, paging = read_list_query(request, GroupQuery, GroupWithGangSerializer)
        with cursor_errors():
            page = list_groups(
                viewer=self.viewer(),
                filters=GroupFilters(**query),
                limit=paging.limit,
                cursor=paging.cursor,
                now=self.now(),
            )
        unseen = UnseenGroupsSerializer(page.unseen, many=True).data
        return list_response(
            request, paging, GroupWithGangSerializer, page.rows, page.next_cursor, unseen=unseen
        )


class GroupView(ReadView):
    """One group."""

    @extend_schema(
        operation_id="get_group",
        responses={200: GroupWithGangSerializer, **problems(400, 401, 404)},
    )
    def get(self, request: Request, group_id: str) -> Response:
        """Return a group as it is stored, with its gang."""
        read_query(request, Query)
        found = group_detail(viewer=self.viewer(), group_id=group_id, now=self.now())
        if found is None:
            raise NotFound(NOT_FOUND)
        return Response(GroupWithGangSerializer(found).data)
