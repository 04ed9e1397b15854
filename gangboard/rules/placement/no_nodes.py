"""`no-nodes`: the cluster has no node at all.

The scheduler says `no nodes available to schedule pods`. An autoscaler that brings the first node is
`waiting-for-nodes`, which is asked before.
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
    "no-nodes", Stage.PLACEMENT, "No nodes", 52, find, health=Health.BLOCKED, of_room=True
)
