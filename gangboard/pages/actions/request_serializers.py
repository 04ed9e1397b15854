"""Serializers of an action request, and of the plan that a dry run returns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from gangboard.actions.requests import LONGEST_PLACE, MOST_AVOIDED
from gangboard.domain.action import ActionRequest, ActionTarget, Avoid, Verb
from gangboard.domain.hold import LONGEST_REASON
from gangboard.pages.core.api.fields import OptionalTextField
from gangboard.pages.core.api.request_fields import (
    StrictFlagField,
    StrictTextField,
    StrictWholeField,
)
from gangboard.readmodels.action_rows import LEVERS, VERBS

_NAME = 253


class ZonedTimeField(serializers.DateTimeField):
    """A time in RFC 3339 with an offset. Without an offset it would be ambiguous, and is refused."""

    def enforce_timezone(self, value: datetime) -> datetime:
        """Return the time in UTC. Raises ValidationError."""
        if value.tzinfo is None:
            raise ValidationError("Add the UTC offset, such as 2026-11-21T18:00:00Z.")
        try:
            return value.astimezone(UTC)
        except OverflowError as error:
            raise ValidationError("This date or time does not exist.") from error


class StrictSerializer(serializers.Serializer[Any]):
    """A body in which an unknown field is an error, so that a typing error cannot widen a request."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the typed fields. Raises ValidationError."""
        if isinstance(data, dict):
            unknown = [str(name) for name in data if name not in self.fields]
            if unknown:
                names = ", ".join(self.fields)
                raise ValidationError(
                    {name: [f"There is no field “{name}”; they are: {names}."] for name in unknown}
                )
        return super().to_internal_value(data)


class TargetRequestSerializer(StrictSerializer):
    """The object, as the caller saw it."""

    cluster = StrictTextField(max_length=63)
    api_group = StrictTextField(
        max_length=_NAME, allow_blank=True, help_text="Empty for the core group."
    )
    kind = StrictTextField(max_length=63)
    namespace = StrictTextField(max_length=_NAME)
    name = StrictTextField(max_length=_NAME)
    uid = StrictTextField(max_length=64)
    generation = StrictWholeField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=2**63 - 1,
        help_text="The generation that the caller saw. If the object has a newer one, the answer is 409.",
    )


class AvoidSerializer(StrictSerializer):
    """The place that a relocated Job leaves: nodes, or one topology domain.

    Without both, the exclusion of an earlier relocation is removed.
    """

    nodes = serializers.ListField(
        child=StrictTextField(max_length=_NAME),
        required=False,
        max_length=MOST_AVOIDED,
        help_text="Names of nodes.",
    )
    topology = serializers.DictField(
        child=StrictTextField(max_length=63),
        required=False,
        help_text="One node label that an admin allows (`GANGBOARD_TOPOLOGY_LABELS`), with its value.",
    )

    def validate_topology(self, topology: dict[str, str]) -> dict[str, str]:
        """Return the label. Raises ValidationError for several, and for a key that is too long."""
        if len(topology) != 1 or any(len(key) > LONGEST_PLACE for key in topology):
            raise ValidationError("Name exactly one label.")
        return topology


class ActionRequestSerializer(StrictSerializer):
    """A request to suspend, resume or relocate one object."""

    verb = serializers.ChoiceField(VERBS)
    target = TargetRequestSerializer()
    reason = StrictTextField(
        max_length=LONGEST_REASON,
        required=False,
        allow_blank=True,
        default="",
        help_text="The reason, which is kept in the record and in the Hold. Optional only for a dry run.",
    )
    until = ZonedTimeField(
        required=False,
        allow_null=True,
        help_text="When gangboard releases the Hold by itself; for Holds only.",
    )
    avoid = AvoidSerializer(
        required=False,
        allow_null=True,
        help_text="For `relocate` only, and needed there: the place that the Job leaves.",
    )
    force = StrictFlagField(
        required=False,
        default=False,
        help_text="For admins: try a lever that is not proved. This is a plain suspend that is watched like any other. It usually ends `reverted`, with the client that undid it.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields. Raises ValidationError for a relocation without a place."""
        if attrs["verb"] == Verb.RELOCATE and attrs.get("avoid") is None:
            raise ValidationError({"avoid": ["A relocation needs the place to avoid."]})
        return attrs

    def create(self, validated_data: dict[str, Any]) -> ActionRequest:
        """Return the action request. `save` passes the idempotency key, which is a header."""
        return ActionRequest(
            verb=Verb(validated_data["verb"]),
            target=ActionTarget(**validated_data["target"]),
            reason=validated_data["reason"],
            until=validated_data.get("until"),
            avoid=_avoid(validated_data.get("avoid")),
            idempotency_key=validated_data["idempotency_key"],
            forced=validated_data["force"],
            via="api",
        )


def _avoid(data: dict[str, Any] | None) -> Avoid | None:
    if data is None:
        return None
    topology = next(iter(data.get("topology", {}).items()), None)
    return Avoid(tuple(dict.fromkeys(data.get("nodes", ()))), topology)


class PlannedStepSerializer(serializers.Serializer[Any]):
    """One request that would be sent."""

    name = serializers.CharField()
    method = serializers.CharField()
    path = serializers.CharField()
    patch = serializers.CharField()
    dry_run = serializers.BooleanField()


class PlanSerializer(serializers.Serializer[Any]):
    """What would be done; nothing was sent and nothing was written down."""

    verb = serializers.ChoiceField(VERBS)
    generation = serializers.IntegerField(help_text="Of the object, as it is known now.")
    allowed = serializers.BooleanField()
    why_not = OptionalTextField()
    needs = OptionalTextField(help_text="What to install or switch on to allow it.")
    lever = serializers.ChoiceField(LEVERS, allow_null=True)
    steps = PlannedStepSerializer(many=True)
    reactions = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    before = serializers.DictField(child=serializers.CharField())
    after = serializers.DictField(child=serializers.CharField())
    watch_seconds = serializers.FloatField(
        help_text="Shortest time for which it would be watched before it counts as verified."
    )
