"""`node-pod-limit`: the nodes have room, but take no more pods.

The resource `pods` decides. Blocked when the nodes would not take so many even when empty.
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
    "node-pod-limit",
    Stage.PLACEMENT,
    "Limit of pods per node",
    72,
    find,
    health=Health.WAITING,
    of_room=True,
)
