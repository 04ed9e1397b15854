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

_KEPT = (
    *("id", "cluster", "api_group", "kind", "namespace", "name", "uid", "queue", "created_at"),
    *("health", "stage", "code", "title", "message", "advice", "since", "observed_at"),
    *("findings", "timeline", "waits", "gone_at"),
)
"""Fields of a deleted gang. The others are null or in `_NOT_ANY_MORE`."""
_EARLY = (
    *("members", "findings", "groups", "jobs", "actions", "fit", "timeline", "waits"),
    *("groups_unseen", "gang_mode", "group_matrix", "facts"),
)
"""Fields that come after those of a list and before the others, as clients know the answer."""
_NOT_ANY_MORE: dict[str, Any] = {
    "stale": False,
    "actions": [],
    "next_steps": [],
    "queue_waits": [],
    "fit": [],
    "groups_unseen": [],
}
"""Values of every deleted gang: nothing can be done to it, and none of its pods waits."""


class OneGangQuery(Query):
    """The query of `gangs/{id}/`."""

    fields = FIELDS  # type: ignore[assignment]  # as DRF's own attribute


GangDetailSerializer = extending_serializer(GangRow, GangDetail)
"""The fields of a gang in lists, and those of GangDetail beside or instead of them."""


def gang_data(detail: GangDetail) -> dict[str, Any]:
    """Return the JSON of one gang."""
    in_list = serializer_of(GangRow)().to_representation(detail.row)
    more = serializer_of(GangDetail)().to_representation(detail)
    return {**in_list, **{name: more[name] for name in _EARLY}, **more}


def deleted_gang_data(gang: DeletedGang) -> dict[str, Any]:
    """Return every key of `gangs/{id}/`, with null for values that are lost."""
    fields = GangDetailSerializer().fields
    known = dict(_NOT_ANY_MORE)
    for name in _KEPT:
        value = fields[name].get_attribute(gang)
        known[name] = None if value is None else fields[name].to_representation(value)
    names = (*serializer_of(GangRow)().fields, *_EARLY, *fields)
    return {name: known.get(name) for name in names}


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
        wanted = read_query(request, OneGangQuery).get("fields")
        check_fields(wanted, GangDetailSerializer)
        viewer, now = self.viewer(), self.now()
        detail = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
        if detail is not None:
            return Response(only(wanted, gang_data(detail)))
        deleted = find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)
        if deleted is not None:
            return Response(only(wanted, deleted_gang_data(deleted)))
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
