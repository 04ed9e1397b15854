"""The JSON of the Jobs of a gang, and of what makes such gangs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.api.fields import ChoiceOrNullField, TimeField, WordField
from gangboard.api.serializers.actions import OfferSerializer, TargetSerializer
from gangboard.readmodels.gang_page import JobRow

JOB = {"api_group": "batch", "kind": "Job"}
"""Child Jobs are those of Kubernetes itself."""


class SchedulingSerializer(serializers.Serializer[Any]):
    """How the pods of a Job are scheduled, and why."""

    mode = serializers.CharField()
    label = serializers.CharField(source="mode_label")  # type: ignore[assignment]  # as DRF's own attribute
    reason = serializers.CharField(source="mode_reason")


class HeldSerializer(serializers.Serializer[Any]):
    """The Hold on a Job."""

    name = serializers.CharField(source="hold")
    since = TimeField(source="held_since", allow_null=True)
    by = WordField(source="held_by")
    reason = WordField(source="held_reason")
    until = TimeField(source="held_until", allow_null=True)


class JobQueueSerializer(serializers.Serializer[Any]):
    """How a queue stands to a Job that has an entry of its own in it."""

    name = WordField(source="queue")
    standing = serializers.CharField(
        source="queue_standing", help_text="`waits`, `admitted` or `deactivated`."
    )


class JobSerializer(serializers.Serializer[Any]):
    """A child Job."""

    name = serializers.CharField()
    uid = serializers.CharField()
    generation = serializers.IntegerField()
    suspended = serializers.BooleanField()
    held = serializers.BooleanField()
    finished = ChoiceOrNullField(["succeeded", "failed"])
    nodes = serializers.ListField(child=serializers.CharField())
    desired = serializers.IntegerField()
    created = serializers.IntegerField()
    ready = serializers.IntegerField()
    restarts = serializers.IntegerField()
    scheduling = SchedulingSerializer(source="*")
    hold = HeldSerializer(
        allow_null=True, source="held_row", help_text="The Hold on it, suspended or not."
    )
    queue = JobQueueSerializer(
        allow_null=True,
        source="queued_row",
        help_text="How a queue stands to it; null: it has no entry of its own.",
    )
    actions = OfferSerializer(many=True, help_text="What the caller may do to it now.")
    target = TargetSerializer(help_text="The Job as `POST actions/` takes it.")

    def to_representation(self, instance: JobRow) -> dict[str, Any]:
        """Return the fields; the names in the target come from the gang."""
        row = self.context["row"]
        target = {
            "cluster": row.cluster,
            **JOB,
            "namespace": row.namespace,
            "name": instance.name,
            "uid": instance.uid,
            "generation": instance.generation,
        }
        shown = {
            name: field.to_representation(value)
            if (value := field.get_attribute(instance)) is not None
            else None
            for name, field in self.fields.items()
            if name != "target"
        }
        return {**shown, "target": target}


class MakerSerializer(serializers.Serializer[Any]):
    """What makes gangs such as this one: the CronJob that started a run."""

    api_group = WordField()
    kind = WordField()
    name = WordField()
    uid = serializers.CharField()
    generation = serializers.IntegerField()
    suspended = serializers.BooleanField(help_text="It makes no further one.")
    sentence = WordField()
    actions = OfferSerializer(many=True, help_text="What the caller may do to it now.")
