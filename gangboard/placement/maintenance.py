"""Nodes that an admin drains or works on, by conditions of their own: pods are kept away on purpose."""

from __future__ import annotations

from gangboard.domain.capacity import NodeRoom
from gangboard.placement.node_snapshot import NodeSnapshot


def nodes_in_maintenance(snapshot: NodeSnapshot) -> tuple[NodeRoom, ...]:
    """Return the nodes that say so: no advice leads pods to them."""
    if "in maintenance" not in snapshot.cache:
        snapshot.cache["in maintenance"] = tuple(node for node in snapshot.nodes if node.lifecycle)
    found: tuple[NodeRoom, ...] = snapshot.cache["in maintenance"]
    return found
