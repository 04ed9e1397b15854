"""The packing problem over node columns, for thousands of nodes.

Bounds prove NO, and one greedy placement proves YES. Otherwise the easy nodes are filled first. On an easy node all
shapes fit together as often as each fits alone, so placing fewer pods gains nothing. The search covers only nodes on
which shapes compete. Nodes on which the same combinations fit count as equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np

from gangboard.domain.capacity import PodSet
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_columns import SAFE, BoolColumn, IntColumn, total
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.packing_search import (
    TOO_MANY_COMBINATIONS,
    Budget,
    BudgetSpentError,
    SearchClass,
    Vector,
    conflicting_pairs,
    search_nodes,
    search_two_shapes,
    smallest_sum,
    without_dominated,
)

_COMBINATION_COST, _NODES_PER_STEP = 16, 64
"""Cost of one combination in search steps, and the number of nodes per step."""
Placed = dict[int, list[int]]
"""Row of a node → number of pods of each shape."""


@dataclass(slots=True)
class PackingTable:
    """The unplaced members, and the nodes that can still take some of them."""

    counts: list[int]
    requests: list[list[int]]
    """Amounts of one pod by shape and resource."""
    conflicts: frozenset[tuple[int, int]]
    """Pairs of shapes that cannot share a node."""
    rows: IntColumn
    """Rows of the nodes in the snapshot."""
    max_pods: IntColumn
    """Shape by node: number of pods that fit alone, capped at the number of members."""
    free: list[IntColumn]
    """Free amounts by resource and node, capped at the requests of all members."""
    placed: Placed = field(default_factory=dict)

    def select_nodes(self, mask: BoolColumn) -> None:
        """Keep only the nodes of the mask."""
        self.rows, self.max_pods = self.rows[mask], self.max_pods[:, mask]
        self.free = [column[mask] for column in self.free]


def pack(
    snapshot: NodeSnapshot,
    pod_sets: Sequence[PodSet],
    when: When,
    mask: BoolColumn | None,
    target: int,
    budget: Budget,
) -> Fit:
    """Return whether at least `target` of the pods fit on the nodes of the mask, with a placement."""
    names = [pod_set.shape.name for pod_set in pod_sets]
    start = budget.spent
    try:
        placed = _pack(_table(snapshot, pod_sets, when, mask), target, budget)
    except BudgetSpentError:
        return Fit(FitAnswer.CANNOT_TELL, why=TOO_MANY_COMBINATIONS, steps=budget.spent - start)
    if placed is None:
        return Fit(FitAnswer.NO, steps=budget.spent - start)
    remaining = [pod_set.count for pod_set in pod_sets]
    placement: dict[str, Mapping[str, int]] = {}
    for index in sorted(placed):
        taken = {}
        for shape, count in enumerate(placed[index]):
            count = min(count, remaining[shape])
            remaining[shape] -= count
            if count:
                taken[names[shape]] = count
        if taken:
            placement[snapshot.names[index]] = taken
    return Fit(FitAnswer.YES, placement, steps=budget.spent - start)


def _table(
    snapshot: NodeSnapshot, pod_sets: Sequence[PodSet], when: When, mask: BoolColumn | None
) -> PackingTable:
    requested = [requested_amounts(pod_set.shape) for pod_set in pod_sets]
    resources = sorted({resource for amounts in requested for resource in amounts})
    requests = [[amounts.get(resource, 0) for resource in resources] for amounts in requested]
    counts = [pod_set.count for pod_set in pod_sets]
    max_pods = np.stack(
        [
            np.minimum(
                feasible_nodes_of(snapshot, pod_set.shape).max_pods(when), pod_set.count
            ).astype(np.int64)
            for pod_set in pod_sets
        ]
    )
    useful = max_pods.any(axis=0)
    rows = np.flatnonzero(useful if mask is None else useful & mask)
    free_columns = []
    for index, resource in enumerate(resources):
        needed = sum(
            count * request[index] for count, request in zip(counts, requests, strict=True)
        )
        free = snapshot.resource(resource).free(when)[rows]
        if needed > SAFE:
            free = free.astype(object)
        free_columns.append(np.clip(free, 0, needed))
    pairs = conflicting_pairs([pod_set.shape for pod_set in pod_sets])
    return PackingTable(counts, requests, pairs, rows, max_pods[:, rows], free_columns)


def _pack(table: PackingTable, target: int, budget: Budget) -> Placed | None:
    if target <= 0:
        return {}
    if not _may_fit(table, target):
        return None
    placed = _place_greedily(table, target)
    if placed is not None:
        return placed
    if len(table.counts) == 1:
        return None
    size = sum(table.counts)
    _fill_easy_nodes(table)
    target -= size - sum(table.counts)
    if target <= 0:
        return table.placed
    if not _may_fit(table, target):
        return None
    classes = list(_search_classes(table, budget))
    counts = tuple(table.counts)
    remaining = [shape for shape, count in enumerate(counts) if count]
    if len(remaining) == 2:
        chain = search_two_shapes((remaining[0], remaining[1]), counts, classes, target, budget)
    else:
        chain = search_nodes(counts, classes, target, budget)
    if chain is None:
        return None
    for index, config in chain:
        table.placed[index] = [
            a + b for a, b in zip(table.placed.get(index, [0] * len(config)), config, strict=True)
        ]
    return table.placed


def _may_fit(table: PackingTable, target: int) -> bool:
    """Return False if bounds prove that the members do not fit: by shape alone, and by totals per resource."""
    sums = table.max_pods.sum(axis=1).tolist()
    if sum(map(min, table.counts, sums)) < target:
        return False
    return all(
        smallest_sum([request[index] for request in table.requests], table.counts, target)
        <= total(column)
        for index, column in enumerate(table.free)
    )


# Greedy placement


def _place_greedily(table: PackingTable, target: int) -> Placed | None:
    """Return a placement that fills nodes one by one, the most selective shape and the least useful nodes first.

    None: it does not reach the target.
    """
    max_pods = table.max_pods
    order = np.lexsort((max_pods.sum(axis=0), np.count_nonzero(max_pods, axis=0)))
    supply = max_pods.sum(axis=1).tolist()
    placed: Placed = {}
    missing = sum(table.counts) - target
    for shape in sorted(range(len(table.counts)), key=lambda index: (supply[index], index)):
        capacity = max_pods[shape].copy()
        for index, taken in placed.items():
            capacity[index] = _remaining_pods(table, shape, index, taken)
        ordered = capacity[order]
        sums = np.cumsum(ordered)
        remaining = table.counts[shape]
        last = int(np.searchsorted(sums, remaining))
        for index in order[: last + 1][ordered[: last + 1] > 0].tolist():
            count = min(remaining, int(capacity[index]))
            placed.setdefault(index, [0] * len(table.counts))[shape] = count
            remaining -= count
        missing -= remaining
        if missing < 0:
            return None
    return {int(table.rows[index]): taken for index, taken in placed.items()}


def _remaining_pods(table: PackingTable, shape: int, index: int, taken: Sequence[int]) -> int:
    """Return how many pods of a shape still fit on a node with the pods already placed there."""
    if any(shape in pair and taken[pair[0] + pair[1] - shape] for pair in table.conflicts):
        return 0
    remaining = int(table.max_pods[shape, index])
    for resource, amount in enumerate(table.requests[shape]):
        if amount and remaining:
            used = sum(
                count * request[resource]
                for count, request in zip(taken, table.requests, strict=True)
            )
            remaining = min(remaining, max(0, int(table.free[resource][index]) - used) // amount)
    return remaining


# Nodes without competition


def _fill_easy_nodes(table: PackingTable) -> None:
    """Fill the easy nodes and remove them from the table.

    Placing fewer pods on an easy node never helps elsewhere. With fewer pods left, more nodes become easy.
    """
    while len(table.rows):
        easy = _easy_nodes(table)
        if not easy.any():
            return
        for index, config in zip(
            table.rows[easy].tolist(), table.max_pods[:, easy].T.tolist(), strict=True
        ):
            table.placed[index] = config
        gained = table.max_pods[:, easy].sum(axis=1).tolist()
        table.counts = [max(0, a - b) for a, b in zip(table.counts, gained, strict=True)]
        table.select_nodes(~easy)
        table.max_pods = np.minimum(table.max_pods, np.array(table.counts, dtype=np.int64)[:, None])
        table.select_nodes(np.any(table.max_pods, axis=0, keepdims=True)[0])


def _easy_nodes(table: PackingTable) -> BoolColumn:
    """Return the nodes on which `max_pods` of all shapes fit together."""
    easy = np.ones(len(table.rows), dtype=np.bool_)
    for resource, column in enumerate(table.free):
        used: IntColumn = np.zeros(len(column), dtype=column.dtype)
        for shape, request in enumerate(table.requests):
            if request[resource]:
                used = used + table.max_pods[shape].astype(column.dtype) * request[resource]
        easy &= used <= column
    for low, high in table.conflicts:
        easy &= (table.max_pods[low] == 0) | (table.max_pods[high] == 0)
    return easy


# Nodes with competition


def _search_classes(table: PackingTable, budget: Budget) -> Iterator[SearchClass]:
    """Yield classes of nodes on which the same combinations fit, with the largest combinations.

    For every combination of all shapes but one, the largest number of the last shape is computed for all nodes at once.
    """
    limits = table.max_pods.max(axis=1).tolist()
    last = max(range(len(limits)), key=lambda index: (limits[index], -index))
    other_shapes = [index for index in range(len(limits)) if index != last]
    number = prod(limits[index] + 1 for index in other_shapes)
    budget.spend(number * (_COMBINATION_COST + len(table.rows) // _NODES_PER_STEP))
    combinations = list(product(*(range(limits[index] + 1) for index in other_shapes)))
    max_last = np.stack(
        [_max_beside(table, last, other_shapes, combination) for combination in combinations],
        axis=1,
    )
    indexes_by_row: dict[bytes, list[int]] = {}
    for index, row in enumerate(max_last):
        indexes_by_row.setdefault(row.tobytes(), []).append(index)
    size = sum(table.counts)
    for nodes in indexes_by_row.values():
        configs = [
            _combination_vector(other_shapes, last, combination, count)
            for combination, count in zip(combinations, max_last[nodes[0]].tolist(), strict=True)
            if count >= 0
        ]
        max_pods = tuple(table.max_pods[:, nodes[0]].tolist())
        # Nodes of a class beyond the number of members are never needed.
        yield SearchClass(
            max_pods, without_dominated(configs, budget), tuple(table.rows[nodes[:size]].tolist())
        )


def _combination_vector(
    other_shapes: Sequence[int], last: int, combination: Sequence[int], count: int
) -> Vector:
    config = [0] * (len(other_shapes) + 1)
    for index, number in zip(other_shapes, combination, strict=True):
        config[index] = number
    config[last] = count
    return tuple(config)


def _max_beside(
    table: PackingTable, last: int, other_shapes: Sequence[int], combination: Sequence[int]
) -> IntColumn:
    """Return how many pods of the last shape fit beside a combination of the others. -1: not even that fits."""
    counts = dict(zip(other_shapes, combination, strict=True))
    placed = [index for index, count in counts.items() if count]
    possible = np.ones(len(table.rows), dtype=np.bool_)
    for index in placed:
        possible &= table.max_pods[index] >= counts[index]
    if any(a in placed and b in placed for a, b in table.conflicts):
        possible[:] = False
    result = table.max_pods[last].copy()
    for resource, column in enumerate(table.free):
        remaining = column - sum(
            counts[index] * table.requests[index][resource] for index in placed
        )
        possible &= remaining >= 0
        if table.requests[last][resource]:
            fit = np.maximum(remaining, 0) // table.requests[last][resource]
            result = np.minimum(result, fit).astype(np.int64)
    if any(last in pair and pair[0] + pair[1] - last in placed for pair in table.conflicts):
        result[:] = 0
    return np.where(possible, result, -1)
