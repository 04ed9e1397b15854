"""`schema/`: the OpenAPI document of all this."""

from __future__ import annotations

from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response


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
