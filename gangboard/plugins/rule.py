"""What a file in `rules/` offers: a reason, judged of a gang or of a part of it."""

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
    """A reason that is judged at the owner: finished, suspended, not observed. Constant RULE."""

    code: str
    stage: Stage
    title: str
    order: int
    """Lower is tried first; the first that finds something decides the whole gang."""
    find: Callable[[Gang], Finding | None]
    of_unit: UnitRule | None = None
    """The same reason, code and title where it is true of a part of the gang only."""


@dataclass(frozen=True, slots=True)
class UnitRule:
    """A reason that is judged at one group, Job or part of a gang. Constant RULE, or in the tuple RULES."""

    code: str
    stage: Stage
    title: str
    order: int
    """Within its stage: lower is nearer to the cause."""
    find: Callable[[Unit], Finding | None]
    overrides: bool = False
    """It is judged before the stages: the unit ran and lost what it had (`quorum-lost`, `lost-members`)."""
    health: Health | None = None
    """The health that it normally has: for pages that list codes."""
    aside: bool = False
    """It is told beside what decides, and never decides itself."""
    of_waiting: bool = False
    """It is asked only of a unit with a pod that waits for a node."""
    of_queued: bool = False
    """It is asked only of a unit of a gang that a queue decides about, wholly or in part."""
    of_room: bool = False
    """It tells what arithmetic finds of the members that wait. It is also asked of all workers without
    a group together, where several of them wait for nodes."""
