"""Whether a gang fits as a whole, each shape on its own nodes, in one topology domain if it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from gangboard.domain.capacity import HOSTNAME, GangRequest, NodeRoom
from gangboard.domain.placing import Answer, Filter, Fit, When
from gangboard.placement.classes import problem
from gangboard.placement.domains import first_unreadable, fit_in_some_domain, hosts_share_names
from gangboard.placement.eligibility import filters, is_eligible
from gangboard.placement.ground import as_ground
from gangboard.placement.matching import undecidable
from gangboard.placement.packing import BUDGET, Budget, pack

Domains = dict[tuple[str, ...], list[NodeRoom]]


def fits(
    request: GangRequest,
    nodes: Sequence[NodeRoom],
    when: When,
    target: int,
    *,
    steps: int = BUDGET,
    plain: bool = False,
    group: bool = True,
) -> Fit:
    """Return whether at least `target` of the members can be placed at once.

    YES comes with a placement. NO is proven, and stays true for members that ask for more than is
    worked out here (`Shape.unsupported`): these can only take nodes away. CANNOT_TELL says why.
    Nodes that are a `Ground` are not read anew for every question. `plain` asks node by node
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
        found = _fits_plainly(request, nodes, when, target, Budget(steps), group)
    else:
        found = _fits(request, nodes, when, target, Budget(steps))
    return _beyond(request, found) if found.answer is Answer.YES else found


def _not_understood(request: GangRequest) -> list[str]:
    """Return what makes every answer unsafe."""
    parties = [party for party in request.parties if party.count > 0]
    return sorted({name for party in parties for name in undecidable(party.shape)})


def _beyond(request: GangRequest, found: Fit) -> Fit:
    """Return that it fits only if nothing is asked for that is not worked out."""
    parties = [party for party in request.parties if party.count > 0]
    names = tuple(sorted({name for party in parties for name in party.shape.unsupported}))
    if not names:
        return found
    why = f"not worked out: {', '.join(names)}"
    return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps, but_for=names)


def _shared_names() -> Fit:
    why = f"nodes do not each have their own label {HOSTNAME}"
    return Fit(Answer.CANNOT_TELL, why=why)


def _fits(
    request: GangRequest, nodes: Sequence[NodeRoom], when: When, target: int, budget: Budget
) -> Fit:
    ground = as_ground(nodes)
    if hosts_share_names(ground, request):
        return _shared_names()
    found = fit_in_some_domain(ground, request, when, target, budget)
    if found.answer is Answer.NO:
        why = first_unreadable(ground, request)
        if why:
            return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps)
    return found


# Node by node


def _fits_plainly(
    request: GangRequest,
    nodes: Sequence[NodeRoom],
    when: When,
    target: int,
    budget: Budget,
    group: bool,
) -> Fit:
    if _share_names(request, nodes):
        return _shared_names()

    def ask(members: Sequence[NodeRoom]) -> Fit:
        return pack(problem(request.parties, members, when, group=group), target, budget)

    found = _in_some_domain(request, nodes, ask, budget)
    if found.answer is Answer.NO:
        why = _unreadable(request, nodes)
        if why:
            return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps)
    return found


def _in_some_domain(
    request: GangRequest,
    nodes: Sequence[NodeRoom],
    ask: Callable[[Sequence[NodeRoom]], Fit],
    budget: Budget,
) -> Fit:
    gave_up: Fit | None = None
    for _, members in sorted(domains(request, nodes).items()):
        found = ask(members)
        if found.answer is Answer.YES:
            return Fit(Answer.YES, found.placement, steps=budget.spent)
        if found.answer is Answer.CANNOT_TELL:
            gave_up = gave_up or found
    if gave_up is not None:
        return Fit(Answer.CANNOT_TELL, why=gave_up.why, steps=budget.spent)
    return Fit(Answer.NO, steps=budget.spent)


def domains(request: GangRequest, nodes: Sequence[NodeRoom]) -> Domains:
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


def _share_names(request: GangRequest, nodes: Sequence[NodeRoom]) -> bool:
    """Whether pods that must be on different hosts could be told apart by something else than nodes."""
    apart = [party.shape for party in request.parties if party.count and party.shape.apart]
    if not apart:
        return False
    hosts = Counter(
        node.labels.get(HOSTNAME, "")
        for node in nodes
        if any(is_eligible(node, shape) for shape in apart)
    )
    return bool(hosts[""]) or any(count > 1 for count in hosts.values())


def _unreadable(request: GangRequest, nodes: Sequence[NodeRoom]) -> str:
    """Name a node that might host a member if its amounts could be read."""
    for node in sorted((one for one in nodes if one.unreadable), key=lambda one: one.name):
        for party in request.parties:
            found = list(filters(node, party.shape, request.topology_keys))
            if found and party.count and all(one[0] is Filter.UNREADABLE for one in found):
                return f"{found[0][1]} of the node {node.name} could not be read"
    return ""
