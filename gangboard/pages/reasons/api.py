"""`reasons/`."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.entity_tags import tagged
from gangboard.pages.core.api.fields import PageSerializer, problems
from gangboard.pages.core.api.paging import read_list_query, short_list_response
from gangboard.pages.core.api.parameters import LONGEST_NAME, PageQuery
from gangboard.pages.core.api.views import ReadView
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.reasons.queries import read_reasons
from gangboard.pages.reasons.rows import REASON_ORDERINGS, ReasonRow, Reasons, place_of
from gangboard.readmodels.freshness import read_freshness


class ReasonQuery(PageQuery):
    """The query of `reasons/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    namespace = serializers.CharField(required=False, max_length=LONGEST_NAME)
    whole_gangs = serializers.BooleanField(
        default=False,
        help_text="`true`: plans also have the steps that stop gangs that run completely.",
    )
    ordering = serializers.ChoiceField(
        REASON_ORDERINGS,
        default="stage",
        help_text="`stage`: in the order of stages, in each those with the most accelerators first.",
    )


class ReasonsSerializer(serializer_of(Reasons), PageSerializer):  # type: ignore[misc]  # made at run time
    """One page of reasons, and what is said of all."""

    results = serializer_of(ReasonRow)(many=True)


class ReasonsView(ReadView):
    """What keeps the most gangs and accelerators from running now."""

    @extend_schema(
        operation_id="list_reasons",
        parameters=[ReasonQuery],
        responses={200: ReasonsSerializer, **problems(400, 401)},
    )
    @tagged
    def get(self, request: Request) -> Response:
        """Count the gangs that wait or are in trouble by stage and reason.

        What could not be looked at is in `unknown` and `unseen`, and in no other number.
        """
        serializer = serializer_of(ReasonRow)
        query, paging = read_list_query(request, ReasonQuery, serializer)
        viewer, now = self.viewer(), self.now()
        reasons = read_reasons(
            viewer=viewer,
            cluster=query.get("cluster", ""),
            namespace=query.get("namespace", ""),
            clusters=read_freshness(viewer=viewer, now=now),
            now=now,
            whole_gangs=query["whole_gangs"],
        )
        return short_list_response(
            request,
            paging,
            serializer,
            reasons.rows,
            place_of(query["ordering"]),
            order=query["ordering"],
            **serializer_of(Reasons)(reasons, context={"now": now}).data,
        )
