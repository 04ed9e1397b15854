"""Why a gang has no nodes: one cause, proven, with the resource or the constraint that decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from gangboard.domain.capacity import PODS, NodeRoom, PlacementRequest, PodSet, Shape
from gangboard.domain.placing import (
    Assessment,
    Constraint,
    Fit,
    FitAnswer,
    PlacementCause,
    Total,
    When,
)
from gangboard.placement.amounts import wanted
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.fits import fits
from gangboard.placement.node_snapshot import NodeSnapshot, as_snapshot
from gangboard.placement.packing import BUDGET
from gangboard.placement.spread import spread_of
from gangboard.placement.spreads import several_of
from gangboard.placement.totals import shortest_of_any, totals


def assess(
    request: PlacementRequest, nodes: Sequence[NodeRoom], *, steps: int = BUDGET
) -> Assessment:
    """Return whether the members fit now and without the pods that can leave, and if not, why.

    The cause is about what must be placed at once: the quorum, or all members without one.
    `steps` is the budget of each single question.
    """
    return _SnapshotQuestion(request, as_snapshot(nodes), steps).assessment()


@dataclass(frozen=True, slots=True)
class _Found:
    cause: PlacementCause
    deciding: str = ""
    constraints: tuple[Constraint, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Question(ABC):
    """Why the members of a request have no nodes. How nodes are asked is for subclasses to say."""

    request: PlacementRequest

    @abstractmethod
    def fit(self, request: PlacementRequest, when: When, target: int) -> Fit:
        """Return whether so many members of a request fit."""

    @abstractmethod
    def totals_of(self, pod_sets: Sequence[PodSet], target: int) -> tuple[Total, ...]:
        """Return what `totals` says of these members."""

    @abstractmethod
    def has_host(self, shape: Shape) -> bool:
        """Whether any node could ever host a member."""

    @abstractmethod
    def has_room(self, shape: Shape) -> bool:
        """Whether a node that could host a member takes one now."""

    def assessment(self) -> Assessment:
        """Return the whole answer."""
        now = self.ask(When.NOW, self.request.needed)
        full = self.all_of(When.NOW, now)
        # What fits now fits without the pods that can leave, too.
        empty = now if now.answer is FitAnswer.YES else self.ask(When.EMPTY, self.request.needed)
        empty_full = full if full.answer is FitAnswer.YES else self.all_of(When.EMPTY, empty)
        found = self.cause(now, empty)
        return Assessment(
            self.request,
            found.cause,
            now,
            full,
            empty,
            empty_full,
            self.totals_of(self.request.pod_sets, self.request.needed),
            found.deciding,
            found.constraints,
            found.why,
        )

    def ask(self, when: When, target: int, request: PlacementRequest | None = None) -> Fit:
        """Return whether so many members fit, of the same request or of one that asks for less."""
        return self.fit(self.request if request is None else request, when, target)

    def all_of(self, when: When, quorum: Fit) -> Fit:
        """Answer for all members what was answered for those that are needed."""
        needed, size = self.request.needed, self.request.size
        if needed == size or (needed < size and quorum.answer is FitAnswer.NO):
            return quorum
        return self.ask(when, size)

    def cause(self, now: Fit, empty: Fit) -> _Found:
        """Return why what is needed does not fit, with the resource or constraint that decides."""
        if self.request.needed > self.request.size:
            return _Found(PlacementCause.TOO_FEW_PODS)
        if now.answer is FitAnswer.YES:
            return _Found(PlacementCause.FITS)
        if now.answer is FitAnswer.CANNOT_TELL:
            return _Found(PlacementCause.CANNOT_TELL, why=now.why)
        if empty.answer is FitAnswer.CANNOT_TELL and not empty.but_for:
            return _Found(PlacementCause.CANNOT_TELL, self._lacking(When.NOW), why=empty.why)
        # What is not worked out takes nodes away only: what lacks now lacks without it, too.
        when = When.EMPTY if empty.answer is FitAnswer.NO else When.NOW
        if self._hosted() < self.request.needed:
            # Without the topology, nodes that lack its label may do.
            return self._constrained(when) or _Found(PlacementCause.NO_ELIGIBLE_NODE)
        constrained = self._constrained(when)
        return constrained if constrained is not None else self._by_room(when)

    def _hosted(self) -> int:
        """Return how many members have an eligible node at all."""
        return sum(
            pod_set.count for pod_set in self.request.pod_sets if self.has_host(pod_set.shape)
        )

    def _constrained(self, when: When) -> _Found | None:
        """Leave out each constraint, then all of them: does it fit at the same moment then?"""
        present = _present(self.request)
        if not present:
            return None
        trials: list[tuple[Constraint, ...]] = [(one,) for one in present]
        if len(present) > 1:
            trials.append(present)
        unknown = ""
        alone: list[Constraint] = []
        for trial in trials:
            if len(trial) > 1 and alone:
                break
            fit = self._without(when, trial)
            if fit.answer is FitAnswer.YES:
                alone += trial
            elif fit.answer is FitAnswer.CANNOT_TELL:
                unknown = unknown or fit.why
        if alone:
            return _Found(PlacementCause.CONSTRAINED, constraints=tuple(alone))
        return _Found(PlacementCause.CANNOT_TELL, why=unknown) if unknown else None

    def _without(self, when: When, constraints: Sequence[Constraint], resource: str = "") -> Fit:
        return self.ask(when, self.request.needed, relaxed(self.request, constraints, resource))

    def _by_room(self, when: When) -> _Found:
        lacking = self._lacking(when)
        deciding = lacking or self._single(when)
        if when is When.EMPTY:
            return _Found(PlacementCause.TOO_LARGE, deciding)
        if not lacking:
            return _Found(PlacementCause.FRAGMENTED, deciding)
        return _Found(
            PlacementCause.SHORT if self._any_room() else PlacementCause.OCCUPIED, deciding
        )

    def _lacking(self, when: When) -> str:
        request = self.request
        return shortest_of_any(request.pod_sets, request.needed, when, self.totals_of)

    def _any_room(self) -> bool:
        return any(
            self.has_room(pod_set.shape) for pod_set in self.request.pod_sets if pod_set.count
        )

    def _single(self, when: When) -> str:
        """Return the one resource without which it would fit; nothing when there are several."""
        asked = {name for pod_set in self.request.pod_sets for name in wanted(pod_set.shape)}
        found = [
            name for name in sorted(asked) if self._without(when, (), name).answer is FitAnswer.YES
        ]
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class _SnapshotQuestion(Question):
    """All nodes are asked at once."""

    nodes: NodeSnapshot
    steps: int

    def fit(self, request: PlacementRequest, when: When, target: int) -> Fit:
        return fits(request, self.nodes, when, target, steps=self.steps)

    def totals_of(self, pod_sets: Sequence[PodSet], target: int) -> tuple[Total, ...]:
        return totals(pod_sets, target, self.nodes, self.request.topology_keys)

    def has_host(self, shape: Shape) -> bool:
        feasible = feasible_nodes_of(self.nodes, shape)
        return bool(feasible.eligible(self.request.topology_keys).any())

    def has_room(self, shape: Shape) -> bool:
        feasible = feasible_nodes_of(self.nodes, shape)
        eligible = feasible.eligible(self.request.topology_keys)
        return bool((feasible.caps(When.NOW)[eligible] > 0).any())


def _present(request: PlacementRequest) -> tuple[Constraint, ...]:
    shapes = [pod_set.shape for pod_set in request.pod_sets if pod_set.count]
    there = {
        Constraint.TOPOLOGY: bool(request.topology_keys),
        Constraint.HOST_PORTS: any(shape.host_ports for shape in shapes),
        Constraint.ANTI_AFFINITY: any(
            shape.anti_affinity or shape.matched_terms for shape in shapes
        ),
        Constraint.SPREAD: _is_spread(request),
    }
    return tuple(one for one in Constraint if there[one])


def _is_spread(request: PlacementRequest) -> bool:
    return spread_of(request) is not None or several_of(request) is not None


def relaxed(
    request: PlacementRequest, constraints: Sequence[Constraint], resource: str = ""
) -> PlacementRequest:
    """Return the same request without some constraints and a resource, as far as it is worked out.

    What is not worked out (`Shape.unsupported`) is left out too: the trial is about the rest.
    """
    keeps_spread = _is_spread(request) and Constraint.SPREAD not in constraints

    def shape(one: Shape) -> Shape:
        requests = {name: amount for name, amount in one.requests.items() if name != resource}
        if resource == PODS:
            requests[PODS] = Decimal(0)
        return replace(
            one,
            requests=requests,
            host_ports=frozenset() if Constraint.HOST_PORTS in constraints else one.host_ports,
            anti_affinity=frozenset()
            if Constraint.ANTI_AFFINITY in constraints
            else one.anti_affinity,
            matched_terms=frozenset()
            if Constraint.ANTI_AFFINITY in constraints
            else one.matched_terms,
            spreads=one.spreads if keeps_spread else (),
            unsupported=(),
        )

    pod_sets = tuple(PodSet(shape(pod_set.shape), pod_set.count) for pod_set in request.pod_sets)
    if Constraint.TOPOLOGY in constraints:
        return replace(request, pod_sets=pod_sets, topology_keys=(), domain=None)
    return replace(request, pod_sets=pod_sets)
