"""The forms of the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from gangboard.domain.health import Health
from gangboard.notify.channels import LONGEST_ADDRESS
from gangboard.notify.posting import APPRISE, WEBHOOK
from gangboard.notify.rules import CHOICES, MOST_HOURS, MOST_MINUTES, TRIGGER_INFO, Trigger

ANY = (("", "any"),)
KINDS = ((APPRISE, "People: an Apprise address"), (WEBHOOK, "A program: a webhook"))
FOR = (("admins", "Rules of admins"), ("everybody", "Rules of everyone"), ("person", "One person"))
HOURS = ((1, "1 hour"), (8, "8 hours"), (24, "1 day"), (7 * 24, "1 week"))


class ChannelChangeForm(forms.Form):
    """A channel to change. The form never shows its address, and an empty address keeps it."""

    name = forms.CharField(max_length=60)
    address = forms.CharField(max_length=LONGEST_ADDRESS, required=False, label="New address")
    used_by = forms.ChoiceField(choices=FOR, label="For")
    owner = forms.CharField(max_length=150, required=False, label="Person")

    def clean(self) -> dict[str, Any]:
        """Return the arguments of `make_channel` and `change_channel`."""
        data = super().clean() or {}
        used_by = data.pop("used_by", "admins")
        if used_by == "person" and not data.get("owner"):
            self.add_error("owner", "Name the person.")
        if used_by != "person":
            data["owner"] = ""
        return {**data, "for_everybody": used_by == "everybody"}


class ChannelForm(ChannelChangeForm):
    """A new channel."""

    kind = forms.ChoiceField(choices=KINDS)
    address = forms.CharField(max_length=LONGEST_ADDRESS)


class _WithChannels(forms.Form):
    """A form with a choice of channels."""

    channels = forms.MultipleChoiceField(widget=forms.CheckboxSelectMultiple)

    def __init__(self, *args: Any, channels: Iterable[str], **options: Any):
        super().__init__(*args, **options)
        self.fields["channels"].choices = [(name, name) for name in channels]  # type: ignore[attr-defined]


class GangRuleForm(_WithChannels):
    """A rule about one gang, to change."""

    name = forms.CharField(max_length=60)


class RuleForm(GangRuleForm):
    """A rule to make or to change."""

    trigger = forms.ChoiceField(
        choices=[(trigger, TRIGGER_INFO[Trigger(trigger)].label) for trigger in CHOICES],
        label="When",
    )
    minutes = forms.IntegerField(min_value=1, max_value=MOST_MINUTES, required=False)
    health = forms.ChoiceField(
        choices=[*ANY, *((health.value, health.value) for health in Health)], required=False
    )
    code = forms.CharField(max_length=64, required=False, label="Reason")
    kind = forms.CharField(max_length=63, required=False)
    accelerators_at_least = forms.FloatField(
        min_value=0, max_value=1e9, required=False, label="Accelerators"
    )
    cluster = forms.ChoiceField(required=False)
    namespace = forms.CharField(max_length=253, required=False)

    def __init__(self, *args: Any, clusters: Iterable[str], **options: Any):
        super().__init__(*args, **options)
        self.fields["cluster"].choices = [*ANY, *((name, name) for name in clusters)]  # type: ignore[attr-defined]


class NewRuleForm(RuleForm):
    """A new rule."""

    for_admins = forms.BooleanField(required=False)


class TellForm(_WithChannels):
    """Channels for "Tell me when it runs"."""


class MuteForm(forms.Form):
    """How long a rule is muted."""

    hours = forms.IntegerField(min_value=0, max_value=MOST_HOURS)
