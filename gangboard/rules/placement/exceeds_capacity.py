"""`exceeds-capacity`: it would not fit even if every pod that can leave had left.

Counted on the nodes that could host a member; pods of DaemonSets and static pods stay.
"""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Finding
from gangboard.placement.sentences.finding import placement_finding


def find(unit: Unit) -> Finding | None:
    """Return a finding when this is why members that the scheduler refuses have no node."""
    return placement_finding(RULE, unit)


RULE = UnitRule(
    "exceeds-capacity",
    Stage.PLACEMENT,
    "Exceeds capacity",
    60,
    find,
    health=Health.BLOCKED,
    of_room=True,
)
