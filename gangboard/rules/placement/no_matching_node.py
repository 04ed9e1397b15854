"""`no-matching-node`: no node is what the owner asked for.

Node selector, required node affinity, a resource that no node has at all, more in one pod than the
largest node has. What was done to nodes that would match (a taint, a cordon) has codes of its own.
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
    "no-matching-node",
    Stage.PLACEMENT,
    "No matching node",
    54,
    find,
    health=Health.BLOCKED,
    of_room=True,
)
