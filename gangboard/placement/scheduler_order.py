"""Simulation of the scheduler, which places pods one by one and moves none.

A gang of several shapes can fit and still be refused, because a small pod on the emptiest node blocks a large one
(podGroupSchedulingDefaultAlgorithm in pkg/scheduler, 1.37). The order depends on the creation times of the pods, to less
than a second. The choice between equal nodes is random. So this module simulates several orders with the scores of the
default profile. If nodes score nearly the same, a pod takes the node that other shapes need. The placement counts as
found only if every order succeeds.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, permutations

import numpy as np
import numpy.typing as npt

from gangboard.domain.capacity import PlacementRequest, PodSet
from gangboard.domain.placement_result import When
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import has_host_anti_affinity, ports_clash
from gangboard.placement.node_columns import BoolColumn, IntColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.topology_domains import domains_of

MAX_PERMUTED = 3
"""Up to this many shapes, every order is simulated. With more shapes it is one order and its reverse."""
MAX_ALTERNATED = 32
"""Up to this many members, an order that alternates between the shapes is also simulated."""
MARGIN = 6
"""Points (of 200) by which a score may be wrong, because other plugins add to it and ties are random."""
_CPU, _MEMORY = "cpu", "memory"
_DEFAULT_REQUESTS = {_CPU: 100, _MEMORY: 200 * 1024**2}
"""Requests that scores assume for pods without any (pkg/scheduler/util/pod_resources.go)."""
_EXACT = 2**52
"""Amounts below it, and their differences, are exact as floats. With larger ones, scores are computed node by node."""


def is_found_in_scheduler_order(
    request: PlacementRequest, snapshot: NodeSnapshot, target: int
) -> bool:
    """Return whether `target` members are placed in every simulated order."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count]
    groups = list(_candidate_groups(request, snapshot, pod_sets, target))
    return all(
        any(_Simulation(snapshot, pod_sets, group).placed(order, target) for group in groups)
        for order in _orders(pod_sets)
    )


def scheduler_placement(
    request: PlacementRequest, snapshot: NodeSnapshot
) -> Mapping[str, Mapping[str, int]] | None:
    """Return where a simulated order places all members: node → shape → number of pods. None: it does not.

    The simulation knows requests, host ports and anti-affinity by host. The caller must not pass other constraints
    between pods.
    """
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count]
    order = [(index, pod_set.count) for index, pod_set in enumerate(pod_sets)]
    for group in _candidate_groups(request, snapshot, pod_sets, request.size):
        simulation = _Simulation(snapshot, pod_sets, group)
        if simulation.placed(order, request.size):
            return {
                snapshot.names[row]: {
                    pod_sets[shape].shape.name: number for shape, number in Counter(shapes).items()
                }
                for row, shapes in simulation.shapes_on.items()
                if shapes
            }
    return None


def scoring_cost(request: PlacementRequest, snapshot: NodeSnapshot) -> int:
    """Return the minimum number of node scorings over all simulated orders."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count]
    hosts = []
    for pod_set in pod_sets:
        feasible = feasible_nodes_of(snapshot, pod_set.shape)
        max_pods = feasible.max_pods(When.CURRENT)
        hosts.append(int(np.count_nonzero(max_pods[feasible.eligible(request.topology_keys)])))
    return sum(hosts[shape] + count for order in _orders(pod_sets) for shape, count in order)


def _candidate_groups(
    request: PlacementRequest, snapshot: NodeSnapshot, pod_sets: Sequence[PodSet], target: int
) -> Iterator[BoolColumn | None]:
    """Yield the nodes of each topology domain with enough capacity, or None for all nodes without topology keys."""
    if not request.topology_keys:
        yield None
        return
    domains = domains_of(snapshot, request.topology_keys)
    for code, values in enumerate(domains.values):
        mask = domains.codes == code
        separately = sum(
            min(
                pod_set.count,
                int(feasible_nodes_of(snapshot, pod_set.shape).max_pods(When.CURRENT)[mask].sum()),
            )
            for pod_set in pod_sets
        )
        if request.domain in (None, values) and separately >= target:
            yield mask


def _orders(pod_sets: Sequence[PodSet]) -> Iterator[list[tuple[int, int]]]:
    """Yield orders as sequences of (shape, number of pods)."""
    counts = [pod_set.count for pod_set in pod_sets]
    shapes = range(len(pod_sets))
    if len(pod_sets) <= MAX_PERMUTED:
        for order in permutations(shapes):
            yield [(shape, counts[shape]) for shape in order]
    else:
        yield [(shape, counts[shape]) for shape in shapes]
        yield [(shape, counts[shape]) for shape in reversed(shapes)]
    if sum(counts) <= MAX_ALTERNATED:
        turns = (
            [(shape, 1) for shape in shapes if counts[shape] > turn] for turn in range(max(counts))
        )
        yield list(chain.from_iterable(turns))


class _Simulation:
    """One simulated order, which fills nodes pod by pod. Nodes are rows of the snapshot."""

    def __init__(
        self, snapshot: NodeSnapshot, pod_sets: Sequence[PodSet], group: BoolColumn | None
    ) -> None:
        self._pod_sets = pod_sets
        self._node_count = len(snapshot)
        self._has_conflicts = any(
            pod_set.shape.host_ports or pod_set.shape.anti_affinity or pod_set.shape.matched_terms
            for pod_set in pod_sets
        )
        self._requests = [requested_amounts(pod_set.shape) for pod_set in pod_sets]
        names = {
            name for requests in self._requests for name in requests
        } | _DEFAULT_REQUESTS.keys()
        columns = {name: snapshot.resource(name) for name in names}
        self._free = {name: column.now for name, column in columns.items()}
        self._allocatable = {name: columns[name].allocatable for name in _DEFAULT_REQUESTS}
        self._taken: dict[str, defaultdict[int, int]] = {name: defaultdict(int) for name in names}
        """Resource → node → amount of the pods placed here."""
        self._hosts = [
            _hosts(feasible_nodes_of(snapshot, pod_set.shape).max_pods(When.CURRENT), group)
            for pod_set in pod_sets
        ]
        self._is_shared: BoolColumn | None = None
        """Nodes that can host more than one shape."""
        if len(pod_sets) > 1:
            counts = np.zeros(len(snapshot), dtype=np.int64)
            for hosts in self._hosts:
                counts[hosts] += 1
            self._is_shared = counts > 1
        self._host_sets: dict[int, frozenset[int]] = {}
        self.shapes_on: defaultdict[int, list[int]] = defaultdict(list)
        """Shapes of the pods placed on each node."""

    def placed(self, order: Sequence[tuple[int, int]], target: int) -> bool:
        """Return whether at least `target` members are placed in this order."""
        missing = target
        for shape, count in order:
            missing -= self._place(shape, count)
        return missing <= 0

    def _place(self, shape: int, count: int) -> int:
        """Place pods of one shape one by one on the node with the highest score. Return the number of placed pods."""
        heap = self._best_hosts(shape, count)
        heapq.heapify(heap)
        for done in range(count):
            if not heap:
                return done
            row = heap[0][1]
            for name, amount in self._requests[shape].items():
                self._taken[name][row] += amount
            self.shapes_on[row].append(shape)
            if self._takes(shape, row):
                heapq.heapreplace(heap, (-self._rank(shape, row), row))
            else:
                heapq.heappop(heap)
        return count

    def _best_hosts(self, shape: int, count: int) -> list[tuple[int, int]]:
        """Return nodes that take a pod, with their negative ranks: all that have pods of the gang, and the best others.

        Each pod changes the rank of one node, so of the others no more than `count` can be the best.
        """
        rows = self._hosts[shape]
        started = [row for row, shapes in self.shapes_on.items() if shapes]
        if started:
            is_started = np.zeros(self._node_count, dtype=np.bool_)
            is_started[started] = True
            rows = rows[~is_started[rows]]
        ranks = self._ranks(shape, rows)
        if len(rows) > count:
            # Among equal ranks the first row is the best.
            keys = np.arange(len(rows)) - ranks * len(rows)
            best = np.argpartition(keys, count)[:count]
            rows, ranks = rows[best], ranks[best]
        heap = list(zip((-ranks).tolist(), rows.tolist(), strict=True))
        heap += [
            (-self._rank(shape, row), row)
            for row in started
            if row in self._host_set(shape) and self._takes(shape, row)
        ]
        return heap

    def _host_set(self, shape: int) -> frozenset[int]:
        if shape not in self._host_sets:
            self._host_sets[shape] = frozenset(self._hosts[shape].tolist())
        return self._host_sets[shape]

    def _takes(self, shape: int, row: int) -> bool:
        if any(
            self._free_now(name, row) < amount for name, amount in self._requests[shape].items()
        ):
            return False
        if not self._has_conflicts:
            return True
        own_shape = self._pod_sets[shape].shape
        return not any(
            has_host_anti_affinity(own_shape, neighbour)
            or ports_clash(own_shape.host_ports, neighbour.host_ports)
            for neighbour in (
                self._pod_sets[placed_shape].shape for placed_shape in self.shapes_on[row]
            )
        )

    def _free_now(self, name: str, row: int) -> int:
        return int(self._free[name][row]) - self._taken[name][row]

    def _rank(self, shape: int, row: int) -> int:
        """Return the score, with extra points for nodes that other shapes need."""
        shared = self._is_shared is not None and bool(self._is_shared[row])
        return self._score(shape, row) + (MARGIN if shared else 0)

    def _ranks(self, shape: int, rows: IntColumn) -> IntColumn:
        """Return the ranks of nodes without a pod of the gang."""
        scores = self._scores(shape, rows)
        return scores if self._is_shared is None else scores + MARGIN * self._is_shared[rows]

    def _score(self, shape: int, row: int) -> int:
        """Return the score of LeastAllocated and BalancedAllocation, for CPU and memory."""
        requested = self._requests[shape]
        remaining = total = 0
        before: list[float] = []
        after: list[float] = []
        for name, least in _DEFAULT_REQUESTS.items():
            allocatable, free = int(self._allocatable[name][row]), self._free_now(name, row)
            if not allocatable:
                continue
            total += 1
            remaining += max(0, free - requested.get(name, least)) * 100 // allocatable
            before.append(min(1.0, (allocatable - free) / allocatable))
            after.append(min(1.0, (allocatable - free + requested.get(name, 0)) / allocatable))
        if not total:
            return 0
        return remaining // total + 50 + (50 + _balance(after) - _balance(before)) // 2

    def _scores(self, shape: int, rows: IntColumn) -> IntColumn:
        """Return the scores of nodes without a pod of the gang, as `_score` does, all at once."""
        requested = self._requests[shape]
        allocatable = {name: column[rows] for name, column in self._allocatable.items()}
        free = {name: self._free[name][rows] for name in _DEFAULT_REQUESTS}
        if not all(map(_is_exact, (*allocatable.values(), *free.values()))) or any(
            not column.all() for column in allocatable.values()
        ):
            return np.array([self._score(shape, row) for row in rows.tolist()], dtype=np.int64)
        remaining = np.zeros(len(rows), dtype=np.int64)
        before, after = [], []
        for name, least in _DEFAULT_REQUESTS.items():
            size, left = allocatable[name], free[name]
            remaining += np.maximum(0, left - requested.get(name, least)) * 100 // size
            before.append(np.minimum(1.0, (size - left) / size))
            after.append(np.minimum(1.0, (size - left + requested.get(name, 0)) / size))
        scores: IntColumn = remaining // 2 + 50 + (50 + _balances(after) - _balances(before)) // 2
        return scores


def _hosts(max_pods: IntColumn, group: BoolColumn | None) -> IntColumn:
    """Return the rows of the nodes that take a pod."""
    return np.flatnonzero(max_pods if group is None else np.where(group, max_pods, 0))


def _is_exact(column: IntColumn) -> bool:
    """Return whether floats and 64-bit integers give exact scores of these amounts."""
    return column.dtype != object and (not len(column) or int(np.abs(column).max()) < _EXACT)


def _balance(fractions: Sequence[float]) -> int:
    return int((1 - (abs(fractions[0] - fractions[1]) / 2 if len(fractions) == 2 else 0)) * 100)


def _balances(fractions: Sequence[npt.NDArray[np.float64]]) -> IntColumn:
    shares = 1 - np.abs(fractions[0] - fractions[1]) / 2
    balances: IntColumn = (shares * 100).astype(np.int64)
    return balances
