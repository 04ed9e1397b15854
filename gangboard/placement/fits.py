"""Whether a gang fits as a whole, each shape on its own nodes, in one topology domain if it must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gangboard.domain.capacity import ANTI_AFFINITY, HOSTNAME, SPREAD, NodeRoom, PlacementRequest
from gangboard.domain.placing import Fit, FitAnswer, When
from gangboard.placement.anti_affinity import (
    fit_one_per_domain,
    is_anti_affinity_unsupported,
    one_per_domain_of,
)
from gangboard.placement.domains import (
    first_unreadable,
    fit_in_some_domain,
    hosts_share_names,
)
from gangboard.placement.matching import undecidable
from gangboard.placement.node_snapshot import as_snapshot
from gangboard.placement.packing import BUDGET, Budget
from gangboard.placement.spread import fit_spread, spread_of
from gangboard.placement.spreads import most_by_all, several_of


def fits(
    request: PlacementRequest,
    nodes: Sequence[NodeRoom],
    when: When,
    target: int,
    *,
    steps: int = BUDGET,
) -> Fit:
    """Return whether at least `target` of the members can be placed at once.

    YES comes with a placement. NO is proven for what the nodes carry here (pods that are nominated to
    them included), and stays true for members that ask for more than is worked out here
    (`Shape.unsupported`): these can only take nodes away. CANNOT_TELL says why.
    Nodes that are a `NodeSnapshot` are not read anew for every question.
    """
    return answer(request, target, lambda: _fits(request, nodes, when, target, Budget(steps)))


def answer(request: PlacementRequest, target: int, ask: Callable[[], Fit]) -> Fit:
    """Return what `ask` finds for so many members, as far as the request lets it be told."""
    if target <= 0:
        return Fit(FitAnswer.YES)
    if target > request.size:
        return Fit(FitAnswer.NO)
    names = _not_understood(request)
    if names:
        return Fit(FitAnswer.CANNOT_TELL, why=f"not understood: {', '.join(names)}")
    found = ask()
    return _beyond(request, found) if found.answer is FitAnswer.YES else found


def _not_understood(request: PlacementRequest) -> list[str]:
    """Return what makes every answer unsafe."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    return sorted({name for pod_set in pod_sets for name in undecidable(pod_set.shape)})


def _beyond(request: PlacementRequest, found: Fit) -> Fit:
    """Return that it fits only if nothing is asked for that is not worked out."""
    pod_sets = [pod_set for pod_set in request.pod_sets if pod_set.count > 0]
    found_names = {name for pod_set in pod_sets for name in pod_set.shape.unsupported}
    if spread_of(request) is None and any(pod_set.shape.spreads for pod_set in pod_sets):
        found_names.add(SPREAD)
    if is_anti_affinity_unsupported(request):
        found_names.add(ANTI_AFFINITY)
    names = tuple(sorted(found_names))
    if not names:
        return found
    why = f"not worked out: {', '.join(names)}"
    return Fit(FitAnswer.CANNOT_TELL, why=why, steps=found.steps, but_for=names)


def safely(shares_names: bool, ask: Callable[[], Fit], unreadable: Callable[[], str]) -> Fit:
    """Return the answer of one way to ask, where what is known of the nodes allows one."""
    if shares_names:
        why = f"nodes do not each have their own label {HOSTNAME}"
        return Fit(FitAnswer.CANNOT_TELL, why=why)
    found = ask()
    why = unreadable() if found.answer is FitAnswer.NO else ""
    return Fit(FitAnswer.CANNOT_TELL, why=why, steps=found.steps) if why else found


def _fits(
    request: PlacementRequest, nodes: Sequence[NodeRoom], when: When, target: int, budget: Budget
) -> Fit:
    snapshot = as_snapshot(nodes)

    def ask() -> Fit:
        spreading = spread_of(request)
        if spreading is not None:
            return fit_spread(snapshot, spreading, when, target)
        several = several_of(request)
        if several is not None and most_by_all(snapshot, several, when) < target:
            return Fit(FitAnswer.NO)
        exclusive = one_per_domain_of(request)
        if exclusive is not None:
            return fit_one_per_domain(snapshot, exclusive, when, target)
        return fit_in_some_domain(snapshot, request, when, target, budget)

    return safely(
        hosts_share_names(snapshot, request),
        ask,
        lambda: first_unreadable(snapshot, request),
    )
