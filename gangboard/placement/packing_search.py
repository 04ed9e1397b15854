"""Exact search for a placement of at least a number of pods.

The search walks over the nodes and keeps the set of reachable vectors "pods placed per shape". It drops dominated
vectors: every completion of a smaller vector also completes a larger one, because a placement stays valid without a
pod. The search gives up when its budget is spent. Two shapes have a faster search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gangboard.domain.capacity import Shape
from gangboard.placement.matching import has_host_anti_affinity, ports_clash
from gangboard.placement.node_columns import IntColumn

Vector = tuple[int, ...]


def conflicting_pairs(shapes: Sequence[Shape]) -> frozenset[tuple[int, int]]:
    """Return the index pairs of shapes that cannot share a node, the smaller index first."""
    return frozenset(
        (low, high)
        for high, shape in enumerate(shapes)
        for low, other_shape in enumerate(shapes[:high])
        if has_host_anti_affinity(shape, other_shape)
        or ports_clash(shape.host_ports, other_shape.host_ports)
    )


BUDGET = 50_000
"""Default number of search steps, of about a microsecond each."""


class BudgetSpentError(Exception):
    """The search budget is spent."""


@dataclass(slots=True)
class Budget:
    """Remaining search steps, shared by the searches of one check."""

    remaining: int = BUDGET
    spent: int = 0

    def spend(self, steps: int) -> None:
        """Use up steps. Raise BudgetSpentError if too few remain."""
        self.spent += steps
        self.remaining -= steps
        if self.remaining < 0:
            raise BudgetSpentError


@dataclass(frozen=True, slots=True)
class _Link:
    """The step to a vector: the pods on one node, added to a previous vector."""

    node: int
    config: Vector
    previous: _Link | None


Reached = dict[Vector, _Link | None]
TOO_MANY_COMBINATIONS = "too many ways to place different members together to try them all"


@dataclass(frozen=True, slots=True)
class SearchClass:
    """Nodes on which the same combinations fit."""

    max_pods: Vector
    """Per shape, how many pods of it alone fit on one such node."""
    configs: Sequence[Vector]
    """The largest combinations."""
    nodes: tuple[int, ...]
    """Rows of the nodes."""


def smallest_sum(amounts: Sequence[int], counts: Sequence[int], target: int) -> int:
    """Return the smallest sum of requests of `target` pods. `counts` are the numbers of pods with each amount."""
    total = 0
    for amount, count in sorted(zip(amounts, counts, strict=True)):
        taken = min(count, target)
        total += taken * amount
        target -= taken
    return total


def search_nodes(
    counts: Vector, classes: Sequence[SearchClass], target: int, budget: Budget
) -> list[tuple[int, Vector]] | None:
    """Return the pods of each node for `target` pods, or None if they do not fit; raise BudgetSpentError."""
    reached: Reached = {(0,) * len(counts): None}
    spare = [
        sum(search_class.max_pods[index] * len(search_class.nodes) for search_class in classes)
        for index in range(len(counts))
    ]
    for search_class in classes:
        settled = False
        for node in search_class.nodes:
            spare = [amount - cap for amount, cap in zip(spare, search_class.max_pods, strict=True)]
            if settled:
                continue
            before = reached
            reached = _step(counts, before, node, search_class.configs, budget)
            settled = reached.keys() == before.keys()
            for vector, link in reached.items():
                if sum(vector) >= target:
                    return _chain(link)
        reached = {
            vector: link
            for vector, link in reached.items()
            if _reach(counts, vector, spare) >= target
        }
    return None


def _reach(counts: Vector, vector: Vector, spare: list[int]) -> int:
    """Return an upper bound of the pods that can be placed from this vector on."""
    return sum(
        min(count, placed + extra)
        for count, placed, extra in zip(counts, vector, spare, strict=True)
    )


def _step(
    counts: Vector, before: Reached, node: int, configs: Sequence[Vector], budget: Budget
) -> Reached:
    """Return the largest vectors that are reachable with one more node."""
    after: Reached = dict(before)
    budget.spend(len(before) * len(configs))
    for vector, link in before.items():
        for config in configs:
            total = tuple(
                min(count, placed + extra)
                for count, placed, extra in zip(counts, vector, config, strict=True)
            )
            if total not in after:
                gained = tuple(new - old for new, old in zip(total, vector, strict=True))
                after[total] = _Link(node, gained, link)
    return {vector: after[vector] for vector in without_dominated(after, budget)}


def without_dominated(vectors: Iterable[Vector], budget: Budget) -> list[Vector]:
    """Return the vectors that no other vector dominates, that is, equals or exceeds in all entries."""
    largest_vectors: list[Vector] = []
    for vector in sorted(vectors, reverse=True):
        if len(vector) == 2:
            # The vectors are sorted by the first entry, so only the second entry of the last one matters.
            budget.spend(1)
            dominated = bool(largest_vectors) and largest_vectors[-1][1] >= vector[1]
        else:
            budget.spend(len(largest_vectors) + 1)
            dominated = any(
                all(larger >= smaller for larger, smaller in zip(kept_vector, vector, strict=True))
                for kept_vector in largest_vectors
            )
        if not dominated:
            largest_vectors.append(vector)
    return largest_vectors


def _chain(link: _Link | None) -> list[tuple[int, Vector]]:
    chain: list[tuple[int, Vector]] = []
    while link is not None:
        chain.append((link.node, link.config))
        link = link.previous
    return chain


# Two shapes
#
# For a number of pods of the first shape, only the largest number of the second beside them matters. For several nodes
# it is the maximum over all splits of the first shape. Equal nodes are combined by doubling.

_PASS_COST, _NUMBERS_PER_STEP = 2, 512
"""Cost of one pass over a column in search steps, and the numbers per step."""


@dataclass(frozen=True, slots=True)
class _Reach:
    """Number of pods of the first shape → largest number of the second, on a set of nodes."""

    most: IntColumn
    nodes: Sequence[int]
    """The node of a leaf."""
    children: tuple[_Reach, _Reach] | None = None


def search_two_shapes(
    pair: tuple[int, int],
    counts: Vector,
    classes: Sequence[SearchClass],
    target: int,
    budget: Budget,
) -> list[tuple[int, Vector]] | None:
    """Return the pods of each node for `target` pods, or None if they do not fit; raise BudgetSpentError.

    `pair` are the two shapes with unplaced pods.
    """
    first, second = sorted(pair, key=lambda shape: counts[shape])
    top = counts[first]
    reach: _Reach | None = None
    for search_class in classes:
        of_class = _reach_of_class(search_class, first, second, top, budget)
        reach = of_class if reach is None else _join(reach, of_class, top, budget)
    if reach is None:
        return None
    sums = np.arange(len(reach.most)) + np.minimum(reach.most, counts[second])
    best = int(np.argmax(sums))
    if int(sums[best]) < target:
        return None
    chain: list[tuple[int, Vector]] = []
    for node, low, high in _counts_by_node(reach, best):
        config = [0] * len(counts)
        config[first], config[second] = low, high
        chain.append((node, tuple(config)))
    return chain


def _reach_of_class(
    search_class: SearchClass, first: int, second: int, top: int, budget: Budget
) -> _Reach:
    most = np.zeros(search_class.max_pods[first] + 1, dtype=np.int64)
    for config in search_class.configs:
        most[config[first]] = max(int(most[config[first]]), config[second])
    # A node that takes more pods of the first shape also takes fewer.
    most = np.maximum.accumulate(most[::-1])[::-1]
    return _reach_of_equal_nodes(most, search_class.nodes, top, budget)


def _reach_of_equal_nodes(
    most: IntColumn, nodes: Sequence[int], top: int, budget: Budget
) -> _Reach:
    """Return the reach of equal nodes, combined by doubling."""
    reach: _Reach | None = None
    double = most
    powers = [most]
    while 2 ** len(powers) <= len(nodes):
        double = _best_split(double, double, top, budget)
        powers.append(double)
    start = 0
    for power in range(len(powers)):
        if len(nodes) >> power & 1:
            subtree = _reach_tree(powers, power, nodes[start : start + 2**power])
            start += 2**power
            reach = subtree if reach is None else _join(reach, subtree, top, budget)
    assert reach is not None  # noqa: S101 - a class has a node
    return reach


def _reach_tree(powers: Sequence[IntColumn], power: int, nodes: Sequence[int]) -> _Reach:
    if power == 0:
        return _Reach(powers[0], nodes)
    half = len(nodes) // 2
    children = (
        _reach_tree(powers, power - 1, nodes[:half]),
        _reach_tree(powers, power - 1, nodes[half:]),
    )
    return _Reach(powers[power], nodes, children)


def _join(first: _Reach, second: _Reach, top: int, budget: Budget) -> _Reach:
    return _Reach(_best_split(first.most, second.most, top, budget), (), (first, second))


def _best_split(first: IntColumn, second: IntColumn, top: int, budget: Budget) -> IntColumn:
    """Return the maximum over all splits of the first shape between two sets of nodes."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    budget.spend(len(shorter) * (_PASS_COST + len(longer) // _NUMBERS_PER_STEP))
    best = np.zeros(min(len(longer) + len(shorter) - 2, top) + 1, dtype=np.int64)
    for count, count_of_second in enumerate(shorter.tolist()):
        stop = min(count + len(longer), len(best))
        window = best[count:stop]
        np.maximum(window, longer[: stop - count] + count_of_second, out=window)
    return best


def _counts_by_node(root: _Reach, count: int) -> list[tuple[int, int, int]]:
    """Return (node, first shape, second shape) for `count` pods of the first shape in total."""
    shares: list[tuple[int, int, int]] = []
    remaining = [(root, count)]
    while remaining:
        reach, share = remaining.pop()
        if reach.children is None:
            second_count = int(reach.most[share])
            if share or second_count:
                shares.append((reach.nodes[0], share, second_count))
            continue
        first_half, second_half = reach.children
        low = max(0, share - len(second_half.most) + 1)
        high = min(share, len(first_half.most) - 1)
        sums = (
            first_half.most[low : high + 1] + second_half.most[share - high : share - low + 1][::-1]
        )
        left_share = low + int(np.argmax(sums))
        remaining += [(first_half, left_share), (second_half, share - left_share)]
    return shares
