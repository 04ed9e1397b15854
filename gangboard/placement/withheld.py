"""Nodes with devices or huge pages that pods cannot get: in `capacity`, and not in `allocatable`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import NodeRoom, Shape
from gangboard.domain.placing import When
from gangboard.placement.amounts import wanted
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import NodeSnapshot

_KEY = "restored"


def restored_nodes(
    snapshot: NodeSnapshot, shapes: Iterable[Shape], keys: tuple[str, ...] = ()
) -> Mapping[str, NodeRoom]:
    """Return the nodes that would take more pods of a shape with all their devices, as they are then.

    By name. A node that something else keeps the pods away from is not one of them.
    """
    restored = _restored(snapshot)
    if not restored:
        return {}
    whole = _whole(snapshot, restored)
    found: dict[str, NodeRoom] = {}
    for shape in shapes:
        asked = wanted(shape)
        if not any(asked.keys() & node.withheld.keys() for node in restored.values()):
            continue
        before, after = (feasible_nodes_of(one, shape) for one in (snapshot, whole))
        more = (after.caps(When.EMPTY) > before.caps(When.EMPTY)) & after.eligible(keys)
        for at in np.flatnonzero(more).tolist():
            node = whole.nodes[at]
            if asked.keys() & node.withheld.keys():
                found[node.name] = node
    return found


def _restored(snapshot: NodeSnapshot) -> dict[str, NodeRoom]:
    if _KEY not in snapshot.cache:
        snapshot.cache[_KEY] = {
            node.name: replace(node, allocatable=_all_of(node))
            for node in snapshot.nodes
            if node.withheld
        }
    found: dict[str, NodeRoom] = snapshot.cache[_KEY]
    return found


def _all_of(node: NodeRoom) -> dict[str, int]:
    more = {
        name: max(0, node.allocatable.get(name, 0)) + amount
        for name, amount in node.withheld.items()
    }
    return {**node.allocatable, **more}


def _whole(snapshot: NodeSnapshot, restored: Mapping[str, NodeRoom]) -> NodeSnapshot:
    """Return the snapshot with all devices of all nodes, made once."""
    place = (_KEY, "whole")
    if place not in snapshot.cache:
        snapshot.cache[place] = snapshot.changed(restored)
    found: NodeSnapshot = snapshot.cache[place]
    return found
