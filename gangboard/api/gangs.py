"""`gangs/` and `gangs/{id}/`."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.api.errors import NOT_FOUND
from gangboard.api.fields import problems
from gangboard.api.parameters import GangQuery, Query, read_query
from gangboard.api.serializers.deleted_gangs import serialize_deleted_gang
from gangboard.api.serializers.gangs import (
    GangDetailSerializer,
    GangListSerializer,
    GangSerializer,
)
from gangboard.api.serializers.reasons import UnseenClusterSerializer
from gangboard.api.views import ReadView, next_url
from gangboard.readmodels.bundle import bundle_text
from gangboard.readmodels.cursors import CursorError
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
    def get(self, request: Request) -> Response:
        """List gangs, the worst first, finished ones included.

        What could not be looked at is in `unseen`: absence from `results` means nothing there.
        """
        query = read_query(request, GangQuery)
        limit, cursor = query.pop("limit"), query.pop("cursor", None)
        filters, viewer, now = GangFilters(**query), self.viewer(), self.now()
        clusters = read_freshness(viewer=viewer, now=now)
        try:
            page = list_gangs(
                viewer=viewer,
                filters=filters,
                limit=limit,
                cursor=cursor,
                now=now,
                clusters=clusters,
            )
        except CursorError as error:
            raise ValidationError({"cursor": [str(error)]}) from error
        unread = find_unread(
            one for one in clusters.values() if filters.cluster in ("", one.cluster)
        )
        unseen = UnseenClusterSerializer(unread, many=True, context={"now": now})
        return Response(
            {
                "next": next_url(request, page.next_cursor),
                "results": GangSerializer(page.rows, many=True).data,
                "unseen": unseen.data,
            }
        )


class GangView(ReadView):
    """One gang."""

    @extend_schema(
        operation_id="get_gang", responses={200: GangDetailSerializer, **problems(400, 401, 404)}
    )
    def get(self, request: Request, gang_id: str) -> Response:
        """Return a gang with its findings, groups, Jobs and pods; of one that is gone, what is left."""
        read_query(request, Query)
        viewer, now = self.viewer(), self.now()
        found = gang_detail(viewer=viewer, gang_id=gang_id, now=now)
        if found is not None:
            return Response(GangDetailSerializer(found).data)
        gone = find_deleted_gang(viewer=viewer, gang_id=gang_id, now=now)
        if gone is not None:
            return Response(serialize_deleted_gang(gone))
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
