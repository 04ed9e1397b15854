"""Nodes that an admin drains or works on, by conditions of their own: pods are kept away on purpose."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.capacity import NodeRoom, Taint
from gangboard.domain.objects import Condition
from gangboard.placement.node_snapshot import NodeSnapshot

LEAVING = (
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
    "ToBeDeletedByClusterAutoscaler",
    "aws-node-termination-handler/",
    "cloud.google.com/impending-node-termination",
)
"""How taints begin by which a controller says that it drains a node to take it away or to work on it."""


def maintenance_words(lifecycle: Iterable[Condition], taints: Iterable[Taint]) -> tuple[str, ...]:
    """Return what says of a node that it is drained or worked on: condition types and keys of taints."""
    keys = (taint.key for taint in taints if taint.key.startswith(LEAVING))
    return tuple(dict.fromkeys([*(said.type for said in lifecycle), *keys]))


def nodes_in_maintenance(snapshot: NodeSnapshot) -> tuple[NodeRoom, ...]:
    """Return the nodes that say so: no advice leads pods to them."""
    if "in maintenance" not in snapshot.cache:
        snapshot.cache["in maintenance"] = tuple(node for node in snapshot.nodes if node.lifecycle)
    found: tuple[NodeRoom, ...] = snapshot.cache["in maintenance"]
    return found
