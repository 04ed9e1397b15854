"""What keeps each node out, by brute force: the oracle for `gangboard.placement.blockers`.

A node that only one cause keeps out is one that takes a pod once that cause is removed from the pod or the node. So the
oracle removes each cause and asks again, and counts no causes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from gangboard.domain.capacity import PODS, NodeInfo, Shape
from gangboard.domain.placement_result import Constraint, Filter, When
from gangboard.domain.pod_constraints import CORDON, Toleration
from gangboard.domain.verdict import FitBlocker
from gangboard.placement.amounts import free_amount, requested_amounts
from gangboard.placement.matching import (
    has_host_anti_affinity,
    one_per_domain_keys,
    ports_clash,
    untolerated,
)
from tests.placement.single_node import filters, is_eligible, pods_that_fit

Cause = tuple[str, str]
MOST, NAMED = 12, 3
TAINTS = (Filter.TAINT, Filter.NOT_READY)
COUNTS_PODS = (Filter.SELECTOR, Filter.POD_AFFINITY, Filter.CORDON, *TAINTS)


def blockers(
    nodes: Sequence[NodeInfo], shape: Shape, keys: Sequence[str]
) -> tuple[tuple[FitBlocker, ...], int]:
    """Return the same as `FeasibleNodes.blockers`. The nodes are `lifted`."""
    ordered = sorted(nodes, key=lambda node: node.name)
    kept_out: dict[Cause, list[NodeInfo]] = {}
    for node in ordered:
        for cause in dict.fromkeys(causes_of(node, shape, keys)):
            kept_out.setdefault(cause, []).append(node)
    rows = [_row(cause, closed, shape, keys) for cause, closed in kept_out.items()]
    rows.sort(key=lambda row: (-(row.only_nodes or 0), -row.nodes, row.label, row.detail))
    return tuple(rows[:MOST]), max(0, len(rows) - MOST)


def causes_of(node: NodeInfo, shape: Shape, keys: Sequence[str]) -> Iterator[Cause]:
    """Yield everything that keeps a pod from the node now."""
    by_key = {str(taint): taint.key for taint in untolerated(node, shape)}
    lacking = set()
    for node_filter, detail in filters(node, shape, keys):
        lacking.add(detail)
        yield str(node_filter), by_key[detail] if node_filter in TAINTS else detail
    for resource, amount in requested_amounts(shape).items():
        if node.is_silent or resource in {*node.unreadable, *lacking}:
            continue
        if free_amount(node, resource, When.CURRENT) < amount:
            yield resource, ""
    ports, pinned = node.now.host_ports, node.pinned.host_ports
    if ports_clash(shape.host_ports, ports) and not ports_clash(shape.host_ports, pinned):
        yield str(Constraint.HOST_PORTS), ""
    if has_host_anti_affinity(shape, node.now) and not has_host_anti_affinity(shape, node.pinned):
        yield str(Constraint.ANTI_AFFINITY), ""


def _row(cause: Cause, closed: list[NodeInfo], shape: Shape, keys: Sequence[str]) -> FitBlocker:
    label, detail = cause
    if label in (Filter.UNSAID, Filter.UNREADABLE):
        return FitBlocker(label, detail, len(closed))
    opened = {
        node.name: number for node in closed if (number := _without(cause, node, shape, keys))
    }
    # Constraints between nodes limit the pods further.
    is_alone = not (keys or shape.spreads or one_per_domain_keys(shape))
    return FitBlocker(
        label,
        detail,
        len(closed),
        len(opened),
        sum(opened.values()) if is_alone and label in COUNTS_PODS else None,
        tuple(opened)[:NAMED],
    )


def _without(cause: Cause, node: NodeInfo, shape: Shape, keys: Sequence[str]) -> int:
    """Return how many pods the node takes now once the cause is gone."""
    label, detail = cause
    left = [key for key in keys if label != Filter.TOPOLOGY_LABEL or key != detail]
    if label == Filter.CORDON:
        taints = tuple(taint for taint in node.taints if taint.key != CORDON)
        node = replace(node, unschedulable=False, taints=taints)
    shape = _relaxed(label, detail, shape)
    if not is_eligible(node, shape, left):
        return 0
    return pods_that_fit(node, shape, When.CURRENT)[0]


def _relaxed(label: str, detail: str, shape: Shape) -> Shape:
    match label:
        case Filter.SELECTOR:
            return replace(shape, node_selector={}, affinity=None)
        case Filter.POD_AFFINITY:
            return replace(shape, pod_affinity=None)
        case Filter.TAINT | Filter.NOT_READY:
            return replace(shape, tolerations=(*shape.tolerations, Toleration(detail, "Exists")))
        case Filter.HOST_PORT | Constraint.HOST_PORTS:
            return replace(shape, host_ports=frozenset())
        case Filter.ANTI_AFFINITY | Constraint.ANTI_AFFINITY:
            return replace(shape, anti_affinity=frozenset(), matched_terms=frozenset())
        case Filter.CORDON | Filter.TOPOLOGY_LABEL:
            return shape
    resource = detail or label
    rest = {name: amount for name, amount in shape.requests.items() if name != resource}
    return replace(shape, requests={**rest, PODS: Decimal(0)} if resource == PODS else rest)
