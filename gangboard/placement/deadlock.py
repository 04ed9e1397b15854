"""Two gangs that are placed pod by pod, each holding the room that the other one needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gangboard.domain.capacity import Load, NodeRoom, PlacementRequest, Resident
from gangboard.domain.placing import FitAnswer, When
from gangboard.facts.unit import Unit
from gangboard.placement.fits import fits
from gangboard.placement.neighbours import more
from gangboard.placement.pod_removal import without

_RIVALS = 10
"""Half-placed gangs that are looked at, the ones that hold most of the gang's nodes first."""


def find_rival(unit: Unit) -> tuple[Resident, Resident] | None:
    """Return the unit's own gang and the one that it is in a deadlock with, both as residents.

    All of it is proven: neither fits now; each would fit if the other let go of its room; and
    neither would fit if everything but these two left, so no end of another gang helps. What is on
    its way out already is held by nobody. None where any of it cannot be told.
    """
    placing = unit.placing
    if placing is None or placing.assessment is None:
        return None
    if placing.assessment.now.answer is not FitAnswer.NO:
        return None
    # A nominated pod keeps its room for some minutes only (1.35): such gangs take turns.
    if not any(pod.is_placed for pod in unit.gang.pods) or any(
        pod.nominated_node for pod in unit.unplaced
    ):
        return None
    residents = unit.gang.cluster.room.residents()
    own = next((one for one in residents if one.root == unit.owner.meta.ref.uid), None)
    if own is None or own.whole or not own.kept:
        return None
    hosts = {name for shape in placing.shapes for name in shape.eligibility.eligible}
    for rival in _rivals(residents, own, hosts):
        if _holds(unit.gang.cluster.room.nodes, placing.request, own, rival):
            return own, rival
    return None


def _rivals(residents: Iterable[Resident], own: Resident, hosts: set[str]) -> list[Resident]:
    found = [
        (len(hosts & one.kept.keys()), one)
        for one in residents
        if not one.whole and one.waits and one.root != own.root
    ]
    ranked = sorted(
        ((number, one) for number, one in found if number),
        key=lambda pair: (-pair[0], pair[1].ref.namespace, pair[1].ref.name),
    )
    return [one for _, one in ranked[:_RIVALS]]


def _holds(
    nodes: Sequence[NodeRoom], request: PlacementRequest, own: Resident, rival: Resident
) -> bool:
    theirs = PlacementRequest(rival.waits)
    alone = [_with_only(node, (own, rival)) for node in nodes]
    return (
        _answer(theirs, nodes) is FitAnswer.NO
        and _answer(request, _without(nodes, rival.kept)) is FitAnswer.YES
        and _answer(theirs, _without(nodes, own.kept)) is FitAnswer.YES
        and _answer(request, alone) is FitAnswer.NO
        and _answer(theirs, alone) is FitAnswer.NO
    )


def _answer(request: PlacementRequest, nodes: Sequence[NodeRoom]) -> FitAnswer:
    return fits(request, nodes, When.NOW, request.needed).answer


def _without(nodes: Sequence[NodeRoom], loads: Mapping[str, Load]) -> list[NodeRoom]:
    """Return the nodes as if these loads were gone."""
    return [without(node, loads[node.name]) if node.name in loads else node for node in nodes]


def _with_only(node: NodeRoom, gangs: Iterable[Resident]) -> NodeRoom:
    """Return the node with the pods that stay and those of these gangs."""
    load = node.staying
    for gang in gangs:
        if node.name in gang.kept:
            load = _more(load, gang.kept[node.name])
    return replace(node, now=load)


def _more(load: Load, part: Load) -> Load:
    names = load.amounts.keys() | part.amounts.keys()
    return Load(
        {name: load.amounts.get(name, 0) + part.amounts.get(name, 0) for name in sorted(names)},
        load.pods + part.pods,
        load.host_ports | part.host_ports,
        more(load.anti_affinity, part.anti_affinity),
        more(load.matched_terms, part.matched_terms),
    )
