"""`topology-drift`: the gang runs on other nodes than its queue has assigned.

The queue counts the capacity of the nodes that it has assigned. If the pods run elsewhere, it sends the next
gang to occupied nodes and keeps unused ones free (kueue#12735). Pods without a node are no drift, and neither
are unused assigned nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.queue import AssignedNodes, QueueEntry
from gangboard.domain.text import count, is_or_are, names
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import queue_text, system
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding for a complete unit with pods on nodes that were not assigned."""
    if not unit.is_full:
        return None
    entries = [entry for entry in unit.gang.entries if entry.admitted and entry.is_in_use]
    misplaced = {pod.meta.ref.uid: pod for entry in entries for pod in _misplaced_pods(unit, entry)}
    if not misplaced:
        return None
    nodes = sorted({pod.node for pod in misplaced.values()})
    number = len(misplaced)
    return unit_finding(
        RULE,
        unit,
        f"It runs, but {count(number, 'pod')} {is_or_are(number)} on {names(nodes)}, where "
        f"{system(unit.gang)} did not assign {'it' if number == 1 else 'them'}.",
        advice=(
            f"Suspend and resume it, so that {queue_text(unit.gang, unit.gang.queue)} assigns it again.",
        ),
        evidence=tuple(
            Evidence(f"assigned to pods {assigned.value}", _node_counts(assigned), entry.meta.ref)
            for entry in entries
            for assigned in entry.assigned
        ),
    )


def _misplaced_pods(unit: Unit, entry: QueueEntry) -> Iterator[Pod]:
    """Yield the pods beyond the number that was assigned to their node."""
    for assigned in entry.assigned:
        unused = Counter(assigned.nodes)
        for pod in unit.placed:
            if pod.labels.get(assigned.label) != assigned.value:
                continue
            if unused[pod.node] > 0:
                unused[pod.node] -= 1
            else:
                yield pod


def _node_counts(assigned: AssignedNodes) -> str:
    return ", ".join(f"{number} on {node}" for node, number in sorted(assigned.nodes.items()))


RULE = UnitRule(
    "topology-drift", Stage.RUN, "Not where it was assigned", 85, find, health=Health.DEGRADED
)
