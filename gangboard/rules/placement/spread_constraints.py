"""`spread-constraints`: the amounts fit, and topology spread constraints are not met.

One constraint of equal pods is worked out; of more than that the scheduler's text tells, where the
amounts would fit.
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
    "spread-constraints",
    Stage.PLACEMENT,
    "Spread constraints",
    80,
    find,
    health=Health.WAITING,
    of_room=True,
)
