"""`fragmented`: enough is free in total, and no placement exists, or the scheduler misses it.

The scheduler's text is the same as for too little room (`4 Insufficient nvidia.com/gpu`): only
arithmetic over nodes tells them apart (observed on 1.37.0). A placement that exists and that the
scheduler's order misses is said as such: it takes a gang's pods one after the other.
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
    "fragmented", Stage.PLACEMENT, "Fragmented", 78, find, health=Health.WAITING, of_room=True
)
