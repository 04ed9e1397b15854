"""The JSON of what happened to a gang, and of how long it waited."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import ChoiceOrNullField, TimeField, WordField
from gangboard.api.parameters import HEALTHS, STAGES


class TimelineSerializer(serializers.Serializer[Any]):
    """One thing that was said of the gang or done to it."""

    at = TimeField(help_text="When the verdict or the outage began, or the action came to its end.")
    until = TimeField(
        allow_null=True, help_text="When it ended; null: it goes on. Null for an action."
    )
    kind = serializers.CharField(
        help_text="`verdict`, `action`, or `cluster`: nothing was seen of its cluster."
    )
    health = ChoiceOrNullField(HEALTHS, help_text="Of a verdict.")
    stage = ChoiceOrNullField(STAGES, help_text="Of a verdict.")
    code = WordField(help_text="Of a verdict.")
    title = serializers.CharField()
    message = serializers.CharField(
        help_text="The sentence of the verdict as it was first; how the action ended, "
        "and where its pods were before and are now."
    )
    actor = WordField(help_text="Of an action.")
    action = WordField(source="action_id", help_text="Id of the action.")


class TypicalSerializer(serializers.Serializer[Any]):
    """How long comparable gangs waited."""

    median_seconds = serializers.IntegerField()
    cases = serializers.IntegerField(help_text="Gangs that came to run, at least 5.")


class WaitsSerializer(serializers.Serializer[Any]):
    """The time before the gang ran first."""

    total_seconds = serializers.IntegerField(
        source="wait.seconds",
        help_text="From its creation, or from when it was first seen, to its first `running`, "
        "its end, or now; without the time in which it was suspended on purpose.",
    )
    by_stage = serializers.DictField(
        source="wait.by_stage",
        child=serializers.IntegerField(),
        help_text="Seconds by stage. Time in which nobody could look is in none.",
    )
    typical = TypicalSerializer(
        source="typical_with_basis",
        allow_null=True,
        help_text="Of other gangs of the same cluster, queue, size and requests per member that "
        "the caller may see; null: fewer than 5.",
    )
