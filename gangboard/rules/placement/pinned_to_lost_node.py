"""`pinned-to-lost-node`: a pod asks for one node by its name, and no node has that name.

A queue that assigns nodes pins its pods so, by the node selector. People also name nodes in required affinity. A pod
keeps its pin, also where another node was assigned since: only its successor goes there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.text import is_or_are, names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import system
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_NAME = "metadata.name"
"""The field by which required affinity names a node."""
_SELECTOR = "spec.nodeSelector"


def find(unit: Unit) -> Finding | None:
    """Return a finding where members ask for nodes by names that no node has."""
    room = unit.gang.cluster.room
    if room.why or not room.nodes or not unit.unplaced:
        return None
    pins = [(pod, pin) for pod in unit.unplaced if (pin := _pin(pod)) is not None]
    if not pins:
        return None
    hosts = {node.labels.get(HOSTNAME, node.name) for node in room.nodes}
    existing = {HOSTNAME: hosts, _NAME: {node.name for node in room.nodes}}
    lost = [
        (pod, pin) for pod, pin in pins if all(node not in existing[key] for key, node in pin.nodes)
    ]
    if not lost:
        return None
    gone = sorted({node for _, pin in lost for _, node in pin.nodes})
    noun = "node" if len(gone) == 1 else "nodes"
    pods = [pod.meta.ref.name for pod, _ in lost]
    free = sorted({node for pod, _ in lost for node in _assigned(unit, pod)} & hosts)
    one = len(pods) == 1
    now = f" {system(unit.gang)} now assigns {names(free)}." if free else ""
    # A queue pins to nodes that exist. A name that a person gave may never have been one.
    was_there = any(entry.assigned for entry in unit.gang.entries) and all(
        pin.label == _SELECTOR for _, pin in lost
    )
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
            Evidence(pin.label, f"{key}={node}", pod.meta.ref)
            for pod, pin in lost
            for key, node in pin.nodes
        ),
    )


@dataclass(frozen=True, slots=True)
class _Pin:
    """The nodes that a pod asks for by name, any of them."""

    label: str
    nodes: tuple[tuple[str, str], ...]
    """(node label or field, value)."""


def _pin(pod: Pod) -> _Pin | None:
    """Return the nodes of its node selector, else of required affinity; None if it asks for others, too."""
    selected = dict(pod.needs.node_selector).get(HOSTNAME)
    if selected is not None:
        return _Pin(_SELECTOR, ((HOSTNAME, selected),))
    found: list[tuple[str, str]] = []
    for term in pod.needs.affinity or ():
        named = [
            (one.key, value)
            for one in (*term.expressions, *term.fields)
            if one.key in (HOSTNAME, _NAME) and one.operator == "In"
            for value in one.values
        ]
        if not named:
            return None
        found += named
    return _Pin("required node affinity", tuple(found)) if found else None


def _assigned(unit: Unit, pod: Pod) -> Iterator[str]:
    """Yield nodes that a queue assigned to pods like this one and that have room for more of them."""
    for entry in unit.gang.entries:
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
    for_waiting_units=True,
)
