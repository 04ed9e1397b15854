"""Check whether a gang fits as a whole, each shape on its own nodes, in one topology domain if required."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.capacity import NodeInfo, PlacementRequest
from gangboard.domain.placement_result import Fit, FitAnswer, When
from gangboard.domain.pod_constraints import ANTI_AFFINITY, HOSTNAME, SPREAD
from gangboard.placement.anti_affinity import (
    fit_one_per_domain,
    is_anti_affinity_unsupported,
    one_per_domain_of,
)
from gangboard.placement.joint_topology_spread import max_pods_by_all, multiply_constrained_pods
from gangboard.placement.matching import undecidable
from gangboard.placement.node_snapshot import NodeSnapshot, as_snapshot
from gangboard.placement.packing_search import BUDGET, Budget
from gangboard.placement.topology_domains import (
    first_unreadable,
    fit_in_any_domain,
    hostname_label_is_shared,
)
from gangboard.placement.topology_spread import fit_spread, spread_of

SHARED_HOST_NAMES = f"nodes do not each have their own label {HOSTNAME}"
"""Cause of CANNOT_TELL for pods that must be on different hosts."""


def check_fit(
    request: PlacementRequest,
    nodes: Sequence[NodeInfo],
    when: When,
    target: int,
    *,
    steps: int = BUDGET,
) -> Fit:
    """Return whether at least `target` of the members can be placed at once.

    YES has a placement. NO is proven for the pods on these nodes, including nominated ones. It also holds for members
    with unsupported requirements (`Shape.unsupported`), which only exclude more nodes. CANNOT_TELL has a cause. Pass a
    `NodeSnapshot` as `nodes` to reuse its columns.
    """
    known = decide_by_request(request, target)
    if known is not None:
        return known
    fit = _fit(request, as_snapshot(nodes), when, target, Budget(steps))
    return require_support(request, fit) if fit.answer is FitAnswer.YES else fit


def decide_by_request(request: PlacementRequest, target: int) -> Fit | None:
    """Return the answer if the request alone decides it, else None."""
    if target <= 0:
        return Fit(FitAnswer.YES)
    if target > request.size:
        return Fit(FitAnswer.NO)
    names = _undecidable_requirements(request)
    if names:
        return Fit(FitAnswer.CANNOT_TELL, why=f"not understood: {', '.join(names)}")
    return None


def _undecidable_requirements(request: PlacementRequest) -> list[str]:
    """Return the requirements that gangboard does not understand, so that no answer is safe."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    return sorted({name for pod_set in pod_sets for name in undecidable(pod_set.shape)})


def require_support(request: PlacementRequest, fit: Fit) -> Fit:
    """Return CANNOT_TELL instead of YES if members have unsupported requirements."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    unsupported = {name for pod_set in pod_sets for name in pod_set.shape.unsupported}
    if spread_of(request) is None and any(pod_set.shape.spreads for pod_set in pod_sets):
        unsupported.add(SPREAD)
    if is_anti_affinity_unsupported(request):
        unsupported.add(ANTI_AFFINITY)
    if not unsupported:
        return fit
    names = tuple(sorted(unsupported))
    why = f"not worked out: {', '.join(names)}"
    return Fit(FitAnswer.CANNOT_TELL, why=why, steps=fit.steps, but_for=names)


def _fit(
    request: PlacementRequest, snapshot: NodeSnapshot, when: When, target: int, budget: Budget
) -> Fit:
    if hostname_label_is_shared(snapshot, request):
        return Fit(FitAnswer.CANNOT_TELL, why=SHARED_HOST_NAMES)
    fit = _fit_by_constraint(request, snapshot, when, target, budget)
    why = first_unreadable(snapshot, request) if fit.answer is FitAnswer.NO else ""
    return Fit(FitAnswer.CANNOT_TELL, why=why, steps=fit.steps) if why else fit


def _fit_by_constraint(
    request: PlacementRequest, snapshot: NodeSnapshot, when: When, target: int, budget: Budget
) -> Fit:
    spreading = spread_of(request)
    if spreading is not None:
        return fit_spread(snapshot, spreading, when, target)
    several = multiply_constrained_pods(request)
    if several is not None and max_pods_by_all(snapshot, several, when) < target:
        return Fit(FitAnswer.NO)
    exclusive = one_per_domain_of(request)
    if exclusive is not None:
        return fit_one_per_domain(snapshot, exclusive, when, target)
    return fit_in_any_domain(snapshot, request, when, target, budget)
