"""What arithmetic has to say of the members of one unit that wait for a node."""

from __future__ import annotations

from gangboard.domain.capacity import Party
from gangboard.domain.facts import Unit
from gangboard.domain.placing import Placing, ShapeFit
from gangboard.placement.assess import assess
from gangboard.placement.ground import Ground
from gangboard.placement.hosts import hosts_of
from gangboard.placement.members import nodes_for, request_of, waiting

__all__ = ["nodes_for", "placing", "request_of"]


def placing(unit: Unit) -> Placing | None:
    """Return whether and where the waiting members of a unit fit; None when none waits for a node."""
    if not waiting(unit):
        return None
    request = request_of(unit)
    if unit.facts.room.why:
        return Placing(request, why=unit.facts.room.why)
    ground = nodes_for(unit)
    keys = request.topology_keys
    shapes = tuple(shape_fit(party, ground, keys) for party in request.parties)
    return Placing(request, assess(request, ground), shapes)


def shape_fit(party: Party, ground: Ground, keys: tuple[str, ...]) -> ShapeFit:
    """Return where the pods of one shape can go, each node by itself."""
    hosts = hosts_of(ground, party.shape)
    now, empty, open_nodes, saturated = hosts.summary(keys)
    return ShapeFit(
        party.shape, party.count, hosts.eligibility(keys), now, empty, open_nodes, saturated
    )
