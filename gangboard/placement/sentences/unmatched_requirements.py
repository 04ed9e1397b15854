"""Sentences about requirements of the owner that no node meets."""

from __future__ import annotations

import numpy as np

from gangboard.domain.capacity import Shape
from gangboard.domain.placement_result import Filter, ShapeFit
from gangboard.domain.pod_constraints import PodTerm, Requirement, Toleration
from gangboard.domain.resources import is_gpu
from gangboard.domain.text import listed, names
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import (
    format_amount,
    format_amounts,
    format_quantity,
    requested_amounts,
)
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.node_columns import BoolColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.sentences.wording import PodCount, selector_labels_text


def unmatched_text(unit: Unit, shape_fit: ShapeFit, pod_count: PodCount) -> str:
    """Return the sentence about the unmet requirement, the last one in the order of filters."""
    snapshot, shape = nodes_for(unit), shape_fit.shape
    excluded = shape_fit.eligibility.excluded
    if Filter.TOO_SMALL in excluded:
        return _too_small_text(snapshot, shape_fit, pod_count)
    if Filter.MISSING_RESOURCE in excluded:
        resource = excluded[Filter.MISSING_RESOURCE].details[0][0]
        # Show the resource name, because a wrong name is a common cause.
        amount_text = format_amount(
            resource, requested_amounts(shape)[resource], with_resource_name=True
        )
        separate = (Filter.SELECTOR, Filter.POD_AFFINITY, Filter.UNSAID)
        suiting = sum(
            nodes.count for node_filter, nodes in excluded.items() if node_filter not in separate
        )
        text = f"{pod_count.verb('request')} {amount_text}{pod_count.each}, and"
        if not {Filter.SELECTOR, Filter.POD_AFFINITY} & excluded.keys():
            return f"{text} no node has any"
        if suiting == 1:
            return f"{text} the only node that matches {_selector_text(shape, pod_count)} has none"
        return f"{text} none of the {suiting} nodes that match {_selector_text(shape, pod_count)} has any"
    if Filter.TOPOLOGY_LABEL in excluded:
        keys = names(key for key, _ in excluded[Filter.TOPOLOGY_LABEL].details)
        return (
            f"{pod_count.verb('need')} a node with the label {keys}, and no node that suits has it"
        )
    if shape.pod_affinity is not None and Filter.POD_AFFINITY in excluded:
        return f"{pod_count.verb('need')} {_pod_affinity_text(shape.pod_affinity)}"
    return f"{pod_count.verb('need')} {_selection_text(snapshot, shape)}"


def _pod_affinity_text(term: PodTerm) -> str:
    """Return the clause that members must be near certain pods, and that no suitable node has such a pod."""
    pods = listed([_format_label(entry) for entry in term.selector]) or "any labels"
    place = "the node" if term.is_by_host else f"the value of {term.topology_key}"
    text = f"{place} of a pod with {pods} (pod affinity)"
    return f"{text}, and no node that suits has such a pod{'' if term.is_by_host else ' near'}"


def _selector_text(shape: Shape, pod_count: PodCount) -> str:
    """Return `their node selector (rack=edge)`, with its labels unless affinity also selects nodes."""
    labels = selector_labels_text(shape)
    text = f"{'its' if pod_count.number == 1 else 'their'} node selector"
    return f"{text} ({labels})" if labels else text


def _too_small_text(snapshot: NodeSnapshot, shape_fit: ShapeFit, pod_count: PodCount) -> str:
    requested = requested_amounts(shape_fit.shape)
    short = shape_fit.eligibility.excluded[Filter.TOO_SMALL].details
    resource = short[0][0]
    amount = format_amount(
        resource, requested[resource], with_resource_name=_has_other_gpus(snapshot, resource)
    )
    suiting = np.flatnonzero(_selected_nodes(snapshot, shape_fit.shape))
    column = snapshot.resource(resource)
    largest = max(suiting.tolist(), key=lambda row: column.empty[row])
    free, capacity = int(column.empty[largest]), int(column.allocatable[largest])
    if free >= requested[resource]:
        wants = listed(format_amounts({name: requested[name] for name, _ in short}))
        return f"{pod_count.verb('request')} {wants}{pod_count.each}, and no node has all of it"
    text = f"{pod_count.verb('request')} {amount}{pod_count.each}, and"
    if len(suiting) == _count_reported(shape_fit):
        text = f"{text} the largest node"
    elif len(suiting) == 1:
        text = f"{text} the only node that matches {_selector_text(shape_fit.shape, pod_count)}"
    else:
        matching = f"{len(suiting)} nodes that match {_selector_text(shape_fit.shape, pod_count)}"
        text = f"{text} the largest of the {matching}"
    if capacity >= requested[resource]:
        pinned = format_quantity(resource, capacity - free)
        return f"{text} has {format_quantity(resource, capacity)}, {pinned} of it taken by pods that stay"
    return f"{text} has {format_quantity(resource, max(0, free))}"


def _has_other_gpus(snapshot: NodeSnapshot, resource: str) -> bool:
    """Return whether nodes have GPUs under another resource name, which makes `GPUs` ambiguous."""
    if not is_gpu(resource):
        return False
    return any(
        is_gpu(name) and name != resource for node in snapshot.nodes for name in node.allocatable
    )


def _selected_nodes(snapshot: NodeSnapshot, shape: Shape) -> BoolColumn:
    """Return the nodes that the owner selects, regardless of taints and amounts."""
    everywhere = (Toleration(operator="Exists"),)
    bare_shape = Shape(
        shape.name,
        {},
        shape.node_selector,
        shape.affinity,
        everywhere,
        pod_affinity=shape.pod_affinity,
    )
    return feasible_nodes_of(snapshot, bare_shape).eligible()


def _count_reported(shape_fit: ShapeFit) -> int:
    """Return the number of nodes with `status.allocatable`."""
    silent = shape_fit.eligibility.excluded.get(Filter.UNSAID)
    return shape_fit.eligibility.nodes - (silent.count if silent is not None else 0)


def _selection_text(nodes: NodeSnapshot, shape: Shape) -> str:
    """Return the clause about the labels or the affinity that no node matches."""
    total = f"none of the {len(nodes)} nodes" if len(nodes) > 1 else "the only node"
    has = "has" if len(nodes) > 1 else "does not have"
    labels = [f"{key}={value}" for key, value in sorted(shape.node_selector.items())]
    absent = [
        f"{key}={value}"
        for key, value in sorted(shape.node_selector.items())
        if value not in nodes.labels(key).codes_by_value
    ]
    if absent:
        noun, them = ("label", "it") if len(absent) == 1 else ("labels", "them")
        return f"a node with the {noun} {names(absent)}, and {total} {has} {them}"
    if shape.affinity is None:
        return f"a node with the labels {names(labels)}, and {total} {has} all of them"
    terms = " or ".join(
        listed([_format_requirement(entry) for entry in (*term.expressions, *term.fields)])
        or "nothing"
        for term in shape.affinity[:2]
    )
    more_terms = f" (and {len(shape.affinity) - 2} more terms)" if len(shape.affinity) > 2 else ""
    noun = "label" if len(labels) == 1 else "labels"
    wants = f" and the {noun} {names(labels)}" if labels else ""
    return f"a node by required affinity ({terms}{more_terms}){wants}, and {total} {_match_verb(nodes)}"


def _match_verb(nodes: NodeSnapshot) -> str:
    return "matches" if len(nodes) > 1 else "does not match"


def _format_label(entry: Requirement) -> str:
    """Return a requirement as `app=cache` or `app In (a, b)`."""
    if entry.operator == "In" and len(entry.values) == 1:
        return f"{entry.key}={entry.values[0]}"
    return _format_requirement(entry)


def _format_requirement(entry: Requirement) -> str:
    values = f" ({', '.join(entry.values)})" if entry.values else ""
    return f"{entry.key} {entry.operator}{values}"


def selection_evidence(shape: Shape) -> tuple[Evidence, ...]:
    """Return the node selector and the required node affinity as evidence."""
    evidence = [
        Evidence("node selector", f"{key}={value}")
        for key, value in sorted(shape.node_selector.items())
    ]
    for term in shape.affinity or ():
        text = listed([_format_requirement(entry) for entry in (*term.expressions, *term.fields)])
        evidence.append(Evidence("required node affinity", text))
    return tuple(evidence)
