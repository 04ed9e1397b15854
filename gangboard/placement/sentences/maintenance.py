"""What nodes say of their maintenance, as evidence why they take nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gangboard.domain.capacity import NodeRoom
from gangboard.domain.objects import Condition
from gangboard.domain.placing import Filter
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.eligibility import filters
from gangboard.placement.maintenance import nodes_in_maintenance
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.placement_reason import node_ref

_KEPT_OUT = frozenset({Filter.CORDON, Filter.TAINT, Filter.NOT_READY})
_SHOWN = 3


def maintenance_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the conditions of a few nodes that would suit, and that a cordon or a taint keeps from members.

    The scheduler reads no such condition: of a node that takes pods it tells nothing.
    """
    if unit.placing is None or not unit.placing.shapes:
        return
    kept_out = (node for node in nodes_in_maintenance(nodes_for(unit)) if _is_kept_out(unit, node))
    for node in islice(kept_out, _SHOWN):
        for said in node.lifecycle:
            yield Evidence(said.type, _text(node, said), node_ref(node.name))


def _is_kept_out(unit: Unit, node: NodeRoom) -> bool:
    placing = unit.placing
    shapes = [one.shape for one in placing.shapes] if placing is not None else []
    firsts = (next((why for why, _ in filters(node, shape)), None) for shape in shapes)
    return any(why in _KEPT_OUT for why in firsts)


def _text(node: NodeRoom, said: Condition) -> str:
    """Return `n0: Upgrade: firmware 2.1`: the node, then why, if it says that."""
    return ": ".join(part for part in (node.name, said.reason, said.message) if part)
