"""The JSON of waits by queue and size, field by field."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import PageSerializer, WordField


class SizeSerializer(serializers.Serializer[Any]):
    """A class of gangs by the accelerators that they ask for."""

    more_than = serializers.IntegerField(allow_null=True, help_text="Null: they ask for none.")
    at_most = serializers.IntegerField(allow_null=True, help_text="Null: no limit.")


class QueueWaitsSerializer(serializers.Serializer[Any]):
    """The gangs of one queue and size."""

    cluster = serializers.CharField()
    queue = WordField(help_text="As their owners name it; null: they name none.")
    accelerators = SizeSerializer(source="size")
    gangs = serializers.IntegerField(help_text="From so many the two times are drawn.")
    median_seconds = serializers.IntegerField(
        allow_null=True, help_text="Null: fewer than 5 gangs."
    )
    p90_seconds = serializers.IntegerField(
        source="most_seconds",
        allow_null=True,
        help_text="What nine of ten did not exceed; null: fewer than 10 gangs.",
    )


class WaitListSerializer(PageSerializer):
    """All waits of which the caller may know."""

    gangs = serializers.IntegerField(help_text="Of all rows together.")
    results = QueueWaitsSerializer(many=True)
