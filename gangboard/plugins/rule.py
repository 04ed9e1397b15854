"""Rules: reasons that are found for a whole gang or for a unit of it."""

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
    """A reason for the whole gang, such as finished, suspended or not observed. Constant RULE."""

    code: str
    stage: Stage
    title: str
    order: int
    """Lower is tried first. The first finding decides the whole gang."""
    find: Callable[[Gang], Finding | None]
    unit_rule: UnitRule | None = None
    """The same reason for a unit, if it can be true of a part of the gang."""


@dataclass(frozen=True, slots=True)
class UnitRule:
    """A reason for a unit: a group, a Job or another part of a gang. Constant RULE, or in the tuple RULES."""

    code: str
    stage: Stage
    title: str
    order: int
    """Place in its stage; lower is nearer to the cause."""
    find: Callable[[Unit], Finding | None]
    overrides: bool = False
    """It is tried before the stages: the unit ran and lost members (`quorum-lost`, `lost-members`)."""
    health: Health | None = None
    """Its usual health, for lists of codes."""
    is_additional: bool = False
    """It is an additional finding and never decides."""
    for_waiting_units: bool = False
    """It is asked only of a unit with a pod that waits for a node."""
    for_queued_units: bool = False
    """It is asked only of a unit of a gang that a queue decides about, wholly or in part."""
    for_merged_units: bool = False
    """Arithmetic finds it for waiting members. If several workers without a group wait for nodes, it is also tried for
    all of them together."""
