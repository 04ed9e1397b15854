"""Base of the API operations for admins of everything. Tokens may read but not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.paging import cursor_errors, list_response, read_list_query
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.request_fields import StrictTextField
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh_session, signed_in
from gangboard.pages.core.pagination import Rows
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.people.changes import RoleChoice
from gangboard.store.access import ROLES, Viewer
from gangboard.store.clusters import ClusterError
from gangboard.store.people import PeopleError

Result = TypeVar("Result")


class RoleRequestSerializer(Query):
    """A role on a place."""

    role = serializers.ChoiceField(ROLES)
    cluster = StrictTextField(
        required=False, allow_null=True, max_length=63, help_text="Without it every cluster."
    )
    namespace = StrictTextField(
        required=False,
        allow_null=True,
        max_length=253,
        help_text="A name, or a pattern such as `team-*`. Without it every namespace.",
    )


class AdminView(ReadView):
    """An operation for admins of everything. For anybody else there is nothing at its address."""

    def viewer(self) -> Viewer:
        """Return the calling admin. Raises NotFound for other people."""
        viewer = super().viewer()
        if not viewer.is_admin:
            raise NotFound(NOT_FOUND)
        return viewer

    def admin(self) -> Viewer:
        """Return the admin who may revoke rights. Raises PermissionDenied for a token."""
        return signed_in(self.viewer())

    def giver(self) -> Viewer:
        """Return the admin who may grant rights. Raises PermissionDenied without a recent sign-in."""
        return require_fresh_session(self.request, self.viewer())

    def page(
        self,
        request: Request,
        row: type,
        query: type[PageQuery],
        read: Callable[..., Rows[Any]],
        filters: Callable[..., Any],
        **arguments: Any,
    ) -> Response:
        """Return one page of a list.

        `read` takes `filters`, which are built from the query, and `arguments`.
        """
        viewer, serializer = self.viewer(), serializer_of(row)
        values, paging = read_list_query(request, query, serializer)
        with cursor_errors():
            page = read(
                viewer=viewer,
                filters=filters(**values),
                cursor=paging.cursor,
                limit=paging.limit,
                **arguments,
            )
        return list_response(request, paging, serializer, page.rows, page.next_cursor)

    def body(self, request: Request, serializer: type[Query]) -> dict[str, Any]:
        """Return the validated body. Raises ValidationError."""
        read_query(request, Query)
        body = serializer(data=request.data)
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)


def role_of(body: dict[str, Any]) -> RoleChoice:
    """Return the role in a validated body."""
    return {
        "role": body["role"],
        "cluster": body.get("cluster") or None,
        "namespace": body.get("namespace") or None,
    }


def change(make: Callable[[], Result]) -> Result:
    """Apply a change and return its result. Raises RefusedRequest if it is refused."""
    try:
        return make()
    except (PeopleError, ClusterError) as error:
        raise RefusedRequest(409, sentence_of(error)) from error
