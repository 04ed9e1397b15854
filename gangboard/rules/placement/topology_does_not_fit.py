"""`topology-does-not-fit`: it fits without its topology constraint, and not with it.

Waiting while one domain would have room if pods left it, blocked when none is large enough.
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
    "topology-does-not-fit",
    Stage.PLACEMENT,
    "Topology does not fit",
    66,
    find,
    health=Health.WAITING,
    of_room=True,
)
