"""A packing problem in plain numbers: shapes as vectors, nodes grouped into classes of equals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gangboard.domain.capacity import Amounts, NodeRoom, Party, Shape
from gangboard.domain.placing import When
from gangboard.placement.amounts import free, wanted
from gangboard.placement.eligibility import is_eligible, pods_that_fit
from gangboard.placement.matching import has_host_anti_affinity, ports_clash

Vector = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes on which exactly the same can be placed."""

    free: Vector
    """Per resource of the problem; never more than all members want together."""
    caps: Vector
    """Per shape, how many pods of it alone fit on one such node."""
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Place pods on nodes: which vector of counts can be reached?"""

    names: tuple[str, ...]
    counts: Vector
    """Per shape, how many pods there are."""
    requests: tuple[Vector, ...]
    """Per shape and resource, in scheduler units."""
    conflicts: frozenset[tuple[int, int]]
    """Pairs of different shapes that cannot share a node."""
    classes: tuple[NodeClass, ...]

    def fits_node(self, config: Sequence[int], room: Vector) -> bool:
        """Whether these counts per shape share what one node has free (each within its cap)."""
        for resource, amount in enumerate(room):
            used = sum(
                count * request[resource]
                for count, request in zip(config, self.requests, strict=False)
            )
            if used > amount:
                return False
        return not any(
            max(pair) < len(config) and config[pair[0]] and config[pair[1]]
            for pair in self.conflicts
        )


def problem(
    parties: Sequence[Party], nodes: Iterable[NodeRoom], when: When, *, group: bool = True
) -> Problem:
    """Return the problem for these members on these nodes; `group` off keeps every node apart.

    Nodes that cannot take any member at that moment are left out.
    """
    parties = [party for party in parties if party.count > 0]
    asked = [wanted(party.shape) for party in parties]
    resources = sorted({resource for one in asked for resource in one})
    requests = tuple(tuple(one.get(resource, 0) for resource in resources) for one in asked)
    counts = tuple(party.count for party in parties)
    most = [
        sum(count * request[at] for count, request in zip(counts, requests, strict=True))
        for at in range(len(resources))
    ]
    classes: dict[tuple[Vector, Vector, str], list[str]] = {}
    for node in sorted(nodes, key=lambda one: one.name):
        caps = _caps(node, parties, asked, when)
        if not any(caps):
            continue
        room = tuple(
            max(0, min(free(node, resource, when), bound))
            for resource, bound in zip(resources, most, strict=True)
        )
        classes.setdefault((caps, room, "" if group else node.name), []).append(node.name)
    return Problem(
        tuple(party.shape.name for party in parties),
        counts,
        requests,
        conflicting_pairs([party.shape for party in parties]),
        tuple(
            NodeClass(room, caps, tuple(classes[caps, room, own]))
            for caps, room, own in sorted(classes)
        ),
    )


def _caps(node: NodeRoom, parties: Sequence[Party], asked: Sequence[Amounts], when: When) -> Vector:
    return tuple(
        min(party.count, pods_that_fit(node, party.shape, when, amounts)[0])
        if is_eligible(node, party.shape, asked=amounts)
        else 0
        for party, amounts in zip(parties, asked, strict=True)
    )


def conflicting_pairs(shapes: Sequence[Shape]) -> frozenset[tuple[int, int]]:
    """Return which of the shapes cannot share a node: the smaller place first."""
    return frozenset(
        (low, high)
        for high, one in enumerate(shapes)
        for low, other in enumerate(shapes[:high])
        if has_host_anti_affinity(one, other) or ports_clash(one.host_ports, other.host_ports)
    )


def trimmed(whole: Problem) -> Problem:
    """Leave out nodes of a class beyond the number of members: they are never needed."""
    size = sum(whole.counts)
    return replace(
        whole, classes=tuple(replace(one, nodes=one.nodes[:size]) for one in whole.classes)
    )
