"""`untolerated-taint`: most nodes that suit the owner have a taint that the pods do not tolerate.

Of several filters the one that removes most nodes gives the code, the sentence has all of them.
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
    "untolerated-taint",
    Stage.PLACEMENT,
    "Untolerated taint",
    56,
    find,
    health=Health.BLOCKED,
    of_room=True,
)
