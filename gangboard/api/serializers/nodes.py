"""The JSON of one node, field by field: decimal strings in base units."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gangboard.api.fields import QuantityField, TimeField, WordField
from gangboard.api.parameters import HEALTHS
from gangboard.api.serializers.capacity import AmountSerializer
from gangboard.readmodels.freshness import joined
from gangboard.readmodels.node_fit import ANSWERS
from gangboard.readmodels.nodes import NodeView


class NodePodSerializer(serializers.Serializer[Any]):
    """A pod on the node."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    state = serializers.ChoiceField(
        HEALTHS, source="member.health", default=None, help_text="Null for a pod of no gang."
    )
    label = WordField(source="member.label", default=None)  # type: ignore[assignment]  # as DRF's own attribute
    reason = WordField(source="member.reason", default=None)
    accelerators = QuantityField()
    since = TimeField(allow_null=True, help_text="When its kubelet took it.")
    restarts = serializers.IntegerField()


class OccupantSerializer(serializers.Serializer[Any]):
    """A gang with pods on the node."""

    id = serializers.CharField(source="gang.id")
    kind = serializers.CharField(source="gang.kind")
    namespace = serializers.CharField(source="gang.namespace")
    name = serializers.CharField(source="gang.name")
    health = serializers.ChoiceField(HEALTHS, source="gang.health")
    accelerators = QuantityField(help_text="That its pods on this node ask for.")
    pods = NodePodSerializer(many=True)
    pods_elsewhere = serializers.IntegerField(source="elsewhere")


class NodeWaitingSerializer(serializers.Serializer[Any]):
    """A gang of which pods wait for a node, and what this one says to it."""

    id = serializers.CharField(source="gang.id")
    kind = serializers.CharField(source="gang.kind")
    namespace = serializers.CharField(source="gang.namespace")
    name = serializers.CharField(source="gang.name")
    health = serializers.ChoiceField(HEALTHS, source="gang.health")
    waiting = serializers.IntegerField(source="pods", help_text="Its pods that wait for a node.")
    answer = serializers.ChoiceField(
        ANSWERS,
        help_text="`fits-uncordoned`: nothing but the cordon keeps it out. For this node only: a gang "
        "needs room for all its pods.",
    )
    fitting = serializers.IntegerField(help_text="Pods of it for which there is room here.")
    sentence = serializers.CharField()
    unsupported = serializers.ListField(
        source="at_most",
        child=serializers.CharField(),
        help_text="What else its pods ask for and was not worked out: they may still not fit.",
    )


class PodSumSerializer(serializers.Serializer[Any]):
    """Pods that are told as a number."""

    pods = serializers.IntegerField()
    accelerators = QuantityField()


class StrandedSerializer(serializers.Serializer[Any]):
    """Accelerators that are free and that no pod can use."""

    resource = serializers.CharField()
    amount = QuantityField()
    for_lack_of = serializers.CharField(help_text="`cpu` or `memory`.")


class NodeLabelSerializer(serializers.Serializer[Any]):
    """A topology domain that the node is in."""

    label = serializers.CharField()  # type: ignore[assignment]  # as DRF's own attribute
    value = serializers.CharField()

    def to_representation(self, instance: tuple[str, str]) -> dict[str, Any]:
        """Return a read model's pair by names."""
        return dict(zip(self.fields, instance, strict=True))


class NodeSerializer(serializers.Serializer[Any]):
    """One node."""

    cluster = serializers.CharField()
    name = serializers.CharField()
    freshness = serializers.CharField(
        source="freshness.level", help_text="live, stale, silent or never."
    )
    stale = serializers.BooleanField(source="freshness.is_stale")
    why = serializers.SerializerMethodField(
        help_text="Why nothing can be said of room: then `amounts`, `stranded` and `waiting` are empty."
    )
    sentence = WordField(help_text="What matters most of it now.")
    ready = serializers.BooleanField(allow_null=True, help_text="Null: it has not said.")
    ready_since = TimeField(allow_null=True)
    ready_reason = WordField(help_text="Why it is not ready.")
    cordoned = serializers.BooleanField()
    created_at = TimeField(allow_null=True)
    pool = serializers.SerializerMethodField(help_text="Null: none, or not for this caller.")
    topology = NodeLabelSerializer(
        many=True, help_text="None for who may not see the whole cluster, as `taints`."
    )
    taints = serializers.ListField(child=serializers.CharField())
    amounts = AmountSerializer(many=True)
    stranded = StrandedSerializer(
        many=True,
        help_text="Free accelerators of which each kind of pod in this cluster that asks for as many needs more "
        "cpu or memory than is left.",
    )
    occupants = OccupantSerializer(many=True)
    other_pods = NodePodSerializer(many=True, source="others", help_text="Pods of no gang.")
    staying = PodSumSerializer(
        source="stay", help_text="Pods of DaemonSets and of the node itself."
    )
    hidden = PodSumSerializer(help_text="Pods in namespaces that the caller may not see.")
    waiting = NodeWaitingSerializer(many=True, help_text="Those that fit first.")
    more_waiting = serializers.IntegerField(
        help_text="Gangs that wait for fewer accelerators and were not asked about."
    )

    @extend_schema_field({"type": ["string", "null"]})
    def get_why(self, found: NodeView) -> str | None:
        """Return the sentence with the age in it."""
        return joined(found.blind, self.context["now"]) if found.blind is not None else None

    @extend_schema_field({"type": ["string", "null"]})
    def get_pool(self, found: NodeView) -> str | None:
        """Return the value of the label by which it is in a pool."""
        return found.pool[1] or None
