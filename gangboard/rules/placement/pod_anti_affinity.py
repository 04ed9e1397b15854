"""`pod-anti-affinity`: it fits without required anti-affinity, and not with it.

Anti-affinity by host is worked out; for any other topology the scheduler's text decides.
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
    "pod-anti-affinity",
    Stage.PLACEMENT,
    "Pod anti-affinity",
    70,
    find,
    health=Health.WAITING,
    of_room=True,
)
