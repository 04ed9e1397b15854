"""`tokens/` and `sessions/`, for admins of everything. Tokens may read but not change."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.account_rows import SessionRow
from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import PageQuery
from gangboard.pages.core.serializers import list_serializer_of
from gangboard.pages.people import changes
from gangboard.pages.people.admin_api import AdminView
from gangboard.pages.people.rows import OwnedTokenRow
from gangboard.pages.people.sign_ins import (
    SESSION_ORDERINGS,
    TOKEN_ORDERINGS,
    SessionFilters,
    TokenFilters,
    sessions_page,
    tokens_page,
)
from gangboard.store.people import PeopleError


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


class TokensView(AdminView):
    """Tokens of everybody."""

    @extend_schema(
        operation_id="list_tokens",
        parameters=[TokenQuery],
        responses={200: list_serializer_of(OwnedTokenRow), **problems(400, 401, 404)},
    )
    def get(self, request: Request) -> Response:
        """List tokens, the newest first, or as `ordering` says; expired ones stay until they are revoked."""
        return self.page(request, OwnedTokenRow, TokenQuery, tokens_page, TokenFilters)


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
        return self.page(
            request,
            SessionRow,
            SessionQuery,
            sessions_page,
            SessionFilters,
            current=request.session,
        )


class SessionView(AdminView):
    """One session of anybody."""

    http_method_names = ["delete"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(operation_id="end_session", responses={204: None, **problems(401, 403, 404)})
    def delete(self, request: Request, session_id: int) -> Response:  # noqa: ARG002  # DRF's signature
        """End a session: its browser must sign in again."""
        if changes.end_session(viewer=self.admin(), session_id=session_id) is None:
            raise NotFound(NOT_FOUND)
        return Response(status=status.HTTP_204_NO_CONTENT)
