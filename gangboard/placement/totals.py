"""Sums over the nodes that could host a member: what is needed, free, there at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.capacity import NodeRoom, Party
from gangboard.domain.placing import Total, When
from gangboard.placement.amounts import free, wanted
from gangboard.placement.eligibility import is_eligible
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import as_snapshot, total
from gangboard.placement.packing import least


def totals(
    parties: Sequence[Party],
    target: int,
    nodes: Sequence[NodeRoom],
    topology_keys: Sequence[str] = (),
    *,
    plain: bool = False,
) -> tuple[Total, ...]:
    """Return each requested resource for the cheapest `target` members, by name of the resource.

    `plain` asks node by node, slowly, for comparison.
    """
    asked = [wanted(party.shape) for party in parties]
    counts = [party.count for party in parties]
    have = _plain_sums if plain else _sums
    resources = sorted({resource for one in asked for resource in one})
    return tuple(
        Total(resource, least([one.get(resource, 0) for one in asked], counts, target), *sums)
        for resource, sums in zip(
            resources, have(parties, nodes, topology_keys, resources), strict=True
        )
    )


def _plain_sums(
    parties: Sequence[Party],
    nodes: Sequence[NodeRoom],
    topology_keys: Sequence[str],
    resources: Sequence[str],
) -> Iterator[tuple[int, int]]:
    """Yield what is free and what is there without the pods that can leave."""
    hosts = [
        node
        for node in nodes
        if any(is_eligible(node, party.shape, topology_keys) for party in parties)
    ]
    for resource in resources:
        yield (
            sum(max(0, free(node, resource, When.NOW)) for node in hosts),
            sum(max(0, free(node, resource, When.EMPTY)) for node in hosts),
        )


def _sums(
    parties: Sequence[Party],
    nodes: Sequence[NodeRoom],
    topology_keys: Sequence[str],
    resources: Sequence[str],
) -> Iterator[tuple[int, int]]:
    snapshot = as_snapshot(nodes)
    masks = [feasible_nodes_of(snapshot, party.shape).eligible(topology_keys) for party in parties]
    if masks:
        mask = masks[0] if len(masks) == 1 else np.logical_or.reduce(masks)
    else:
        mask = np.zeros(len(snapshot), dtype=np.bool_)
    hosts = mask.tobytes()
    for resource in resources:
        place = ("sums", hosts, resource)
        if place not in snapshot.cache:
            stock = snapshot.stock(resource)
            snapshot.cache[place] = (
                total(np.maximum(stock.now[mask], 0)),
                total(np.maximum(stock.empty[mask], 0)),
            )
        yield snapshot.cache[place]


def shortest(lines: Sequence[Total], when: When) -> str:
    """Return the resource of which the smallest part of the need is there, empty when none lacks."""
    worst: tuple[int, int] | None = None
    name = ""
    for line in lines:
        have = line.free if when is When.NOW else line.capacity
        if have >= line.needed:
            continue
        # have / needed is compared across, without division.
        if worst is None or have * worst[1] < worst[0] * line.needed:
            worst, name = (have, line.needed), line.resource
    return name


def shortest_of_any(
    parties: Sequence[Party],
    target: int,
    nodes: Sequence[NodeRoom],
    when: When,
    topology_keys: Sequence[str] = (),
    *,
    plain: bool = False,
) -> str:
    """Return the resource that lacks in total: for all members, or for those of one shape alone.

    A driver may have plenty of room on nodes where no worker can go; the sum over all nodes would
    hide that. With a quorum a shape needs only what the other shapes cannot make up for.
    """
    found = shortest(totals(parties, target, nodes, topology_keys, plain=plain), when)
    size = sum(party.count for party in parties)
    for party in parties if len(parties) > 1 else ():
        if found:
            break
        must = max(0, target - (size - party.count))
        found = shortest(totals([party], must, nodes, topology_keys, plain=plain), when)
    return found
