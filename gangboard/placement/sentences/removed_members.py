"""Sentences about removed members: their number, the time, and why their nodes take no pods now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gangboard.domain.node import Node
from gangboard.domain.objects import node_ref
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import CORDON, Effect, Taint
from gangboard.domain.text import is_or_are, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.lost_members import disrupted_pods
from gangboard.facts.preemption import Preemption, preemptors_text
from gangboard.facts.suspensions import minute_text, person_of, writers_text
from gangboard.facts.unit import Unit
from gangboard.placement.matching import tolerates

_PREEMPTED = "PreemptionByScheduler"
_BECAUSE_OF_NODE = {
    "EvictionByEvictionAPI": "evicted",
    "TerminationByKubelet": "ended by its kubelet",
}
"""Reasons of `DisruptionTarget` for which the state of the node matters."""
_REMOVALS = {_PREEMPTED: "preempted by the scheduler", **_BECAUSE_OF_NODE}


def removed_members_text(unit: Unit, taken: Preemption | None = None) -> str:
    """Return ` 1 was evicted at ….` by the disruption conditions of removed pods, or an empty text.

    `taken` names the preemptors. Preempted pods are deleted at once, and the caller has the preemptors as evidence.
    """
    texts = _REMOVALS.copy()
    for kind in unit.gang.kinds.values():
        texts.update(kind.disruptions)
    pods_by_text: dict[str, list[Pod]] = defaultdict(list)
    for pod in disrupted_pods(unit):
        if pod.disruption is not None and pod.disruption.reason in texts:
            pods_by_text[texts[pod.disruption.reason]].append(pod)
    preempted = ""
    if taken is not None and taken.by:
        preempted = f" Members were preempted by {preemptors_text(taken)}."
        pods_by_text.pop(texts[_PREEMPTED], None)
    return preempted + "".join(
        f" {len(pods)} {'was' if len(pods) == 1 else 'were'} {text}{removal_time_text(pods)}"
        f"{_nodes_clause(unit, pods)}."
        for text, pods in sorted(pods_by_text.items())
    )


def removal_time_text(pods: Sequence[Pod]) -> str:
    """Return ` at 2026-11-27 02:19 UTC`, or the last of several times. Empty if a time is unknown."""
    times = [pod.disruption.since for pod in pods if pod.disruption is not None]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(pods):
        return ""
    last = minute_text(max(known))
    return (
        f" at {last}"
        if {minute_text(time) for time in known} == {last}
        else f", the last at {last}"
    )


def closed_nodes_text(unit: Unit, pods: Sequence[Pod], possessive: str = "") -> str:
    """Return `its node n1 is cordoned with kubectl since …` for nodes that take no such pods now, or an empty text.

    The text has no cause of the removal, because no object has it. `possessive` is `its `, `their ` or empty.
    """
    nodes_by_state: dict[tuple[bool, tuple[Taint, ...]], list[Node]] = defaultdict(list)
    for node, taints in _closed_nodes(unit, pods).values():
        nodes_by_state[node.unschedulable, taints].append(node)
    return "; ".join(
        f"{possessive}{'node' if len(nodes) == 1 else 'nodes'} {_names(nodes)} {_state_text(nodes, taints)}"
        for (_, taints), nodes in nodes_by_state.items()
    )


def closed_nodes_evidence(unit: Unit, pods: Sequence[Pod]) -> Iterator[Evidence]:
    """Yield the cordon and the taints of the nodes in `closed_nodes_text`, with their authors."""
    for name, (node, taints) in _closed_nodes(unit, pods).items():
        if node.unschedulable:
            by = writers_text([node.cordoned_by])
            yield Evidence(
                "spec.unschedulable", f"true, set {by}" if by else "true", node_ref(name)
            )
        if taints:
            by = writers_text([person_of(node.tainted_by)])
            text = names(map(str, taints))
            yield Evidence(
                "spec.taints", f"{text}, last changed {by}" if by else text, node_ref(name)
            )


def removed_members_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the evidence for the nodes in `removed_members_text`."""
    yield from closed_nodes_evidence(
        unit,
        [
            pod
            for pod in disrupted_pods(unit)
            if pod.disruption is not None and pod.disruption.reason in _BECAUSE_OF_NODE
        ],
    )


def _nodes_clause(unit: Unit, pods: Sequence[Pod]) -> str:
    reasons = {pod.disruption.reason for pod in pods if pod.disruption is not None}
    if not reasons <= _BECAUSE_OF_NODE.keys():
        return ""
    text = closed_nodes_text(unit, pods, "its " if len(pods) == 1 else "their ")
    return f"; {text}" if text else ""


def _closed_nodes(unit: Unit, pods: Sequence[Pod]) -> Mapping[str, tuple[Node, tuple[Taint, ...]]]:
    """Return name → the node and its untolerated taints, for nodes that are cordoned or have such a taint."""
    if not unit.gang.cluster.nodes_known:
        return {}
    pods_by_node: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        pods_by_node[pod.node].append(pod)
    closed = {}
    for name in sorted(pods_by_node.keys() & unit.gang.cluster.nodes.keys()):
        node = unit.gang.cluster.nodes[name]
        taints = tuple(
            taint
            for taint in node.taints
            if any(_is_closed_by(taint, pod) for pod in pods_by_node[name])
        )
        if node.unschedulable or taints:
            closed[name] = (node, taints)
    return closed


def _is_closed_by(taint: Taint, pod: Pod) -> bool:
    """Return whether a taint, other than that of a cordon, keeps a pod out."""
    return (
        taint.key != CORDON
        and taint.effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
        and not any(tolerates(toleration, taint) for toleration in pod.needs.tolerations)
    )


def _names(nodes: Sequence[Node]) -> str:
    return names(node.meta.ref.name for node in nodes)


def _state_text(nodes: Sequence[Node], taints: tuple[Taint, ...]) -> str:
    """Return `is cordoned with kubectl since …` or `has the taint …` for nodes in the same state."""
    states = []
    if nodes[0].unschedulable:
        by = writers_text((node.cordoned_by for node in nodes), "since")
        states.append(f"{is_or_are(len(nodes))} cordoned{f' {by}' if by else ''}")
    if taints:
        by = writers_text(person_of(node.tainted_by) for node in nodes)
        have = "has" if len(nodes) == 1 else "have"
        noun = "taint" if len(taints) == 1 else "taints"
        changed = f" (changed {by})" if by else ""
        states.append(f"{have} the {noun} {names(map(str, taints))}{changed}")
    return " and ".join(states)
