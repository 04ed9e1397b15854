"""What advice is tried on: the waiting members, the nodes as they are, and one change of either."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gangboard.domain.capacity import NodeRoom, PlacementRequest, PodSet, Shape
from gangboard.domain.objects import ObjectRef
from gangboard.domain.placing import Assessment, Fit, FitAnswer, PlacementCause, When
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import wanted
from gangboard.placement.domains import domains_of
from gangboard.placement.eligibility import is_eligible, pods_that_fit
from gangboard.placement.feasible_nodes import FeasibleNodes, feasible_nodes_of
from gangboard.placement.fits import fits
from gangboard.placement.matching import is_about_values
from gangboard.placement.node_snapshot import NodeSnapshot, Whole
from gangboard.placement.scheduler_order import is_found_in_scheduler_order, work_of

STEPS = 2_000
"""Of the search, for one what-if: advice that is hard to check is not given."""
MOST_HOSTS = 32
"""Nodes for each shape that a what-if of several shapes looks at: what fits on some fits on all, but for
what concerns all nodes of a domain."""
SPARE_HOSTS = 8
"""More of them, for what another shape takes or a change takes away."""
MOST_SCORES = 5_000
"""Nodes that are scored for a pod, in all plays of one what-if together: some 20 ms."""
_OF_ROOM = frozenset(
    {
        PlacementCause.TOO_LARGE,
        PlacementCause.SHORT,
        PlacementCause.OCCUPIED,
        PlacementCause.FRAGMENTED,
        PlacementCause.CONSTRAINED,
    }
)
_NO_CHANGE: Mapping[str, NodeRoom] = {}

Thing = TypeVar("Thing")
Freed = dict[str, dict[str, int]]
"""Node → resource → how much more must be free there, in scheduler units."""


@dataclass(slots=True)
class WhatIf:
    """One unit whose members do not fit, and what would be different."""

    unit: Unit
    request: PlacementRequest
    assessment: Assessment
    snapshot: NodeSnapshot
    pod_sets: tuple[PodSet, ...] = ()
    freed: Freed | None = None
    """The least that must become free, once somebody has worked it out."""
    _asked: Mapping[str, int] | None = None
    _feasible: FeasibleNodes | None = None
    _best: tuple[int, ...] | None = None
    _best_snapshot: NodeSnapshot | None = None
    _scores: int = MOST_SCORES

    def __post_init__(self) -> None:
        """Leave out shapes without members."""
        self.pod_sets = tuple(pod_set for pod_set in self.request.pod_sets if pod_set.count)

    @property
    def own_uid(self) -> str:
        """Return the uid of the gang's owner."""
        return self.unit.owner.meta.ref.uid

    @property
    def is_one_shape(self) -> bool:
        """Whether all members ask for the same: then places add up and nothing is searched."""
        return len(self.pod_sets) == 1

    @property
    def shape(self) -> Shape:
        """Return the shape with the most members."""
        return max(self.pod_sets, key=lambda pod_set: pod_set.count).shape

    @property
    def deciding(self) -> str:
        """Return the resource that is the trouble; where none alone is, a device, else any."""
        if self.assessment.deciding:
            return self.assessment.deciding
        return min(self.asked, key=lambda name: ("/" not in name, name))

    @property
    def asked(self) -> Mapping[str, int]:
        """Return what the shape with the most members asks for, in scheduler units."""
        if self._asked is None:
            self._asked = wanted(self.shape)
        return self._asked

    @property
    def feasible(self) -> FeasibleNodes:
        """Return the nodes for the shape with the most members."""
        if self._feasible is None:
            self._feasible = feasible_nodes_of(self.snapshot, self.shape)
        return self._feasible

    def node(self, name: str) -> NodeRoom:
        """Return a node by its name."""
        return self.snapshot.nodes[self.place(name)]

    def find(self, name: str) -> NodeRoom | None:
        """Return a node by its name; None where it is not known."""
        at = self.snapshot.place(name)
        return self.snapshot.nodes[at] if at is not None else None

    def place(self, name: str) -> int:
        """Return where a node stands in the columns; KeyError where it is not known."""
        at = self.snapshot.place(name)
        if at is None:
            raise KeyError(name)
        return at

    @property
    def moment(self) -> When:
        """Return what a size is lowered for: to fit now, or at all, where it is too large when empty.

        Members that have a node stay there, whatever leaves.
        """
        never = (
            self.assessment.cause in _OF_ROOM and self._empty(self.request.needed) is FitAnswer.NO
        )
        return When.EMPTY if never else When.NOW

    # Does it fit then?

    def fits(
        self,
        changed: Mapping[str, NodeRoom] = _NO_CHANGE,
        request: PlacementRequest | None = None,
        target: int | None = None,
    ) -> bool:
        """Whether it is proven that the members fit after the change.

        `changed` are nodes by name, `target` another number than the request needs.
        """
        if request is None and self.is_one_shape:
            wanted_now = self.request.needed if target is None else target
            shape = self.shape
            if shape.unsupported or shape.anti_affinity or shape.matched_terms or shape.spreads:
                return self.fit(changed, request, target).answer is FitAnswer.YES
            return self.most(changed) >= wanted_now
        return self.fit(changed, request, target).answer is FitAnswer.YES

    def fit(
        self,
        changed: Mapping[str, NodeRoom] = _NO_CHANGE,
        request: PlacementRequest | None = None,
        target: int | None = None,
    ) -> Fit:
        """Return whether they fit after the change, with a placement."""
        request = request or self.request
        target = request.needed if target is None else target
        return fits(request, self._snapshot_for(request, changed), When.NOW, target, steps=STEPS)

    def fits_empty(self, target: int) -> bool:
        """Whether it is proven that so many fit without the pods that can leave."""
        return self._empty(target) is FitAnswer.YES

    def frees_empty(self, target: int) -> bool:
        """Whether they fit then and the scheduler comes upon a placement by itself."""
        if self.is_one_shape or not self.fits_empty(target):
            return self.fits_empty(target)
        if self._must_see_all(self.request):
            return False  # all nodes would have to be played on
        there = self._find_best(When.EMPTY)
        nodes = [
            replace(node, now=node.staying) for node in map(self.snapshot.nodes.__getitem__, there)
        ]
        return WhatIf(self.unit, self.request, self.assessment, NodeSnapshot(nodes)).frees(
            target=target
        )

    def _empty(self, target: int) -> FitAnswer:
        return fits(self.request, self.snapshot, When.EMPTY, target, steps=STEPS).answer

    def frees(
        self,
        changed: Mapping[str, NodeRoom] = _NO_CHANGE,
        request: PlacementRequest | None = None,
        target: int | None = None,
    ) -> bool:
        """Whether they fit after the change and the scheduler comes upon a placement by itself."""
        if self.is_one_shape:
            # Wherever each goes, the places of the others are the same number.
            return self.fits(changed, request, target)
        request = request or self.request
        target = request.needed if target is None else target
        snapshot = self._snapshot_for(request, changed)
        if fits(request, snapshot, When.NOW, target, steps=STEPS).answer is not FitAnswer.YES:
            return False
        self._scores -= work_of(request, snapshot)
        return self._scores >= 0 and is_found_in_scheduler_order(request, snapshot, target)

    def _snapshot_for(
        self, request: PlacementRequest, changed: Mapping[str, NodeRoom]
    ) -> NodeSnapshot:
        if request is not self.request or self.is_one_shape or self._must_see_all(request):
            return self.snapshot.changed(changed) if changed else self.snapshot
        if changed:
            return NodeSnapshot(self._best_nodes(changed))
        if self._best_snapshot is None:
            self._best_snapshot = NodeSnapshot(self._best_nodes(changed))
        return self._best_snapshot

    def _must_see_all(self, request: PlacementRequest) -> bool:
        """Whether what fits on some nodes alone may not fit on them beside all the others."""
        return bool(request.topology_keys) or any(
            is_about_values(pod_set.shape) for pod_set in self.pod_sets
        )

    def most(self, changed: Mapping[str, NodeRoom] = _NO_CHANGE) -> int:
        """Return how many members of the one shape fit, in the best domain where it must be one."""
        gains = [(self.place(name), self._gain(node)) for name, node in changed.items()]
        if not self.request.topology_keys:
            return int(self.feasible.summary()[0]) + sum(gain for _, gain in gains)
        codes, missing = self.missing_by_domain()
        room = self.request.needed - missing
        for at, gain in gains:
            if codes[at] >= 0:
                room[codes[at]] += gain
        return max(0, int(room.max())) if len(room) else 0

    def missing_by_domain(self) -> tuple[Whole, Whole]:
        """Return the domain of each node (-1: none that counts) and how many places each lacks.

        One shape only. Without a topology all nodes are one domain.
        """
        caps, size = self.feasible.caps(When.NOW), self.pod_sets[0].count
        if not self.request.topology_keys:
            codes: Whole = np.zeros(len(self.snapshot), dtype=np.int64)
            return codes, np.array([self.request.needed - int(self.feasible.summary()[0])])
        domains = domains_of(self.snapshot, self.request.topology_keys)
        codes, chosen = domains.codes, self.request.domain
        if chosen is not None:
            only = domains.values.index(chosen) if chosen in domains.values else -2
            codes = np.where(codes == only, codes, -1)
        sums: Whole = np.zeros(len(domains.values), dtype=np.int64)
        there = np.flatnonzero(codes >= 0)
        np.add.at(sums, codes[there], np.minimum(caps[there], size).astype(np.int64))
        return codes, self.request.needed - sums

    def _gain(self, node: NodeRoom) -> int:
        """Return how many members more a node takes as it is here."""
        at = self.place(node.name)
        before = int(self.feasible.caps(When.NOW)[at])
        was = self.snapshot.nodes[at]
        asked = self.asked
        if _asks_the_same(node, was):
            eligible = bool(self.feasible.eligible(self.request.topology_keys)[at])
        else:
            eligible = is_eligible(node, self.shape, self.request.topology_keys, asked)
        return pods_that_fit(node, self.shape, When.NOW, asked)[0] - before if eligible else -before

    def _best_nodes(self, changed: Mapping[str, NodeRoom]) -> Iterable[NodeRoom]:
        """Return the nodes with the most places for each shape, and those that are changed."""
        if self._best is None:
            self._best = self._find_best(When.NOW)
        chosen = set(self._best) | {self.place(name) for name in changed}
        names = self.snapshot.names
        return [changed.get(names[at], self.snapshot.nodes[at]) for at in sorted(chosen)]

    def _find_best(self, when: When) -> tuple[int, ...]:
        found: set[int] = set()
        for pod_set in self.pod_sets:
            caps = feasible_nodes_of(self.snapshot, pod_set.shape).caps(when)
            found.update(largest(caps, min(pod_set.count, MOST_HOSTS) + SPARE_HOSTS))
        return tuple(sorted(found))


def _asks_the_same(node: NodeRoom, was: NodeRoom) -> bool:
    """Return True if only the pods on the node differ, so that the same pods may go there."""
    return (
        node.taints is was.taints
        and node.unschedulable == was.unschedulable
        and node.allocatable is was.allocatable
    )


def largest(column: Whole, number: int) -> list[int]:
    """Return the places of the largest entries above zero, the largest first, then in order."""
    there = np.flatnonzero(column > 0)
    order = np.argsort(-column[there], kind="stable")[:number]
    found: Any = there[order].tolist()
    return list(found)


def without_needless(
    some: Sequence[Thing], are_enough: Callable[[Sequence[Thing]], bool]
) -> tuple[Thing, ...]:
    """Return things that are enough together, without those beside whom the others are.

    They are tried in their order; `are_enough` can be asked of none of them, too.
    """
    left = tuple(some)
    for one in some:
        fewer = tuple(other for other in left if other is not one)
        if are_enough(fewer):
            left = fewer
    return left


def node_ref(name: str) -> ObjectRef:
    """Return a reference to a node, by which its name is hidden from who may not see nodes."""
    return ObjectRef("", "Node", "", name, "")
