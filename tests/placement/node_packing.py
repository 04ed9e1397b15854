"""The packing problem in plain numbers: shapes as vectors, nodes grouped into classes of equals.

In this order: bounds that prove NO, one quick placement that proves YES, and a search that is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gangboard.domain.capacity import Amounts, NodeInfo, PodSet
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.placement.amounts import free_amount, requested_amounts
from gangboard.placement.packing_search import (
    TOO_MANY_COMBINATIONS,
    Budget,
    BudgetSpentError,
    SearchClass,
    Vector,
    conflicting_pairs,
    search_nodes,
    smallest_sum,
    without_dominated,
)
from tests.placement.single_node import is_eligible, pods_that_fit


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes on which exactly the same can be placed."""

    free: Vector
    """Per resource of the problem; never more than all members want together."""
    max_pods: Vector
    """Per shape, how many pods of it alone fit on one such node."""
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Place pods on nodes: which vector of counts can be reached?"""

    names: tuple[str, ...]
    counts: Vector
    """Per shape, how many pods there are."""
    requests: tuple[Vector, ...]
    """Per shape and resource, in scheduler units."""
    conflicts: frozenset[tuple[int, int]]
    """Pairs of different shapes that cannot share a node."""
    classes: tuple[NodeClass, ...]

    def fits_node(self, config: Sequence[int], room: Vector) -> bool:
        """True if these counts per shape share the free amounts of one node (each within its cap)."""
        for resource, amount in enumerate(room):
            used = sum(
                count * request[resource]
                for count, request in zip(config, self.requests, strict=False)
            )
            if used > amount:
                return False
        return not any(
            max(pair) < len(config) and config[pair[0]] and config[pair[1]]
            for pair in self.conflicts
        )


def problem(
    pod_sets: Sequence[PodSet], nodes: Iterable[NodeInfo], when: When, *, group: bool = True
) -> Problem:
    """Return the problem for these members on these nodes; `group` off keeps every node apart.

    Nodes that cannot take any member at that moment are left out.
    """
    pod_sets = [pod_set for pod_set in pod_sets if pod_set.count > 0]
    requested = [requested_amounts(pod_set.shape) for pod_set in pod_sets]
    resources = sorted({resource for item in requested for resource in item})
    requests = tuple(tuple(item.get(resource, 0) for resource in resources) for item in requested)
    counts = tuple(pod_set.count for pod_set in pod_sets)
    most = [
        sum(count * request[index] for count, request in zip(counts, requests, strict=True))
        for index in range(len(resources))
    ]
    classes: dict[tuple[Vector, Vector, str], list[str]] = {}
    for node in sorted(nodes, key=lambda item: item.name):
        max_pods = _max_pods(node, pod_sets, requested, when)
        if not any(max_pods):
            continue
        room = tuple(
            max(0, min(free_amount(node, resource, when), bound))
            for resource, bound in zip(resources, most, strict=True)
        )
        classes.setdefault((max_pods, room, "" if group else node.name), []).append(node.name)
    return Problem(
        tuple(pod_set.shape.name for pod_set in pod_sets),
        counts,
        requests,
        conflicting_pairs([pod_set.shape for pod_set in pod_sets]),
        tuple(
            NodeClass(room, max_pods, tuple(classes[max_pods, room, own]))
            for max_pods, room, own in sorted(classes)
        ),
    )


def _max_pods(
    node: NodeInfo, pod_sets: Sequence[PodSet], asked: Sequence[Amounts], when: When
) -> Vector:
    return tuple(
        min(pod_set.count, pods_that_fit(node, pod_set.shape, when, amounts)[0])
        if is_eligible(node, pod_set.shape, asked=amounts)
        else 0
        for pod_set, amounts in zip(pod_sets, asked, strict=True)
    )


def trimmed(whole: Problem) -> Problem:
    """Leave out nodes of a class beyond the number of members: they are never needed."""
    size = sum(whole.counts)
    return replace(
        whole, classes=tuple(replace(item, nodes=item.nodes[:size]) for item in whole.classes)
    )


def pack(whole: Problem, target: int, budget: Budget) -> Fit:
    """Return whether at least `target` of the pods can be placed at once, with a placement."""
    start = budget.spent
    try:
        answer, chain = _pack(trimmed(whole), target, budget)
    except BudgetSpentError:
        return Fit(FitAnswer.CANNOT_TELL, why=TOO_MANY_COMBINATIONS, steps=budget.spent - start)
    placement: dict[str, dict[str, int]] = {}
    for node, config in chain:
        taken = placement.setdefault(node, {})
        for name, count in zip(whole.names, config, strict=True):
            if count:
                taken[name] = taken.get(name, 0) + count
    return Fit(answer, dict(sorted(placement.items())), steps=budget.spent - start)


Chain = list[tuple[str, Vector]]


def _pack(small: Problem, target: int, budget: Budget) -> tuple[FitAnswer, Chain]:
    if target <= 0:
        return FitAnswer.YES, []
    if target > sum(small.counts) or not _may_fit(small, target):
        return FitAnswer.NO, []
    chain = _quick(small, target)
    if chain is not None:
        return FitAnswer.YES, chain
    if len(small.counts) == 1:
        return FitAnswer.NO, []
    return search(small, target, budget)


def _may_fit(small: Problem, target: int) -> bool:
    """Look for a proof of NO: by what each shape could place alone, and by totals per resource."""
    fitting = [
        min(count, sum(item.max_pods[index] * len(item.nodes) for item in small.classes))
        for index, count in enumerate(small.counts)
    ]
    if sum(fitting) < target:
        return False
    for resource in range(len(small.requests[0])):
        amounts = [request[resource] for request in small.requests]
        have = sum(item.free[resource] * len(item.nodes) for item in small.classes)
        if smallest_sum(amounts, small.counts, target) > have:
            return False
    return True


def _quick(small: Problem, target: int) -> Chain | None:
    """Fill nodes one after the other, the pickiest shape and the least useful nodes first."""
    room = {node: list(item.free) for item in small.classes for node in item.nodes}
    configs = {node: [0] * len(small.counts) for node in room}
    max_pods = {node: item.max_pods for item in small.classes for node in item.nodes}
    order = sorted(
        room, key=lambda node: (sum(map(bool, max_pods[node])), sum(max_pods[node]), node)
    )
    supply = [sum(cap[index] for cap in max_pods.values()) for index in range(len(small.counts))]
    placed = 0
    for shape in sorted(
        range(len(small.counts)), key=lambda position: (supply[position], position)
    ):
        remaining = small.counts[shape]
        for node in order:
            if not remaining:
                break
            if not max_pods[node][shape]:
                continue
            count = _max_beside(
                small, shape, configs[node], room[node], min(remaining, max_pods[node][shape])
            )
            configs[node][shape] = count
            remaining -= count
            for position, amount in enumerate(small.requests[shape]):
                room[node][position] -= count * amount
        placed += small.counts[shape] - remaining
    if placed < target:
        return None
    return [(node, tuple(config)) for node, config in configs.items() if any(config)]


def _max_beside(small: Problem, shape: int, config: list[int], room: list[int], most: int) -> int:
    """Return how many pods of a shape fit on a node next to its existing pods."""
    for pair in small.conflicts:
        if shape in pair and config[pair[0] + pair[1] - shape]:
            return 0
    amounts = small.requests[shape]
    return min([most, *(room[index] // amount for index, amount in enumerate(amounts) if amount)])


def search(small: Problem, target: int, budget: Budget) -> tuple[FitAnswer, Chain]:
    """Return the exact answer, with how it is reached; raise BudgetSpentError."""
    names = [node for item in small.classes for node in item.nodes]
    classes: list[SearchClass] = []
    start = 0
    for item in small.classes:
        nodes = tuple(range(start, start := start + len(item.nodes)))
        classes.append(SearchClass(item.max_pods, _configs(small, item, budget), nodes))
    chain = search_nodes(small.counts, classes, target, budget)
    if chain is None:
        return FitAnswer.NO, []
    return FitAnswer.YES, [(names[at], config) for at, config in chain]


def _configs(small: Problem, item: NodeClass, budget: Budget) -> list[Vector]:
    """Return the maximal placements on one node of a class."""
    partial: list[Vector] = [()]
    for cap in item.max_pods:
        grown: list[Vector] = []
        for config in partial:
            for count in range(cap + 1):
                budget.spend(1)
                longer = (*config, count)
                if not small.fits_node(longer, item.free):
                    break
                grown.append(longer)
        partial = grown
    return without_dominated(partial, budget)
