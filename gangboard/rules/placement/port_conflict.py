"""`port-conflict`: it fits without its host ports, and not with them.

Two pods with the same host port never share a node. Blocked when too few nodes could host one each.
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
    "port-conflict",
    Stage.PLACEMENT,
    "Host port taken",
    68,
    find,
    health=Health.WAITING,
    of_room=True,
)
