"""What arithmetic has to say of the members of one unit that wait for a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gangboard.domain.capacity import NodeRoom, Party
from gangboard.domain.facts import Unit
from gangboard.domain.placing import Placing, ShapeFit, When
from gangboard.placement.assess import assess
from gangboard.placement.eligibility import EXAMPLES, eligibility, shape_room
from gangboard.placement.members import nodes_for, request_of, waiting

__all__ = ["nodes_for", "placing", "request_of"]


def placing(unit: Unit) -> Placing | None:
    """Return whether and where the waiting members of a unit fit; None when none waits for a node."""
    if not waiting(unit):
        return None
    request = request_of(unit)
    if unit.facts.room.why:
        return Placing(request, why=unit.facts.room.why)
    nodes = nodes_for(unit)
    shapes = tuple(_shape_fit(party, nodes, request.topology_keys) for party in request.parties)
    return Placing(request, assess(request, nodes), shapes)


def _shape_fit(party: Party, nodes: Sequence[NodeRoom], keys: Sequence[str]) -> ShapeFit:
    found = eligibility(nodes, party.shape, keys)
    there = set(found.eligible)
    hosts = [node for node in nodes if node.name in there]
    now = shape_room(hosts, party.shape, When.NOW)
    full: dict[str, list[str]] = {}
    for name, count in now.per_node.items():
        if not count:
            full.setdefault(str(now.limits[name]), []).append(name)
    counts = Counter({limit: len(names) for limit, names in full.items()})
    return ShapeFit(
        party.shape,
        party.count,
        found,
        now.total,
        shape_room(hosts, party.shape, When.EMPTY).total,
        len(hosts) - counts.total(),
        tuple(
            (limit, count, tuple(full[limit][:EXAMPLES]))
            for limit, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        ),
    )
