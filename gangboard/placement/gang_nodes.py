"""The nodes from the perspective of one unit, and sums of requests on a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HostPort, PodTerm, PodTerms
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import pod_amounts
from gangboard.placement.members import members_with_node, waiting_members
from gangboard.placement.node_snapshot import NodeSnapshot, snapshot_of
from gangboard.placement.term_matching import TermMatcher, term_matcher

Key = TypeVar("Key")


def nodes_for(unit: Unit) -> NodeSnapshot:
    """Return the nodes of the cluster without the capacity that is reserved for the unit's own waiting pods.

    The load of a node includes pods that are nominated to it. A pod must not block itself. Host ports of members that
    run on such a node stay.
    """
    snapshot = snapshot_of(unit.gang.cluster.room)
    nominated = _by_node((pod, pod.nominated_node) for pod in waiting_members(unit))
    if not nominated:
        return snapshot
    members = members_with_node(unit)
    matched = term_matcher(unit.gang.cluster.room, waiting_members(unit))
    changed: dict[str, NodeInfo] = {}
    for name, pods in nominated.items():
        row = snapshot.row(name)
        if row is not None:
            member_ports = {
                port for pod in members if pod.node == name for port in pod.needs.host_ports
            }
            remaining = subtract_requested(
                snapshot[row].now, requested_by_pods(pods, matched), kept_ports=member_ports
            )
            changed[name] = replace(snapshot[row], now=remaining)
    return snapshot.changed(changed)


def nodes_to_free(unit: Unit) -> NodeSnapshot:
    """Return the nodes of `nodes_for`, with the gang's placed members as pinned pods.

    Advice never frees capacity by removing pods of the same gang, such as those of another Job of the JobSet.
    """
    snapshot = nodes_for(unit)
    members = {pod.meta.ref.uid: pod for pod in (*unit.gang.pods, *unit.foreign_pods)}
    placed = _by_node(
        (pod, pod.node)
        for pod in members.values()
        if pod.is_live and pod.is_placed and not pod.is_terminating and not pod.stays
    )
    if not placed:
        return snapshot
    matched = term_matcher(unit.gang.cluster.room, waiting_members(unit))
    changed: dict[str, NodeInfo] = {}
    for name, pods in placed.items():
        row = snapshot.row(name)
        if row is not None:
            pinned = add_requested(snapshot[row].pinned, requested_by_pods(pods, matched))
            changed[name] = replace(snapshot[row], pinned=pinned)
    return snapshot.changed(changed)


def _by_node(pods: Iterable[tuple[Pod, str]]) -> dict[str, list[Pod]]:
    """Return the pods by the name of their node, without pods that have no node."""
    by_node: dict[str, list[Pod]] = {}
    for pod, name in pods:
        if name:
            by_node.setdefault(name, []).append(pod)
    return by_node


# Sums


def requested_by_pods(pods: Collection[Pod], matched: TermMatcher) -> Requested:
    """Return the sum of the pods' requests. `matched` returns the terms that a pod matches."""
    amounts: Counter[str] = Counter()
    for pod in pods:
        amounts.update(pod_amounts(pod.requests))
    return Requested(
        dict(amounts),
        len(pods),
        frozenset(port for pod in pods for port in pod.needs.host_ports),
        Counter(term for pod in pods for term in pod.needs.anti_affinity),
        Counter(term for pod in pods for term in matched(pod)),
    )


def add_requested(first: Requested, second: Requested) -> Requested:
    """Return the sum of two loads."""
    return Requested(
        _sums(first.amounts, second.amounts),
        first.pods + second.pods,
        first.host_ports | second.host_ports,
        _sums(first.anti_affinity, second.anti_affinity),
        _sums(first.matched_terms, second.matched_terms),
    )


def _sums(first: Mapping[Key, int], second: Mapping[Key, int]) -> dict[Key, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in (*first, *second)}


def subtract_requested(
    load: Requested, removed: Requested, kept_ports: Collection[HostPort] = ()
) -> Requested:
    """Return a load without another one. Remaining pods also hold `kept_ports`."""
    return Requested(
        {
            name: max(0, amount - removed.amounts.get(name, 0))
            for name, amount in load.amounts.items()
        },
        max(0, load.pods - removed.pods),
        load.host_ports - removed.host_ports.difference(kept_ports),
        _subtract_terms(load.anti_affinity, removed.anti_affinity),
        _subtract_terms(load.matched_terms, removed.matched_terms),
    )


def _subtract_terms(terms: PodTerms, removed: PodTerms) -> dict[PodTerm, int]:
    """Return the remaining terms. `removed` may contain terms that are not in `terms`."""
    remaining = {term: number - removed.get(term, 0) for term, number in terms.items()}
    return {term: number for term, number in remaining.items() if number > 0}


def without_requested(node: NodeInfo, removed: Requested) -> NodeInfo:
    """Return a node without a load. Host ports of pinned pods stay."""
    return replace(node, now=subtract_requested(node.now, removed, node.pinned.host_ports))
