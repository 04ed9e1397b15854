"""Nodes that can host a pod of one shape, and how many of its pods fit on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from gangboard.domain.capacity import Shape
from gangboard.domain.placement_result import Constraint, Eligibility, ExcludedNodes, Filter, When
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.blockers import Blockers, blockers_of
from gangboard.placement.matching import has_host_anti_affinity, one_per_domain_keys
from gangboard.placement.node_columns import SAFE, BoolColumn, IntColumn, total
from gangboard.placement.node_filters import EXAMPLES, NodeFilters, Obstacle, has_label
from gangboard.placement.node_snapshot import NodeSnapshot

UNLIMITED = 2**40
"""Pods per node if no request limits them, which is more than a cluster can have."""
MAX_CACHED = 600
"""Most shapes in the cache of a snapshot. With 5,000 nodes each takes about 0.1 MB."""
Saturated = tuple[tuple[str, int, tuple[str, ...]], ...]
Summary = tuple[int, int, int, Saturated]


@dataclass(frozen=True, slots=True)
class OrderedNodes:
    """Nodes that take a pod. Those that take the fewest come first, then they are in order of names."""

    rows: IntColumn
    max_pods: IntColumn
    """Numbers of pods that they take, at most UNLIMITED each."""
    sums: IntColumn
    """Running sums of `max_pods`."""


def fewest_pods_first(max_pods: IntColumn) -> OrderedNodes:
    """Return the nodes that take a pod, from the number of pods that each node takes."""
    limited = np.minimum(max_pods, UNLIMITED).astype(np.int64)
    rows = np.flatnonzero(limited)
    numbers = limited[rows]
    if len(numbers) and int(numbers.max()) < 2**15:
        numbers = numbers.astype(np.int16)  # Short numbers have a faster stable sort.
    order = rows[np.argsort(numbers, kind="stable")]
    return OrderedNodes(order, limited[order], np.cumsum(limited[order]))


@dataclass(slots=True)
class _Exclusion:
    """The nodes that a filter is the first to exclude, and their number by taint or resource."""

    mask: BoolColumn
    details: Counter[str]


class FeasibleNodes:
    """The nodes that can host a pod of one shape, with the number of its pods that fit on each."""

    def __init__(
        self, snapshot: NodeSnapshot, shape: Shape, eligible: BoolColumn | None = None
    ) -> None:
        """Pass `eligible` if the nodes that no filter excludes are known."""
        self._snapshot = snapshot
        self._shape = shape
        self._requests = requested_amounts(shape)
        self._node_filters = NodeFilters(snapshot, shape, eligible)
        self._max_pods: dict[When, IntColumn] = {}
        self._sums: dict[When, int] = {}
        self._orders: dict[When, OrderedNodes] = {}
        self._summaries: dict[tuple[str, ...], Summary] = {}
        self._exclusions: dict[tuple[str, ...], dict[Filter, _Exclusion]] = {}
        self._eligibilities: dict[tuple[str, ...], Eligibility] = {}
        self._blockers: dict[tuple[tuple[str, ...], bool], Blockers] = {}

    # Eligible nodes

    def eligible(self, keys: Sequence[str] = ()) -> BoolColumn:
        """Return the nodes that no filter excludes."""
        return self._node_filters.eligible(keys)

    def only_unreadable(self, keys: Sequence[str]) -> BoolColumn:
        """Return the nodes that might be eligible if their amounts could be read."""
        return self._node_filters.only_unreadable(keys)

    def first_unreadable(self, row: int) -> str:
        """Return the first requested resource of a node that could not be read."""
        return self._node_filters.first_unreadable(row)

    # Excluded nodes

    def eligibility(self, keys: tuple[str, ...] = ()) -> Eligibility:
        """Return the eligible nodes, and the others by the first filter that excludes each."""
        if keys not in self._eligibilities:
            exclusions = self._first_exclusions(keys)
            excluded = {
                node_filter: self._excluded(exclusion)
                for node_filter, exclusion in exclusions.items()
            }
            self._eligibilities[keys] = Eligibility(self._names(self.eligible(keys)), excluded)
        return self._eligibilities[keys]

    def excluded_by(self, node_filter: Filter, keys: tuple[str, ...] = ()) -> BoolColumn:
        """Return the nodes that a filter is the first to exclude."""
        exclusion = self._first_exclusions(keys).get(node_filter)
        return (
            np.zeros(len(self._snapshot), dtype=np.bool_) if exclusion is None else exclusion.mask
        )

    def _first_exclusions(self, keys: tuple[str, ...]) -> dict[Filter, _Exclusion]:
        """Return the nodes that each filter is the first to exclude, in the order of `Filter`."""
        if keys not in self._exclusions:
            remaining = np.ones(len(self._snapshot), dtype=np.bool_)
            exclusions: dict[Filter, _Exclusion] = {}
            for node_filter, detail, mask in self._node_filters.filters(keys):
                newly_excluded = remaining & mask
                if not newly_excluded.any():
                    continue
                remaining = remaining & ~newly_excluded
                exclusion = exclusions.setdefault(
                    node_filter, _Exclusion(np.zeros_like(newly_excluded), Counter())
                )
                exclusion.mask |= newly_excluded
                if detail:
                    exclusion.details[detail] += int(np.count_nonzero(newly_excluded))
            self._exclusions[keys] = {
                node_filter: exclusions[node_filter]
                for node_filter in Filter
                if node_filter in exclusions
            }
        return self._exclusions[keys]

    def _names(self, mask: BoolColumn) -> tuple[str, ...]:
        """Return the names of nodes. Shapes with the same nodes share the tuple."""
        cache_key = ("names", mask.tobytes())
        cache = self._snapshot.cache
        if cache_key not in cache:
            cache[cache_key] = tuple(compress(self._snapshot.names, mask.tolist()))
        names: tuple[str, ...] = cache[cache_key]
        return names

    def _excluded(self, exclusion: _Exclusion) -> ExcludedNodes:
        rows = np.flatnonzero(exclusion.mask)
        examples = tuple(self._snapshot.names[row] for row in rows[:EXAMPLES].tolist())
        details = sorted(exclusion.details.items(), key=lambda pair: (-pair[1], pair[0]))
        return ExcludedNodes(len(rows), examples, tuple(details))

    def blockers(
        self, keys: tuple[str, ...], between: Sequence[Obstacle] = (), *, counts_pods: bool = True
    ) -> Blockers:
        """Return what keeps nodes out.

        `between` are constraints between nodes, which the filters omit. Without `counts_pods`, other constraints decide
        how many pods the nodes take.
        """
        cache_key = (keys, counts_pods)
        if not between and cache_key in self._blockers:
            return self._blockers[cache_key]
        blockers = blockers_of(
            self._snapshot,
            self._node_filters,
            (*self._node_filters.obstacles(keys), *between),
            self._by_shape(When.CURRENT)
            if counts_pods and not one_per_domain_keys(self._shape)
            else None,
        )
        if not between:
            self._blockers[cache_key] = blockers
        return blockers

    # Numbers of pods

    def max_pods(self, when: When) -> IntColumn:
        """Return how many pods fit on each node. It is 0 for nodes that are not eligible."""
        if when not in self._max_pods:
            max_pods = np.where(self.eligible(), self._by_shape(when), 0)
            if self._node_filters.depends_on_pods:
                max_pods[self._node_filters.taken_by_pods(when)] = 0
            self._max_pods[when] = max_pods
        return self._max_pods[when]

    def _by_shape(self, when: When) -> IntColumn:
        """Return how many pods each node takes by its free amounts, also nodes that a filter excludes."""
        max_pods = self._by_amounts(when)
        if self._shape.host_ports or has_host_anti_affinity(self._shape, self._shape):
            max_pods = np.minimum(max_pods, 1)
        for key in one_per_domain_keys(self._shape):
            max_pods = np.where(has_label(self._snapshot, key), np.minimum(max_pods, 1), max_pods)
        return max_pods

    def _by_amounts(self, when: When) -> IntColumn:
        counts: IntColumn | None = None
        for resource, amount in self._requests.items():
            free = self._snapshot.resource(resource).free(when)
            if amount > SAFE:
                free = free.astype(object)
            count = np.maximum(free, 0)
            if amount > 1:
                count = count // amount
            counts = count if counts is None else np.minimum(counts, count)
        return np.full(len(self._snapshot), UNLIMITED, dtype=np.int64) if counts is None else counts

    def total_pods(self, when: When) -> int:
        """Return how many pods fit on all nodes, without constraints between nodes."""
        if when not in self._sums:
            self._sums[when] = total(self.max_pods(when))
        return self._sums[when]

    def ordered_nodes(self, when: When) -> OrderedNodes:
        """Return the nodes that take a pod."""
        if when not in self._orders:
            self._orders[when] = fewest_pods_first(self.max_pods(when))
        return self._orders[when]

    def summary(self, keys: tuple[str, ...] = ()) -> Summary:
        """Return the pods that fit now and on drained nodes, the nodes that take a pod now, and the limits on others."""
        if keys not in self._summaries:
            self._summaries[keys] = self.summary_of(self.eligible(keys))
        return self._summaries[keys]

    def summary_of(self, mask: BoolColumn) -> Summary:
        """Return the summary of some eligible nodes."""
        now = self.max_pods(When.CURRENT)[mask]
        return (
            total(now),
            total(self.max_pods(When.DRAINED)[mask]),
            int(np.count_nonzero(now)),
            self._saturated(mask),
        )

    def _saturated(self, mask: BoolColumn) -> Saturated:
        """Return the limits that stop the first pod on these nodes now, with counts and example names."""
        remaining = mask & (self.max_pods(When.CURRENT) == 0)
        saturated: list[tuple[str, int, tuple[str, ...]]] = []
        limits: list[tuple[str, BoolColumn]] = [
            (Constraint.HOST_PORTS, self._node_filters.ports_taken(When.CURRENT)),
            (Constraint.ANTI_AFFINITY, self._node_filters.anti_affinity_taken(When.CURRENT)),
        ]
        for resource in sorted(self._requests):
            is_short = self._snapshot.resource(resource).now < self._requests[resource]
            limits.append((resource, is_short))
        for limit, is_stopped in limits:
            stopped = np.flatnonzero(remaining & is_stopped)
            if len(stopped):
                names = tuple(self._snapshot.names[row] for row in stopped[:EXAMPLES].tolist())
                saturated.append((str(limit), len(stopped), names))
                remaining = remaining & ~is_stopped
        return tuple(sorted(saturated, key=lambda limit: (-limit[1], limit[0])))


def feasible_nodes_of(snapshot: NodeSnapshot, shape: Shape) -> FeasibleNodes:
    """Return the feasible nodes of a shape, cached for shapes with the same requirements."""
    requirements = (
        tuple(requested_amounts(shape).items()),
        tuple(sorted(shape.node_selector.items())),
        shape.affinity,
        shape.tolerations,
        shape.host_ports,
        shape.anti_affinity,
        shape.matched_terms,
        shape.pod_affinity,
    )
    cached: dict[Hashable, FeasibleNodes] = snapshot.cache.setdefault("feasible nodes", {})
    feasible = cached.get(requirements)
    if feasible is None:
        while len(cached) >= MAX_CACHED:
            cached.pop(next(iter(cached)))
        before = snapshot.before_filling
        # More pods without ports and terms close no node for good, and change no other constraint.
        known = (
            None
            if before is None or depends_on_other_pods(shape)
            else feasible_nodes_of(before, shape).eligible()
        )
        feasible = cached[requirements] = FeasibleNodes(snapshot, shape, known)
    return feasible


def depends_on_other_pods(shape: Shape) -> bool:
    """Return whether pods on nodes decide by more than their amounts which nodes a pod of the shape may use."""
    return bool(
        shape.host_ports
        or shape.anti_affinity
        or shape.matched_terms
        or shape.pod_affinity
        or shape.spreads
    )
