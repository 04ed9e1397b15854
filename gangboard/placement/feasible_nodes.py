"""The nodes that could host a pod of one shape, and how many pods of it fit on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from gangboard.domain.capacity import Shape
from gangboard.domain.placement_result import Constraint, Eligibility, ExcludedNodes, Filter, When
from gangboard.placement.amounts import wanted
from gangboard.placement.matching import has_host_anti_affinity, one_per_domain_keys
from gangboard.placement.node_columns import SAFE, BoolColumn, IntColumn, total
from gangboard.placement.node_filters import NodeFilters, has_label
from gangboard.placement.node_snapshot import NodeSnapshot

EXAMPLES = 3
"""Names of nodes that an answer gives as examples."""
UNLIMITED = 2**40
"""Pods that fit on a node if no request limits them: more than a cluster can have."""
MOST_KEPT = 600
"""Shapes whose feasible nodes are kept: with 5,000 nodes each takes about a tenth of a megabyte."""
Saturated = tuple[tuple[str, int, tuple[str, ...]], ...]
Summary = tuple[int, int, int, Saturated]


@dataclass(slots=True)
class _Exclusion:
    """The nodes that a filter is the first to exclude, and their number by taint or resource."""

    mask: BoolColumn
    details: Counter[str]


class FeasibleNodes:
    """Which nodes can host a pod of one shape, and how many pods of it fit on each."""

    def __init__(self, snapshot: NodeSnapshot, shape: Shape) -> None:
        self._snapshot = snapshot
        self._shape = shape
        self._asked = wanted(shape)
        self._node_filters = NodeFilters(snapshot, shape)
        self._max_pods: dict[When, IntColumn] = {}
        self._sums: dict[When, int] = {}
        self._orders: dict[When, tuple[IntColumn, IntColumn, IntColumn]] = {}
        self._summaries: dict[tuple[str, ...], Summary] = {}
        self._exclusions: dict[tuple[str, ...], dict[Filter, _Exclusion]] = {}
        self._eligibilities: dict[tuple[str, ...], Eligibility] = {}

    # Which nodes

    def eligible(self, keys: Sequence[str] = ()) -> BoolColumn:
        """Return the nodes that no filter excludes."""
        return self._node_filters.eligible(keys)

    def only_unreadable(self, keys: Sequence[str]) -> BoolColumn:
        """Return the nodes that might be eligible if their amounts could be read."""
        return self._node_filters.only_unreadable(keys)

    def first_unreadable(self, row: int) -> str:
        """Return the first requested resource of a node that could not be read."""
        return self._node_filters.first_unreadable(row)

    # Why the others not

    def eligibility(self, keys: tuple[str, ...] = ()) -> Eligibility:
        """Return the eligible nodes, and the others by the first filter that excludes each."""
        if keys not in self._eligibilities:
            exclusions = self._first_exclusions(keys)
            excluded = {why: self._excluded(exclusion) for why, exclusion in exclusions.items()}
            self._eligibilities[keys] = Eligibility(self._names(self.eligible(keys)), excluded)
        return self._eligibilities[keys]

    def excluded_by(self, why: Filter, keys: tuple[str, ...] = ()) -> BoolColumn:
        """Return the nodes that a filter is the first to exclude."""
        exclusion = self._first_exclusions(keys).get(why)
        return (
            np.zeros(len(self._snapshot), dtype=np.bool_) if exclusion is None else exclusion.mask
        )

    def _first_exclusions(self, keys: tuple[str, ...]) -> dict[Filter, _Exclusion]:
        """Return what each filter is the first to exclude, in the order of `Filter`, without empty ones."""
        if keys not in self._exclusions:
            remaining = np.ones(len(self._snapshot), dtype=np.bool_)
            exclusions: dict[Filter, _Exclusion] = {}
            for why, detail, mask in self._node_filters.filters(keys):
                first = remaining & mask
                if not first.any():
                    continue
                remaining = remaining & ~first
                exclusion = exclusions.setdefault(why, _Exclusion(np.zeros_like(first), Counter()))
                exclusion.mask |= first
                if detail:
                    exclusion.details[detail] += int(np.count_nonzero(first))
            self._exclusions[keys] = {why: exclusions[why] for why in Filter if why in exclusions}
        return self._exclusions[keys]

    def _names(self, mask: BoolColumn) -> tuple[str, ...]:
        """Return the names of nodes; shapes with the same nodes share them."""
        place = ("names", mask.tobytes())
        cache = self._snapshot.cache
        if place not in cache:
            cache[place] = tuple(compress(self._snapshot.names, mask.tolist()))
        names: tuple[str, ...] = cache[place]
        return names

    def _excluded(self, exclusion: _Exclusion) -> ExcludedNodes:
        places = np.flatnonzero(exclusion.mask)
        examples = tuple(self._snapshot.names[row] for row in places[:EXAMPLES].tolist())
        details = sorted(exclusion.details.items(), key=lambda pair: (-pair[1], pair[0]))
        return ExcludedNodes(len(places), examples, tuple(details))

    # How many

    def max_pods(self, when: When) -> IntColumn:
        """Return how many pods fit on each node, 0 on those that are not eligible."""
        if when not in self._max_pods:
            max_pods = np.where(self.eligible(), self._by_amounts(when), 0)
            if self._node_filters.depends_on_pods:
                max_pods[self._node_filters.taken_by_pods(when)] = 0
            if self._shape.host_ports or has_host_anti_affinity(self._shape, self._shape):
                max_pods = np.minimum(max_pods, 1)
            for key in one_per_domain_keys(self._shape):
                max_pods = np.where(
                    has_label(self._snapshot, key), np.minimum(max_pods, 1), max_pods
                )
            self._max_pods[when] = max_pods
        return self._max_pods[when]

    def _by_amounts(self, when: When) -> IntColumn:
        counts: IntColumn | None = None
        for resource, amount in self._asked.items():
            free = self._snapshot.resource(resource).free(when)
            if amount > SAFE:
                free = free.astype(object)
            count = np.maximum(free, 0)
            if amount > 1:
                count = count // amount
            counts = count if counts is None else np.minimum(counts, count)
        return np.full(len(self._snapshot), UNLIMITED, dtype=np.int64) if counts is None else counts

    def most(self, when: When) -> int:
        """Return how many pods fit on all nodes, each node by itself."""
        if when not in self._sums:
            self._sums[when] = total(self.max_pods(when))
        return self._sums[when]

    def in_order(self, when: When) -> tuple[IntColumn, IntColumn, IntColumn]:
        """Return the nodes that take a pod, fewest first and then by name, with how many, and sums.

        The sums say how many pods go on the nodes up to there; no node counts for more than
        UNLIMITED.
        """
        if when not in self._orders:
            max_pods = np.minimum(self.max_pods(when), UNLIMITED).astype(np.int64)
            places = np.flatnonzero(max_pods)
            order = places[np.argsort(max_pods[places], kind="stable")]
            self._orders[when] = order, max_pods[order], np.cumsum(max_pods[order])
        return self._orders[when]

    def summary(self, keys: tuple[str, ...] = ()) -> Summary:
        """Return how many pods fit now and when empty, on how many nodes one does, what stops it."""
        if keys not in self._summaries:
            self._summaries[keys] = self.summary_of(self.eligible(keys))
        return self._summaries[keys]

    def summary_of(self, mask: BoolColumn) -> Summary:
        """Return the same of some eligible nodes."""
        now = self.max_pods(When.CURRENT)[mask]
        return (
            total(now),
            total(self.max_pods(When.DRAINED)[mask]),
            int(np.count_nonzero(now)),
            self._saturated(mask),
        )

    def _saturated(self, mask: BoolColumn) -> Saturated:
        """Return what stops the first pod now on these nodes, with counts and up to three names."""
        remaining = mask & (self.max_pods(When.CURRENT) == 0)
        saturated: list[tuple[str, int, tuple[str, ...]]] = []
        limits: list[tuple[str, BoolColumn]] = [
            (Constraint.HOST_PORTS, self._node_filters.ports_taken(When.CURRENT)),
            (Constraint.ANTI_AFFINITY, self._node_filters.anti_affinity_taken(When.CURRENT)),
        ]
        for resource in sorted(self._asked):
            short = self._snapshot.resource(resource).now < self._asked[resource]
            limits.append((resource, short))
        for limit, hit in limits:
            stopped = np.flatnonzero(remaining & hit)
            if len(stopped):
                names = tuple(self._snapshot.names[row] for row in stopped[:EXAMPLES].tolist())
                saturated.append((str(limit), len(stopped), names))
                remaining = remaining & ~hit
        return tuple(sorted(saturated, key=lambda limit: (-limit[1], limit[0])))


def feasible_nodes_of(snapshot: NodeSnapshot, shape: Shape) -> FeasibleNodes:
    """Return the feasible nodes of a shape, worked out once for all shapes that ask the same."""
    requirements = (
        tuple(wanted(shape).items()),
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
        while len(cached) >= MOST_KEPT:
            cached.pop(next(iter(cached)))
        feasible = cached[requirements] = FeasibleNodes(snapshot, shape)
    return feasible
