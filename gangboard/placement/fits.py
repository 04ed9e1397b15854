"""Whether a gang fits as a whole, each shape on its own nodes, in one topology domain if it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gangboard.domain.capacity import ANTI_AFFINITY, HOSTNAME, SPREAD, NodeRoom, PlacementRequest
from gangboard.domain.placing import Answer, Filter, Fit, When
from gangboard.placement.anti_affinity import (
    fit_one_per_domain,
    fit_one_per_domain_plainly,
    is_anti_affinity_unsupported,
    lifted,
    one_per_domain_of,
)
from gangboard.placement.classes import problem
from gangboard.placement.domains import (
    first_unreadable,
    fit_in_some_domain,
    hosts_share_names,
    in_any,
)
from gangboard.placement.eligibility import filters, is_eligible
from gangboard.placement.matching import is_about_hosts, undecidable
from gangboard.placement.node_snapshot import as_snapshot
from gangboard.placement.packing import BUDGET, Budget, pack
from gangboard.placement.spread import fit_spread, fit_spread_plainly, spread_of
from gangboard.placement.spreads import most_by_all, most_by_all_plainly, several_of

Domains = dict[tuple[str, ...], list[NodeRoom]]


def fits(
    request: PlacementRequest,
    nodes: Sequence[NodeRoom],
    when: When,
    target: int,
    *,
    steps: int = BUDGET,
    plain: bool = False,
    group: bool = True,
) -> Fit:
    """Return whether at least `target` of the members can be placed at once.

    YES comes with a placement. NO is proven for what the nodes carry here (pods that are nominated to
    them included), and stays true for members that ask for more than is worked out here
    (`Shape.unsupported`): these can only take nodes away. CANNOT_TELL says why.
    Nodes that are a `NodeSnapshot` are not read anew for every question. `plain` asks node by node
    instead, slowly, for comparison; `group` off then keeps equal nodes apart.
    """
    if target <= 0:
        return Fit(Answer.YES)
    if target > request.size:
        return Fit(Answer.NO)
    names = _not_understood(request)
    if names:
        return Fit(Answer.CANNOT_TELL, why=f"not understood: {', '.join(names)}")
    if plain:
        found = _fits_plainly(request, lifted(nodes), when, target, Budget(steps), group)
    else:
        found = _fits(request, nodes, when, target, Budget(steps))
    return _beyond(request, found) if found.answer is Answer.YES else found


def _not_understood(request: PlacementRequest) -> list[str]:
    """Return what makes every answer unsafe."""
    parties = [party for party in request.parties if party.count > 0]
    return sorted({name for party in parties for name in undecidable(party.shape)})


def _beyond(request: PlacementRequest, found: Fit) -> Fit:
    """Return that it fits only if nothing is asked for that is not worked out."""
    parties = [party for party in request.parties if party.count > 0]
    found_names = {name for party in parties for name in party.shape.unsupported}
    if spread_of(request) is None and any(party.shape.spreads for party in parties):
        found_names.add(SPREAD)
    if is_anti_affinity_unsupported(request):
        found_names.add(ANTI_AFFINITY)
    names = tuple(sorted(found_names))
    if not names:
        return found
    why = f"not worked out: {', '.join(names)}"
    return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps, but_for=names)


def _safely(shares_names: bool, ask: Callable[[], Fit], unreadable: Callable[[], str]) -> Fit:
    """Return the answer of one way to ask, where what is known of the nodes allows one."""
    if shares_names:
        why = f"nodes do not each have their own label {HOSTNAME}"
        return Fit(Answer.CANNOT_TELL, why=why)
    found = ask()
    why = unreadable() if found.answer is Answer.NO else ""
    return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps) if why else found


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
            return Fit(Answer.NO)
        exclusive = one_per_domain_of(request)
        if exclusive is not None:
            return fit_one_per_domain(snapshot, exclusive, when, target)
        return fit_in_some_domain(snapshot, request, when, target, budget)

    return _safely(
        hosts_share_names(snapshot, request),
        ask,
        lambda: first_unreadable(snapshot, request),
    )


# Node by node


def _fits_plainly(
    request: PlacementRequest,
    nodes: Sequence[NodeRoom],
    when: When,
    target: int,
    budget: Budget,
    group: bool,
) -> Fit:
    def ask() -> Fit:
        spreading = spread_of(request)
        if spreading is not None:
            return fit_spread_plainly(nodes, spreading, when, target)
        several = several_of(request)
        if several is not None and most_by_all_plainly(nodes, several, when) < target:
            return Fit(Answer.NO)
        exclusive = one_per_domain_of(request)
        if exclusive is not None:
            return fit_one_per_domain_plainly(nodes, exclusive, when, target)
        tried = (
            pack(problem(request.parties, members, when, group=group), target, budget)
            for _, members in sorted(domains(request, nodes).items())
        )
        return in_any(tried, budget)

    return _safely(
        _share_names(request, nodes),
        ask,
        lambda: _unreadable(request, nodes),
    )


def domains(request: PlacementRequest, nodes: Sequence[NodeRoom]) -> Domains:
    """Return the nodes by the values of the topology keys; nodes without a key are in none.

    Without keys all nodes are one domain. Where members have chosen a domain, only that one counts.
    """
    found: Domains = {}
    for node in nodes:
        values = tuple(node.labels[key] for key in request.topology_keys if key in node.labels)
        if len(values) == len(request.topology_keys):
            found.setdefault(values, []).append(node)
    if request.domain is not None:
        return {values: one for values, one in found.items() if values == request.domain}
    return found


def _share_names(request: PlacementRequest, nodes: Sequence[NodeRoom]) -> bool:
    """Whether pods that must be on different hosts could be told apart by something else than nodes."""
    by_host = [
        party.shape for party in request.parties if party.count and is_about_hosts(party.shape)
    ]
    names = Counter(node.labels.get(HOSTNAME, "") for node in nodes)
    hosts = [node for node in nodes if any(is_eligible(node, shape) for shape in by_host)]
    return any(not node.labels.get(HOSTNAME) or names[node.labels[HOSTNAME]] > 1 for node in hosts)


def _unreadable(request: PlacementRequest, nodes: Sequence[NodeRoom]) -> str:
    """Name a node that might host a member if its amounts could be read."""
    for node in sorted((one for one in nodes if one.unreadable), key=lambda one: one.name):
        for party in request.parties:
            found = list(filters(node, party.shape, request.topology_keys))
            if found and party.count and all(one[0] is Filter.UNREADABLE for one in found):
                return f"{found[0][1]} of the node {node.name} could not be read"
    return ""
