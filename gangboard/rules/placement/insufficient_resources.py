"""`insufficient-resources`: it fits on the nodes, and too little is free on them now.

Counted over the nodes that could host a member; what is free on others is of no use to it.
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
    "insufficient-resources",
    Stage.PLACEMENT,
    "Insufficient resources",
    76,
    find,
    health=Health.WAITING,
    of_room=True,
)
