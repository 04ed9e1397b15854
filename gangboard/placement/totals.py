"""Sums over the nodes that could host a member: needed, free and total amounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.capacity import NodeInfo, PodSet
from gangboard.domain.placement_result import ResourceTotal, When
from gangboard.placement.amounts import wanted
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_columns import total
from gangboard.placement.node_snapshot import as_snapshot
from gangboard.placement.packing import least


def totals(
    pod_sets: Sequence[PodSet],
    target: int,
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str] = (),
) -> tuple[ResourceTotal, ...]:
    """Return each requested resource for the cheapest `target` members, by name of the resource."""
    requested = [wanted(pod_set.shape) for pod_set in pod_sets]
    counts = [pod_set.count for pod_set in pod_sets]
    resources = sorted({resource for amounts in requested for resource in amounts})
    return tuple(
        ResourceTotal(
            resource,
            least([amounts.get(resource, 0) for amounts in requested], counts, target),
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
        place = ("sums", hosts, resource)
        if place not in snapshot.cache:
            column = snapshot.resource(resource)
            snapshot.cache[place] = (
                total(np.maximum(column.now[mask], 0)),
                total(np.maximum(column.empty[mask], 0)),
            )
        yield snapshot.cache[place]


def shortest(lines: Sequence[ResourceTotal], when: When) -> str:
    """Return the resource with the smallest available share of the need. Empty: none is short."""
    worst: tuple[int, int] | None = None
    name = ""
    for line in lines:
        have = line.free if when is When.CURRENT else line.capacity
        if have >= line.needed:
            continue
        # have / needed is compared across, without division.
        if worst is None or have * worst[1] < worst[0] * line.needed:
            worst, name = (have, line.needed), line.resource
    return name


def shortest_of_any(
    pod_sets: Sequence[PodSet],
    target: int,
    when: When,
    nodes: Sequence[NodeInfo],
    topology_keys: Sequence[str] = (),
) -> str:
    """Return the resource that is short for all members, or for those of one shape.

    A driver may have plenty of room on nodes where no worker can go, and the sum over all nodes would
    hide that. With a quorum a shape needs only the places that the other shapes cannot provide.
    """
    resource = shortest(totals(pod_sets, target, nodes, topology_keys), when)
    size = sum(pod_set.count for pod_set in pod_sets)
    for pod_set in pod_sets if len(pod_sets) > 1 else ():
        if resource:
            break
        must = max(0, target - (size - pod_set.count))
        resource = shortest(totals([pod_set], must, nodes, topology_keys), when)
    return resource
