"""`claim-unavailable`: a ResourceClaim does not exist, or its devices cannot be allocated.

A pod whose claim does not exist is held back before it is tried, and the scheduler says nothing of it:
so claims are looked up. Of devices, and where claims cannot be looked at, the scheduler's text decides.
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
    "claim-unavailable",
    Stage.PLACEMENT,
    "Resource claim unavailable",
    64,
    find,
    health=Health.WAITING,
)
