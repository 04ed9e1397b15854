"""Needed, free and total amounts, summed over the nodes that could host a member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.capacity import NodeInfo, PodSet
from gangboard.domain.placement_result import ResourceTotal, When
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_columns import total
from gangboard.placement.node_snapshot import as_snapshot
from gangboard.placement.packing_search import smallest_sum


def totals(
    pod_sets: Sequence[PodSet],
    target: int,
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str] = (),
) -> tuple[ResourceTotal, ...]:
    """Return the totals of each requested resource for the smallest `target` members, in order of resource names."""
    requested = [requested_amounts(pod_set.shape) for pod_set in pod_sets]
    counts = [pod_set.count for pod_set in pod_sets]
    resources = sorted({resource for amounts in requested for resource in amounts})
    return tuple(
        ResourceTotal(
            resource,
            smallest_sum([amounts.get(resource, 0) for amounts in requested], counts, target),
            *sums,
        )
        for resource, sums in zip(
            resources, _sums(pod_sets, nodes, topology_keys, resources), strict=True
        )
    )


def _sums(
    pod_sets: Sequence[PodSet],
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str],
    resources: Sequence[str],
) -> Iterator[tuple[int, int]]:
    snapshot = as_snapshot(nodes)
    masks = [
        feasible_nodes_of(snapshot, pod_set.shape).eligible(topology_keys) for pod_set in pod_sets
    ]
    if masks:
        mask = masks[0] if len(masks) == 1 else np.logical_or.reduce(masks)
    else:
        mask = np.zeros(len(snapshot), dtype=np.bool_)
    hosts = mask.tobytes()
    for resource in resources:
        cache_key = ("sums", hosts, resource)
        if cache_key not in snapshot.cache:
            column = snapshot.resource(resource)
            snapshot.cache[cache_key] = (
                total(np.maximum(column.now[mask], 0)),
                total(np.maximum(column.empty[mask], 0)),
            )
        yield snapshot.cache[cache_key]


def scarcest_resource(lines: Sequence[ResourceTotal], when: When) -> str:
    """Return the resource with the smallest available share of the need. Empty: none is short."""
    scarcest: tuple[int, int] | None = None
    name = ""
    for line in lines:
        available = line.free if when is When.CURRENT else line.capacity
        if available >= line.needed:
            continue
        # Compare available / needed without division.
        if scarcest is None or available * scarcest[1] < scarcest[0] * line.needed:
            scarcest, name = (available, line.needed), line.resource
    return name


def find_scarcest_resource(
    pod_sets: Sequence[PodSet],
    target: int,
    when: When,
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str] = (),
) -> str:
    """Return the resource that is short for all members, or for those of one shape.

    A launcher may have enough capacity on nodes that no worker can use, and the sum over all nodes would hide a shortage.
    With a quorum, a shape only needs the members that the other shapes cannot provide.
    """
    resource = scarcest_resource(totals(pod_sets, target, nodes, topology_keys), when)
    size = sum(pod_set.count for pod_set in pod_sets)
    for pod_set in pod_sets if len(pod_sets) > 1 else ():
        if resource:
            break
        needed = max(0, target - (size - pod_set.count))
        resource = scarcest_resource(totals([pod_set], needed, nodes, topology_keys), when)
    return resource
