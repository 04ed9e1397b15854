"""Sentences for units of which no node could ever host a member."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from gangboard.domain.capacity import NodeInfo
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import Assessment, ExcludedNodes, Filter, ShapeFit
from gangboard.domain.suspension import FieldWriter
from gangboard.domain.text import count, listed, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.added_node_labels import (
    added_labels,
    sources_evidence,
    sources_text,
)
from gangboard.facts.suspensions import author_of, writers_text
from gangboard.facts.unit import Unit
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.sentences.anti_affinity import shared
from gangboard.placement.sentences.unavailable_nodes import withheld_devices
from gangboard.placement.sentences.unmatched import selection_evidence, unmatched
from gangboard.placement.sentences.wording import PlacementReason, PodCount, not_said, pod_count_of

# What was done to a node, with the code of each. The order is that of a tie.
_CODES: Mapping[Filter, str] = {
    Filter.UNSAID: "nodes-unschedulable",
    Filter.CORDON: "nodes-unschedulable",
    Filter.NOT_READY: "nodes-unschedulable",
    Filter.TAINT: "untolerated-taint",
    Filter.HOST_PORT: "port-conflict",
    Filter.ANTI_AFFINITY: "pod-anti-affinity",
}


def homeless(shapes: Sequence[ShapeFit]) -> ShapeFit | None:
    """Return the shape with most members that has no eligible node; None when each has one."""
    hostless = [fit for fit in shapes if fit.count and not fit.eligibility.eligible]
    return max(hostless, key=lambda fit: fit.count, default=None)


def code_of_excluded(unit: Unit, shapes: Sequence[ShapeFit]) -> str:
    """Return the code: that of the owner's requirements first, then of the filter that excludes most nodes."""
    if not unit.gang.cluster.room.nodes:
        return "no-nodes"
    shape = homeless(shapes)
    if shape is None:
        return ""
    decisive = _decisive(shape)
    return _CODES[decisive] if decisive is not None else "no-matching-node"


def _decisive(shape: ShapeFit) -> Filter | None:
    """Return the filter that removes most of the nodes that suit the owner; None if none does."""
    excluded = shape.eligibility.excluded
    causes = {
        why: nodes for why, nodes in excluded.items() if why in _CODES and why is not Filter.UNSAID
    }
    if causes:
        return max(causes, key=lambda why: causes[why].count)
    # Silent nodes might do. They are the cause if no other cause is known.
    is_known = Filter.MISSING_RESOURCE in excluded or Filter.TOO_SMALL in excluded
    return Filter.UNSAID if Filter.UNSAID in excluded and not is_known else None


def excluded(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return why a shape has no eligible node."""
    if code == "no-nodes":
        text = f"{pod_count_of(assessment).verb('wait')}, and the cluster has no node at all"
        return PlacementReason(code, text, True)
    shape = homeless(shapes)
    if shape is None:
        return PlacementReason(code, "no node could host a member", True)
    whose = shape.shape.name if len(shapes) > 1 else ""
    pod_count = PodCount(shape.count, shape.count, whose)
    if code == "no-matching-node":
        missing = unmatched(unit, shape, pod_count)
        withheld, named = withheld_devices(unit, [shape], missing)
        added = {key: one for key, one in added_labels(unit).items() if one.text in missing}
        text = f"{missing}{sources_text(added)}{_unsaid(shape)}{withheld}"
        evidence = (*selection_evidence(shape.shape), *sources_evidence(added), *named)
        return PlacementReason(code, text, True, evidence)
    if _decisive(shape) is Filter.UNSAID:
        number = shape.eligibility.excluded[Filter.UNSAID].count
        text = f"no node is known that could host {pod_count}, and {count(number, 'node')}"
        text = f"{text} {not_said(number)}"
    else:
        text = f"{_barred(nodes_for(unit), shape, pod_count)}{_unsaid(shape)}"
    return PlacementReason(code, text, True, _examples(nodes_for(unit), shape))


def _unsaid(shape: ShapeFit) -> str:
    """Return the half sentence about nodes without `status.allocatable`, which might host members."""
    unsaid = shape.eligibility.excluded.get(Filter.UNSAID)
    if unsaid is None:
        return ""
    noun = "node" if unsaid.count == 1 else "nodes"
    return f"; {unsaid.count} more {noun} {not_said(unsaid.count)}"


# What was done to the nodes


def _barred(snapshot: NodeSnapshot, shape: ShapeFit, pod_count: PodCount) -> str:
    excluded_nodes = shape.eligibility.excluded
    causes = {
        why: nodes
        for why, nodes in excluded_nodes.items()
        if why in _CODES and why is not Filter.UNSAID
    }
    total = sum(nodes.count for nodes in causes.values())
    if len(causes) > 1:
        parts = [
            f"{nodes.count} {_state(snapshot, why, nodes, nodes.count, shape, pod_count)}"
            for why, nodes in causes.items()
        ]
        return f"of {count(total, 'node')} for {pod_count}, {listed(parts)}"
    ((why, nodes),) = causes.items()
    state = _state(snapshot, why, nodes, total, shape, pod_count)
    if total == 1:
        return f"the only node that could host {pod_count} {state}"
    return f"{count(total, 'node')} could host {pod_count}, and all {state}"


def _state(
    snapshot: NodeSnapshot,
    why: Filter,
    excluded_nodes: ExcludedNodes,
    number: int,
    shape: ShapeFit,
    pod_count: PodCount,
) -> str:
    """Return the state of these nodes, with the verb for their number."""
    be, have = ("is", "has") if number == 1 else ("are", "have")
    taints = names(taint for taint, _ in excluded_nodes.details)
    if why is Filter.CORDON:
        by = _authors(excluded_nodes, snapshot)
        return f"{be} cordoned ({_named(excluded_nodes)}{f', {by}' if by else ''})"
    if why is Filter.NOT_READY:
        return f"{be} not ready ({_named(excluded_nodes)})"
    if why is Filter.TAINT:
        noun = "taint" if len(excluded_nodes.details) == 1 else "taints"
        by = _authors(excluded_nodes, snapshot, taints=True)
        changed = f" (taints last changed {by})" if by else ""
        return f"{have} the untolerated {noun} {taints}{changed}"
    if why is Filter.HOST_PORT:
        ports = names(str(port) for port in sorted({one.port for one in shape.shape.host_ports}))
        return f"{have} host port {ports} taken by a pod that stays"
    places = shared(snapshot, [shape.shape])
    near = have if places == "a node" else f"{be} near"
    return f"{near} a pod that stays and that must not share {places} with {pod_count.them}"


def _named(excluded_nodes: ExcludedNodes) -> str:
    """Return `n1 and n2`, `n1, n2 and 5 more`: the examples go with their references."""
    if excluded_nodes.count <= len(excluded_nodes.examples):
        return listed(excluded_nodes.examples)
    return f"{', '.join(excluded_nodes.examples[:2])} and {excluded_nodes.count - 2} more"


def _authors(excluded_nodes: ExcludedNodes, snapshot: NodeSnapshot, *, taints: bool = False) -> str:
    """Return who cordoned these nodes, or set their taints; empty if it is not one author of all of them."""
    if excluded_nodes.count > len(excluded_nodes.examples):
        return ""
    rooms = [_room(snapshot, name) for name in excluded_nodes.examples]
    return writers_text(_person_tainted(room) if taints else room.cordoned_by for room in rooms)


def _room(snapshot: NodeSnapshot, name: str) -> NodeInfo:
    return snapshot[bisect_left(snapshot.names, name)]


def _person_tainted(room: NodeInfo) -> FieldWriter | None:
    """Return the last writer of the list of taints, if it was a person.

    Controllers also write that list, and their name does not tell who set the other taints in it.
    """
    writer = room.tainted_by
    return writer if writer is not None and author_of(writer).by_person else None


def _examples(snapshot: NodeSnapshot, shape: ShapeFit) -> tuple[Evidence, ...]:
    return tuple(
        line
        for why, excluded_nodes in shape.eligibility.excluded.items()
        if why in _CODES
        for name in excluded_nodes.examples
        for line in _example(snapshot, why, name)
    )


def _example(snapshot: NodeSnapshot, why: Filter, name: str) -> Iterator[Evidence]:
    """Yield the node, and its cordon or taints with their author."""
    yield Evidence(f"node: {why.value}", name, node_ref(name))
    room = _room(snapshot, name)
    if why is Filter.CORDON and (by := writers_text([room.cordoned_by])):
        yield Evidence("spec.unschedulable", f"true, set {by}", node_ref(name))
    if why is Filter.TAINT and (by := writers_text([_person_tainted(room)])):
        yield Evidence("spec.taints", f"last changed {by}", node_ref(name))
