"""`me/`, `me/tokens/` and `me/sessions/`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.account import changes
from gangboard.pages.account.queries import read_account, read_sessions, read_tokens
from gangboard.pages.account.rows import AccountRow, NewTokenRow, TokenRow
from gangboard.pages.core.account_rows import SessionRow
from gangboard.pages.core.api.errors import NOT_FOUND, RefusedRequest
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.paging import read_list_query, short_list_response
from gangboard.pages.core.api.parameters import PageQuery, Query, read_query
from gangboard.pages.core.api.request_fields import StrictFlagField, StrictWholeField
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.fresh_sign_in import require_fresh_session, signed_in
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.readmodels.cursors import newest_first
from gangboard.store.authentication import LONGEST_TOKEN_DAYS, TOKEN_DAYS
from gangboard.store.people import PeopleError


class TokenRequestSerializer(serializers.Serializer[Any]):
    """A token to make."""

    days = StrictWholeField(
        min_value=1,
        max_value=LONGEST_TOKEN_DAYS,
        default=TOKEN_DAYS,
        help_text="How long it lasts.",
    )
    may_act = StrictFlagField(
        default=False, help_text="Whether it may suspend, resume and relocate."
    )


class AccountView(ReadView):
    """Who sends this request."""

    @extend_schema(
        operation_id="get_me", responses={200: serializer_of(AccountRow), **problems(400, 401)}
    )
    def get(self, request: Request) -> Response:
        """Return the name, the roles and the token of whoever sends this request."""
        read_query(request, Query)
        account = read_account(viewer=self.viewer())
        return Response(serializer_of(AccountRow)(account).data)


class TokenListView(ReadView):
    """The caller's tokens."""

    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_my_tokens",
        parameters=[PageQuery],
        responses={200: list_serializer_of(TokenRow), **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the caller's tokens, the newest first."""
        serializer = serializer_of(TokenRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        rows = read_tokens(viewer=self.viewer())
        return short_list_response(
            request, paging, serializer, rows, lambda row: (newest_first(row.created_at), row.id)
        )

    @extend_schema(
        operation_id="make_my_token",
        request=TokenRequestSerializer,
        responses={201: serializer_of(NewTokenRow), **problems(400, 401, 403, 409, 415)},
    )
    def post(self, request: Request) -> Response:
        """Make a token. Its secret is in this answer and nowhere else."""
        read_query(request, Query)
        viewer = require_fresh_session(request, self.viewer())
        body = TokenRequestSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        try:
            token = changes.make_token(viewer=viewer, **body.validated_data)
        except PeopleError as error:
            raise RefusedRequest(409, f"{error}.") from error
        return Response(serializer_of(NewTokenRow)(token).data, status=status.HTTP_201_CREATED)


class TokenView(ReadView):
    """One of the caller's tokens."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="revoke_my_token", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, token_id: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Revoke a token: from now on it is refused."""
        if not changes.revoke_token(viewer=signed_in(self.viewer()), token_id=token_id):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionListView(ReadView):
    """The caller's sessions."""

    http_method_names = ["get", "head", "delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(
        operation_id="list_my_sessions",
        parameters=[PageQuery],
        responses={200: list_serializer_of(SessionRow), **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the browsers in which the caller is signed in, those used last first."""
        serializer = serializer_of(SessionRow)
        _, paging = read_list_query(request, PageQuery, serializer)
        rows = read_sessions(viewer=self.viewer(), current=request.session)
        return short_list_response(
            request, paging, serializer, rows, lambda row: (newest_first(row.last_seen_at), row.id)
        )

    @extend_schema(
        operation_id="end_my_other_sessions", responses={204: None, **problems(400, 401, 403)}
    )
    def delete(self, request: Request) -> Response:
        """End all sessions of the caller but that of this request."""
        read_query(request, Query)
        changes.end_other_sessions(viewer=signed_in(self.viewer()), keep=request.session)
        return Response(status=status.HTTP_204_NO_CONTENT)


class SessionView(ReadView):
    """One of the caller's sessions."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="end_my_session", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, session_id: int) -> Response:  # noqa: ARG002  # DRF's signature
        """End a session: its browser must sign in again."""
        viewer = signed_in(self.viewer())
        if not changes.end_session(viewer=viewer, session_id=session_id):
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)
