"""`audit/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.audit.queries import AuditFilters, audit_lines
from gangboard.pages.audit.rows import AuditLineRow
from gangboard.pages.core.api.fields import problems
from gangboard.pages.core.api.paging import cursor_errors, list_response, read_list_query
from gangboard.pages.core.api.parameters import PageQuery
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import list_serializer_of, serializer_of
from gangboard.readmodels.filters import WITHIN


class AuditQuery(PageQuery):
    """The query of `audit/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(required=False, max_length=253)
    actor = serializers.CharField(required=False, max_length=253, help_text="Who did it.")
    event = serializers.CharField(required=False, max_length=32, help_text="Such as `requested`.")
    q = serializers.CharField(
        required=False, max_length=200, help_text="Words that must all occur in names or sentence."
    )
    within = serializers.ChoiceField(
        tuple(WITHIN), required=False, help_text="Only lines within this time up to now."
    )


class AuditView(ReadView):
    """The audit, as far as the caller may see it."""

    @extend_schema(
        operation_id="list_audit",
        parameters=[AuditQuery],
        responses={200: list_serializer_of(AuditLineRow), **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """List the lines of the audit, the newest first.

        Lines about a namespace are for everybody who sees it. Lines about a whole cluster are for its
        admins, and lines about people for admins of everything.
        """
        row = serializer_of(AuditLineRow)
        query, paging = read_list_query(request, AuditQuery, row)
        filters = AuditFilters(**query)
        with cursor_errors():
            page = audit_lines(
                viewer=self.viewer(), filters=filters, cursor=paging.cursor, limit=paging.limit
            )
        return list_response(request, paging, row, page.rows, page.next_cursor)
