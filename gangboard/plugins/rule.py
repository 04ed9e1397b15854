"""Rules: reasons for a whole gang or for one of its units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding

if TYPE_CHECKING:
    from gangboard.facts.gang import Gang
    from gangboard.facts.unit import Unit


@dataclass(frozen=True, slots=True)
class GangRule:
    """A reason for the whole gang, such as finished, suspended or not observed. It is the constant RULE of its file."""

    code: str
    stage: Stage
    title: str
    order: int
    """Its place among the gang rules; lower comes first. The first finding decides about the whole gang."""
    find: Callable[[Gang], Finding | None]
    unit_rule: UnitRule | None = None
    """The same reason for a unit, if it can apply to a part of the gang."""


@dataclass(frozen=True, slots=True)
class UnitRule:
    """A reason for a unit: a group, a Job or another part of a gang. It is the constant RULE, or an item of RULES."""

    code: str
    stage: Stage
    title: str
    order: int
    """Its place in the stage; lower is nearer to the cause."""
    find: Callable[[Unit], Finding | None]
    overrides: bool = False
    """The rule comes before the stages, because the unit ran and lost members (`quorum-lost`, `lost-members`)."""
    health: Health | None = None
    """The usual health of its findings, for lists of codes."""
    is_additional: bool = False
    """The finding adds to others and never decides."""
    for_waiting_units: bool = False
    """The engine tries the rule only for a unit with a pod that waits for a node."""
    for_queued_units: bool = False
    """The engine tries the rule only for units of a gang that a queue manages, fully or partly."""
    for_use_alerts: bool = False
    """The engine tries the rule only for units of a gang with a conspicuous use of its accelerators."""
    for_merged_units: bool = False
    """The placement arithmetic finds the reason for waiting members.

    If several workers without a group wait for nodes, the engine also tries the rule for all of them together.
    """
    is_solved_by_capacity: bool = False
    """Its members get nodes as soon as the arithmetic finds room for them, so the plan of the cluster may promise it."""
