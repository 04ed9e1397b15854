"""Sentences about shapes without any eligible node."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from gangboard.domain.capacity import NodeInfo
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import Assessment, ExcludedNodes, Filter, ShapeFit
from gangboard.domain.text import count, listed, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.added_node_labels import (
    added_labels,
    sources_evidence,
    sources_text,
)
from gangboard.facts.suspensions import person_of, writers_text
from gangboard.facts.unit import Unit
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.sentences.anti_affinity import shared_scope_text
from gangboard.placement.sentences.unavailable_nodes import withheld_devices_text
from gangboard.placement.sentences.unmatched_requirements import selection_evidence, unmatched_text
from gangboard.placement.sentences.wording import (
    PlacementReason,
    PodCount,
    pod_count_of,
    unreported_text,
)

# Filters about the state of nodes, with their codes. Earlier ones win a tie.
_CODES: Mapping[Filter, str] = {
    Filter.UNSAID: "nodes-unschedulable",
    Filter.CORDON: "nodes-unschedulable",
    Filter.NOT_READY: "nodes-unschedulable",
    Filter.TAINT: "untolerated-taint",
    Filter.HOST_PORT: "port-conflict",
    Filter.ANTI_AFFINITY: "pod-anti-affinity",
}


def find_shape_without_node(shapes: Sequence[ShapeFit]) -> ShapeFit | None:
    """Return the shape with the most members that has no eligible node. None: each shape has one."""
    hostless = [fit for fit in shapes if fit.count and not fit.eligibility.eligible]
    return max(hostless, key=lambda fit: fit.count, default=None)


def exclusion_code(unit: Unit, shapes: Sequence[ShapeFit]) -> str:
    """Return the code of the owner's requirements, or of the filter that excludes most nodes. Empty: no such shape."""
    if not unit.gang.cluster.room.nodes:
        return "no-nodes"
    shape = find_shape_without_node(shapes)
    if shape is None:
        return ""
    decisive = _decisive_filter(shape)
    return _CODES[decisive] if decisive is not None else "no-matching-node"


def _decisive_filter(shape: ShapeFit) -> Filter | None:
    """Return the filter that excludes most of the nodes that match the owner's requirements. None: there are none."""
    excluded = shape.eligibility.excluded
    causes = {
        node_filter: nodes
        for node_filter, nodes in excluded.items()
        if node_filter in _CODES and node_filter is not Filter.UNSAID
    }
    if causes:
        return max(causes, key=lambda node_filter: causes[node_filter].count)
    # Nodes without `status.allocatable` might fit. They are the cause only if no other cause is known.
    is_known = Filter.MISSING_RESOURCE in excluded or Filter.TOO_SMALL in excluded
    return Filter.UNSAID if Filter.UNSAID in excluded and not is_known else None


def exclusion_reason(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return why a shape has no eligible node."""
    if code == "no-nodes":
        text = f"{pod_count_of(assessment).verb('wait')}, and the cluster has no node at all"
        return PlacementReason(code, text, True)
    shape = find_shape_without_node(shapes)
    if shape is None:
        return PlacementReason(code, "no node could host a member", True)
    shape_name = shape.shape.name if len(shapes) > 1 else ""
    pod_count = PodCount(shape.count, shape.count, shape_name)
    if code == "no-matching-node":
        missing = unmatched_text(unit, shape, pod_count)
        withheld, named = withheld_devices_text(unit, [shape], missing)
        added = {
            key: source for key, source in added_labels(unit).items() if source.text in missing
        }
        text = f"{missing}{sources_text(added)}{_unreported_nodes_text(shape)}{withheld}"
        evidence = (*selection_evidence(shape.shape), *sources_evidence(added), *named)
        return PlacementReason(code, text, True, evidence)
    if _decisive_filter(shape) is Filter.UNSAID:
        number = shape.eligibility.excluded[Filter.UNSAID].count
        text = f"no node is known that could host {pod_count}, and {count(number, 'node')}"
        text = f"{text} {unreported_text(number)}"
    else:
        text = f"{_excluded_text(nodes_for(unit), shape, pod_count)}{_unreported_nodes_text(shape)}"
    return PlacementReason(code, text, True, _example_evidence(nodes_for(unit), shape))


def _unreported_nodes_text(shape: ShapeFit) -> str:
    """Return the clause about nodes without `status.allocatable`, which might host members."""
    unsaid = shape.eligibility.excluded.get(Filter.UNSAID)
    if unsaid is None:
        return ""
    noun = "node" if unsaid.count == 1 else "nodes"
    return f"; {unsaid.count} more {noun} {unreported_text(unsaid.count)}"


# States of nodes


def _excluded_text(snapshot: NodeSnapshot, shape: ShapeFit, pod_count: PodCount) -> str:
    excluded_nodes = shape.eligibility.excluded
    causes = {
        node_filter: nodes
        for node_filter, nodes in excluded_nodes.items()
        if node_filter in _CODES and node_filter is not Filter.UNSAID
    }
    total = sum(nodes.count for nodes in causes.values())
    if len(causes) > 1:
        state_texts = [
            f"{nodes.count} {_state_text(snapshot, node_filter, nodes, nodes.count, shape, pod_count)}"
            for node_filter, nodes in causes.items()
        ]
        return f"of {count(total, 'node')} for {pod_count}, {listed(state_texts)}"
    ((node_filter, nodes),) = causes.items()
    state = _state_text(snapshot, node_filter, nodes, total, shape, pod_count)
    if total == 1:
        return f"the only node that could host {pod_count} {state}"
    return f"{count(total, 'node')} could host {pod_count}, and all {state}"


def _state_text(
    snapshot: NodeSnapshot,
    node_filter: Filter,
    excluded_nodes: ExcludedNodes,
    number: int,
    shape: ShapeFit,
    pod_count: PodCount,
) -> str:
    """Return the state of these nodes, with the verb for their number."""
    be_verb, have_verb = ("is", "has") if number == 1 else ("are", "have")
    taints = names(taint for taint, _ in excluded_nodes.details)
    if node_filter is Filter.CORDON:
        by = _authors_text(excluded_nodes, snapshot)
        return f"{be_verb} cordoned ({_names_text(excluded_nodes)}{f', {by}' if by else ''})"
    if node_filter is Filter.NOT_READY:
        return f"{be_verb} not ready ({_names_text(excluded_nodes)})"
    if node_filter is Filter.TAINT:
        noun = "taint" if len(excluded_nodes.details) == 1 else "taints"
        by = _authors_text(excluded_nodes, snapshot, taints=True)
        changed = f" (changed {by})" if by else ""
        return f"{have_verb} the untolerated {noun} {taints}{changed}"
    if node_filter is Filter.HOST_PORT:
        ports = names(
            str(port) for port in sorted({host_port.port for host_port in shape.shape.host_ports})
        )
        return f"{have_verb} host port {ports} taken by a pod that stays"
    places = shared_scope_text(snapshot, [shape.shape])
    verb = have_verb if places == "a node" else f"{be_verb} near"
    return (
        f"{verb} a pod that stays and that must not share {places} with {pod_count.object_pronoun}"
    )


def _names_text(excluded_nodes: ExcludedNodes) -> str:
    """Return the example nodes, `n1 and n2` or `n1, n2 and 5 more`. They have references as evidence."""
    if excluded_nodes.count <= len(excluded_nodes.examples):
        return listed(excluded_nodes.examples)
    return f"{', '.join(excluded_nodes.examples[:2])} and {excluded_nodes.count - 2} more"


def _authors_text(
    excluded_nodes: ExcludedNodes, snapshot: NodeSnapshot, *, taints: bool = False
) -> str:
    """Return the author of the cordons, or of the taints. Empty: several authors, or an unknown one."""
    if excluded_nodes.count > len(excluded_nodes.examples):
        return ""
    nodes = [_node_named(snapshot, name) for name in excluded_nodes.examples]
    return writers_text(
        person_of(node.tainted_by) if taints else node.cordoned_by for node in nodes
    )


def _node_named(snapshot: NodeSnapshot, name: str) -> NodeInfo:
    return snapshot[bisect_left(snapshot.names, name)]


def _example_evidence(snapshot: NodeSnapshot, shape: ShapeFit) -> tuple[Evidence, ...]:
    return tuple(
        line
        for node_filter, excluded_nodes in shape.eligibility.excluded.items()
        if node_filter in _CODES
        for name in excluded_nodes.examples
        for line in _node_evidence(snapshot, node_filter, name)
    )


def _node_evidence(snapshot: NodeSnapshot, node_filter: Filter, name: str) -> Iterator[Evidence]:
    """Yield the node, and its cordon or taints with their author."""
    yield Evidence(f"node: {node_filter.value}", name, node_ref(name))
    node = _node_named(snapshot, name)
    if node_filter is Filter.CORDON and (by := writers_text([node.cordoned_by])):
        yield Evidence("spec.unschedulable", f"true, set {by}", node_ref(name))
    if node_filter is Filter.TAINT and (by := writers_text([person_of(node.tainted_by)])):
        yield Evidence("spec.taints", f"last changed {by}", node_ref(name))
