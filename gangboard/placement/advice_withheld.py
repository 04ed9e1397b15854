"""Advice about devices that a node has and pods cannot get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.objects import node_ref
from gangboard.domain.text import listed
from gangboard.placement.advice_nodes import fewest
from gangboard.placement.advice_words import node_names, shown, then_fits
from gangboard.placement.amount_words import amounts_of
from gangboard.placement.amounts import wanted
from gangboard.placement.unavailable_nodes import restored_nodes
from gangboard.placement.what_if import WhatIf


def restore(what_if: WhatIf) -> Iterator[Advice]:
    """Say which nodes would be enough with all their devices, the fewest."""
    shapes = [pod_set.shape for pod_set in what_if.pod_sets]
    restored = restored_nodes(what_if.snapshot, shapes, tuple(what_if.request.topology_keys))
    chosen = fewest(what_if, restored) if restored else {}
    if not chosen or not what_if.frees(changed=chosen):
        return
    asked = {name for shape in shapes for name in wanted(shape)}
    amounts = Counter[str]()
    for node in chosen.values():
        amounts.update({name: node.withheld[name] for name in asked & node.withheld.keys()})
    names = sorted(chosen)
    what = listed(amounts_of(amounts))
    yield Advice(
        AdviceKind.RESTORE,
        f"Make {what} of {node_names(names)} allocatable again: {then_fits(what_if)}. "
        f"Look at {_culprits(amounts)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in shown(names)),
    )


def _culprits(amounts: Counter[str]) -> str:
    """Return the likely causes of capacity that is not allocatable."""
    found = []
    if any("/" in name for name in amounts):
        found.append("the device plugin and the health of the devices")
    if any("/" not in name for name in amounts):
        found.append("the huge pages that the kubelet reserves")
    return listed(found)
