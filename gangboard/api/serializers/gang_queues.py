"""The JSON of a gang that waits in queues, field by field."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.queue_places import AmountRow, PlaceRow
from gangboard.readmodels.visible_queues import QUEUE_STATES


class GivenSerializer(serializers.Serializer[Any]):
    """What queues have given of a resource in a flavor, and their quota of it."""

    reserved = serializers.CharField()
    quota = serializers.CharField()


class LackSerializer(serializers.Serializer[Any]):
    """A resource in one flavor that has to become free, and who has it. Decimal strings in base units."""

    flavor = serializers.CharField()
    resource = serializers.CharField()
    amount = serializers.CharField(source="exact", help_text="How much has to become free.")
    queue = GivenSerializer(source="own", help_text="Of its queue.")
    shared = GivenSerializer(
        allow_null=True,
        help_text="Of all with which the queue shares quota; null: it shares with nobody.",
    )
    holders = serializer_of(PlaceRow)(
        many=True, help_text="Who has most of it, up to 5 that the caller may see."
    )
    holders_more = serializers.IntegerField()
    hidden = serializers.IntegerField(help_text="Others that the caller may not see.")
    hidden_amount = serializers.CharField(source="hidden_exact")


class QueueWaitSerializer(serializers.Serializer[Any]):
    """One entry of a gang that waits in a queue."""

    entry = serializers.CharField()
    queue = serializers.CharField(help_text="The queue that would admit it, as in `queues/`.")
    kind = serializers.CharField()
    state = serializers.ChoiceField(QUEUE_STATES, source="face.word", help_text="Of the queue.")
    position = serializers.IntegerField(
        allow_null=True,
        help_text="1 is first, computed by gangboard; null: it stands in no line, or the order cannot be told.",
    )
    in_line = serializers.IntegerField()
    priority = serializers.IntegerField()
    asks = serializer_of(AmountRow)(many=True)
    ahead = serializer_of(PlaceRow)(many=True, help_text="The first 5 of those before it.")
    ahead_more = serializers.IntegerField()
    lacks = LackSerializer(many=True, help_text="What has to become free, as far as it is told.")
    order = serializers.ListField(child=serializers.CharField())
    stale = serializers.BooleanField()
