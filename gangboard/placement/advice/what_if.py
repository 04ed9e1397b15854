"""A what-if of advice: the waiting members and the nodes, with a change of either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.placement_result import Assessment, Fit, FitAnswer, PlacementCause, When
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import FeasibleNodes, feasible_nodes_of
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.matching import is_about_values
from gangboard.placement.node_columns import BoolColumn, IntColumn, largest_rows
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.scheduler_order import is_found_in_scheduler_order, scoring_cost
from gangboard.placement.topology_domains import domains_of

STEPS = 2_000
"""Search steps of one check. Advice that is harder to check is not given."""
MAX_HOSTS = 32
"""Most nodes for each shape in a what-if of several shapes.

A placement on some nodes is also valid on all nodes, except for constraints between nodes."""
SPARE_HOSTS = 8
"""Additional nodes, for capacity that another shape uses or a change takes away."""
MAX_SCORES = 5_000
"""Most node scorings in all simulations of one what-if, which take about 20 ms."""
_CAPACITY_CAUSES = frozenset(
    {
        PlacementCause.TOO_LARGE,
        PlacementCause.SHORT,
        PlacementCause.OCCUPIED,
        PlacementCause.FRAGMENTED,
        PlacementCause.CONSTRAINED,
    }
)
_NO_CHANGE: Mapping[str, NodeInfo] = {}

Item = TypeVar("Item")
FreedAmounts = dict[str, dict[str, int]]
"""Node → resource → amount that must become free, in scheduler units."""


@dataclass(slots=True)
class WhatIf:
    """A unit whose members do not fit, and the nodes on which changes are tried."""

    unit: Unit
    request: PlacementRequest
    assessment: Assessment
    snapshot: NodeSnapshot
    pod_sets: tuple[PodSet, ...] = ()
    freed: FreedAmounts | None = None
    """The smallest amounts that must become free, once computed."""
    _requests: Mapping[str, int] | None = None
    _feasible: FeasibleNodes | None = None
    _best: tuple[int, ...] | None = None
    _best_snapshot: NodeSnapshot | None = None
    _scores: int = MAX_SCORES

    def __post_init__(self) -> None:
        """Leave out shapes without members."""
        self.pod_sets = tuple(pod_set for pod_set in self.request.pod_sets if pod_set.count)

    @property
    def own_uid(self) -> str:
        """The uid of the gang's owner."""
        return self.unit.owner.meta.ref.uid

    @property
    def is_one_shape(self) -> bool:
        """Whether all members have the same shape, so that places add up without a search."""
        return len(self.pod_sets) == 1

    @property
    def shape(self) -> Shape:
        """The shape with the most members."""
        return max(self.pod_sets, key=lambda pod_set: pod_set.count).shape

    @property
    def deciding(self) -> str:
        """The deciding resource. If the assessment has none, it is a device, or else any requested resource."""
        if self.assessment.deciding:
            return self.assessment.deciding
        return min(self.requests, key=lambda name: ("/" not in name, name))

    @property
    def requests(self) -> Mapping[str, int]:
        """The requests of the shape with the most members, in scheduler units."""
        if self._requests is None:
            self._requests = requested_amounts(self.shape)
        return self._requests

    @property
    def feasible(self) -> FeasibleNodes:
        """The nodes for the shape with the most members."""
        if self._feasible is None:
            self._feasible = feasible_nodes_of(self.snapshot, self.shape)
        return self._feasible

    def node(self, name: str) -> NodeInfo:
        """Return a node by its name."""
        return self.snapshot.nodes[self.row(name)]

    def row(self, name: str) -> int:
        """Return the row of a node. Raise KeyError if it is unknown."""
        row = self.snapshot.row(name)
        if row is None:
            raise KeyError(name)
        return row

    @property
    def candidate_nodes(self) -> BoolColumn:
        """Mask of the nodes that could host a member."""
        keys = self.request.topology_keys
        masks = [
            feasible_nodes_of(self.snapshot, pod_set.shape).eligible(keys)
            for pod_set in self.pod_sets
        ]
        candidates: BoolColumn = np.logical_or.reduce(masks)
        return candidates

    @property
    def shortfall(self) -> int:
        """The least amount of the deciding resource that must become free."""
        for line in self.assessment.totals:
            if line.resource == self.deciding:
                return max(1, line.needed - line.free)
        return 1

    def nodes_without(
        self, loads_by_gang: Iterable[Mapping[str, Requested]]
    ) -> dict[str, NodeInfo]:
        """Return the nodes of these loads by name, without the loads."""
        changed: dict[str, NodeInfo] = {}
        for loads in loads_by_gang:
            for name, load in loads.items():
                row = self.snapshot.row(name)
                if row is not None:
                    changed[name] = without_requested(
                        changed.get(name, self.snapshot.nodes[row]), load
                    )
        return changed

    def needed_changes(self, changed: Mapping[str, NodeInfo]) -> dict[str, NodeInfo]:
        """Return the changed nodes by name, without changes that are not needed."""

        def select(names: Sequence[str]) -> dict[str, NodeInfo]:
            return {name: changed[name] for name in names}

        return select(keep_only_needed(sorted(changed), lambda names: self.fits(select(names))))

    @property
    def moment(self) -> When:
        """The moment a size is lowered for: now, or drained if it is too large even for drained nodes.

        Members with a node stay there in both cases.
        """
        never = (
            self.assessment.cause in _CAPACITY_CAUSES
            and self._empty(self.request.needed) is FitAnswer.NO
        )
        return When.DRAINED if never else When.CURRENT

    # Checks after a change

    def fits(
        self,
        changed: Mapping[str, NodeInfo] = _NO_CHANGE,
        request: PlacementRequest | None = None,
        target: int | None = None,
    ) -> bool:
        """Return whether the members provably fit after the change.

        `changed` are nodes by name. `target` replaces the number that the request needs.
        """
        if request is None and self._adds_up:
            return self.max_members(changed) >= (self.request.needed if target is None else target)
        return self.fit(changed, request, target).answer is FitAnswer.YES

    @property
    def _adds_up(self) -> bool:
        """Whether each node takes members independently of the others, so that places add up."""
        shape = self.shape
        return self.is_one_shape and not (
            shape.unsupported
            or shape.anti_affinity
            or shape.matched_terms
            or shape.pod_affinity
            or shape.spreads
        )

    def fit(
        self,
        changed: Mapping[str, NodeInfo] = _NO_CHANGE,
        request: PlacementRequest | None = None,
        target: int | None = None,
    ) -> Fit:
        """Return whether the members fit after the change, with a placement."""
        request = request or self.request
        target = request.needed if target is None else target
        return check_fit(
            request, self._snapshot_for(request, changed), When.CURRENT, target, steps=STEPS
        )

    def fits_empty(self, target: int) -> bool:
        """Return whether `target` members provably fit on drained nodes."""
        return self._empty(target) is FitAnswer.YES

    def frees_empty(self, target: int) -> bool:
        """Return whether `target` members fit on drained nodes and the scheduler finds a placement."""
        if self.is_one_shape or not self.fits_empty(target):
            return self.fits_empty(target)
        if self._must_see_all(self.request):
            return False  # a simulation would need all nodes
        best = self._find_best(When.DRAINED)
        nodes = [
            replace(node, now=node.pinned) for node in map(self.snapshot.nodes.__getitem__, best)
        ]
        return WhatIf(self.unit, self.request, self.assessment, NodeSnapshot(nodes)).frees(
            target=target
        )

    def _empty(self, target: int) -> FitAnswer:
        return check_fit(self.request, self.snapshot, When.DRAINED, target, steps=STEPS).answer

    def frees(
        self,
        changed: Mapping[str, NodeInfo] = _NO_CHANGE,
        request: PlacementRequest | None = None,
        target: int | None = None,
    ) -> bool:
        """Return whether the members fit after the change and the scheduler finds a placement."""
        if self.is_one_shape:
            # The order does not matter for equal pods.
            return self.fits(changed, request, target)
        request = request or self.request
        target = request.needed if target is None else target
        snapshot = self._snapshot_for(request, changed)
        if (
            check_fit(request, snapshot, When.CURRENT, target, steps=STEPS).answer
            is not FitAnswer.YES
        ):
            return False
        self._scores -= scoring_cost(request, snapshot)
        return self._scores >= 0 and is_found_in_scheduler_order(request, snapshot, target)

    def _snapshot_for(
        self, request: PlacementRequest, changed: Mapping[str, NodeInfo]
    ) -> NodeSnapshot:
        if request is not self.request or self.is_one_shape or self._must_see_all(request):
            return self.snapshot.changed(changed) if changed else self.snapshot
        if changed:
            return NodeSnapshot(self._best_nodes(changed))
        if self._best_snapshot is None:
            self._best_snapshot = NodeSnapshot(self._best_nodes(changed))
        return self._best_snapshot

    def _must_see_all(self, request: PlacementRequest) -> bool:
        """Return whether a placement on some nodes may be invalid with all nodes."""
        return bool(request.topology_keys) or any(
            is_about_values(pod_set.shape) for pod_set in self.pod_sets
        )

    def max_members(self, changed: Mapping[str, NodeInfo] = _NO_CHANGE) -> int:
        """Return how many members fit, for one shape. With topology keys it is the number in the best domain."""
        gains = self._gains(changed)
        if not self.request.topology_keys:
            return int(self.feasible.summary()[0]) + sum(gain for _, gain in gains)
        codes, missing = self.missing_by_domain()
        counts = self.request.needed - missing
        for row, gain in gains:
            if codes[row] >= 0:
                counts[codes[row]] += gain
        return max(0, int(counts.max())) if len(counts) else 0

    def missing_by_domain(self) -> tuple[IntColumn, IntColumn]:
        """Return the domain of each node (-1: none) and the missing places of each domain.

        It supports one shape only. Without topology keys, all nodes are one domain.
        """
        max_pods, size = self.feasible.max_pods(When.CURRENT), self.pod_sets[0].count
        if not self.request.topology_keys:
            codes: IntColumn = np.zeros(len(self.snapshot), dtype=np.int64)
            return codes, np.array([self.request.needed - int(self.feasible.summary()[0])])
        domains = domains_of(self.snapshot, self.request.topology_keys)
        codes, chosen = domains.codes, self.request.domain
        if chosen is not None:
            only = domains.values.index(chosen) if chosen in domains.values else -2
            codes = np.where(codes == only, codes, -1)
        sums: IntColumn = np.zeros(len(domains.values), dtype=np.int64)
        counted = np.flatnonzero(codes >= 0)
        np.add.at(sums, codes[counted], np.minimum(max_pods[counted], size).astype(np.int64))
        return codes, self.request.needed - sums

    def _gains(self, changed: Mapping[str, NodeInfo]) -> list[tuple[int, int]]:
        """Return (row, additional members) of each changed node."""
        if not changed:
            return []
        nodes = NodeSnapshot(changed.values())
        feasible = FeasibleNodes(nodes, self.shape)
        after = np.where(
            feasible.eligible(self.request.topology_keys), feasible.max_pods(When.CURRENT), 0
        )
        places = [self.row(name) for name in nodes.names]
        gains = after - self.feasible.max_pods(When.CURRENT)[places]
        return list(zip(places, gains.tolist(), strict=True))

    def _best_nodes(self, changed: Mapping[str, NodeInfo]) -> Iterable[NodeInfo]:
        """Return the nodes with the most places for each shape, and the changed nodes."""
        if self._best is None:
            self._best = self._find_best(When.CURRENT)
        chosen = set(self._best) | {self.row(name) for name in changed}
        names = self.snapshot.names
        return [changed.get(names[row], self.snapshot.nodes[row]) for row in sorted(chosen)]

    def _find_best(self, when: When) -> tuple[int, ...]:
        rows: set[int] = set()
        for pod_set in self.pod_sets:
            max_pods = feasible_nodes_of(self.snapshot, pod_set.shape).max_pods(when)
            rows.update(largest_rows(max_pods, min(pod_set.count, MAX_HOSTS) + SPARE_HOSTS))
        return tuple(sorted(rows))


def keep_only_needed(
    items: Sequence[Item], are_enough: Callable[[Sequence[Item]], bool]
) -> tuple[Item, ...]:
    """Return the items that are enough together, without unneeded ones.

    The items are tried in their order. `are_enough` may be called without any item.
    """
    needed = tuple(items)
    for item in items:
        fewer = tuple(candidate for candidate in needed if candidate is not item)
        if are_enough(fewer):
            needed = fewer
    return needed
