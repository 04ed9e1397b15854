"""The assessment of a gang with each node asked alone: the oracle for `gangboard.placement.assess`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet
from gangboard.domain.placement_result import (
    Assessment,
    Constraint,
    Fit,
    FitAnswer,
    PlacementCause,
    PlacementResult,
    ShapeFit,
    When,
)
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.assess import relaxed
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.members import placement_request_of
from gangboard.placement.node_filters import EXAMPLES
from gangboard.placement.packing_search import BUDGET
from gangboard.placement.totals import scarcest_resource
from gangboard.placement.unit_placement import placing_of as quick_placing_of
from tests.placement.blockers_by_node import blockers
from tests.placement.node_by_node import eligibility, fits, lifted, totals
from tests.placement.single_node import is_eligible, pods_that_fit


def assess(
    request: PlacementRequest, nodes: Sequence[NodeInfo], *, steps: int = BUDGET
) -> Assessment:
    """Return the same as `assess.assess`, but that it gives up where that does not have to."""
    nodes = lifted(nodes)
    needed = request.needed

    def fit(when: When) -> Fit:
        return fits(request, nodes, when, needed, steps=steps)

    now = fit(When.CURRENT)
    empty = now if is_yes(now) else fit(When.DRAINED)
    cause = _cause(_Case(request, nodes, steps), now, empty)
    return Assessment(
        request,
        cause.cause,
        now,
        empty,
        totals(request.pod_sets, needed, nodes, request.topology_keys),
        cause.deciding,
        cause.constraints,
        cause.why,
    )


def is_yes(fit: Fit) -> bool:
    return fit.answer is FitAnswer.YES


def is_no(fit: Fit) -> bool:
    return fit.answer is FitAnswer.NO


@dataclass(frozen=True)
class _Cause:
    cause: PlacementCause
    deciding: str = ""
    constraints: tuple[Constraint, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class _Case:
    request: PlacementRequest
    nodes: Sequence[NodeInfo]
    steps: int

    def without(self, when: When, *constraints: Constraint, resource: str = "") -> Fit:
        """Whether it fits without these constraints and the resource."""
        request = relaxed(self.request, constraints, resource)
        return fits(request, self.nodes, when, request.needed, steps=self.steps)

    def short(self, when: When) -> str:
        """The resource that is too scarce for all pods, or for the pods one shape must place."""
        request = self.request
        needs = [(request.pod_sets, request.needed)]
        if len(request.pod_sets) > 1:
            needs += [
                ((pod_set,), max(0, request.needed - (request.size - pod_set.count)))
                for pod_set in request.pod_sets
            ]
        lines = (totals(sizes, must, self.nodes, request.topology_keys) for sizes, must in needs)
        return next((name for line in lines if (name := scarcest_resource(line, when))), "")

    def single(self, when: When) -> str:
        """The only resource without which it fits."""
        names = sorted(
            {name for pod_set in self.request.pod_sets for name in requested_amounts(pod_set.shape)}
        )
        enough = [name for name in names if is_yes(self.without(when, resource=name))]
        return enough[0] if len(enough) == 1 else ""

    def hosts(self, pod_set: PodSet) -> list[NodeInfo]:
        keys = self.request.topology_keys
        return [node for node in self.nodes if is_eligible(node, pod_set.shape, keys)]

    def has_room(self) -> bool:
        return any(
            pods_that_fit(node, pod_set.shape, When.CURRENT)[0]
            for pod_set in self.request.pod_sets
            if pod_set.count
            for node in self.hosts(pod_set)
        )


def _cause(case: _Case, now: Fit, empty: Fit) -> _Cause:
    """The first of the causes whose definition holds, in the order of the definitions."""
    request = case.request
    if request.needed > request.size:
        return _Cause(PlacementCause.TOO_FEW_PODS)
    if is_yes(now):
        return _Cause(PlacementCause.FITS)
    if not is_no(now):
        return _Cause(PlacementCause.CANNOT_TELL, why=now.why)
    if empty.answer is FitAnswer.CANNOT_TELL and not empty.but_for:
        return _Cause(PlacementCause.CANNOT_TELL, case.short(When.CURRENT), why=empty.why)
    when = When.DRAINED if is_no(empty) else When.CURRENT
    constrained = _constrained(case, when)
    if constrained is not None:
        return constrained
    if sum(pod_set.count for pod_set in request.pod_sets if case.hosts(pod_set)) < request.needed:
        return _Cause(PlacementCause.NO_ELIGIBLE_NODE)
    short = case.short(when)
    deciding = short or case.single(when)
    if is_no(empty):
        return _Cause(PlacementCause.TOO_LARGE, deciding)
    if not short:
        return _Cause(PlacementCause.FRAGMENTED, deciding)
    return _Cause(PlacementCause.SHORT if case.has_room() else PlacementCause.OCCUPIED, deciding)


def _constrained(case: _Case, when: When) -> _Cause | None:
    """CONSTRAINED by each constraint without which it fits, else by all of them together."""
    shapes = [pod_set.shape for pod_set in case.request.pod_sets if pod_set.count]
    alike = len(shapes) == 1 and not case.request.topology_keys
    existing = {
        Constraint.TOPOLOGY: bool(case.request.topology_keys),
        Constraint.HOST_PORTS: any(shape.host_ports for shape in shapes),
        Constraint.ANTI_AFFINITY: any(
            shape.anti_affinity or shape.matched_terms for shape in shapes
        ),
        Constraint.SPREAD: alike and bool(shapes[0].spreads),
    }
    present = [item for item in Constraint if existing[item]]
    trials = {item: case.without(when, item) for item in present}
    enough = [item for item in present if is_yes(trials[item])]
    fits_tried = list(trials.values())
    if not enough and len(present) > 1:
        together = case.without(when, *present)
        fits_tried.append(together)
        enough = present if is_yes(together) else []
    if enough:
        return _Cause(PlacementCause.CONSTRAINED, constraints=tuple(enough))
    unknown = [fit.why for fit in fits_tried if fit.answer is FitAnswer.CANNOT_TELL]
    return _Cause(PlacementCause.CANNOT_TELL, why=unknown[0]) if unknown else None


def placing_of(unit: Unit) -> PlacementResult | None:
    """Return the same as `unit_placement.placing_of`."""
    quick = quick_placing_of(unit)
    if quick is None:
        return None
    request, nodes = placement_request_of(unit), tuple(nodes_for(unit))
    shapes = tuple(
        _shape_fit(pod_set, nodes, request.topology_keys) for pod_set in request.pod_sets
    )
    return PlacementResult(request, assess(request, nodes), shapes, refused_at=quick.refused_at)


def gave_up(placing: PlacementResult) -> bool:
    """Whether some question had more ways than could be tried one by one."""
    result = placing.assessment
    assert result is not None
    return any(
        fit.answer is FitAnswer.CANNOT_TELL and not fit.but_for
        for fit in (result.now, result.empty)
    )


def _shape_fit(pod_set: PodSet, nodes: Sequence[NodeInfo], keys: Sequence[str]) -> ShapeFit:
    result = eligibility(nodes, pod_set.shape, keys)
    existing = set(result.eligible)
    hosts = [node for node in nodes if node.name in existing]
    now = {node.name: pods_that_fit(node, pod_set.shape, When.CURRENT) for node in hosts}
    full: dict[str, list[str]] = {}
    for name, (count, limit) in now.items():
        if not count:
            full.setdefault(str(limit), []).append(name)
    saturated = [(limit, len(names), tuple(names[:EXAMPLES])) for limit, names in full.items()]
    kept_out, more = blockers(nodes, pod_set.shape, keys)
    return ShapeFit(
        pod_set.shape,
        pod_set.count,
        result,
        now=sum(count for count, _ in now.values()),
        empty=sum(pods_that_fit(node, pod_set.shape, When.DRAINED)[0] for node in hosts),
        open_nodes=sum(count > 0 for count, _ in now.values()),
        saturated=tuple(sorted(saturated, key=lambda item: (-item[1], item[0]))),
        blockers=kept_out,
        more_blockers=more,
    )
