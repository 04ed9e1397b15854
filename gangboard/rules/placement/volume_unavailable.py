"""`volume-unavailable`: a claim does not exist, is not bound, or its volume is out of reach.

gangboard does not read volumes: the scheduler's text decides. What it finds before it looks at nodes
(a claim that does not exist) stands before lack of room, since no room would help; what it finds on
nodes only where the amounts would fit. Blocked when nothing in the text can pass by itself.
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
