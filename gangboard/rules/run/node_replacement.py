"""`node-replacement`: assigned nodes failed, and the queue looks for replacements."""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import names
from gangboard.domain.traits import NO_QUEUE_TRAITS
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import system
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding while an admitted entry has failed nodes. It says when the whole gang will be evicted."""
    entries = [entry for entry in unit.gang.entries if entry.is_in_use and entry.failed_nodes]
    nodes = dict.fromkeys(node for entry in entries for node in entry.failed_nodes)
    if not nodes:
        return None
    traits = unit.gang.admission.get(entries[0].meta.ref.group, NO_QUEUE_TRAITS)
    is_single = len(nodes) == 1
    subject = f"{'Node' if is_single else 'Nodes'} {names(nodes)} failed"
    consequence = traits.failed_node if is_single else traits.failed_nodes
    search = f"{subject}, and {system(unit.gang)} is looking for {'a replacement' if is_single else 'replacements'}."
    return unit_finding(
        RULE,
        unit,
        f"{subject}. {consequence}" if consequence else search,
        evidence=tuple(
            Evidence("failed nodes", names(entry.failed_nodes), entry.meta.ref) for entry in entries
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
