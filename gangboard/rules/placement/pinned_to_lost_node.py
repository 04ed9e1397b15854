"""`pinned-to-lost-node`: a pod asks for one node by its name, and no node has that name.

A queue that assigns nodes pins its pods so. A pod keeps its pin, also where another node was assigned since: only its
successor goes there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gangboard.domain.capacity import HOSTNAME
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.queue_sentences import system
from gangboard.domain.reading.wording import is_or_are, names, out_of, plural
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding where members ask for nodes by names that no node has."""
    room = unit.facts.room
    if room.why or not room.nodes or not unit.unplaced:
        return None
    pinned = {pod.meta.ref.uid: (pod, node) for pod in unit.unplaced if (node := _pin(pod))}
    if not pinned:
        return None
    there = {node.labels.get(HOSTNAME, node.name) for node in room.nodes}
    lost = [(pod, node) for pod, node in pinned.values() if node not in there]
    if not lost:
        return None
    gone = sorted({node for _, node in lost})
    noun = "node" if len(gone) == 1 else "nodes"
    pods = [pod.meta.ref.name for pod, _ in lost]
    free = sorted({node for pod, _ in lost for node in _assigned(unit, pod)} & there)
    one = len(pods) == 1
    now = f" {system(unit.facts)} now assigns {names(free)}." if free else ""
    # A queue pins to nodes that exist. A name that a person gave may never have been one.
    was_there = any(entry.assigned for entry in unit.facts.entries)
    state = (
        f"{is_or_are(len(gone))} gone"
        if was_there
        else f"{'does' if len(gone) == 1 else 'do'} not exist"
    )
    return unit_finding(
        RULE,
        unit,
        f"{'Pod' if one else 'Pods'} {names(pods)} {plural(len(pods), 'ask')} for {noun} {names(gone)}, which "
        f"{state}; {out_of(len(unit.placed), unit.wanted, 'pod')} "
        f"{plural(len(unit.placed), 'hold')} a node.{now}",
        health=Health.DEGRADED if unit.placed else Health.BLOCKED,
        advice=(
            f"Delete {'pod' if one else 'pods'} {names(pods)}: {'its successor' if one else 'their successors'} "
            f"{'goes' if one else 'go'} to {names(free)}.",
        )
        if free
        else (),
        evidence=tuple(
            Evidence("nodeSelector", f"{HOSTNAME}={node}", pod.meta.ref) for pod, node in lost
        ),
    )


def _pin(pod: Pod) -> str:
    return dict(pod.needs.node_selector).get(HOSTNAME, "")


def _assigned(unit: Unit, pod: Pod) -> Iterator[str]:
    """Yield nodes that a queue assigned to pods like this one and that have room for more of them."""
    for entry in unit.facts.entries:
        for assigned in entry.assigned if entry.admitted and entry.is_in_use else ():
            if pod.labels.get(assigned.label) != assigned.value:
                continue
            taken = Counter(
                one.node for one in unit.placed if one.labels.get(assigned.label) == assigned.value
            )
            yield from (node for node, number in assigned.nodes.items() if taken[node] < number)


RULE = UnitRule(
    "pinned-to-lost-node",
    Stage.PLACEMENT,
    "Pinned to a lost node",
    48,
    find,
    health=Health.DEGRADED,
)
