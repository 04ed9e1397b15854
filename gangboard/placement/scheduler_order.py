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

from gangboard.domain.capacity import PlacementRequest, PodSet
from gangboard.domain.placement_result import When
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import has_host_anti_affinity, ports_clash
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


def is_found_in_scheduler_order(
    request: PlacementRequest, snapshot: NodeSnapshot, target: int
) -> bool:
    """Return whether `target` members are placed in every simulated order."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count]
    groups = list(_candidate_groups(request, snapshot, pod_sets, target))
    return all(
        any(_Simulation(snapshot, pod_sets, nodes).placed(order, target) for nodes in groups)
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
    for nodes in _candidate_groups(request, snapshot, pod_sets, request.size):
        simulation = _Simulation(snapshot, pod_sets, nodes)
        if simulation.placed(order, request.size):
            return {
                snapshot.names[nodes[row]]: {
                    pod_sets[shape].shape.name: number for shape, number in Counter(shapes).items()
                }
                for row, shapes in simulation.shapes_on.items()
                if shapes
            }
    return None


def scoring_cost(request: PlacementRequest, snapshot: NodeSnapshot) -> int:
    """Return the minimum number of node scorings over all simulated orders."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count]
    hosts = [
        feasible_nodes_of(snapshot, pod_set.shape).summary(request.topology_keys)[2]
        for pod_set in pod_sets
    ]
    return sum(hosts[shape] + count for order in _orders(pod_sets) for shape, count in order)


def _candidate_groups(
    request: PlacementRequest, snapshot: NodeSnapshot, pod_sets: Sequence[PodSet], target: int
) -> Iterator[list[int]]:
    """Yield the rows of each topology domain with enough capacity, or of all nodes without topology keys."""
    if not request.topology_keys:
        yield list(range(len(snapshot)))
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
            yield mask.nonzero()[0].tolist()


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
    """One simulated order, which fills nodes pod by pod."""

    def __init__(
        self, snapshot: NodeSnapshot, pod_sets: Sequence[PodSet], nodes: Sequence[int]
    ) -> None:
        self._pod_sets = pod_sets
        self._requests = [requested_amounts(pod_set.shape) for pod_set in pod_sets]
        names = {
            name for requests in self._requests for name in requests
        } | _DEFAULT_REQUESTS.keys()
        columns = {name: snapshot.resource(name) for name in names}
        self._free = {name: column.now[nodes].tolist() for name, column in columns.items()}
        self._allocatable = {
            name: columns[name].allocatable[nodes].tolist() for name in _DEFAULT_REQUESTS
        }
        self._hosts = [
            feasible_nodes_of(snapshot, pod_set.shape)
            .max_pods(When.CURRENT)[nodes]
            .nonzero()[0]
            .tolist()
            for pod_set in pod_sets
        ]
        counts = Counter(chain.from_iterable(self._hosts))
        self._shared_points = [MARGIN if counts[row] > 1 else 0 for row in range(len(nodes))]
        """Extra points of nodes that can host more than one shape."""
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
        heap = [
            (-self._rank(shape, row), row) for row in self._hosts[shape] if self._takes(shape, row)
        ]
        heapq.heapify(heap)
        for done in range(count):
            if not heap:
                return done
            row = heap[0][1]
            for name, amount in self._requests[shape].items():
                self._free[name][row] -= amount
            self.shapes_on[row].append(shape)
            if self._takes(shape, row):
                heapq.heapreplace(heap, (-self._rank(shape, row), row))
            else:
                heapq.heappop(heap)
        return count

    def _takes(self, shape: int, row: int) -> bool:
        if any(self._free[name][row] < amount for name, amount in self._requests[shape].items()):
            return False
        own_shape = self._pod_sets[shape].shape
        return not any(
            has_host_anti_affinity(own_shape, neighbour)
            or ports_clash(own_shape.host_ports, neighbour.host_ports)
            for neighbour in (
                self._pod_sets[placed_shape].shape for placed_shape in self.shapes_on[row]
            )
        )

    def _rank(self, shape: int, row: int) -> int:
        """Return the score, with extra points for nodes that other shapes need."""
        return self._score(shape, row) + self._shared_points[row]

    def _score(self, shape: int, row: int) -> int:
        """Return the score of LeastAllocated and BalancedAllocation, for CPU and memory."""
        requested = self._requests[shape]
        remaining = total = 0
        before: list[float] = []
        after: list[float] = []
        for name, least in _DEFAULT_REQUESTS.items():
            allocatable, free = self._allocatable[name][row], self._free[name][row]
            if not allocatable:
                continue
            total += 1
            remaining += max(0, free - requested.get(name, least)) * 100 // allocatable
            before.append(min(1.0, (allocatable - free) / allocatable))
            after.append(min(1.0, (allocatable - free + requested.get(name, 0)) / allocatable))
        if not total:
            return 0
        return remaining // total + 50 + (50 + _balance(after) - _balance(before)) // 2


def _balance(fractions: Sequence[float]) -> int:
    return int((1 - (abs(fractions[0] - fractions[1]) / 2 if len(fractions) == 2 else 0)) * 100)
