"""Evidence about nodes in maintenance, and the clause about devices that are not allocatable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gangboard.domain.capacity import NodeInfo
from gangboard.domain.objects import Condition, node_ref
from gangboard.domain.placement_result import Filter, ShapeFit
from gangboard.domain.text import listed
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import format_amount, format_quantity, requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.sentences.wording import unit_keys
from gangboard.placement.unavailable_nodes import nodes_in_maintenance, restored_nodes

_KEPT_OUT = (Filter.CORDON, Filter.TAINT, Filter.NOT_READY)
_SHOWN_NODES = 3


def maintenance_evidence(unit: Unit) -> Iterator[Evidence]:
    """Yield the maintenance conditions of a few nodes that a cordon, a taint or unreadiness excludes.

    The scheduler does not read these conditions, so they are irrelevant for nodes that take pods.
    """
    if unit.placing is None or not unit.placing.shapes:
        return
    snapshot = nodes_for(unit)
    nodes = nodes_in_maintenance(snapshot)
    if not nodes:
        return
    kept_out = np.logical_or.reduce(
        [
            feasible_nodes_of(snapshot, shape_fit.shape).excluded_by(node_filter)
            for shape_fit in unit.placing.shapes
            for node_filter in _KEPT_OUT
        ]
    )
    for node in [node for node in nodes if kept_out[snapshot.row(node.name)]][:_SHOWN_NODES]:
        for condition in node.lifecycle:
            yield Evidence(condition.type, _condition_text(node, condition), node_ref(node.name))


def _condition_text(node: NodeInfo, condition: Condition) -> str:
    """Return `n0: Upgrade: firmware 2.1`: the node, the reason and the message, if present."""
    return ": ".join(text for text in (node.name, condition.reason, condition.message) if text)


# Devices

_SHOWN_DEVICES = 2


def withheld_devices_text(
    unit: Unit, shapes: Sequence[ShapeFit], before: str = ""
) -> tuple[str, tuple[Evidence, ...]]:
    """Return `; 8 GPUs of node b are not allocatable (0 of 8)` and the nodes that it names.

    Empty: all devices of suitable nodes are allocatable. `before` is the beginning of the sentence. If it contains the
    name of a resource, this clause uses the same name.
    """
    requested = {name for shape_fit in shapes for name in requested_amounts(shape_fit.shape)}
    snapshot = nodes_for(unit)
    nodes = restored_nodes(snapshot, [shape_fit.shape for shape_fit in shapes], unit_keys(unit))
    withheld = [
        (node, name)
        for node in sorted(nodes.values(), key=lambda node: node.name)
        for name in sorted(requested & node.withheld.keys())
    ]
    if not withheld:
        return "", ()
    texts = [
        _device_text(node, name, with_resource_name=name in before)
        for node, name in withheld[:_SHOWN_DEVICES]
    ]
    if len(withheld) > _SHOWN_DEVICES:
        remaining = len({node.name for node, _ in withheld[_SHOWN_DEVICES:]})
        texts.append(f"so are devices of {remaining} more node{'' if remaining == 1 else 's'}")
    evidence = tuple(
        Evidence(
            "not allocatable", f"{node.name}: {_allocatable_text(node, name)}", node_ref(node.name)
        )
        for node, name in withheld[:_SHOWN_DEVICES]
    )
    return f"; {listed(texts)}", evidence


def _device_text(node: NodeInfo, name: str, *, with_resource_name: bool) -> str:
    amount = node.withheld[name]
    verb = "is" if amount == 1 else "are"
    amount_text = format_amount(name, amount, with_resource_name=with_resource_name)
    return f"{amount_text} of node {node.name} {verb} not allocatable ({_allocatable_text(node, name)})"


def _allocatable_text(node: NodeInfo, name: str) -> str:
    """Return `0 of 8`. `node` is the node with all its devices."""
    total = node.allocatable[name]
    return f"{format_quantity(name, total - node.withheld[name])} of {format_quantity(name, total)}"
