"""The proven cause why a gang has no nodes, with the deciding resource or constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from gangboard.domain.capacity import PODS, NodeInfo, PlacementRequest, PodSet, Shape
from gangboard.domain.placement_result import (
    Assessment,
    Constraint,
    Fit,
    FitAnswer,
    PlacementCause,
    When,
)
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.joint_topology_spread import multiply_constrained_pods
from gangboard.placement.node_snapshot import NodeSnapshot, as_snapshot
from gangboard.placement.packing_search import BUDGET
from gangboard.placement.topology_spread import spread_of
from gangboard.placement.totals import find_scarcest_resource, totals


def assess(
    request: PlacementRequest, nodes: Sequence[NodeInfo], *, steps: int = BUDGET
) -> Assessment:
    """Return whether the members fit now, whether they fit without the pods that can leave, and the cause if not.

    The cause is about the members that must be placed together: the quorum, or all without a quorum.
    `steps` is the search budget of each check.
    """
    return _Assessor(request, as_snapshot(nodes), steps).assessment()


@dataclass(frozen=True, slots=True)
class _Cause:
    kind: PlacementCause
    deciding: str = ""
    constraints: tuple[Constraint, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Assessor:
    """Finds the cause why the members of a request have no nodes."""

    request: PlacementRequest
    snapshot: NodeSnapshot
    steps: int

    def assessment(self) -> Assessment:
        """Return the assessment."""
        request = self.request
        now = self._fit(When.CURRENT)
        # Members that fit now also fit on drained nodes.
        drained = now if now.answer is FitAnswer.YES else self._fit(When.DRAINED)
        cause = self._cause(now, drained)
        return Assessment(
            request,
            cause.kind,
            now,
            drained,
            totals(request.pod_sets, request.needed, self.snapshot, request.topology_keys),
            cause.deciding,
            cause.constraints,
            cause.why,
        )

    def _fit(self, when: When) -> Fit:
        request = self.request
        return check_fit(request, self.snapshot, when, request.needed, steps=self.steps)

    def _cause(self, now: Fit, drained: Fit) -> _Cause:
        """Return why the needed members do not fit, with the resource or constraint that decides."""
        if self.request.needed > self.request.size:
            return _Cause(PlacementCause.TOO_FEW_PODS)
        if now.answer is FitAnswer.YES:
            return _Cause(PlacementCause.FITS)
        if now.answer is FitAnswer.CANNOT_TELL:
            return _Cause(PlacementCause.CANNOT_TELL, why=now.why)
        if drained.answer is FitAnswer.CANNOT_TELL and not drained.but_for:
            return _Cause(PlacementCause.CANNOT_TELL, self._lacking(When.CURRENT), why=drained.why)
        # Unsupported requirements only exclude nodes. A resource that is short now is also short without them.
        when = When.DRAINED if drained.answer is FitAnswer.NO else When.CURRENT
        if self._hosted() < self.request.needed:
            # Without the topology constraint, nodes without its label may be eligible.
            return self._constrained(when) or _Cause(PlacementCause.NO_ELIGIBLE_NODE)
        constrained = self._constrained(when)
        return constrained if constrained is not None else self._by_room(when)

    def _hosted(self) -> int:
        """Return how many members have an eligible node."""
        keys = self.request.topology_keys
        return sum(
            pod_set.count
            for pod_set in self.request.pod_sets
            if feasible_nodes_of(self.snapshot, pod_set.shape).eligible(keys).any()
        )

    def _constrained(self, when: When) -> _Cause | None:
        """Return the constraints without which the members fit at the same moment. Try each, then all together."""
        present = _present_constraints(self.request)
        if not present:
            return None
        trials: list[tuple[Constraint, ...]] = [(constraint,) for constraint in present]
        if len(present) > 1:
            trials.append(present)
        unknown = ""
        sufficient: list[Constraint] = []
        for trial in trials:
            if len(trial) > 1 and sufficient:
                break
            fit = self._without(when, trial)
            if fit.answer is FitAnswer.YES:
                sufficient += trial
            elif fit.answer is FitAnswer.CANNOT_TELL:
                unknown = unknown or fit.why
        if sufficient:
            return _Cause(PlacementCause.CONSTRAINED, constraints=tuple(sufficient))
        return _Cause(PlacementCause.CANNOT_TELL, why=unknown) if unknown else None

    def _without(self, when: When, constraints: Sequence[Constraint], resource: str = "") -> Fit:
        request = relaxed(self.request, constraints, resource)
        return check_fit(request, self.snapshot, when, request.needed, steps=self.steps)

    def _by_room(self, when: When) -> _Cause:
        lacking = self._lacking(when)
        deciding = lacking or self._single(when)
        if when is When.DRAINED:
            return _Cause(PlacementCause.TOO_LARGE, deciding)
        if not lacking:
            return _Cause(PlacementCause.FRAGMENTED, deciding)
        return _Cause(
            PlacementCause.SHORT if self._any_room() else PlacementCause.OCCUPIED, deciding
        )

    def _lacking(self, when: When) -> str:
        request = self.request
        return find_scarcest_resource(
            request.pod_sets, request.needed, when, self.snapshot, request.topology_keys
        )

    def _any_room(self) -> bool:
        """Return whether a node takes a member now."""
        keys = self.request.topology_keys
        feasible = (
            feasible_nodes_of(self.snapshot, pod_set.shape)
            for pod_set in self.request.pod_sets
            if pod_set.count
        )
        return any(
            bool((nodes.max_pods(When.CURRENT)[nodes.eligible(keys)] > 0).any())
            for nodes in feasible
        )

    def _single(self, when: When) -> str:
        """Return the only resource without which the members would fit. Empty: there is none, or several."""
        requested = {
            name for pod_set in self.request.pod_sets for name in requested_amounts(pod_set.shape)
        }
        names = [
            name
            for name in sorted(requested)
            if self._without(when, (), name).answer is FitAnswer.YES
        ]
        return names[0] if len(names) == 1 else ""


def _present_constraints(request: PlacementRequest) -> tuple[Constraint, ...]:
    shapes = [pod_set.shape for pod_set in request.pod_sets if pod_set.count]
    is_present = {
        Constraint.TOPOLOGY: bool(request.topology_keys),
        Constraint.HOST_PORTS: any(shape.host_ports for shape in shapes),
        Constraint.ANTI_AFFINITY: any(
            shape.anti_affinity or shape.matched_terms for shape in shapes
        ),
        Constraint.SPREAD: _is_spread(request),
    }
    return tuple(constraint for constraint in Constraint if is_present[constraint])


def _is_spread(request: PlacementRequest) -> bool:
    return spread_of(request) is not None or multiply_constrained_pods(request) is not None


def relaxed(
    request: PlacementRequest, constraints: Sequence[Constraint], resource: str = ""
) -> PlacementRequest:
    """Return the same request without some constraints and a resource.

    Unsupported requirements (`Shape.unsupported`) are left out as well, because the trial is about the others.
    """
    keeps_spread = _is_spread(request) and Constraint.SPREAD not in constraints

    def relaxed_shape(original: Shape) -> Shape:
        requests = {name: amount for name, amount in original.requests.items() if name != resource}
        if resource == PODS:
            requests[PODS] = Decimal(0)
        return replace(
            original,
            requests=requests,
            host_ports=frozenset() if Constraint.HOST_PORTS in constraints else original.host_ports,
            anti_affinity=frozenset()
            if Constraint.ANTI_AFFINITY in constraints
            else original.anti_affinity,
            matched_terms=frozenset()
            if Constraint.ANTI_AFFINITY in constraints
            else original.matched_terms,
            spreads=original.spreads if keeps_spread else (),
            unsupported=(),
        )

    pod_sets = tuple(
        PodSet(relaxed_shape(pod_set.shape), pod_set.count) for pod_set in request.pod_sets
    )
    if Constraint.TOPOLOGY in constraints:
        return replace(request, pod_sets=pod_sets, topology_keys=(), domain=None)
    return replace(request, pod_sets=pod_sets)
