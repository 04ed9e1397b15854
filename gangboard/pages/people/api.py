"""`people/`, for admins of everything. Tokens may read but not change."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.request_fields import StrictFlagField, StrictTextField
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.pages.people import changes
from gangboard.pages.people.admin_api import AdminView, RoleRequestSerializer, change, role_of
from gangboard.pages.people.forms import LONGEST_NAME
from gangboard.pages.people.queries import (
    ROLE_FILTERS,
    STATES,
    USER_ORDERINGS,
    UserFilters,
    read_user,
    users_page,
)
from gangboard.pages.people.rows import SignInLinkRow, UserRow
from gangboard.store.access import Viewer


class PeopleQuery(PageQuery):
    """The query of `people/`."""

    q = serializers.CharField(
        required=False, max_length=200, help_text="Words that must all occur in the name."
    )
    role = serializers.ChoiceField(
        ROLE_FILTERS,
        required=False,
        help_text="People with that role anywhere, or with no role at all.",
    )
    state = serializers.ChoiceField(STATES, required=False)
    ordering = serializers.ChoiceField(tuple(USER_ORDERINGS), default="name")


class PersonRequestSerializer(RoleRequestSerializer):
    """A person to add, with their first role."""

    name = StrictTextField(max_length=LONGEST_NAME)


class PersonChangeSerializer(Query):
    """What changes about a person."""

    disabled = StrictFlagField(
        help_text="True ends sessions, password, links, tokens and roles. False enables the account again."
    )


class OnePersonView(AdminView):
    """Base of the operations on one person."""

    def person(self, viewer: Viewer, name: str) -> UserRow:
        """Return a person. Raises NotFound."""
        row = read_user(name, viewer=viewer)
        if row is None:
            raise NotFound(NOT_FOUND)
        return row

    def person_response(self, viewer: Viewer, name: str, status: int = 200) -> Response:
        """Return the response with a person. Raises NotFound."""
        return Response(serializer_of(UserRow)(self.person(viewer, name)).data, status=status)


class PeopleView(OnePersonView):
    """Everybody with an account."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_people",
        parameters=[PeopleQuery],
        responses={200: list_serializer_of(UserRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request) -> Response:
        """List people by name, or as `ordering` says."""
        return self.page(request, UserRow, PeopleQuery, users_page, UserFilters)

    @extend_schema(
        operation_id="add_person",
        request=PersonRequestSerializer,
        responses={201: serializer_of(UserRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Add a person with a role. They sign in at the identity provider, or by a link of `links/`."""
        viewer, body = self.giver(), self.body(request, PersonRequestSerializer)
        name = body["name"]
        change(lambda: changes.create_new_user(viewer=viewer, name=name, role=role_of(body)))
        return self.person_response(viewer, name, 201)


class PersonView(OnePersonView):
    """One person."""

    http_method_names = ["get", "head", "patch"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="get_person",
        responses={200: serializer_of(UserRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request, name: str) -> Response:
        """Return a person."""
        read_query(request, Query)
        return self.person_response(self.viewer(), name)

    @extend_schema(
        operation_id="change_person",
        request=PersonChangeSerializer,
        responses={200: serializer_of(UserRow), **problems(400, 401, 403, 404, 409, 415)},
    )
    def patch(self, request: Request, name: str) -> Response:
        """Disable an account, or open it again: then it has no role and no password."""
        viewer = self.admin()
        self.person(viewer, name)
        body = self.body(request, PersonChangeSerializer)
        change(lambda: changes.set_disabled(viewer=viewer, name=name, disabled=body["disabled"]))
        return self.person_response(viewer, name)


class RolesView(OnePersonView):
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
        body = self.body(request, RoleRequestSerializer)
        change(lambda: changes.give_role(viewer=viewer, name=name, role=role_of(body)))
        return self.person_response(viewer, name)

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
        change(lambda: changes.take_role(viewer=viewer, name=name, role=role_of(query)))
        return Response(status=status.HTTP_204_NO_CONTENT)


class LinksView(OnePersonView):
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
        secret, expires_at = change(lambda: changes.make_link(viewer=viewer, name=name))
        row = SignInLinkRow(changes.link_address(request, secret), expires_at)
        return Response(serializer_of(SignInLinkRow)(row).data, status=status.HTTP_201_CREATED)
