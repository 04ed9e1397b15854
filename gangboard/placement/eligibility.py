"""Which nodes could ever host a pod of a shape, and how many pods of it fit on each.

A node is asked alone and knows nothing of others: what pods elsewhere in its zone keep away is not seen here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gangboard.domain.capacity import CORDON, Amounts, NodeRoom, Shape
from gangboard.domain.placing import (
    Constraint,
    Filter,
    When,
)
from gangboard.placement.amounts import free, wanted
from gangboard.placement.matching import (
    NOT_READY,
    has_host_anti_affinity,
    is_selected,
    one_per_domain_keys,
    ports_clash,
    satisfies_pod_affinity,
    untolerated,
)

EXAMPLES = 3
UNLIMITED = 2**40
"""How many pods fit where nothing that is asked for limits them: more than there can be."""


def filters(
    node: NodeRoom,
    shape: Shape,
    topology_keys: Sequence[str] = (),
    asked: Amounts | None = None,
) -> Iterator[tuple[Filter, str]]:
    """Yield every filter that excludes the node, in the order of `Filter`, with the taint or resource.

    `asked` is `wanted(shape)`, for callers that ask about many nodes.
    """
    asked = wanted(shape) if asked is None else asked
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
        yield from _by_room(node, asked)
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
    if ports_clash(shape.host_ports, node.staying.host_ports):
        yield Filter.HOST_PORT, ""
    if has_host_anti_affinity(shape, node.staying):
        yield Filter.ANTI_AFFINITY, ""
    for resource in sorted(node.unreadable & asked.keys()):
        yield Filter.UNREADABLE, resource


def _by_room(node: NodeRoom, asked: Amounts) -> Iterator[tuple[Filter, str]]:
    for resource in asked:
        if not node.allocatable.get(resource, 0) and resource not in node.unreadable:
            yield Filter.MISSING_RESOURCE, resource
    for resource, amount in asked.items():
        if amount <= free(node, resource, When.EMPTY) or resource in node.unreadable:
            continue
        if node.allocatable.get(resource, 0):
            yield Filter.TOO_SMALL, resource


def is_eligible(
    node: NodeRoom,
    shape: Shape,
    topology_keys: Sequence[str] = (),
    asked: Amounts | None = None,
) -> bool:
    """Whether no filter excludes the node."""
    return next(filters(node, shape, topology_keys, asked), None) is None


def ranked(counts: Counter[str] | None) -> tuple[tuple[str, int], ...]:
    """Return details with their numbers of nodes, most frequent first."""
    return tuple(sorted((counts or {}).items(), key=lambda one: (-one[1], one[0])))


def pods_that_fit(
    node: NodeRoom, shape: Shape, when: When, asked: Amounts | None = None
) -> tuple[int, str]:
    """Return how many pods of a shape fit on an eligible node together, and what stops one more."""
    load = node.now if when is When.NOW else node.staying
    if ports_clash(shape.host_ports, load.host_ports):
        return 0, Constraint.HOST_PORTS
    if has_host_anti_affinity(shape, load):
        return 0, Constraint.ANTI_AFFINITY
    count, limit = min(
        (
            (max(0, free(node, resource, when)) // amount, resource)
            for resource, amount in (wanted(shape) if asked is None else asked).items()
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
