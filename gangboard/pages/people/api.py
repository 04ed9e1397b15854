"""`people/`, `tokens/`, `sessions/` and `group-roles/`: for admins of everything. A token may read and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.errors import NOT_FOUND, RefusedRequest
from gangboard.api.fields import problems
from gangboard.api.paging import (
    cursor_errors,
    list_response,
    read_list_query,
    short_list_response,
)
from gangboard.api.parameters import PageQuery, Query, read_query
from gangboard.api.views import ReadView
from gangboard.pages.core.errors import sentence_of
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.pages.core.session_only import signed_in, signed_in_lately
from gangboard.pages.core.sessions import SessionRow
from gangboard.pages.people import changes
from gangboard.pages.people.changes import RoleChoice
from gangboard.pages.people.forms import LONGEST_NAME
from gangboard.pages.people.queries import (
    ROLE_FILTERS,
    SESSION_ORDERINGS,
    STATES,
    TOKEN_ORDERINGS,
    USER_ORDERINGS,
    SessionFilters,
    TokenFilters,
    UserFilters,
    read_group_roles,
    read_user,
    sessions_page,
    tokens_page,
    users_page,
)
from gangboard.pages.people.rows import GroupRoleRow, OwnedTokenRow, SignInLinkRow, UserRow
from gangboard.pages.people.sign_in_links import link_address
from gangboard.store.access import ROLES, Viewer
from gangboard.store.clusters import ClusterError
from gangboard.store.group_roles import LONGEST_GROUP
from gangboard.store.people import PeopleError

Result = TypeVar("Result")


class PeopleQuery(PageQuery):
    """The query of `people/`."""

    q = serializers.CharField(
        required=False, max_length=200, help_text="Words that must all occur in the name."
    )
    role = serializers.ChoiceField(
        ROLE_FILTERS, required=False, help_text="Who has that role anywhere, or no role at all."
    )
    state = serializers.ChoiceField(STATES, required=False)
    ordering = serializers.ChoiceField(tuple(USER_ORDERINGS), default="name")


class TokenQuery(PageQuery):
    """The query of `tokens/`."""

    q = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words that must all occur in the owner's name or the public part.",
    )
    ordering = serializers.ChoiceField(tuple(TOKEN_ORDERINGS), default="-created_at")


class SessionQuery(PageQuery):
    """The query of `sessions/`."""

    q = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words that must all occur in the owner's name or the address.",
    )
    ordering = serializers.ChoiceField(tuple(SESSION_ORDERINGS), default="-last_seen_at")


class RoleRequestSerializer(Query):
    """A role on a place."""

    role = serializers.ChoiceField(ROLES)
    cluster = serializers.CharField(
        required=False, allow_null=True, max_length=63, help_text="Without it every cluster."
    )
    namespace = serializers.CharField(
        required=False, allow_null=True, max_length=253, help_text="Without it every namespace."
    )


class PersonRequestSerializer(RoleRequestSerializer):
    """A person to add, with their first role."""

    name = serializers.CharField(max_length=LONGEST_NAME)


class PersonChangeSerializer(Query):
    """What changes about a person."""

    disabled = serializers.BooleanField(
        help_text="True ends sessions, password, links, tokens and roles. False opens the account again."
    )


class GroupRoleRequestSerializer(RoleRequestSerializer):
    """A role for the members of a group."""

    group = serializers.CharField(
        max_length=LONGEST_GROUP, help_text="As the identity provider sends it."
    )


class AdminView(ReadView):
    """An operation for admins of everything. For anybody else there is nothing at its address."""

    def viewer(self) -> Viewer:
        """Return the admin who asks. Raises NotFound for anybody else."""
        viewer = super().viewer()
        if not viewer.is_admin:
            raise NotFound(NOT_FOUND)
        return viewer

    def admin(self) -> Viewer:
        """Return the admin who may take something away. Raises PermissionDenied for a token."""
        return signed_in(self.viewer())

    def giver(self) -> Viewer:
        """Return the admin who may give rights: who has signed in lately. Raises PermissionDenied."""
        return signed_in_lately(self.request, self.viewer())

    def person(self, viewer: Viewer, name: str) -> UserRow:
        """Return a person. Raises NotFound."""
        row = read_user(name, viewer=viewer)
        if row is None:
            raise NotFound(NOT_FOUND)
        return row


class PeopleView(AdminView):
    """Everybody with an account."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_people",
        parameters=[PeopleQuery],
        responses={200: list_serializer_of(UserRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request) -> Response:
        """List people by name, or as `ordering` says."""
        viewer, serializer = self.viewer(), serializer_of(UserRow)
        query, paging = read_list_query(request, PeopleQuery, serializer)
        with cursor_errors():
            page = users_page(
                viewer=viewer,
                filters=UserFilters(**query),
                cursor=paging.cursor,
                limit=paging.limit,
            )
        return list_response(request, paging, serializer, page.rows, page.next_cursor)

    @extend_schema(
        operation_id="add_person",
        request=PersonRequestSerializer,
        responses={201: serializer_of(UserRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Add a person with a role. They sign in at the identity provider, or by a link of `links/`."""
        viewer, body = self.giver(), _body(request, PersonRequestSerializer)
        name = body["name"]
        _change(lambda: changes.make_user(viewer=viewer, name=name, role=_role(body)))
        return Response(serializer_of(UserRow)(self.person(viewer, name)).data, status=201)


class PersonView(AdminView):
    """One person."""

    http_method_names = ["get", "head", "patch"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="get_person",
        responses={200: serializer_of(UserRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request, name: str) -> Response:
        """Return a person."""
        read_query(request, Query)
        return Response(serializer_of(UserRow)(self.person(self.viewer(), name)).data)

    @extend_schema(
        operation_id="change_person",
        request=PersonChangeSerializer,
        responses={200: serializer_of(UserRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def patch(self, request: Request, name: str) -> Response:
        """Disable an account, or open it again: then it has no role and no password."""
        viewer = self.admin()
        self.person(viewer, name)
        body = _body(request, PersonChangeSerializer)
        _change(lambda: changes.set_disabled(viewer=viewer, name=name, disabled=body["disabled"]))
        return Response(serializer_of(UserRow)(self.person(viewer, name)).data)


class RolesView(AdminView):
    """Roles of a person that were given by hand."""

    http_method_names = ["post", "delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="give_role",
        request=RoleRequestSerializer,
        responses={200: serializer_of(UserRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def post(self, request: Request, name: str) -> Response:
        """Give a role; the answer is the person. A role that they have already changes nothing."""
        viewer = self.giver()
        self.person(viewer, name)
        body = _body(request, RoleRequestSerializer)
        _change(lambda: changes.give_role(viewer=viewer, name=name, role=_role(body)))
        return Response(serializer_of(UserRow)(self.person(viewer, name)).data)

    @extend_schema(
        operation_id="take_role",
        parameters=[RoleRequestSerializer],
        responses={204: None, **problems(400, 401, 403, 404, 409)},
    )
    def delete(self, request: Request, name: str) -> Response:
        """Take back exactly this role. It counts from the next request of the person on."""
        viewer = self.admin()
        self.person(viewer, name)
        query = read_query(request, RoleRequestSerializer)
        _change(lambda: changes.take_role(viewer=viewer, name=name, role=_role(query)))
        return Response(status=status.HTTP_204_NO_CONTENT)


class LinksView(AdminView):
    """Links that sign a person in once."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="make_sign_in_link",
        request=None,
        responses={201: serializer_of(SignInLinkRow), **problems(401, 403, 404, 409)},
    )
    def post(self, request: Request, name: str) -> Response:
        """Make a link. It is in this answer and nowhere else."""
        viewer = self.giver()
        self.person(viewer, name)
        secret, ends = _change(lambda: changes.make_link(viewer=viewer, name=name))
        row = SignInLinkRow(link_address(request, secret), ends)
        return Response(serializer_of(SignInLinkRow)(row).data, status=status.HTTP_201_CREATED)


class TokensView(AdminView):
    """Tokens of everybody."""

    @extend_schema(
        operation_id="list_tokens",
        parameters=[TokenQuery],
        responses={200: list_serializer_of(OwnedTokenRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request) -> Response:
        """List tokens, the newest first, or as `ordering` says; expired ones stay until they are revoked."""
        viewer, serializer = self.viewer(), serializer_of(OwnedTokenRow)
        query, paging = read_list_query(request, TokenQuery, serializer)
        with cursor_errors():
            page = tokens_page(
                viewer=viewer,
                filters=TokenFilters(**query),
                cursor=paging.cursor,
                limit=paging.limit,
            )
        return list_response(request, paging, serializer, page.rows, page.next_cursor)


class TokenView(AdminView):
    """One token of anybody."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="revoke_token", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, token_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Revoke a token: from now on it is refused."""
        try:
            changes.revoke_token(viewer=self.admin(), token_id=token_id)
        except PeopleError as error:
            raise NotFound(NOT_FOUND) from error
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionsView(AdminView):
    """Sessions of everybody."""

    @extend_schema(
        operation_id="list_sessions",
        parameters=[SessionQuery],
        responses={200: list_serializer_of(SessionRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request) -> Response:
        """List sessions that have not ended, those used last first, or as `ordering` says."""
        viewer, serializer = self.viewer(), serializer_of(SessionRow)
        query, paging = read_list_query(request, SessionQuery, serializer)
        with cursor_errors():
            page = sessions_page(
                viewer=viewer,
                filters=SessionFilters(**query),
                current=request.session,
                cursor=paging.cursor,
                limit=paging.limit,
            )
        return list_response(request, paging, serializer, page.rows, page.next_cursor)


class SessionView(AdminView):
    """One session of anybody."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="end_session", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, session_id: int) -> Response:  # noqa: ARG002  # DRF's signature
        """End a session: its browser must sign in again."""
        if changes.end_session(viewer=self.admin(), session_id=session_id) is None:
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)


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
        viewer, body = self.giver(), _body(request, GroupRoleRequestSerializer)
        role, group = _role(body), body["group"]
        _change(lambda: changes.give_group_role(viewer=viewer, group=group, role=role))
        place = (group, role["role"], role["cluster"], role["namespace"])
        found = [
            row
            for row in read_group_roles(viewer=viewer)
            if (row.group, row.role, row.cluster, row.namespace) == place
        ]
        if not found:
            raise NotFound(NOT_FOUND)  # another admin has taken it back already
        (row,) = found
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
        if not _change(lambda: changes.take_group_role(viewer=viewer, role_id=role_id)):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _body(request: Request, serializer: type[Query]) -> dict[str, Any]:
    read_query(request, Query)
    body = serializer(data=request.data)
    body.is_valid(raise_exception=True)
    return dict(body.validated_data)


def _role(body: dict[str, Any]) -> RoleChoice:
    return {
        "role": body["role"],
        "cluster": body.get("cluster") or None,
        "namespace": body.get("namespace") or None,
    }


def _change(change: Callable[[], Result]) -> Result:
    try:
        return change()
    except (PeopleError, ClusterError) as error:
        raise RefusedRequest(409, sentence_of(error)) from error
