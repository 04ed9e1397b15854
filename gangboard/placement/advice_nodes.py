"""Advice about nodes: room that must become free on them, and cordons to lift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import PODS, NodeRoom
from gangboard.domain.objects import node_ref
from gangboard.domain.placing import FitAnswer, When
from gangboard.facts.suspensions import writers_words
from gangboard.placement.advice_words import node_names, room_of, shown, then_fits
from gangboard.placement.amounts import free, wanted
from gangboard.placement.cheapest import cheapest
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import one_per_domain_keys
from gangboard.placement.node_snapshot import Whole
from gangboard.placement.unavailable_nodes import uncordonable_nodes
from gangboard.placement.what_if import Freed, WhatIf, without_needless

MOST_CORDONS = 50
EMPTIED = (1, 2, 3, 6)
"""Numbers of nodes that are emptied to see whether that is enough."""
MOST_HALVINGS = 20

# Room


def wait_for_room(what_if: WhatIf) -> Iterator[Advice]:
    """Say how much must become free on how few nodes, where that could happen at all."""
    if what_if.assessment.empty.answer is not FitAnswer.YES:
        return
    freed = least(what_if)
    if not freed or _may_unbalance(what_if, freed):
        return
    if not what_if.frees(changed=_with_room(what_if, freed)):
        return
    names = sorted(freed)
    yield Advice(
        AdviceKind.WAIT_FOR_ROOM,
        f"Wait for {room_of(freed)} to become free: {then_fits(what_if)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in shown(names)),
        free=freed,
    )


def wait_for_any_room(what_if: WhatIf) -> Advice:
    """Say that waiting helps, where it is not known how little room is enough."""
    what = "room" if what_if.deciding == PODS else what_if.deciding
    return Advice(
        AdviceKind.WAIT_FOR_ROOM, f"Wait for more {what} to become free: {then_fits(what_if)}."
    )


def least(what_if: WhatIf) -> Freed:
    """Return the least that must become free, worked out once for each what-if; nothing for unknown."""
    if what_if.freed is None:
        one = what_if.is_one_shape and not (
            what_if.shape.spread or one_per_domain_keys(what_if.shape)
        )
        what_if.freed = cheapest(what_if) if one else _least_for_several(what_if)
    return what_if.freed


def _may_unbalance(what_if: WhatIf, freed: Freed) -> bool:
    """Whether pods that count for topology spread could be those that leave."""
    spread = what_if.shape.spread
    if spread is None:
        return False
    loads = [(what_if.node(name).now, what_if.node(name).staying) for name in freed]
    term = spread.counted
    return any(
        now.matched_terms.get(term, 0) > stay.matched_terms.get(term, 0) for now, stay in loads
    )


def _shortage(node: NodeRoom, amounts: Mapping[str, int]) -> dict[str, int]:
    """Return how much is missing on the node now, only what is."""
    lacking = {name: amount - free(node, name, When.NOW) for name, amount in amounts.items()}
    return {name: amount for name, amount in lacking.items() if amount > 0}


def _least_for_several(what_if: WhatIf) -> Freed:
    """Empty one node after the other until all fit, then give back what was not needed."""
    emptied: dict[str, NodeRoom] = {}
    for node in _worth_emptying(what_if):
        emptied[node.name] = replace(node, now=node.staying)
        if len(emptied) in EMPTIED and what_if.fits(changed=emptied):
            break
    else:
        return {}
    return _halved(what_if, _asked_by(what_if, _needed(what_if, emptied)))


def _needed(what_if: WhatIf, changed: Mapping[str, NodeRoom]) -> dict[str, NodeRoom]:
    """Return the changed nodes, by name, without those that need not be."""

    def only(names: Sequence[str]) -> dict[str, NodeRoom]:
        return {name: changed[name] for name in names}

    return only(without_needless(sorted(changed), lambda names: what_if.fits(changed=only(names))))


def _asked_by(what_if: WhatIf, emptied: Mapping[str, NodeRoom]) -> Freed:
    """Return what a placement on the emptied nodes wants more than they have free now."""
    asked = {pod_set.shape.name: wanted(pod_set.shape) for pod_set in what_if.pod_sets}
    freed: Freed = {}
    for name, counts in what_if.fit(changed=emptied).placement.items():
        if name not in emptied:
            continue
        sums: dict[str, int] = {}
        for shape, count in counts.items():
            for resource, amount in asked[shape].items():
                sums[resource] = sums.get(resource, 0) + amount * count
        shortage = _shortage(what_if.node(name), sums)
        if shortage:
            freed[name] = shortage
    return freed


def _halved(what_if: WhatIf, freed: Freed) -> Freed:
    """Take half of it for as long as half is enough: another placement may want less."""
    for _ in range(MOST_HALVINGS):
        half = {
            name: {resource: amount // 2 for resource, amount in amounts.items()}
            for name, amounts in freed.items()
        }
        if not what_if.fits(changed=_with_room(what_if, half)):
            return freed
        freed = {
            name: {resource: amount for resource, amount in amounts.items() if amount}
            for name, amounts in half.items()
            if any(amounts.values())
        }
    return freed


def _worth_emptying(what_if: WhatIf) -> list[NodeRoom]:
    """Return eligible nodes by how many members they gain when emptied, then by what leaves."""
    gain: Whole = np.zeros(len(what_if.snapshot), dtype=np.int64)
    for pod_set in what_if.pod_sets:
        feasible = feasible_nodes_of(what_if.snapshot, pod_set.shape)
        empty = np.minimum(feasible.caps(When.EMPTY), pod_set.count)
        now = np.minimum(feasible.caps(When.NOW), pod_set.count)
        gain = np.maximum(gain, empty - now)
    there = np.flatnonzero(gain > 0)
    stock = what_if.snapshot.stock(what_if.deciding)
    leaves = (stock.empty - stock.now)[there]
    order = np.lexsort((leaves, -gain[there]))[: EMPTIED[-1]]
    return [what_if.snapshot.nodes[at] for at in there[order].tolist()]


def _with_room(what_if: WhatIf, freed: Freed) -> dict[str, NodeRoom]:
    """Return the nodes with that much more free on them."""
    changed = {}
    for name, amounts in freed.items():
        node = what_if.node(name)
        load = node.now
        taken = {
            resource: amount - amounts.get(resource, 0) for resource, amount in load.amounts.items()
        }
        now = replace(load, amounts=taken, pods=load.pods - amounts.get(PODS, 0))
        changed[name] = replace(node, now=now)
    return changed


# Cordons


def uncordon(what_if: WhatIf) -> Iterator[Advice]:
    """Say which cordoned nodes would be enough, the fewest."""
    shapes = [pod_set.shape for pod_set in what_if.pod_sets]
    opened = uncordonable_nodes(what_if.snapshot, shapes, what_if.request.topology_keys)
    if not opened:
        return
    chosen = fewest(what_if, opened)
    if not chosen or not what_if.frees(changed=chosen):
        return
    names = sorted(chosen)
    by = writers_words(chosen[name].cordoned_by for name in names)
    yield Advice(
        AdviceKind.UNCORDON,
        f"Uncordon {node_names(names)}{f' (cordoned {by})' if by else ''}: {then_fits(what_if)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in shown(names)),
    )


def fewest(what_if: WhatIf, opened: Mapping[str, NodeRoom]) -> dict[str, NodeRoom]:
    """Return the fewest of the changed nodes that are enough, those that take the most pods first."""
    best: dict[str, NodeRoom] = {}
    places = _places(what_if, opened)
    for nodes in _by_domain(what_if, opened):
        ranked = sorted(nodes, key=lambda node: (-places[node.name], node.name))[:MOST_CORDONS]
        chosen: dict[str, NodeRoom] = {}
        for node in ranked:
            if best and len(chosen) + 1 >= len(best):
                break
            chosen[node.name] = node
            if what_if.fits(changed=chosen):
                best = _needed(what_if, chosen)
                break
    return best


def _by_domain(what_if: WhatIf, opened: Mapping[str, NodeRoom]) -> Iterator[list[NodeRoom]]:
    """Yield the nodes that could be opened, those of one topology domain together."""
    found: dict[tuple[str, ...], list[NodeRoom]] = {}
    for node in opened.values():
        values = tuple(node.labels.get(key, "") for key in what_if.request.topology_keys)
        found.setdefault(values, []).append(node)
    for values in sorted(found):
        if what_if.request.domain in (None, values):
            yield found[values]


def _places(what_if: WhatIf, opened: Mapping[str, NodeRoom]) -> Mapping[str, int]:
    """Return how many members of the shape with the most places each of the changed nodes takes."""
    snapshot, keys = what_if.snapshot.changed(opened), what_if.request.topology_keys
    most: Whole = np.zeros(len(snapshot), dtype=np.int64)
    for pod_set in what_if.pod_sets:
        feasible = feasible_nodes_of(snapshot, pod_set.shape)
        most = np.maximum(most, np.where(feasible.eligible(keys), feasible.caps(When.NOW), 0))
    return {name: int(most[what_if.place(name)]) for name in opened}
