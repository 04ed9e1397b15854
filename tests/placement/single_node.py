"""The node filters for one node and one shape, in plain Python: the oracle for the columns of `node_filters`.

It looks at one node alone, so it does not see pods elsewhere in the zone of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangboard.domain.capacity import Amounts, NodeInfo, Shape
from gangboard.domain.placement_result import Constraint, Filter, When
from gangboard.domain.pod_constraints import CORDON, Term
from gangboard.placement.amounts import free_amount, requested_amounts
from gangboard.placement.feasible_nodes import UNLIMITED
from gangboard.placement.matching import (
    NAME_FIELD,
    NOT_READY,
    has_host_anti_affinity,
    matches_label,
    one_per_domain_keys,
    ports_clash,
    untolerated,
)


def filters(
    node: NodeInfo,
    shape: Shape,
    topology_keys: Sequence[str] = (),
    requested: Amounts | None = None,
) -> Iterator[tuple[Filter, str]]:
    """Yield every filter that excludes the node, in the order of `Filter`, with the taint or resource.

    `asked` is `requested_amounts(shape)`, for callers that check many nodes.
    """
    requested = requested_amounts(shape) if requested is None else requested
    if not is_selected(node, shape):
        yield Filter.SELECTOR, ""
    if not satisfies_pod_affinity(node, shape):
        yield Filter.POD_AFFINITY, ""
    for key in topology_keys:
        if key not in node.labels:
            yield Filter.TOPOLOGY_LABEL, key
    if node.is_silent:
        yield Filter.UNSAID, ""
    else:
        yield from _by_room(node, requested)
    taints = untolerated(node, shape)
    for taint in taints:
        if taint.key == CORDON:
            yield Filter.CORDON, ""
    for taint in taints:
        if taint.key in NOT_READY:
            yield Filter.NOT_READY, str(taint)
    for taint in taints:
        if taint.key != CORDON and taint.key not in NOT_READY:
            yield Filter.TAINT, str(taint)
    if ports_clash(shape.host_ports, node.pinned.host_ports):
        yield Filter.HOST_PORT, ""
    if has_host_anti_affinity(shape, node.pinned):
        yield Filter.ANTI_AFFINITY, ""
    for resource in sorted(node.unreadable & requested.keys()):
        yield Filter.UNREADABLE, resource


def _by_room(node: NodeInfo, requested: Amounts) -> Iterator[tuple[Filter, str]]:
    for resource in requested:
        if not node.allocatable.get(resource, 0) and resource not in node.unreadable:
            yield Filter.MISSING_RESOURCE, resource
    for resource, amount in requested.items():
        if amount <= free_amount(node, resource, When.DRAINED) or resource in node.unreadable:
            continue
        if node.allocatable.get(resource, 0):
            yield Filter.TOO_SMALL, resource


def is_eligible(
    node: NodeInfo,
    shape: Shape,
    topology_keys: Sequence[str] = (),
    asked: Amounts | None = None,
) -> bool:
    """Whether no filter excludes the node."""
    return next(filters(node, shape, topology_keys, asked), None) is None


def is_selected(node: NodeInfo, shape: Shape) -> bool:
    """Whether node selector and required node affinity both match.

    Source: GetRequiredNodeAffinity in k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
    """
    if any(node.labels.get(key) != value for key, value in shape.node_selector.items()):
        return False
    return shape.affinity is None or any(_term_matches(term, node) for term in shape.affinity)


def _term_matches(term: Term, node: NodeInfo) -> bool:
    if not term.expressions and not term.fields:
        return False
    return all(
        matches_label(entry, node.labels.get(entry.key)) for entry in term.expressions
    ) and all(
        matches_label(entry, node.name if entry.key == NAME_FIELD else None)
        for entry in term.fields
    )


def satisfies_pod_affinity(node: NodeInfo, shape: Shape) -> bool:
    """Whether the node has a pod that the required pod affinity of the shape names."""
    if shape.pod_affinity is None:
        return True
    return any(term.is_by_host for term in node.now.matched_terms if term == shape.pod_affinity)


def pods_that_fit(
    node: NodeInfo, shape: Shape, when: When, asked: Amounts | None = None
) -> tuple[int, str]:
    """Return how many pods of a shape fit on an eligible node together, and what stops one more."""
    load = node.now if when is When.CURRENT else node.pinned
    if ports_clash(shape.host_ports, load.host_ports):
        return 0, Constraint.HOST_PORTS
    if has_host_anti_affinity(shape, load):
        return 0, Constraint.ANTI_AFFINITY
    count, limit = min(
        (
            (max(0, free_amount(node, resource, when)) // amount, resource)
            for resource, amount in (requested_amounts(shape) if asked is None else asked).items()
        ),
        default=(UNLIMITED, ""),
    )
    if count > 1 and shape.host_ports:
        return 1, Constraint.HOST_PORTS
    if count > 1 and (
        has_host_anti_affinity(shape, shape)
        or any(key in node.labels for key in one_per_domain_keys(shape))
    ):
        return 1, Constraint.ANTI_AFFINITY
    return count, limit
