"""The JSON of curves: a number for each step of the period, null where it could not be looked at."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gangboard.api.fields import TimeField
from gangboard.readmodels.trends import Curve, Trends

_VALUES = {"type": "array", "items": {"type": ["number", "null"]}}
_BY_NAME = {"type": "object", "additionalProperties": _VALUES}


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
        help_text="Accelerators that blocked, degraded, waiting and starting gangs ask for. Null, as `gangs` and "
        "`reasons` are empty, for who may not see all asked clusters as a whole.",
    )
    used = CurveField(help_text="Accelerators in use by others than gangs that are not whole.")
    held = CurveField(help_text="Accelerators held by gangs that are not whole.")
    free = CurveField(help_text="Accelerators that are free on nodes that take pods.")
    away = CurveField(help_text="Accelerators that stand free on other nodes.")
    gangs = serializers.SerializerMethodField(help_text="Number of gangs by health.")
    reasons = serializers.SerializerMethodField(
        help_text="Accelerators of `waiting` by `stage/code`."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Clusters that are silent now: in no value."
    )

    def get_step_seconds(self, found: Trends) -> int:
        """Return the distance of two values."""
        return int(found.period.step.total_seconds())

    @extend_schema_field(_BY_NAME)
    def get_gangs(self, found: Trends) -> dict[str, list[float | None]]:
        """Return the values by health."""
        return {health: list(curve.values) for health, curve in found.gangs.items()}

    @extend_schema_field(_BY_NAME)
    def get_reasons(self, found: Trends) -> dict[str, list[float | None]]:
        """Return the values by stage and code."""
        return {curve.key: list(curve.values) for curve in found.reasons.values()}
