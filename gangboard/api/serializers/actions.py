"""The JSON of actions and Holds, field by field: what is asked, and what is answered."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from gangboard.api.fields import PageSerializer, TimeField, WordField
from gangboard.api.parameters import ACTION_STATES, LEVERS, VERBS
from gangboard.domain.action import ActionRequest, ActionTarget, StepState, Verb
from gangboard.domain.hold import LONGEST_REASON

STEP_STATES = [state.value for state in StepState]
_NAME = 253


class ZonedTimeField(serializers.DateTimeField):
    """A moment in RFC 3339; without an offset it could be any of 27 moments, and is refused."""

    def enforce_timezone(self, value: datetime) -> datetime:
        """Return the moment in UTC. Raises ValidationError."""
        if value.tzinfo is None:
            raise ValidationError("Say the offset too, such as 2026-11-21T18:00:00Z.")
        try:
            return value.astimezone(UTC)
        except OverflowError as error:
            raise ValidationError("This is not a time that a calendar knows.") from error


class StrictSerializer(serializers.Serializer[Any]):
    """A body in which an unknown field is an error: a typing error must never widen a request."""

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


class StrictTextField(serializers.CharField):
    """A text, and nothing else that could be read as one."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the text. Raises ValidationError for numbers too."""
        if not isinstance(data, str):
            raise ValidationError("This must be a string.")
        return super().to_internal_value(data)


class StrictWholeField(serializers.IntegerField):
    """A whole number, and not a text or a truth value that could be read as one."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the number. Raises ValidationError."""
        if isinstance(data, bool) or not isinstance(data, int):
            raise ValidationError("This must be a whole number.")
        return super().to_internal_value(data)


class StrictFlagField(serializers.BooleanField):
    """`true` or `false`, and no word that could be read as one."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the flag. Raises ValidationError."""
        if not isinstance(data, bool):
            raise ValidationError("This must be true or false.")
        return data


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
        help_text="What the caller saw; when the object has moved on, the answer is 409.",
    )


class ActionRequestSerializer(StrictSerializer):
    """A request to suspend or resume one object."""

    verb = serializers.ChoiceField(VERBS)
    target = TargetRequestSerializer()
    reason = StrictTextField(
        max_length=LONGEST_REASON,
        required=False,
        allow_blank=True,
        default="",
        help_text="Why: it stands in the record and in the Hold. Only a dry run needs none.",
    )
    until = ZonedTimeField(
        required=False,
        allow_null=True,
        help_text="When gangboard releases the Hold by itself; for Holds only.",
    )
    force = StrictFlagField(
        required=False,
        default=False,
        help_text="Probing, for admins: try a lever that is not proved. It is a plain suspend that "
        "is watched like every other, and usually ends `reverted` with who undid it.",
    )

    def create(self, validated_data: dict[str, Any]) -> ActionRequest:
        """Return what is asked for; `save` brings the idempotency key, which is no field of the body."""
        return ActionRequest(
            verb=Verb(validated_data["verb"]),
            target=ActionTarget(**validated_data["target"]),
            reason=validated_data["reason"],
            until=validated_data.get("until"),
            idempotency_key=validated_data["idempotency_key"],
            forced=validated_data["force"],
            via="api",
        )


class TargetSerializer(serializers.Serializer[Any]):
    """The object of an action, as the caller saw it."""

    cluster = serializers.CharField()
    api_group = serializers.CharField()
    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    generation = serializers.IntegerField(allow_null=True)


class StepSerializer(serializers.Serializer[Any]):
    """One request of an action to an API server."""

    name = serializers.CharField()
    method = serializers.CharField(
        help_text="POST, DELETE, PATCH (a JSON patch) or MERGE (a merge patch)."
    )
    path = serializers.CharField()
    patch = serializers.CharField(help_text="The exact body; of a DELETE its preconditions.")
    dry_run = serializers.BooleanField(help_text="It changes nothing: it proves the lever.")
    state = serializers.ChoiceField(STEP_STATES)
    result = WordField(help_text="What came of it, in a sentence.")
    at = TimeField(allow_null=True)


class ActionEndSerializer(serializers.Serializer[Any]):
    """What put an end to what an action had suspended."""

    by = serializers.CharField(help_text="Who resumed it.")
    at = TimeField()
    action_id = serializers.CharField()


class ActionSerializer(serializers.Serializer[Any]):
    """An action: what was asked, what was sent, and how it ended."""

    id = serializers.CharField()
    verb = serializers.ChoiceField(VERBS)
    button = serializers.CharField(
        help_text="The word on the button that asks for it: the verb, or a narrower word such as Hold."
    )
    target = TargetSerializer(source="*")
    gang_id = WordField(help_text="The gang that the object belongs to.")
    state = serializers.ChoiceField(ACTION_STATES)
    final = serializers.BooleanField(
        source="is_final",
        help_text="Nothing more is done. `verified` can still become `reverted` later.",
    )
    label = serializers.CharField(help_text="The state in words for people, such as `Held`.")  # type: ignore[assignment]  # as DRF's own attribute
    lever = serializers.ChoiceField(LEVERS, allow_null=True)
    reason = serializers.CharField()
    actor = serializers.CharField()
    via = serializers.CharField(help_text="page, api or gangboard (the end of a Hold).")
    forced = serializers.BooleanField()
    message = serializers.CharField(help_text="How it stands, in a sentence.")
    warnings = serializers.ListField(child=serializers.CharField())
    reactions = serializers.ListField(
        child=serializers.CharField(), help_text="Who will react to it, and how."
    )
    before = serializers.DictField(child=serializers.CharField())
    after = serializers.DictField(child=serializers.CharField())
    steps = StepSerializer(many=True)
    reverted_by = WordField(help_text="The field manager that undid it.")
    held_seconds = serializers.FloatField(allow_null=True)
    ended = ActionEndSerializer(
        allow_null=True,
        help_text="Of a suspend: the next resume that was done. Null where there is none.",
    )
    until = TimeField(allow_null=True)
    batch = WordField(help_text="Actions that were confirmed together have the same.")
    requested_at = TimeField()
    sent_at = TimeField(allow_null=True)
    applied_at = TimeField(allow_null=True)
    finished_at = TimeField(allow_null=True)

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the fields; an empty lever is null."""
        return {**super().to_representation(instance), "lever": instance.lever or None}


class ActionListSerializer(PageSerializer):
    """One page of actions."""

    results = ActionSerializer(many=True)


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
    why_not = WordField()
    needs = WordField(help_text="What to install or switch on so that it would be allowed.")
    lever = serializers.ChoiceField(LEVERS, allow_null=True)
    steps = PlannedStepSerializer(many=True)
    reactions = serializers.ListField(child=serializers.CharField())
    warnings = serializers.ListField(child=serializers.CharField())
    before = serializers.DictField(child=serializers.CharField())
    after = serializers.DictField(child=serializers.CharField())
    watch_seconds = serializers.FloatField(
        help_text="How long it would be watched at least before it is called verified."
    )


class OfferSerializer(serializers.Serializer[Any]):
    """What the caller may do to an object now."""

    verb = serializers.ChoiceField(VERBS)
    label = serializers.CharField(  # type: ignore[assignment]  # as DRF's own attribute
        help_text="The word on the button: the verb, or a narrower word such as Hold or Release."
    )
    meaning = WordField(help_text="What it does, where the label alone does not say it.")
    allowed = serializers.BooleanField()
    lever = serializers.ChoiceField(LEVERS, allow_null=True)
    why_not = WordField()
    warnings = serializers.ListField(child=serializers.CharField())

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Return the fields; an empty lever is null."""
        return {**super().to_representation(instance), "lever": instance.lever or None}


class HoldOwnerSerializer(serializers.Serializer[Any]):
    """The object whose Job is held."""

    kind = WordField(source="owner_kind")
    name = WordField(source="owner_name")
    uid = serializers.CharField(source="owner_uid")


class HoldSerializer(serializers.Serializer[Any]):
    """A Hold that is in a cluster."""

    cluster = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    uid = serializers.CharField()
    job = serializers.CharField()
    owner = HoldOwnerSerializer(source="*")
    gang_id = WordField(help_text="Null when its owner is not there any more.")
    action_id = WordField(help_text="The action that made it; null when it was made by hand.")
    by = WordField()
    reason = WordField()
    since = TimeField(allow_null=True)
    until = TimeField(allow_null=True)
    in_force = StrictFlagField(
        allow_null=True, help_text="Whether a resume would be turned back; null: not known."
    )
    checked_at = TimeField(allow_null=True, help_text="When that was last tried.")
    lost = serializers.BooleanField(help_text="What it held is not there any more.")
    message = WordField(source="sentence", help_text="What is the matter with it.")


class UnseenHoldsSerializer(serializers.Serializer[Any]):
    """A cluster whose Holds cannot be listed: that is not the same as none."""

    cluster = serializers.CharField()
    state = serializers.CharField(help_text="silent, not-served, forbidden, failing …")
    message = serializers.CharField(source="sentence")


class HoldListSerializer(PageSerializer):
    """One page of Holds."""

    results = HoldSerializer(many=True)
    unseen = UnseenHoldsSerializer(many=True)
