"""Two gangs that are placed pod by pod, each of which holds the capacity that the other needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gangboard.domain.capacity import NodeInfo, PlacementRequest, Requested, RunningGang
from gangboard.domain.placement_result import FitAnswer, When
from gangboard.facts.unit import Unit
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.gang_nodes import add_requested, without_requested

_MAX_RIVALS = 10
"""Most half-placed gangs to try. Gangs on most of the gang's nodes come first."""


def find_rival(unit: Unit) -> tuple[RunningGang, RunningGang] | None:
    """Return the unit's own gang and the gang with which it is in a deadlock.

    All of it is proven. Neither fits now. Each would fit if the other released its capacity. Both would still not fit
    if only the pods of the two remained, so the end of a third gang does not help. Terminating pods do not count.
    None: one of these facts cannot be proven.
    """
    placing = unit.placing
    if placing is None or placing.assessment is None:
        return None
    if placing.assessment.now.answer is not FitAnswer.NO:
        return None
    # A nominated pod only keeps its node for some minutes (1.35), so such gangs take turns.
    if not any(pod.is_placed for pod in unit.gang.pods) or any(
        pod.nominated_node for pod in unit.unplaced
    ):
        return None
    running_gangs = unit.gang.cluster.room.running_gangs()
    own = next((gang for gang in running_gangs if gang.root == unit.owner.meta.ref.uid), None)
    if own is None or own.is_whole or not own.active_loads:
        return None
    hosts = {name for shape in placing.shapes for name in shape.eligibility.eligible}
    for rival in _rivals(running_gangs, own, hosts):
        if _is_deadlock(unit.gang.cluster.room.nodes, placing.request, own, rival):
            return own, rival
    return None


def _rivals(
    running_gangs: Iterable[RunningGang], own: RunningGang, hosts: set[str]
) -> list[RunningGang]:
    counted = [
        (len(hosts & gang.active_loads.keys()), gang)
        for gang in running_gangs
        if not gang.is_whole and gang.waits and gang.root != own.root
    ]
    ranked = sorted(
        ((number, gang) for number, gang in counted if number),
        key=lambda pair: (-pair[0], pair[1].ref.namespace, pair[1].ref.name),
    )
    return [gang for _, gang in ranked[:_MAX_RIVALS]]


def _is_deadlock(
    nodes: Sequence[NodeInfo], request: PlacementRequest, own: RunningGang, rival: RunningGang
) -> bool:
    theirs = PlacementRequest(rival.waits)
    only_both = [_node_with_only(node, (own, rival)) for node in nodes]
    return (
        _answer(theirs, nodes) is FitAnswer.NO
        and _answer(request, _nodes_without(nodes, rival.active_loads)) is FitAnswer.YES
        and _answer(theirs, _nodes_without(nodes, own.active_loads)) is FitAnswer.YES
        and _answer(request, only_both) is FitAnswer.NO
        and _answer(theirs, only_both) is FitAnswer.NO
    )


def _answer(request: PlacementRequest, nodes: Sequence[NodeInfo]) -> FitAnswer:
    return check_fit(request, nodes, When.CURRENT, request.needed).answer


def _nodes_without(nodes: Sequence[NodeInfo], loads: Mapping[str, Requested]) -> list[NodeInfo]:
    """Return the nodes as if these loads were gone."""
    return [
        without_requested(node, loads[node.name]) if node.name in loads else node for node in nodes
    ]


def _node_with_only(node: NodeInfo, gangs: Iterable[RunningGang]) -> NodeInfo:
    """Return the node with only its pinned pods and the pods of these gangs."""
    load = node.pinned
    for gang in gangs:
        if node.name in gang.active_loads:
            load = add_requested(load, gang.active_loads[node.name])
    return replace(node, now=load)
