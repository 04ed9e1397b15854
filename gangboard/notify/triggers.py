"""Triggers of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Trigger(StrEnum):
    """A kind of change that a rule can wait for."""

    VERDICT = "verdict"
    WAITS = "waits"
    HOLD_ENDS = "hold-ends"
    ACTION = "action"
    REVERTED = "reverted"
    SILENT = "silent"
    RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A trigger in words, and which conditions it looks at."""

    label: str
    conditions: frozenset[str]


_PLACE = frozenset({"cluster", "namespace"})
_GANG = _PLACE | {"kind", "code", "health", "accelerators_at_least"}
MEANINGS: Mapping[Trigger, Meaning] = {
    Trigger.VERDICT: Meaning("A gang gets another verdict", _GANG),
    Trigger.WAITS: Meaning("A gang has waited for some minutes", _GANG | {"minutes"}),
    Trigger.HOLD_ENDS: Meaning("A Hold ends within some minutes", _PLACE | {"minutes"}),
    Trigger.ACTION: Meaning("An action has ended", _PLACE | {"kind"}),
    Trigger.REVERTED: Meaning("An action was undone by somebody", _PLACE | {"kind"}),
    Trigger.SILENT: Meaning("A cluster cannot be read", frozenset({"cluster"})),
    Trigger.RUNS: Meaning("One gang runs or ends", frozenset()),
}
"""Conditions that are named nowhere here must be empty."""
TRIGGERS = tuple(trigger.value for trigger in Trigger)
CHOICES = tuple(trigger.value for trigger in Trigger if trigger is not Trigger.RUNS)
"""Triggers that a person chooses. `runs` belongs to "Tell me when it runs"."""
