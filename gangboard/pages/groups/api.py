"""`groups/` and `groups/{id}/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import cursor_errors, list_response, read_list_query
from gangboard.pages.core.api.parameters import LONGEST_NAME, PageQuery, Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.groups.queries import (
    GroupFilters,
    GroupWithGangRow,
    group_detail,
    list_groups,
)
from gangboard.readmodels.group_visibility import UnseenGroups


class GroupQuery(PageQuery):
    """The query of `groups/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(
        required=False, max_length=LONGEST_NAME, help_text="Name of a namespace."
    )
    kind = serializers.CharField(required=False, max_length=63, help_text="Such as `PodGroup`.")
    q = serializers.CharField(
        required=False, max_length=200, help_text="Words that must all occur in name or namespace."
    )


class GroupListSerializer(PageSerializer):
    """One page of groups."""

    results = serializer_of(GroupWithGangRow)(many=True)
    unseen = serializer_of(UnseenGroups)(many=True)


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
        serializer = serializer_of(GroupWithGangRow)
        query, paging = read_list_query(request, GroupQuery, serializer)
        with cursor_errors():
            page = list_groups(
                viewer=self.viewer(),
                filters=GroupFilters(**query),
                limit=paging.limit,
                cursor=paging.cursor,
                now=self.now(),
            )
        unobserved = serializer_of(UnseenGroups)(page.unseen, many=True).data
        return list_response(
            request, paging, serializer, page.rows, page.next_cursor, unseen=unobserved
        )


class GroupView(ReadView):
    """One group."""

    @extend_schema(
        operation_id="get_group",
        responses={200: serializer_of(GroupWithGangRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request, group_id: str) -> Response:
        """Return a group as it is stored, with its gang."""
        read_query(request, Query)
        row = group_detail(viewer=self.viewer(), group_id=group_id, now=self.now())
        if row is None:
            raise NotFound(NOT_FOUND)
        return Response(serializer_of(GroupWithGangRow)(row).data)
