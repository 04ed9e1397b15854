"""Request bodies of `notifications/channels/` and `notifications/rules/`."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gangboard.notify import channels, rules
from gangboard.notify.posting import KINDS
from gangboard.notify.rules import CHOICES
from gangboard.pages.core.api.parameters import HEALTHS
from gangboard.pages.core.api.request_fields import (
    StrictFlagField,
    StrictNumberField,
    StrictTextField,
    StrictWholeField,
)


class ChannelChangeSerializer(serializers.Serializer[Any]):
    """A channel to change. A field that is left out stays as it is."""

    name = StrictTextField(max_length=60, required=False)
    address = StrictTextField(
        max_length=channels.LONGEST_ADDRESS,
        write_only=True,
        required=False,
        allow_blank=True,
        help_text="A new address. It is checked like the first one. Empty: the address stays.",
    )
    owner = StrictTextField(
        max_length=150,
        required=False,
        allow_blank=True,
        help_text="The one person whose rules may use it. Empty: no longer that person.",
    )
    for_everybody = StrictFlagField(
        required=False, help_text="Whether everybody's rules may use it."
    )


class ChannelRequestSerializer(serializers.Serializer[Any]):
    """A channel to make."""

    name = StrictTextField(max_length=60)
    kind = serializers.ChoiceField(KINDS)
    address = StrictTextField(
        max_length=channels.LONGEST_ADDRESS,
        write_only=True,
        help_text="Of apprise, or of a webhook. It is stored encrypted and never sent back.",
    )
    owner = StrictTextField(
        max_length=150,
        default="",
        allow_blank=True,
        help_text="The one person whose rules may use it.",
    )
    for_everybody = StrictFlagField(
        default=False, help_text="Whether everybody's rules may use it."
    )


class RuleSettingsSerializer(serializers.Serializer[Any]):
    """The settings of a rule. Everything meets a condition that is not set."""

    name = StrictTextField(max_length=60)
    trigger = serializers.ChoiceField(CHOICES)
    channels = serializers.ListField(
        child=StrictTextField(max_length=60), min_length=1, max_length=20
    )
    minutes = StrictWholeField(
        min_value=1, max_value=rules.MOST_MINUTES, required=False, allow_null=True
    )
    cluster = StrictTextField(max_length=63, required=False, allow_blank=True, allow_null=True)
    namespace = StrictTextField(
        max_length=253, required=False, allow_blank=True, help_text="A pattern such as `team-*`."
    )
    kind = StrictTextField(max_length=63, required=False, allow_blank=True)
    code = StrictTextField(max_length=64, required=False, allow_blank=True)
    health = serializers.ChoiceField(HEALTHS, required=False, allow_blank=True)
    accelerators_at_least = StrictNumberField(
        min_value=0, max_value=1e9, required=False, allow_null=True
    )


class RuleRequestSerializer(RuleSettingsSerializer):
    """A rule to make."""

    for_admins = StrictFlagField(default=False, help_text="A rule of all admins.")


class MuteRequestSerializer(serializers.Serializer[Any]):
    """For how long a rule is muted."""

    hours = StrictWholeField(min_value=0, max_value=rules.MOST_HOURS, help_text="0 ends the mute.")
