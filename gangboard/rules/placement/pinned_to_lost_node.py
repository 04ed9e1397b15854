"""`pinned-to-lost-node`: a pod requests a node by its name, and no node has that name.

A queue that assigns nodes pins its pods by the node selector. People also name nodes in required node affinity.
A pod keeps its pin after the queue has assigned another node, to which its replacement goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.text import MOST_NAMED, is_or_are, names, out_of, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.copied_commands import delete_pods
from gangboard.facts.findings import unit_finding
from gangboard.facts.queue_sentences import system
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_NAME = "metadata.name"
"""The field that names a node in required node affinity."""
_SELECTOR = "spec.nodeSelector"


def find(unit: Unit) -> Finding | None:
    """Return a finding if members are pinned to nodes that do not exist."""
    capacity = unit.gang.cluster.room
    if capacity.why or not capacity.nodes or not unit.unplaced:
        return None
    pins = [(pod, pin) for pod in unit.unplaced if (pin := _pin_of(pod)) is not None]
    if not pins:
        return None
    hosts = {node.labels.get(HOSTNAME, node.name) for node in capacity.nodes}
    existing = {HOSTNAME: hosts, _NAME: {node.name for node in capacity.nodes}}
    lost = [
        (pod, pin) for pod, pin in pins if all(node not in existing[key] for key, node in pin.nodes)
    ]
    if not lost:
        return None
    missing = sorted({node for _, pin in lost for _, node in pin.nodes})
    noun = "node" if len(missing) == 1 else "nodes"
    pods = [pod.meta.ref.name for pod, _ in lost]
    assigned = sorted({node for pod, _ in lost for node in _assigned_nodes(unit, pod)} & hosts)
    is_single = len(pods) == 1
    assignment = f" {system(unit.gang)} now assigns {names(assigned)}." if assigned else ""
    # A queue pins pods to existing nodes. A name from a person may never have existed.
    existed = any(entry.assigned for entry in unit.gang.entries) and all(
        pin.label == _SELECTOR for _, pin in lost
    )
    state = (
        f"{is_or_are(len(missing))} gone"
        if existed
        else f"{'does' if len(missing) == 1 else 'do'} not exist"
    )
    return unit_finding(
        RULE,
        unit,
        f"{'Pod' if is_single else 'Pods'} {names(pods)} {plural(len(pods), 'require')} {noun} {names(missing)}, which "
        f"{state}; {out_of(len(unit.placed), unit.wanted, 'pod')} "
        f"{is_or_are(len(unit.placed))} placed.{assignment}",
        health=Health.DEGRADED if unit.placed else Health.BLOCKED,
        advice=(_delete_step([pod for pod, _ in lost], assigned),) if assigned else (),
        evidence=tuple(
            Evidence(pin.label, f"{key}={node}", pod.meta.ref)
            for pod, pin in lost
            for key, node in pin.nodes
        ),
    )


def _delete_step(pods: Sequence[Pod], assigned: Sequence[str]) -> AdvisedStep:
    """Return the step that lets successors go to the assigned nodes. Its command deletes pods that the sentence names."""
    refs = [pod.meta.ref for pod in pods]
    is_single = len(refs) == 1
    outcome = "its successor goes" if is_single else "their successors go"
    return AdvisedStep(
        f"Delete {'pod' if is_single else 'pods'} {names(ref.name for ref in refs)}: {outcome} to {names(assigned)}.",
        command=delete_pods(refs) if len(refs) <= MOST_NAMED else (),
    )


@dataclass(frozen=True, slots=True)
class _Pin:
    """The nodes that a pod requests by name. Any of them is enough."""

    label: str
    nodes: tuple[tuple[str, str], ...]
    """(node label or field, value)."""


def _pin_of(pod: Pod) -> _Pin | None:
    """Return the nodes of the node selector, else of required affinity, or None if other nodes are also allowed."""
    selected = dict(pod.needs.node_selector).get(HOSTNAME)
    if selected is not None:
        return _Pin(_SELECTOR, ((HOSTNAME, selected),))
    nodes: list[tuple[str, str]] = []
    for term in pod.needs.affinity or ():
        named = [
            (requirement.key, value)
            for requirement in (*term.expressions, *term.fields)
            if requirement.key in (HOSTNAME, _NAME) and requirement.operator == "In"
            for value in requirement.values
        ]
        if not named:
            return None
        nodes += named
    return _Pin("required node affinity", tuple(nodes)) if nodes else None


def _assigned_nodes(unit: Unit, pod: Pod) -> Iterator[str]:
    """Yield the nodes that a queue assigned to pods like this one and that can host more of them."""
    for entry in unit.gang.entries:
        for assigned in entry.assigned if entry.admitted and entry.is_in_use else ():
            if pod.labels.get(assigned.label) != assigned.value:
                continue
            used = Counter(
                placed.node
                for placed in unit.placed
                if placed.labels.get(assigned.label) == assigned.value
            )
            yield from (node for node, number in assigned.nodes.items() if used[node] < number)


RULE = UnitRule(
    "pinned-to-lost-node",
    Stage.PLACEMENT,
    "Pinned to a lost node",
    48,
    find,
    health=Health.DEGRADED,
    for_waiting_units=True,
)
