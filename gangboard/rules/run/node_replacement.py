"""`node-replacement`: assigned nodes failed, and the queue looks for others in their place."""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import system
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while an admitted entry names nodes that failed."""
    entries = [one for one in unit.gang.entries if one.is_in_use and one.failed_nodes]
    nodes = dict.fromkeys(node for one in entries for node in one.failed_nodes)
    if not nodes:
        return None
    noun, it = ("Node", "it") if len(nodes) == 1 else ("Nodes", "them")
    return unit_finding(
        RULE,
        unit,
        f"{noun} {names(nodes)} failed, and {system(unit.gang)} looks for others in place of {it}.",
        evidence=tuple(
            Evidence("failed nodes", names(one.failed_nodes), one.meta.ref) for one in entries
        ),
        named=False,
    )


RULE = UnitRule(
    "node-replacement",
    Stage.RUN,
    "Assigned node failed",
    97,
    find,
    health=Health.DEGRADED,
    is_additional=True,
)
