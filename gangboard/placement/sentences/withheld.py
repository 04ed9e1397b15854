"""Half a sentence about devices that nodes have and pods cannot get."""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.capacity import NodeRoom
from gangboard.domain.placing import ShapeFit
from gangboard.domain.text import listed
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit
from gangboard.placement.amount_words import amount_of, bare
from gangboard.placement.amounts import wanted
from gangboard.placement.members import nodes_for
from gangboard.placement.sentences.how_many import unit_keys
from gangboard.placement.sentences.placement_reason import node_ref
from gangboard.placement.withheld import restored_nodes

_NAMED = 2


def withheld_devices(
    unit: Unit, shapes: Sequence[ShapeFit], before: str = ""
) -> tuple[str, tuple[Evidence, ...]]:
    """Return `; 8 GPUs of node b are not allocatable (0 of 8)` and the nodes that it names.

    Empty where all devices of nodes that would do can be had. `before` is the sentence that it ends: both call a
    resource the same.
    """
    asked = {name for one in shapes for name in wanted(one.shape)}
    snapshot = nodes_for(unit)
    nodes = restored_nodes(snapshot, [one.shape for one in shapes], unit_keys(unit))
    found = [
        (node, name)
        for node in sorted(nodes.values(), key=lambda node: node.name)
        for name in sorted(asked & node.withheld.keys())
    ]
    if not found:
        return "", ()
    texts = [_text(node, name, named=name in before) for node, name in found[:_NAMED]]
    if len(found) > _NAMED:
        left = len({node.name for node, _ in found[_NAMED:]})
        texts.append(f"so are devices of {left} more node{'' if left == 1 else 's'}")
    evidence = tuple(
        Evidence("not allocatable", f"{node.name}: {_share(node, name)}", node_ref(node.name))
        for node, name in found[:_NAMED]
    )
    return f"; {listed(texts)}", evidence


def _text(node: NodeRoom, name: str, *, named: bool) -> str:
    amount = node.withheld[name]
    verb = "is" if amount == 1 else "are"
    what = amount_of(name, amount, named=named)
    return f"{what} of node {node.name} {verb} not allocatable ({_share(node, name)})"


def _share(node: NodeRoom, name: str) -> str:
    """Return `0 of 8`; the node is as it would be with all its devices."""
    whole = node.allocatable[name]
    return f"{bare(name, whole - node.withheld[name])} of {bare(name, whole)}"
