"""`schema/`: the OpenAPI document of all this."""

from __future__ import annotations

from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.permissions import IsAuthenticated


class SchemaView(SpectacularJSONAPIView):
    """The document as JSON. The same for everybody, but not for strangers."""

    permission_classes = (IsAuthenticated,)
    http_method_names = ["get", "head"]  # noqa: RUF012  # a list, as in its base class
