"""Sums over the nodes that could host a member: what is needed, free, there at all."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.capacity import NodeRoom, Party
from gangboard.domain.placing import Total, When
from gangboard.placement.amounts import free, wanted
from gangboard.placement.eligibility import is_eligible
from gangboard.placement.packing import least


def totals(
    parties: Sequence[Party],
    target: int,
    nodes: Sequence[NodeRoom],
    topology_keys: Sequence[str] = (),
) -> tuple[Total, ...]:
    """Return each requested resource for the cheapest `target` members, by name of the resource."""
    asked = [wanted(party.shape) for party in parties]
    hosts = [
        node
        for node in nodes
        if any(
            is_eligible(node, party.shape, topology_keys, amounts)
            for party, amounts in zip(parties, asked, strict=True)
        )
    ]
    counts = [party.count for party in parties]
    return tuple(
        Total(
            resource,
            least([one.get(resource, 0) for one in asked], counts, target),
            sum(max(0, free(node, resource, When.NOW)) for node in hosts),
            sum(max(0, free(node, resource, When.EMPTY)) for node in hosts),
        )
        for resource in sorted({resource for one in asked for resource in one})
    )


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
) -> str:
    """Return the resource that lacks in total: for all members, or for those of one shape alone.

    A driver may have plenty of room on nodes where no worker can go; the sum over all nodes would
    hide that. With a quorum a shape needs only what the other shapes cannot make up for.
    """
    found = shortest(totals(parties, target, nodes, topology_keys), when)
    size = sum(party.count for party in parties)
    for party in parties:
        if found:
            break
        must = max(0, target - (size - party.count))
        found = shortest(totals([party], must, nodes, topology_keys), when)
    return found
