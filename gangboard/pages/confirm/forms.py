"""The form of a confirmation: what to do to which objects, why, and until when."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlencode

from django import forms
from django.core.exceptions import ValidationError

from gangboard.actions.requests import MOST_AT_ONCE
from gangboard.domain.action import ActionRequest, ActionTarget, Avoid, Verb
from gangboard.domain.hold import LONGEST_REASON, SHORTEST_REASON
from gangboard.pages.core.forms import read_target, write_target
from gangboard.pages.core.middleware.time_zone import zone_named

LONGEST_KEY = 100
_LONGEST_UNTIL = 32
_GANG = re.compile(r"[0-9a-f]{1,32}")
_NO_TIME = "Until is not a time: write it as 2026-11-21T18:00."
_NO_VERB = "The address does not say whether to suspend, resume or relocate."
_NO_PLACE = "The place to avoid is not one: choose nodes, or one topology domain."
ALL_NODES = "none"
"""Text of a relocation that only removes an exclusion."""


class LenientField(forms.Field):
    """A text field that never fails validation. `read` converts every text to a value."""

    def __init__(self, read: Callable[[str], object]) -> None:
        super().__init__(required=False)
        self._read = read

    def to_python(self, value: str | None) -> object:
        """Return the value of the text."""
        return self._read(value or "")


class TargetsField(forms.Field):
    """The objects of a confirmation, each as one string of `write_target`."""

    widget = forms.MultipleHiddenInput
    default_error_messages = {  # noqa: RUF012  # as in its base class
        "required": "Nothing is selected. Select at least one and ask again."
    }

    def to_python(self, value: Any) -> tuple[ActionTarget, ...]:
        """Return the objects, each once. Raises ValidationError."""
        texts: list[str] = list(dict.fromkeys(value))
        if len(texts) > MOST_AT_ONCE:
            raise ValidationError(
                f"{len(texts)} objects are too many for one confirmation; the maximum is {MOST_AT_ONCE}."
            )
        targets = tuple(target for text in texts if (target := read_target(text)) is not None)
        if len(targets) < len(texts):
            raise ValidationError("The address names an object that cannot exist.")
        return targets


class AvoidField(forms.Field):
    """The place that a relocated Job leaves: nodes, one topology domain, or none."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> Avoid | None:
        """Return the place; None without a text. Raises ValidationError."""
        texts: list[str] = list(dict.fromkeys(value or ()))
        if not texts:
            return None
        if texts == [ALL_NODES]:
            return Avoid()
        nodes = [text.removeprefix("node:") for text in texts if text.startswith("node:")]
        labels = [text.removeprefix("label:") for text in texts if text.startswith("label:")]
        if len(nodes) + len(labels) < len(texts) or len(labels) > 1 or (nodes and labels):
            raise ValidationError(_NO_PLACE)
        key, _, label_value = labels[0].partition("=") if labels else ("", "", "")
        return Avoid(tuple(nodes), (key, label_value) if labels else None)


def write_avoid(avoid: Avoid) -> tuple[str, ...]:
    """Return the texts that an `AvoidField` reads."""
    if avoid.is_empty:
        return (ALL_NODES,)
    if avoid.topology is not None:
        return (f"label:{'='.join(avoid.topology)}",)
    return tuple(f"node:{name}" for name in avoid.nodes)


class UntilField(forms.Field):
    """The end of a Hold, with or without a time zone."""

    def to_python(self, value: str | None) -> datetime | None:
        """Return the time in the zone of its text; None for an empty text. Raises ValidationError."""
        text = self.bound_data(value, None)
        try:
            return datetime.fromisoformat(text) if text else None
        except ValueError as error:
            raise ValidationError(_NO_TIME) from error

    def bound_data(self, data: str | None, initial: object) -> str:  # noqa: ARG002  # Django's signature
        """Return the text with which the form is filled in again."""
        return (data or "").strip()[:_LONGEST_UNTIL]


class ActionForm(forms.Form):
    """A confirmation: verb, objects, reason and end. The page shows its first error."""

    shortest_reason: ClassVar[int] = SHORTEST_REASON
    longest_reason: ClassVar[int] = LONGEST_REASON
    verb = forms.TypedChoiceField(
        choices=[(verb.value, verb.value) for verb in Verb],
        coerce=Verb,
        error_messages={"required": _NO_VERB, "invalid_choice": _NO_VERB},
    )
    target = TargetsField()
    reason = LenientField(lambda text: text.replace("\x00", "").strip()[:LONGEST_REASON])
    zone = LenientField(lambda text: str(zone_named(text)) if text else "")
    """Name of the time zone of the end. Empty means UTC."""
    until = UntilField(required=False)
    avoid = AvoidField(required=False)
    key = LenientField(lambda text: text.replace("\x00", "")[:LONGEST_KEY])
    """Idempotency key of the form. Submitting twice makes one action."""
    forced = LenientField(lambda text: text == "1")
    gang = LenientField(lambda text: text if _GANG.fullmatch(text) else "")
    """Id of the gang whose page the form returns to."""

    def clean_until(self) -> datetime | None:
        """Return the end in UTC. Without a zone it is in the zone of the form. Raises ValidationError."""
        until: datetime | None = self.cleaned_data["until"]
        if until is None:
            return None
        zone = until.tzinfo or zone_named(self.cleaned_data["zone"])
        try:
            return until.replace(tzinfo=zone).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise ValidationError(_NO_TIME) from error

    @property
    def missing_input(self) -> str:
        """The error sentence for a missing or unknown verb or object, or an empty string."""
        for name in ("verb", "target", "avoid"):
            if name in self.errors:
                return str(self.errors[name][0])
        return "Relocate one Job at a time." if self._relocates_several else ""

    @property
    def _relocates_several(self) -> bool:
        values = self.cleaned_data
        return values.get("verb") is Verb.RELOCATE and len(values.get("target", ())) > 1

    @property
    def avoid_values(self) -> tuple[str, ...]:
        """The texts of the place to avoid."""
        avoid = self.cleaned_data["avoid"]
        return write_avoid(avoid) if avoid is not None else ()

    @property
    def requests(self) -> tuple[ActionRequest, ...]:
        """One request per object. With several objects, each uid is appended to the form's key."""
        values = self.cleaned_data
        key, targets = values["key"], values["target"]
        has_own_keys = bool(key) and len(targets) > 1
        return tuple(
            ActionRequest(
                verb=values["verb"],
                target=target,
                reason=values["reason"],
                until=values.get("until"),
                avoid=values["avoid"],
                idempotency_key=f"{key}.{target.uid}" if has_own_keys else key,
                forced=values["forced"],
                via="page",
            )
            for target in targets
        )

    @property
    def query_without_place(self) -> str:
        """The query string of the page that asks for the place to avoid."""
        pairs = [pair for pair in parse_qsl(self.query) if pair[0] != "avoid"]
        return urlencode(pairs)

    @property
    def query(self) -> str:
        """The query string of the confirmation's URL."""
        values = self.cleaned_data
        pairs = [
            ("verb", values["verb"].value),
            *(("target", write_target(target)) for target in values["target"]),
            *(("avoid", text) for text in self.avoid_values),
            *([("gang", values["gang"])] if values["gang"] else []),
            *([("forced", "1")] if values["forced"] else []),
        ]
        return urlencode(pairs)
