"""Base class of API operations, the API root and the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, cast

from django.utils import timezone
from django.utils.http import urlencode
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.exceptions import NotFound
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from gangboard.client_address import client_address
from gangboard.pages.core.api.entity_tags import tag_content
from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.store.access import Viewer, viewer_of
from gangboard.store.authentication import ValidToken

RESOURCES = (
    *("actions", "capacity", "clusters", "events", "evictions", "gangs", "groups", "holds", "me"),
    *("queues", "reasons", "schema", "summary", "trends", "usage", "waits"),
)
"""The lists that `/api/v1/` links."""


class ReadView(APIView):
    """An operation that only reads, for whoever is signed in or has a token."""

    permission_classes = (IsAuthenticated,)
    http_method_names = ["get", "head"]  # noqa: RUF012  # a list, as in its base class

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404 for a name with a NUL, which PostgreSQL refuses."""
        super().initial(request, *args, **kwargs)
        if any("\x00" in str(value) for value in kwargs.values()):
            raise NotFound(NOT_FOUND)  # PostgreSQL cannot even compare a NUL

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Return the response with its headers and an ETag."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        if isinstance(answer, Response):
            tag_content(request, answer)
        return answer

    def viewer(self) -> Viewer:
        """Return the viewer: the current rights of the user, and actions only if the token allows them."""
        cached = getattr(self, "_viewer", None)
        if cached is not None and cached[0] is self.request:
            return cast("Viewer", cached[1])
        viewer = self._read_viewer()
        self._viewer = (self.request, viewer)
        return viewer

    def _read_viewer(self) -> Viewer:
        token = self.request.auth
        address = client_address(self.request.META)
        if not isinstance(token, ValidToken):
            return viewer_of(self.request.user, address=address)
        return viewer_of(self.request.user, may_act=token.may_act, token=token.id, address=address)

    def now(self) -> datetime:
        """Return the time of the answer, with its zone."""
        return timezone.now()


def next_url(request: Request, cursor: str | None) -> str | None:
    """Return the URL of the next page, which has another cursor. None: this is the last page."""
    if cursor is None:
        return None
    query = [(name, value) for name, value in _pairs(request) if name != "cursor"]
    path = request.build_absolute_uri(request.path)
    return f"{path}?{urlencode([*query, ('cursor', cursor)])}"


def _pairs(request: Request) -> list[tuple[str, str]]:
    return [(name, value) for name, values in request.query_params.lists() for value in values]


@extend_schema(exclude=True)
class RootView(ReadView):
    """`/api/v1/`: where everything is."""

    def get(self, request: Request) -> Response:
        """Return the address of each list."""
        return Response(
            {name: request.build_absolute_uri(f"{request.path}{name}/") for name in RESOURCES}
        )


@extend_schema(exclude=True)
class NoSuchView(ReadView):
    """Every other address below /api/v1/: the same problem document as for a missing object."""

    http_method_names = ["get", "head", "post", "patch", "delete"]  # noqa: RUF012  # as in its base class

    def get(self, request: Request, **_: str) -> Response:  # noqa: ARG002  # DRF's signature
        """Answer 404."""
        raise NotFound(NOT_FOUND)

    post = patch = delete = get


@cache
def read_document() -> dict[str, Any]:
    """Return the document. The first call of a process takes about a second."""
    document: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # as it comes
    return document


class SchemaView(SpectacularJSONAPIView):
    """The document as JSON. The same for everybody, but not for strangers."""

    permission_classes = (IsAuthenticated,)
    http_method_names = ["get", "head"]  # noqa: RUF012  # a list, as in its base class

    @extend_schema(exclude=True)
    def get(self, request: Request, *_: object, **__: object) -> Response:  # noqa: ARG002  # DRF's signature
        """Return the document."""
        return Response(read_document())
