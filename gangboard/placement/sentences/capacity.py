"""Sentences about insufficient capacity: permanent, current, fragmented, or by the pod limit of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gangboard.domain.capacity import PODS
from gangboard.domain.placement_result import Assessment, Filter, PlacementCause, ShapeFit, When
from gangboard.domain.text import count, is_or_are, listed
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import (
    format_amount,
    format_amounts,
    format_quantity,
    requested_amounts,
)
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.node_columns import IntColumn, total
from gangboard.placement.sentences.unavailable_nodes import withheld_devices_text
from gangboard.placement.sentences.wording import (
    PlacementReason,
    PodCount,
    fit_clause,
    fit_text,
    free_text,
    max_pods_of,
    needed_and_available,
    nodes_with_verb,
    pod_count_of,
    selector_labels_text,
    unit_keys,
    unreported_text,
    usable_nodes_text,
)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A resource of which nodes have less in total than some members need."""

    resource: str
    pod_count: PodCount
    needed: int
    available: int
    nodes: int
    labels: str = ""
    """The labels that select those nodes, if there are other nodes."""


def capacity_code(assessment: Assessment) -> str:
    """Return the code of a cause about capacity."""
    if assessment.deciding == PODS:
        return "node-pod-limit"
    if assessment.cause is PlacementCause.TOO_LARGE:
        return "exceeds-capacity"
    return (
        "fragmented" if assessment.cause is PlacementCause.FRAGMENTED else "insufficient-resources"
    )


def capacity_reason(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], code: str
) -> PlacementReason:
    """Return the reason of a cause about capacity."""
    withheld, evidence = withheld_devices_text(unit, shapes)
    text = f"{_shortage_text(unit, assessment, shapes)}{_unavailable_nodes_text(shapes)}{withheld}"
    is_blocked = assessment.cause is PlacementCause.TOO_LARGE
    return PlacementReason(code, text, is_blocked, evidence)


def _shortage_text(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    if assessment.cause is PlacementCause.TOO_LARGE:
        return _too_large_text(unit, assessment, shapes)
    if assessment.cause is PlacementCause.FRAGMENTED:
        return _fragmented_text(unit, assessment, shapes)
    shortage = find_shortage(unit, assessment, shapes, When.CURRENT)
    if shortage is None:
        return f"too little is free for {pod_count_of(assessment)} on {_nodes_text(shapes)}"
    if shortage.resource == PODS:
        text = _pod_limit_text(shortage)
    else:
        text = _insufficient_text(shortage, assessment.cause is PlacementCause.OCCUPIED)
    return f"{text}{fit_clause(unit, assessment, shapes, When.CURRENT)}"


def _unavailable_nodes_text(shapes: Sequence[ShapeFit]) -> str:
    """Return `; 1 more node is cordoned` for unavailable nodes that members could otherwise use."""
    numbers = {
        node_filter: max(
            (_count_excluded(shape_fit, node_filter) for shape_fit in shapes), default=0
        )
        for node_filter in (Filter.CORDON, Filter.NOT_READY, Filter.UNSAID)
    }
    states = {Filter.CORDON: "cordoned", Filter.NOT_READY: "not ready"}
    texts = [
        f"{count(number, 'more node')} "
        + (
            f"{is_or_are(number)} {states[node_filter]}"
            if node_filter in states
            else unreported_text(number)
        )
        for node_filter, number in numbers.items()
        if number
    ]
    texts += _out_of_reach_texts(shapes)
    return f"; {listed(texts)}" if texts else ""


def _out_of_reach_texts(shapes: Sequence[ShapeFit]) -> list[str]:
    """Return `3 more nodes have another zone (pod affinity)` for nodes that pod affinity excludes."""
    terms = {
        shape_fit.shape.pod_affinity
        for shape_fit in shapes
        if shape_fit.shape.pod_affinity is not None
    }
    number = max(
        (_count_excluded(shape_fit, Filter.POD_AFFINITY) for shape_fit in shapes), default=0
    )
    if len(terms) != 1 or not number:
        return []
    (term,) = terms
    have = f"{count(number, 'more node')} {'has' if number == 1 else 'have'}"
    if term.is_by_host:
        return [f"{have} no pod that they must run next to"]
    return [f"{have} another {term.topology_key} (pod affinity)"]


def _count_excluded(shape_fit: ShapeFit, node_filter: Filter) -> int:
    excluded = shape_fit.eligibility.excluded.get(node_filter)
    return excluded.count if excluded is not None else 0


def find_shortage(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit], when: When
) -> Shortage | None:
    """Return the shortage of the deciding resource, for all members or for those of one shape.

    None: it is enough for each shape and for all together.
    """
    resource = assessment.deciding
    for line in assessment.totals:
        available = line.free if when is When.CURRENT else line.capacity
        if line.resource == resource and available < line.needed:
            pod_count, labels = pod_count_of(assessment), _selector_text(shapes)
            return Shortage(
                resource, pod_count, line.needed, available, _count_eligible(shapes), labels
            )
    request = assessment.request
    for shape_fit in shapes:
        must = max(0, request.needed - (request.size - shape_fit.count))
        needed = must * requested_amounts(shape_fit.shape).get(resource, 0)
        if not needed:
            continue
        free = _free_amounts(unit, shape_fit, resource, when)
        available = total(free)
        if available < needed:
            pod_count = PodCount(
                must, shape_fit.count, shape_fit.shape.name if len(shapes) > 1 else ""
            )
            return Shortage(
                resource, pod_count, needed, available, len(free), _selector_text([shape_fit])
            )
    return None


def _free_amounts(unit: Unit, shape_fit: ShapeFit, resource: str, when: When) -> IntColumn:
    """Return the free amount of a resource on each eligible node of a shape, 0 on overfull nodes."""
    snapshot = nodes_for(unit)
    mask = feasible_nodes_of(snapshot, shape_fit.shape).eligible(unit_keys(unit))
    free: IntColumn = np.maximum(snapshot.resource(resource).free(when)[mask], 0)
    return free


def _count_eligible(shapes: Sequence[ShapeFit]) -> int:
    """Return how many nodes could host a member of some shape."""
    if len(shapes) == 1:
        return len(shapes[0].eligibility.eligible)
    return len({name for shape_fit in shapes for name in shape_fit.eligibility.eligible})


def _selector_text(shapes: Sequence[ShapeFit]) -> str:
    """Return the node selector of the only shape, if it excludes nodes. Empty: other cases."""
    if len(shapes) != 1 or Filter.SELECTOR not in shapes[0].eligibility.excluded:
        return ""
    return selector_labels_text(shapes[0].shape)


def _nodes_text(shapes: Sequence[ShapeFit]) -> str:
    return usable_nodes_text(_count_eligible(shapes), _selector_text(shapes))


# Sentences


def _insufficient_text(shortage: Shortage, is_occupied: bool) -> str:
    needed, available = needed_and_available(shortage.resource, shortage.needed, shortage.available)
    nodes = usable_nodes_text(shortage.nodes, shortage.labels)
    text = f"{shortage.pod_count.verb('need')} {needed}, and {free_text(shortage.resource, available)} on {nodes}"
    # With less than the request of one pod in total, "but no node has enough for one" would be obvious.
    is_enough_for_one = shortage.available * shortage.pod_count.number >= shortage.needed
    if is_occupied and is_enough_for_one and min(shortage.pod_count.number, shortage.nodes) > 1:
        return f"{text}, but no node has enough for one"
    return text


def _pod_limit_text(shortage: Shortage) -> str:
    number = shortage.available or "none"
    verb = "has" if shortage.nodes == 1 else "have"
    nodes = usable_nodes_text(shortage.nodes, shortage.labels)
    return f"{shortage.pod_count.verb('need')} a pod slot, and {nodes} {verb} {number} free"


def _too_large_text(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    shortage = find_shortage(unit, assessment, shapes, When.DRAINED)
    if shortage is None:
        return _fragmented_when_empty_text(unit, assessment, shapes)
    nodes = usable_nodes_text(shortage.nodes, shortage.labels)
    have = "has" if shortage.nodes == 1 else "have"
    if shortage.resource == PODS:
        needed, available = "a pod slot", f"{count(shortage.available, 'pod slot')}"
    else:
        needed, available = needed_and_available(
            shortage.resource, shortage.needed, shortage.available
        )
    text = f"{shortage.pod_count.verb('need')} {needed}, but {nodes} {have} {available} even when empty"
    return f"{text}{fit_clause(unit, assessment, shapes, When.DRAINED)}"


def _fragmented_when_empty_text(
    unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]
) -> str:
    pod_count = pod_count_of(assessment)
    nodes = f"on {_nodes_text(shapes)} even when empty"
    if len(shapes) > 1:
        return f"no placement exists for {pod_count} together {nodes}"
    (shape_fit,) = shapes
    fit = fit_text(unit, assessment, shape_fit, When.DRAINED) or "not all of them fit"
    return f"{pod_count.verb('need')} {_requests_text(shape_fit, pod_count)}, but {fit} {nodes}"


def _requests_text(shape_fit: ShapeFit, pod_count: PodCount) -> str:
    """Return the requests of each pod of the shape."""
    requested = {
        name: amount for name, amount in requested_amounts(shape_fit.shape).items() if name != PODS
    }
    amounts = format_amounts(requested)
    return f"{listed(amounts)}{pod_count.each}" if amounts else f"a pod slot{pod_count.each}"


def _fragmented_text(unit: Unit, assessment: Assessment, shapes: Sequence[ShapeFit]) -> str:
    pod_count = pod_count_of(assessment)
    if len(shapes) > 1:
        text = f"enough is free in total for {pod_count} on {_nodes_text(shapes)}"
        return f"{text}, but fragmented: {pod_count.subject_pronoun} do not fit together"
    (shape_fit,) = shapes
    requested = requested_amounts(shape_fit.shape)
    resource = assessment.deciding or _scarcest(assessment, shape_fit)
    line = next((line for line in assessment.totals if line.resource == resource), None)
    most, fit_text = (
        max_pods_of(unit, shape_fit, When.CURRENT),
        fit_clause(unit, assessment, shapes, When.CURRENT),
    )
    if line is None:
        return f"enough is free in total for {pod_count}, but fragmented{fit_text}"
    if not _decides_alone(unit, shape_fit, resource, most):
        return _different_nodes_text(assessment, shape_fit, fit_text)
    request_text = format_amount(resource, requested[resource])
    text = f"{pod_count.verb('need')} {request_text}{pod_count.each}, and {free_text(resource, format_quantity(resource, line.free))}"
    if not most:
        return f"{text}, but no node has {format_quantity(resource, requested[resource])} ({_free_by_node_text(unit, shape_fit, resource)})"
    return f"{text}, but fragmented{fit_text} ({_free_by_node_text(unit, shape_fit, resource)})"


def _decides_alone(unit: Unit, shape_fit: ShapeFit, resource: str, most: int) -> bool:
    """Return whether the free amount of one resource alone decides how many pods fit."""
    pods_by_node = (
        _free_amounts(unit, shape_fit, resource, When.CURRENT)
        // requested_amounts(shape_fit.shape)[resource]
    )
    return total(pods_by_node) == most


def _different_nodes_text(assessment: Assessment, shape_fit: ShapeFit, suffix: str) -> str:
    """Return the sentence about nodes that have enough of one resource and lack another."""
    free = format_amounts(
        {
            line.resource: line.free
            for line in assessment.totals
            if line.resource != PODS and line.needed
        }
    )
    pod_count = pod_count_of(assessment)
    text = f"{pod_count.verb('need')} {_requests_text(shape_fit, pod_count)}, and {listed(free)} are free"
    return f"{text}, but not on the same nodes{suffix}"


def _scarcest(assessment: Assessment, shape_fit: ShapeFit) -> str:
    """Return the resource that limits most nodes, or the one with the smallest free share."""
    stops = [
        limit for limit, _, _ in shape_fit.saturated if limit in requested_amounts(shape_fit.shape)
    ]
    if stops and stops[0] != PODS:
        return stops[0]
    lines = [line for line in assessment.totals if line.resource != PODS and line.needed]
    # Whole percents are precise enough to choose the resource of a sentence.
    tightest = min(lines, key=lambda line: line.free * 100 // line.needed, default=None)
    return tightest.resource if tightest is not None else ""


def _free_by_node_text(unit: Unit, shape_fit: ShapeFit, resource: str) -> str:
    """Return `4 nodes have 4 each` or `1 node has 5, 2 nodes have 2 each`, the largest first."""
    free, times = np.unique(
        _free_amounts(unit, shape_fit, resource, When.CURRENT), return_counts=True
    )
    amounts = dict(zip(free.tolist(), times.tolist(), strict=True))
    texts = []
    for amount, number in sorted(amounts.items(), reverse=True)[:3]:
        each = " each" if number > 1 else ""
        texts.append(f"{nodes_with_verb(number)} {format_quantity(resource, amount)}{each}")
    if len(amounts) > 3:
        remaining = sum(number for _, number in sorted(amounts.items(), reverse=True)[3:])
        texts.append(f"{count(remaining, 'other')} less")
    return listed(texts)
