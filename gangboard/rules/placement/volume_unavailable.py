"""`volume-unavailable`: a claim does not exist, is not bound, or its volume is out of reach.

The claims that pods name are looked up, since the scheduler can hide what it finds behind an error;
where they cannot be, and of volumes, its text decides. What turns pods away before nodes are looked at
(a claim that does not exist) stands before lack of room, since no room would help; what the scheduler
finds on nodes only where the amounts would fit. Blocked when nothing of it can pass by itself.
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
    "volume-unavailable", Stage.PLACEMENT, "Volume unavailable", 62, find, health=Health.BLOCKED
)
