"""Advice about nodes: cordons to lift, and devices to make allocatable again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import NodeInfo
from gangboard.domain.objects import node_ref
from gangboard.domain.placement_result import When
from gangboard.domain.text import listed
from gangboard.facts.suspensions import writers_text
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.advice.wording import first_examples, node_names_text, then_fits
from gangboard.placement.amounts import format_amounts, requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_columns import IntColumn
from gangboard.placement.unavailable_nodes import restored_nodes, uncordonable_nodes

MAX_CHANGED_NODES = 50

# Cordons


def uncordon(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to uncordon the fewest nodes that are enough."""
    shapes = [pod_set.shape for pod_set in what_if.pod_sets]
    opened = uncordonable_nodes(what_if.snapshot, shapes, what_if.request.topology_keys)
    if not opened:
        return
    chosen = find_fewest_nodes(what_if, opened)
    if not chosen or not what_if.frees(changed=chosen):
        return
    names = sorted(chosen)
    by = writers_text(chosen[name].cordoned_by for name in names)
    yield Advice(
        AdviceKind.UNCORDON,
        f"Uncordon {node_names_text(names)}{f' (cordoned {by})' if by else ''}: {then_fits(what_if)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in first_examples(names)),
    )


def find_fewest_nodes(what_if: WhatIf, opened: Mapping[str, NodeInfo]) -> dict[str, NodeInfo]:
    """Return the fewest changed nodes that are enough. Nodes that take the most pods come first."""
    best: dict[str, NodeInfo] = {}
    places = _places_by_node(what_if, opened)
    for nodes in _by_domain(what_if, opened):
        ranked = sorted(nodes, key=lambda node: (-places[node.name], node.name))[:MAX_CHANGED_NODES]
        chosen: dict[str, NodeInfo] = {}
        for node in ranked:
            if best and len(chosen) + 1 >= len(best):
                break
            chosen[node.name] = node
            if what_if.fits(changed=chosen):
                best = what_if.needed_changes(chosen)
                break
    return best


def _by_domain(what_if: WhatIf, opened: Mapping[str, NodeInfo]) -> Iterator[list[NodeInfo]]:
    """Yield the changed nodes of each topology domain."""
    by_domain: dict[tuple[str, ...], list[NodeInfo]] = {}
    for node in opened.values():
        values = tuple(node.labels.get(key, "") for key in what_if.request.topology_keys)
        by_domain.setdefault(values, []).append(node)
    for values in sorted(by_domain):
        if what_if.request.domain in (None, values):
            yield by_domain[values]


def _places_by_node(what_if: WhatIf, opened: Mapping[str, NodeInfo]) -> Mapping[str, int]:
    """Return the number of members that each changed node takes, for the shape with the largest number."""
    snapshot, keys = what_if.snapshot.changed(opened), what_if.request.topology_keys
    most: IntColumn = np.zeros(len(snapshot), dtype=np.int64)
    for pod_set in what_if.pod_sets:
        feasible = feasible_nodes_of(snapshot, pod_set.shape)
        most = np.maximum(
            most, np.where(feasible.eligible(keys), feasible.max_pods(When.CURRENT), 0)
        )
    return {name: int(most[what_if.row(name)]) for name in opened}


# Devices


def restore(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to restore the devices of the fewest nodes that are enough."""
    shapes = [pod_set.shape for pod_set in what_if.pod_sets]
    restored = restored_nodes(what_if.snapshot, shapes, tuple(what_if.request.topology_keys))
    chosen = find_fewest_nodes(what_if, restored) if restored else {}
    if not chosen or not what_if.frees(changed=chosen):
        return
    requested = {name for shape in shapes for name in requested_amounts(shape)}
    amounts = Counter[str]()
    for node in chosen.values():
        amounts.update({name: node.withheld[name] for name in requested & node.withheld.keys()})
    names = sorted(chosen)
    amounts_text = listed(format_amounts(amounts))
    yield Advice(
        AdviceKind.RESTORE,
        f"Make {amounts_text} of {node_names_text(names)} allocatable again: {then_fits(what_if)}. "
        f"Check {_likely_causes(amounts)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in first_examples(names)),
    )


def _likely_causes(amounts: Counter[str]) -> str:
    """Return the likely causes of capacity that is not allocatable."""
    culprits = []
    if any("/" in name for name in amounts):
        culprits.append("the device plugin and the health of the devices")
    if any("/" not in name for name in amounts):
        culprits.append("the huge pages that the kubelet reserves")
    return listed(culprits)
