"""The reference: pod after pod on every node, checked by the definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from gangboard.domain.capacity import NodeInfo, PlacementRequest, Requested, Shape
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import Spread
from tests.placement.making import R
from tests.placement.single_node import is_eligible, pods_that_fit


def accepts(node: NodeInfo, load: Requested, pods: Sequence[Shape]) -> bool:
    """Whether a node takes these pods on top of a load."""
    if load.pods + len(pods) > node.allocatable["pods"] and pods:
        return False
    for resource, unit in (("cpu", 1000), ("gpu", 1)):
        requested = sum(int(pod.requests[resource] * unit) for pod in pods)
        if requested and requested + load.amounts[resource] > node.allocatable[resource]:
            return False
    ports = Counter(port.port for pod in pods for port in pod.host_ports)
    ports.update({port.port for port in load.host_ports} & ports.keys())
    if any(count > 1 for count in ports.values()):
        return False
    if any(_may_not_meet(item, other) for item, other in permutations(pods, 2)):
        return False
    if any(_may_not_meet(pod, load) or _may_not_meet(load, pod) for pod in pods):
        return False
    return all(
        (node.labels["pool"] == "x" or not pod.node_selector)
        and (not node.taints or bool(pod.tolerations))
        for pod in pods
    )


def _may_not_meet(shape: Shape | Requested, other: Shape | Requested) -> bool:
    """Whether a term by host that one has is about the other."""
    return any(term in other.matched_terms and term != R for term in shape.anti_affinity)


def _are_apart_by_rack(
    nodes: Sequence[NodeInfo], hosted: Sequence[Sequence[Shape]], when: When
) -> bool:
    """True if no new pod shares a rack with another new or existing pod that R keeps apart."""
    for rack in {node.labels["rack"] for node in nodes}:
        here = [index for index, node in enumerate(nodes) if node.labels["rack"] == rack]
        new = [pod for at in here for pod in hosted[at]]
        old = [nodes[at].now if when is When.CURRENT else nodes[at].pinned for at in here]
        pairs: list[tuple[Shape | Requested, Shape | Requested]] = [*permutations(new, 2)]
        pairs += [pair for pod in new for load in old for pair in ((pod, load), (load, pod))]
        if any(R in item.anti_affinity and R in other.matched_terms for item, other in pairs):
            return False
    return True


def ways(request: PlacementRequest, nodes: Sequence[NodeInfo]) -> Iterator[list[list[Shape]]]:
    pods = [pod_set.shape for pod_set in request.pod_sets for _ in range(pod_set.count)]
    for places in product(range(len(nodes) + 1), repeat=len(pods)):
        hosted: list[list[Shape]] = [[] for _ in nodes]
        for pod, place in zip(pods, places, strict=True):
            if place:
                hosted[place - 1].append(pod)
        yield hosted


def works(
    request: PlacementRequest, nodes: Sequence[NodeInfo], hosted: list[list[Shape]], when: When
) -> bool:
    used = {node.labels["rack"] for node, pods in zip(nodes, hosted, strict=True) if pods}
    if request.topology_keys and len(used) > 1:
        return False
    if not _are_apart_by_rack(nodes, hosted, when):
        return False
    return all(
        accepts(node, node.now if when is When.CURRENT else node.pinned, pods)
        for node, pods in zip(nodes, hosted, strict=True)
    )


def reference(request: PlacementRequest, nodes: Sequence[NodeInfo], when: When) -> int:
    """Return the largest number of members that can be placed at once."""
    return max(
        sum(map(len, hosted))
        for hosted in ways(request, nodes)
        if works(request, nodes, hosted, when)
    )


def witness(
    request: PlacementRequest, nodes: Sequence[NodeInfo], placement: Mapping[str, Mapping[str, int]]
) -> list[list[Shape]]:
    named = {pod_set.shape.name: pod_set.shape for pod_set in request.pod_sets}
    assert placement.keys() <= {node.name for node in nodes}
    return [
        [named[name] for name, count in placement.get(node.name, {}).items() for _ in range(count)]
        for node in nodes
    ]


def spread_ends(
    shape: Shape, count: int, nodes: Sequence[NodeInfo], when: When
) -> set[tuple[int, ...]]:
    """Return every way in which placing one pod after the other can end: how many on each node.

    Each goes to any node that takes it and that all spread constraints allow at that moment.
    """
    final_states, observed = set(), {(0,) * len(nodes)}
    todo = list(observed)
    while todo:
        here = todo.pop()
        steps = {
            (*here[:index], here[index] + 1, *here[index + 1 :])
            for index in range(len(nodes))
            if sum(here) < count and spread_step(shape, nodes, here, index, when)
        }
        if not steps:
            final_states.add(here)
        todo += steps - observed
        observed |= steps
    return final_states


def spread_step(
    shape: Shape, nodes: Sequence[NodeInfo], here: Sequence[int], at: int, when: When
) -> bool:
    """Whether one pod more may go to the node `at`, with so many placed before."""
    node = nodes[at]
    load = node.now if when is When.CURRENT else node.pinned
    if node.unschedulable or not accepts(node, load, [shape] * (here[at] + 1)):
        return False
    keys = {spread.topology_key for spread in shape.spreads}
    labelled = [item for item in zip(nodes, here, strict=True) if keys <= item[0].labels.keys()]
    return keys <= node.labels.keys() and all(
        _is_allowed(shape, spread, labelled, node, when) for spread in shape.spreads
    )


def _is_allowed(
    shape: Shape,
    spread: Spread,
    labelled: Sequence[tuple[NodeInfo, int]],
    node: NodeInfo,
    when: When,
) -> bool:
    """Whether one constraint lets a pod go to a node; `labelled` are the nodes that can count."""
    key = spread.topology_key
    counts: dict[str, int] = {}
    for item, placed in labelled:
        if not _left_out(item, shape, spread):
            existing = item.now if when is When.CURRENT else item.pinned
            number = existing.matched_terms.get(spread.counted, 0) + spread.counts_itself * placed
            counts[item.labels[key]] = counts.get(item.labels[key], 0) + number
    fewest = min(counts.values()) if len(counts) >= spread.min_domains else 0
    return counts[node.labels[key]] + spread.counts_itself - fewest <= spread.max_skew


def _left_out(node: NodeInfo, shape: Shape, spread: Spread) -> bool:
    if spread.honours_affinity and shape.node_selector and node.labels["pool"] != "x":
        return True
    return spread.honours_taints and bool(node.taints) and not shape.tolerations


@dataclass(frozen=True, slots=True)
class ShapeRoom:
    """How many pods of one shape fit."""

    total: int
    per_node: Mapping[str, int]
    """Eligible nodes only; 0 for those that are saturated."""
    limits: Mapping[str, str]
    """Node → what stops one pod more: a resource, `pods`, or a word of `Constraint`."""


def shape_room(nodes: Iterable[NodeInfo], shape: Shape, when: When) -> ShapeRoom:
    """Return how many pods of one shape fit, in total and per eligible node, each asked alone."""
    result = {
        node.name: pods_that_fit(node, shape, when)
        for node in sorted(nodes, key=lambda item: item.name)
        if is_eligible(node, shape)
    }
    return ShapeRoom(
        sum(count for count, _ in result.values()),
        {name: count for name, (count, _) in result.items()},
        {name: limit for name, (_, limit) in result.items()},
    )
