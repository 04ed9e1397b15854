"""The JSON of findings about a gang, field by field."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import TimeField, WordField
from gangboard.api.parameters import HEALTHS, STAGES
from gangboard.api.serializers.gangs import ObjectSerializer


class EvidenceSerializer(serializers.Serializer[Any]):
    """One fact behind a sentence."""

    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    value = serializers.CharField()
    source = ObjectSerializer(  # type: ignore[assignment]  # as DRF's own attribute
        allow_null=True, help_text="Where it was read; null when the caller may not see that."
    )


class FindingSerializer(serializers.Serializer[Any]):
    """One of the findings about a gang."""

    code = serializers.CharField()
    health = serializers.ChoiceField(HEALTHS)
    stage = serializers.ChoiceField(STAGES)
    title = serializers.CharField()
    message = serializers.CharField()
    unit = WordField(help_text="The group or Job that it is about; null: the whole gang.")
    advice = serializers.ListField(child=serializers.CharField())
    evidence = EvidenceSerializer(many=True)
    since = TimeField(allow_null=True)
