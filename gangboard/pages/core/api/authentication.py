"""Bearer tokens for automation, beside the session of a signed-in browser."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from gangboard.client_address import client_address, network_of
from gangboard.store import authentication


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer gb_<id>_<secret>`.

    A request with such a header is judged by it alone: a wrong token is never saved by a cookie.
    Sets `request.auth` to the authentication.ValidToken.
    """

    def authenticate(
        self, request: Request
    ) -> tuple[AbstractBaseUser, authentication.ValidToken] | None:
        """Return the token's user, None without the header; raises 401 for any unusable token."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        if scheme.lower() != "bearer":
            raise AuthenticationFailed("The Authorization header must be: Bearer gb_<id>_<secret>.")
        token = token.strip()
        known = authentication.find_token(token)
        if known is None:
            source = client_address(request.META)
            authentication.record_refused_token(token, source=source, sender=network_of(source))
            # One sentence for unknown, wrong, expired and revoked: it must not tell which.
            raise AuthenticationFailed("This token is not valid: it is unknown or has expired.")
        return known.user, known

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002  # DRF's signature
        """Make DRF answer 401 with WWW-Authenticate instead of 403."""
        return "Bearer"


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # untyped base
    """How the OpenAPI document names the tokens; found by drf-spectacular on import."""

    target_class = "gangboard.pages.core.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:  # noqa: ARG002  # spectacular's
        """Return the security scheme object."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "gb_<id>_<secret>",
            "description": "A token of `manage.py create_token`; read-only unless created with --act.",
        }
