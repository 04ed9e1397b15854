"""What nodes say of their maintenance, as evidence why they take nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gangboard.domain.capacity import NodeRoom
from gangboard.domain.objects import Condition, node_ref
from gangboard.domain.placing import Filter
from gangboard.domain.verdict import Evidence
from gangboard.facts.gang import Unit
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.unavailable_nodes import nodes_in_maintenance

_KEPT_OUT = (Filter.CORDON, Filter.TAINT, Filter.NOT_READY)
_SHOWN = 3


def maintenance_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the conditions of a few nodes that would suit, and that a cordon or a taint keeps from members.

    The scheduler reads no such condition: of a node that takes pods it tells nothing.
    """
    if unit.placing is None or not unit.placing.shapes:
        return
    snapshot = nodes_for(unit)
    nodes = nodes_in_maintenance(snapshot)
    if not nodes:
        return
    kept_out = np.logical_or.reduce(
        [
            feasible_nodes_of(snapshot, one.shape).excluded_by(why)
            for one in unit.placing.shapes
            for why in _KEPT_OUT
        ]
    )
    for node in [node for node in nodes if kept_out[snapshot.place(node.name)]][:_SHOWN]:
        for said in node.lifecycle:
            yield Evidence(said.type, _text(node, said), node_ref(node.name))


def _text(node: NodeRoom, said: Condition) -> str:
    """Return `n0: Upgrade: firmware 2.1`: the node, then why, if it says that."""
    return ": ".join(part for part in (node.name, said.reason, said.message) if part)
