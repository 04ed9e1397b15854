"""`topology-drift`: it runs on other nodes than its queue has assigned it to.

The queue counts the room of the nodes that it has assigned. Where the pods are elsewhere, it sends the next
gang to nodes that are taken, and keeps free what nobody uses (kueue#12735). Pods that have no node yet are
no drift, nor are nodes that are assigned and not used.
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
    """Return a finding for a unit that is whole, where some of its pods are on nodes that were not assigned."""
    if not unit.is_full:
        return None
    entries = [entry for entry in unit.gang.entries if entry.admitted and entry.is_in_use]
    strays = {pod.meta.ref.uid: pod for entry in entries for pod in _strays(unit, entry)}
    if not strays:
        return None
    nodes = sorted({pod.node for pod in strays.values()})
    number = len(strays)
    return unit_finding(
        RULE,
        unit,
        f"It runs, but {count(number, 'pod')} {is_or_are(number)} on {names(nodes)}, where "
        f"{system(unit.gang)} did not assign {'it' if number == 1 else 'them'}.",
        advice=(
            f"Suspend and resume it, so that {queue_text(unit.gang, unit.gang.queue)} assigns it again.",
        ),
        evidence=tuple(
            Evidence(f"assigned to pods {one.value}", _listed(one), entry.meta.ref)
            for entry in entries
            for one in entry.assigned
        ),
    )


def _strays(unit: Unit, entry: QueueEntry) -> Iterator[Pod]:
    """Yield the pods on nodes to which fewer of them, or none, were assigned."""
    for assigned in entry.assigned:
        left = Counter(assigned.nodes)
        for pod in unit.placed:
            if pod.labels.get(assigned.label) != assigned.value:
                continue
            if left[pod.node] > 0:
                left[pod.node] -= 1
            else:
                yield pod


def _listed(assigned: AssignedNodes) -> str:
    return ", ".join(f"{number} on {node}" for node, number in sorted(assigned.nodes.items()))


RULE = UnitRule(
    "topology-drift", Stage.RUN, "Not where it was assigned", 85, find, health=Health.DEGRADED
)
