"""`trends/`."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gangboard.pages.core.api.fields import TimeField, problems
from gangboard.pages.core.api.parameters import Query, read_query
from gangboard.pages.core.api.views import ReadView
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.trends import PERIODS, Curve, Trends, read_trends

_VALUES = {"type": "array", "items": {"type": ["number", "null"]}}
_BY_NAME = {"type": "object", "additionalProperties": _VALUES}


class TrendQuery(Query):
    """The query of `trends/`."""

    cluster = serializers.CharField(required=False, max_length=63, help_text="Name of a cluster.")
    days = serializers.ChoiceField(
        tuple(PERIODS),
        default=1,
        help_text="1: a value a quarter of an hour, 14: one every two hours.",
    )


@extend_schema_field({"type": ["array", "null"], "items": {"type": ["number", "null"]}})
class CurveField(serializers.Field[Any, Any, Any, Any]):
    """The values of one curve."""

    def to_representation(self, value: Curve) -> list[float | None]:
        """Return the values."""
        return list(value.values)


class TrendsSerializer(serializers.Serializer[Any]):
    """Curves over the last day or fortnight."""

    days = serializers.IntegerField(source="period.days")
    began_at = TimeField(help_text="The time of the first value.")
    step_seconds = serializers.SerializerMethodField(help_text="Between two values.")
    waiting = CurveField(
        help_text="Accelerators that blocked, degraded, waiting and starting gangs ask for. Null for callers who may not see all selected clusters completely. `gangs` and `reasons` are then empty.",
    )
    used = CurveField(help_text="Accelerators in use, without those held by incomplete gangs.")
    held = CurveField(help_text="Accelerators held by incomplete gangs.")
    free = CurveField(help_text="Accelerators that are free on nodes that take pods.")
    away = CurveField(help_text="Accelerators that are free on other nodes.")
    gangs = serializers.SerializerMethodField(help_text="Number of gangs by health.")
    reasons = serializers.SerializerMethodField(
        help_text="Accelerators of `waiting` by `stage/code`."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Clusters that are silent now: in no value."
    )

    def get_step_seconds(self, trends: Trends) -> int:
        """Return the time between two values."""
        return int(trends.period.step.total_seconds())

    @extend_schema_field(_BY_NAME)
    def get_gangs(self, trends: Trends) -> dict[str, list[float | None]]:
        """Return the values by health."""
        return {health: list(curve.values) for health, curve in trends.gangs.items()}

    @extend_schema_field(_BY_NAME)
    def get_reasons(self, trends: Trends) -> dict[str, list[float | None]]:
        """Return the values by stage and code."""
        return {curve.key: list(curve.values) for curve in trends.reasons.values()}


class TrendsView(ReadView):
    """How gangs and accelerators were over the last days."""

    @extend_schema(
        operation_id="get_trends",
        parameters=[TrendQuery],
        responses={200: TrendsSerializer, **problems(400, 401)},
    )
    def get(self, request: Request) -> Response:
        """Return curves, summed over the clusters that the caller may see or of one of them.

        A value is null where a cluster could not be looked at: what is missing would look like a fall.
        """
        query = read_query(request, TrendQuery)
        viewer, now = self.viewer(), self.now()
        trends = read_trends(
            viewer=viewer,
            clusters=read_freshness(viewer=viewer, now=now),
            now=now,
            cluster=query.get("cluster", ""),
            period=PERIODS[int(query["days"])],
            with_reasons=True,
        )
        return Response(TrendsSerializer(trends).data)
