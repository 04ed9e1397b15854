"""`gangs/{id}/` and its bundle."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.errors import NOT_FOUND
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.parameters import FIELDS, Query, check_fields, only, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import extending_serializer, serializer_of
from gangboard.pages.gang.bundle import bundle_text
from gangboard.pages.gang.history import DeletedGang, find_deleted_gang
from gangboard.pages.gang.queries import gang_detail
from gangboard.pages.gang.rows import GangDetail
from gangboard.readmodels.gangs import GangRow

_STORED_FIELDS = (
    *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "queue", "created_at"),
    *("health", "stage", "code", "title", "message", "advice", "since", "observed_at"),
    *("findings", "timeline", "waits", "evictions", "gone_at"),
)
"""Fields that a deleted gang has. The others are null or in `_DELETED_VALUES`."""
_LEADING_FIELDS = (
    *("members", "findings", "groups", "jobs", "actions", "fit", "timeline", "waits"),
    *("groups_unseen", "gang_mode", "group_matrix", "facts"),
)
"""Fields that come right after those of a list, to keep the order that clients know."""
_DELETED_VALUES: dict[str, Any] = {
    "stale": False,
    "actions": [],
    "next_steps": [],
    "queue_waits": [],
    "fit": [],
    "groups_unseen": [],
}
"""Values of every deleted gang, which has no actions and no waiting pods."""


class OneGangQuery(Query):
    """The query of `gangs/{id}/`."""

    fields = FIELDS  # type: ignore[assignment]  # as DRF's own attribute


GangDetailSerializer = extending_serializer(GangRow, GangDetail)
"""The fields of a gang in lists, extended or replaced by those of GangDetail."""


def gang_data(detail: GangDetail) -> dict[str, Any]:
    """Return the JSON of one gang."""
    list_data = serializer_of(GangRow)().to_representation(detail.row)
    detail_data = serializer_of(GangDetail)().to_representation(detail)
    leading = {name: detail_data[name] for name in _LEADING_FIELDS}
    return {**list_data, **leading, **detail_data}


def deleted_gang_data(gang: DeletedGang) -> dict[str, Any]:
    """Return every key of `gangs/{id}/` for a deleted gang, with null for unknown values."""
    fields = GangDetailSerializer().fields
    values = dict(_DELETED_VALUES)
    for name in _STORED_FIELDS:
        value = fields[name].get_attribute(gang)
        values[name] = None if value is None else fields[name].to_representation(value)
    names = (*serializer_of(GangRow)().fields, *_LEADING_FIELDS, *fields)
    return {name: values.get(name) for name in names}


class GangView(ReadView):
    """One gang."""

    @extend_schema(
        operation_id="get_gang",
        parameters=[OneGangQuery],
        responses={200: GangDetailSerializer, **problems(400, 401, 404)},
    )
    @tagged
    def get(self, request: Request, gang_id: str) -> Response:
        """Return a gang with its findings, groups, Jobs and pods; of one that is gone, what is left."""
        fields = read_query(request, OneGangQuery).get("fields")
        check_fields(fields, GangDetailSerializer)
        viewer, now = self.viewer(), self.now()
        detail = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
        if detail is not None:
            return Response(only(fields, gang_data(detail)))
        deleted = find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)
        if deleted is not None:
            return Response(only(fields, deleted_gang_data(deleted)))
        raise NotFound(NOT_FOUND)


class GangBundleView(ReadView):
    """The evidence of one gang as a document."""

    @extend_schema(
        operation_id="get_gang_bundle",
        responses={(200, "text/markdown"): OpenApiTypes.STR, **problems(400, 401, 404)},
    )
    def get(self, request: Request, gang_id: str) -> HttpResponse:
        """Return what the page of a gang says as Markdown, for a ticket."""
        read_query(request, Query)
        now = self.now()
        detail = gang_detail(viewer=self.viewer(), gang_id=gang_id, now=now)
        if detail is None:
            raise NotFound(NOT_FOUND)
        return HttpResponse(bundle_text(detail, now), content_type="text/markdown; charset=utf-8")
