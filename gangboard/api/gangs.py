"""`gangs/` and `gangs/{id}/`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.entity_tags import tagged
from gangboard.api.errors import NOT_FOUND
from gangboard.api.fields import problems
from gangboard.api.paging import cursor_errors, list_response, read_list_query
from gangboard.api.parameters import (
    GangQuery,
    OneGangQuery,
    Query,
    check_fields,
    check_values,
    only,
    read_query,
)
from gangboard.api.serializers.deleted_gangs import serialize_deleted_gang
from gangboard.api.serializers.gang_detail import GangDetailSerializer
from gangboard.api.serializers.gangs import GangListSerializer, GangSerializer
from gangboard.api.serializers.unseen_clusters import UnseenClusterSerializer
from gangboard.api.views import ReadView
from gangboard.domain.health import Health
from gangboard.readmodels.bundle import bundle_text
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.gang_history import find_deleted_gang
from gangboard.readmodels.gang_page import gang_detail
from gangboard.readmodels.gangs import GangFilters, list_gangs
from gangboard.readmodels.unseen import find_unread


class GangListView(ReadView):
    """All gangs that the caller may see."""

    @extend_schema(
        operation_id="list_gangs",
        parameters=[GangQuery],
        responses={200: GangListSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """List gangs, the worst first, finished ones included.

        What could not be looked at is in `unseen`: absence from `results` means nothing there.
        """
        query, paging = read_list_query(request, GangQuery, GangSerializer)
        viewer, now = self.viewer(), self.now()
        filters = _filters(query, now)
        check_values(viewer, cluster=filters.cluster, code=filters.code)
        clusters = read_freshness(viewer=viewer, now=now)
        with cursor_errors():
            page = list_gangs(
                viewer=viewer,
                filters=filters,
                limit=paging.limit,
                cursor=paging.cursor,
                now=now,
                clusters=clusters,
            )
        unread = find_unread(
            one for one in clusters.values() if filters.cluster in ("", one.cluster)
        )
        unseen = UnseenClusterSerializer(unread, many=True, context={"now": now}).data
        return list_response(
            request, paging, GangSerializer, page.rows, page.next_cursor, unseen=unseen
        )


def _filters(query: dict[str, Any], now: datetime) -> GangFilters:
    """Return the filters of a query. Raises ValidationError for those that contradict each other."""
    labels = query.pop("label", ())
    blocked_for = query.pop("blocked_for", None)
    if blocked_for is not None:
        if "health" in query or "since_before" in query:
            said = "“blocked_for” says both health and since_before; leave those out."
            raise ValidationError({"blocked_for": [said]})
        query |= {"health": (Health.BLOCKED.value,), "since_before": now - blocked_for}
    return GangFilters(**query, labels=labels)


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
        found = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
        if found is not None:
            return Response(only(wanted, GangDetailSerializer(found).data))
        gone = find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)
        if gone is not None:
            return Response(only(wanted, serialize_deleted_gang(gone)))
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
        found = gang_detail(viewer=self.viewer(), gang_id=gang_id, now=now)
        if found is None:
            raise NotFound(NOT_FOUND)
        return HttpResponse(bundle_text(found, now), content_type="text/markdown; charset=utf-8")
