"""`nodes-unschedulable`: most nodes that suit the owner are cordoned, or not ready.

A cordon is also the taint `node.kubernetes.io/unschedulable`, and a node that is not ready has the
taint `not-ready` or `unreachable`: nobody should tolerate these, so they are no `untolerated-taint`.
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
    "nodes-unschedulable",
    Stage.PLACEMENT,
    "Nodes unschedulable",
    58,
    find,
    health=Health.BLOCKED,
    of_room=True,
)
