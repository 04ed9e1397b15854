"""Whether a gang fits as a whole, each shape on its own nodes, in one topology domain if it must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gangboard.domain.capacity import HOSTNAME, GangRequest, NodeRoom
from gangboard.domain.placing import Answer, Filter, Fit, When
from gangboard.placement.classes import problem
from gangboard.placement.eligibility import filters, is_eligible
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
    group: bool = True,
) -> Fit:
    """Return whether at least `target` of the members can be placed at once.

    YES comes with a placement. NO is proven, and stays true for members that ask for more than is
    worked out here (`Shape.unsupported`): these can only take nodes away. CANNOT_TELL says why.
    """
    if target <= 0:
        return Fit(Answer.YES)
    if target > request.size:
        return Fit(Answer.NO)
    unknown = _unknown(request, nodes)
    if unknown:
        return Fit(Answer.CANNOT_TELL, why=unknown)
    found = _in_some_domain(request, nodes, when, target, Budget(steps), group)
    if found.answer is Answer.YES:
        names = sorted({name for party in request.parties for name in party.shape.unsupported})
        if names:
            why = f"not worked out: {', '.join(names)}"
            return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps)
    if found.answer is Answer.NO:
        why = _unreadable(request, nodes)
        if why:
            return Fit(Answer.CANNOT_TELL, why=why, steps=found.steps)
    return found


def _in_some_domain(
    request: GangRequest,
    nodes: Sequence[NodeRoom],
    when: When,
    target: int,
    budget: Budget,
    group: bool,
) -> Fit:
    gave_up: Fit | None = None
    for _, members in sorted(domains(request, nodes).items()):
        found = pack(problem(request.parties, members, when, group=group), target, budget)
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


def _unknown(request: GangRequest, nodes: Sequence[NodeRoom]) -> str:
    """Return what makes every answer unsafe, or nothing."""
    parties = [party for party in request.parties if party.count > 0]
    names = sorted({name for party in parties for name in undecidable(party.shape)})
    if names:
        return f"not understood: {', '.join(names)}"
    apart = [party.shape for party in parties if party.shape.apart]
    if not apart:
        return ""
    hosts = Counter(
        node.labels.get(HOSTNAME, "")
        for node in nodes
        if any(is_eligible(node, shape) for shape in apart)
    )
    if hosts[""] or any(count > 1 for count in hosts.values()):
        return f"nodes do not each have their own label {HOSTNAME}"
    return ""


def _unreadable(request: GangRequest, nodes: Sequence[NodeRoom]) -> str:
    """Name a node that might host a member if its amounts could be read."""
    for node in sorted((one for one in nodes if one.unreadable), key=lambda one: one.name):
        for party in request.parties:
            found = list(filters(node, party.shape, request.topology_keys))
            if found and party.count and all(one[0] is Filter.UNREADABLE for one in found):
                return f"{found[0][1]} of the node {node.name} could not be read"
    return ""
