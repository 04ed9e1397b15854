"""`group-roles/`, for admins of everything. Tokens may read but not change."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.paging import read_list_query, short_list_response
from gangboard.pages.core.api.parameters import PageQuery
from gangboard.pages.core.api.request_fields import StrictTextField
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.pages.people import changes
from gangboard.pages.people.admin_api import (
    AdminView,
    RoleRequestSerializer,
    change,
    role_of,
)
from gangboard.pages.people.queries import read_group_roles
from gangboard.pages.people.rows import GroupRoleRow
from gangboard.store.group_roles import LONGEST_GROUP


class GroupRoleRequestSerializer(RoleRequestSerializer):
    """A role for the members of a group."""

    group = StrictTextField(
        max_length=LONGEST_GROUP, help_text="As the identity provider sends it."
    )


class GroupRolesView(AdminView):
    """Roles of groups of the identity provider."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_group_roles",
        parameters=[PageQuery],
        responses={200: list_serializer_of(GroupRoleRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request) -> Response:
        """List the roles of groups by group."""
        viewer, serializer = self.viewer(), serializer_of(GroupRoleRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        return short_list_response(
            request,
            paging,
            serializer,
            read_group_roles(viewer=viewer),
            lambda row: (row.group, row.cluster or "", row.namespace or "", row.role),
        )

    @extend_schema(
        operation_id="give_group_role",
        request=GroupRoleRequestSerializer,
        responses={201: serializer_of(GroupRoleRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Give a role to the members of a group. Those who have signed in before get it at once."""
        viewer, body = self.giver(), self.body(request, GroupRoleRequestSerializer)
        role, group = role_of(body), body["group"]
        change(lambda: changes.give_group_role(viewer=viewer, group=group, role=role))
        key = (group, role["role"], role["cluster"], role["namespace"])
        rows = [
            row
            for row in read_group_roles(viewer=viewer)
            if (row.group, row.role, row.cluster, row.namespace) == key
        ]
        if not rows:
            raise NotFound(NOT_FOUND)  # another admin has revoked it already
        (row,) = rows
        return Response(serializer_of(GroupRoleRow)(row).data, status=status.HTTP_201_CREATED)


class GroupRoleView(AdminView):
    """One role of a group."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="take_group_role", responses={204: None, **problems(401, 403, 404, 409)}
    )
    def delete(self, request: Request, role_id: int) -> Response:  # noqa: ARG002  # DRF's signature
        """Take the role from the group. Its members lose it at once."""
        viewer = self.admin()
        if not change(lambda: changes.take_group_role(viewer=viewer, role_id=role_id)):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)
