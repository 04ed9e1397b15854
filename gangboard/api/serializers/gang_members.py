"""The JSON of the pods of a gang, field by field."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import TimeField, WordField
from gangboard.api.parameters import HEALTHS
from gangboard.api.serializers.gangs import MembersSerializer
from gangboard.readmodels.gang_page import GangDetail


class MemberSerializer(serializers.Serializer[Any]):
    """A pod."""

    name = serializers.CharField()
    uid = serializers.CharField()
    job = WordField()
    node = WordField()
    state = serializers.ChoiceField(HEALTHS, source="health")
    label = serializers.CharField(help_text="Its state in a word of Kubernetes.")  # type: ignore[assignment]  # as DRF's own attribute
    reason = WordField()
    group = WordField()
    since = TimeField(allow_null=True, help_text="Since when it is in this state.")
    restarts = serializers.IntegerField(help_text="Of all its containers.")
    container = WordField(help_text="The one that ended with an error or does not come up.")
    exit_code = serializers.IntegerField(
        allow_null=True, help_text="With which that container ended last."
    )


class MembersWithPodsSerializer(MembersSerializer):
    """The counts of a gang, and the pods that were counted."""

    pods = MemberSerializer(many=True, source="members")

    def to_representation(self, instance: GangDetail) -> dict[str, Any]:
        """Return the counts of the row beside the pods of the detail."""
        counts = MembersSerializer().to_representation(instance.row.members)
        return {**counts, "pods": self.fields["pods"].to_representation(instance.members)}
