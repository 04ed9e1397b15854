"""The JSON of reasons, field by field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from gangboard.api.fields import PageSerializer, QuantityField, TimeField, WordField
from gangboard.readmodels.reasons import HealthCount
from gangboard.readmodels.unseen import Unseen


class HealthCountsField(serializers.DictField):
    """Numbers of gangs by health, those without any left out."""

    child = serializers.IntegerField()

    def to_representation(self, value: Iterable[HealthCount]) -> dict[str, int]:
        """Return a read model's counts as one object, in their order."""
        return {count.face.word: count.gangs for count in value}


class ExampleSerializer(serializers.Serializer[Any]):
    """A gang that has the reason."""

    id = serializers.CharField()
    cluster = serializers.CharField()
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()


class LimitSerializer(serializers.Serializer[Any]):
    """What most nodes lack for some of the gangs."""

    text = serializers.CharField()
    gangs = serializers.IntegerField()


class ReasonSerializer(serializers.Serializer[Any]):
    """One reason code in one stage."""

    stage = serializers.CharField()
    code = serializers.CharField(help_text="Reason code, such as `fragmented`.")
    title = serializers.CharField()
    gangs = serializers.IntegerField()
    by_health = HealthCountsField(source="healths", help_text="The same gangs; worst first.")
    pods_not_ready = serializers.IntegerField(
        source="pods", help_text="Pods of these gangs that are not ready, held ones left out."
    )
    accelerators = QuantityField(help_text="What these gangs ask for in all, placed or not.")
    since = TimeField(help_text="Since when the first of them has had this verdict.")
    since_first_seen = serializers.BooleanField(
        help_text="Of some of them the time is only when gangboard saw it first: one may have it for "
        "longer than since `since`.",
    )
    next_step = WordField(help_text="What would let the first example go.")
    limits = LimitSerializer(many=True, help_text="What the nodes lack that could host them.")
    examples = ExampleSerializer(
        many=True, help_text="Up to three, those that ask for the most accelerators."
    )


class UnseenClusterSerializer(serializers.Serializer[Any]):
    """A cluster that could not be looked at, or not fully."""

    cluster = serializers.CharField()
    message = serializers.SerializerMethodField()

    def get_message(self, one: Unseen) -> str:
        """Return what is not known of it, and why."""
        return one.sentence(self.context["now"])


class ReasonTotalsSerializer(serializers.Serializer[Any]):
    """What is said of all reasons together, and of what is in none of them."""

    gangs = serializers.IntegerField(
        allow_null=True,
        help_text="Gangs of all reasons; null: no cluster that was asked for was read yet.",
    )
    accelerators = QuantityField(
        allow_null=True, help_text="Accelerators of all reasons; null as `gangs`."
    )
    not_counted = HealthCountsField(
        source="apart", help_text="Gangs that run whole, have ended or are suspended on purpose."
    )
    unknown = serializers.IntegerField(
        allow_null=True, help_text="Gangs of which nothing is known now; null as `gangs`."
    )
    clusters = serializers.IntegerField(help_text="Clusters that were asked for.")
    clusters_looked_at = serializers.IntegerField(
        source="looked_at", help_text="Those of them that have answered lately."
    )
    unseen = UnseenClusterSerializer(
        many=True, help_text="Clusters of which something could not be looked at."
    )


class ReasonsSerializer(ReasonTotalsSerializer, PageSerializer):
    """One page of reasons, and what is said of all."""

    results = ReasonSerializer(many=True)
