"""The JSON of nodes and of what fits on them, field by field: decimal strings in base units."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gangboard.api.fields import PageSerializer, TimeField, WordField
from gangboard.readmodels.capacity import ClusterRow, ShapeRow


class AmountSerializer(serializers.Serializer[Any]):
    """One resource over some nodes."""

    resource = serializers.CharField()
    accelerator = serializers.BooleanField(source="is_accelerator")
    allocatable = serializers.CharField(source="exact.allocatable")
    used = serializers.CharField(
        source="exact.used", help_text="Requests of pods on the nodes or nominated to them."
    )
    held = serializers.CharField(
        source="exact.held",
        help_text="The part of `used` that gangs hold that are not whole: in formation or "
        "placement, with members on nodes. Those that start, or ran and lost members, are not in it.",
    )
    free = serializers.CharField(
        source="exact.free", help_text="On nodes that are ready and not cordoned."
    )
    away = serializers.CharField(
        source="exact.away", help_text="On the other nodes, which take no pods."
    )
    nodes_unreadable = serializers.IntegerField(
        source="unreadable", help_text="Nodes whose amount could not be read: in none of these."
    )


class TaintSerializer(serializers.Serializer[Any]):
    """A taint that keeps pods away."""

    taint = serializers.CharField()
    nodes = serializers.IntegerField(help_text="Nodes that take pods and have it.")

    def to_representation(self, instance: tuple[str, int]) -> dict[str, Any]:
        """Return a read model's pair by names."""
        return dict(zip(self.fields, instance, strict=True))


class PoolSerializer(serializers.Serializer[Any]):
    """Some nodes together."""

    label = WordField(help_text="By which they stand together; null: they have none of those.")  # type: ignore[assignment]  # as DRF's own attribute
    value = serializers.CharField()
    nodes = serializers.IntegerField()
    ready = serializers.IntegerField(help_text="And not cordoned; the three add up to `nodes`.")
    cordoned = serializers.IntegerField(help_text="And ready.")
    not_ready = serializers.IntegerField()
    taints = TaintSerializer(many=True, help_text="The most frequent three.")
    more_taints = serializers.IntegerField(
        help_text="Rarer ones, and all taints for who may not see the whole cluster."
    )
    amounts = AmountSerializer(many=True)


class ShapeSerializer(serializers.Serializer[Any]):
    """How many pods that ask for so much fit, as if no other came with them.

    Anywhere in the cluster: a gang that must be in one topology domain may find less.
    """

    requests = serializers.SerializerMethodField(help_text="Of one pod, in base units.")
    where = WordField(help_text="Which nodes it asks for; null: any.")
    waiting = serializers.IntegerField(help_text="Pods of this shape that wait for a node.")
    fits_now = serializers.IntegerField(allow_null=True, help_text="Null: see `why`.")
    fits_empty = serializers.IntegerField(
        allow_null=True, help_text="How many fit without the pods that can leave."
    )
    unsupported = serializers.ListField(
        child=serializers.CharField(),
        help_text="What else a pod asks for and was not worked out: the numbers are at most so many.",
    )
    why = WordField(help_text="Why nothing can be told; the numbers are null then.")

    def get_requests(self, shape: ShapeRow) -> dict[str, str]:
        """Return what one pod asks for."""
        return dict(shape.requests)


class ClusterCapacitySerializer(serializers.Serializer[Any]):
    """One cluster."""

    cluster = serializers.CharField()
    freshness = serializers.CharField(
        source="freshness.level", help_text="live, stale, silent or never."
    )
    stale = serializers.BooleanField(source="freshness.is_stale")
    why = serializers.SerializerMethodField(help_text="Why there are no numbers; null: there are.")
    observed_at = TimeField(allow_null=True, help_text="When the numbers changed last.")
    nodes = serializers.IntegerField(allow_null=True, help_text="Null: see `why`; 0: it has none.")
    all_nodes = PoolSerializer(source="whole", allow_null=True)
    pools = PoolSerializer(
        many=True, help_text="None for who may not see the whole cluster: only `all_nodes`."
    )
    shapes = serializers.SerializerMethodField(
        help_text="The shapes that wait now and the most frequent others, the dearest first. Null for "
        "who may not see the whole cluster: they are of all gangs.",
    )

    @extend_schema_field(ShapeSerializer(many=True, allow_null=True))
    def get_shapes(self, row: ClusterRow) -> list[dict[str, Any]] | None:
        """Return the shapes, or that they are not for this caller."""
        found: Any = ShapeSerializer(row.shapes, many=True).data
        return None if row.numbers_only else list(found)

    def get_why(self, row: ClusterRow) -> str | None:
        """Return the sentence with the age in it."""
        return row.why(self.context["now"]) or None


class CapacityListSerializer(PageSerializer):
    """All clusters of which the caller may see something."""

    results = ClusterCapacitySerializer(many=True)
