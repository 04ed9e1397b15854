"""Advice about nodes: room to free on them, and cordons to lift."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import Advice, Change
from gangboard.domain.capacity import PODS, NodeRoom
from gangboard.domain.placing import Answer, Filter, When
from gangboard.placement.advice_words import node_names, room_of, shown, then_fits
from gangboard.placement.amounts import free, wanted
from gangboard.placement.cheapest import cheapest
from gangboard.placement.eligibility import filters, is_eligible, pods_that_fit
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import CORDON, keys_apart
from gangboard.placement.node_snapshot import NodeSnapshot, Whole
from gangboard.placement.trial import Freed, Trial, node_ref, without_needless

MOST_CORDONS = 50
EMPTIED = (1, 2, 3, 6)
"""Numbers of nodes that are emptied to see whether that is enough."""
MOST_HALVINGS = 20

# Free room


def free_room(trial: Trial) -> Iterator[Advice]:
    """Say how much must become free on how few nodes, where that could happen at all."""
    if trial.assessment.empty.answer is not Answer.YES:
        return
    freed = least(trial)
    if not freed or _may_unbalance(trial, freed):
        return
    if not trial.frees(changed=_with_room(trial, freed)):
        return
    names = sorted(freed)
    yield Advice(
        Change.FREE_ROOM,
        f"Free {room_of(freed)}: {then_fits(trial)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in shown(names)),
        free=freed,
    )


def least(trial: Trial) -> Freed:
    """Return the least that must become free, worked out once for each trial; nothing for unknown."""
    if trial.freed is None:
        one = trial.is_one_shape and not (trial.shape.spread or keys_apart(trial.shape))
        trial.freed = cheapest(trial) if one else _least_for_several(trial)
    return trial.freed


def _may_unbalance(trial: Trial, freed: Freed) -> bool:
    """Whether pods that count for topology spread could be those that leave."""
    spread = trial.shape.spread
    if spread is None:
        return False
    loads = [(trial.node(name).now, trial.node(name).staying) for name in freed]
    term = spread.counted
    return any(now.matched.get(term, 0) > stay.matched.get(term, 0) for now, stay in loads)


def _shortage(node: NodeRoom, amounts: Mapping[str, int]) -> dict[str, int]:
    """Return how much is missing on the node now, only what is."""
    lacking = {name: amount - free(node, name, When.NOW) for name, amount in amounts.items()}
    return {name: amount for name, amount in lacking.items() if amount > 0}


def _least_for_several(trial: Trial) -> Freed:
    """Empty one node after the other until all fit, then give back what was not needed."""
    emptied: dict[str, NodeRoom] = {}
    for node in _worth_emptying(trial):
        emptied[node.name] = replace(node, now=node.staying)
        if len(emptied) in EMPTIED and trial.fits(changed=emptied):
            break
    else:
        return {}
    return _halved(trial, _asked_by(trial, _needed(trial, emptied)))


def _needed(trial: Trial, changed: Mapping[str, NodeRoom]) -> dict[str, NodeRoom]:
    """Return the changed nodes, by name, without those that need not be."""

    def only(names: Sequence[str]) -> dict[str, NodeRoom]:
        return {name: changed[name] for name in names}

    return only(without_needless(sorted(changed), lambda names: trial.fits(changed=only(names))))


def _asked_by(trial: Trial, emptied: Mapping[str, NodeRoom]) -> Freed:
    """Return what a placement on the emptied nodes wants more than they have free now."""
    asked = {party.shape.name: wanted(party.shape) for party in trial.parties}
    freed: Freed = {}
    for name, counts in trial.fit(changed=emptied).placement.items():
        if name not in emptied:
            continue
        sums: dict[str, int] = {}
        for shape, count in counts.items():
            for resource, amount in asked[shape].items():
                sums[resource] = sums.get(resource, 0) + amount * count
        shortage = _shortage(trial.node(name), sums)
        if shortage:
            freed[name] = shortage
    return freed


def _halved(trial: Trial, freed: Freed) -> Freed:
    """Take half of it for as long as half is enough: another placement may want less."""
    for _ in range(MOST_HALVINGS):
        half = {
            name: {resource: amount // 2 for resource, amount in amounts.items()}
            for name, amounts in freed.items()
        }
        if not trial.fits(changed=_with_room(trial, half)):
            return freed
        freed = {
            name: {resource: amount for resource, amount in amounts.items() if amount}
            for name, amounts in half.items()
            if any(amounts.values())
        }
    return freed


def _worth_emptying(trial: Trial) -> list[NodeRoom]:
    """Return eligible nodes by how many members they gain when emptied, then by what leaves."""
    gain: Whole = np.zeros(len(trial.snapshot), dtype=np.int64)
    for party in trial.parties:
        feasible = feasible_nodes_of(trial.snapshot, party.shape)
        empty = np.minimum(feasible.caps(When.EMPTY), party.count)
        now = np.minimum(feasible.caps(When.NOW), party.count)
        gain = np.maximum(gain, empty - now)
    there = np.flatnonzero(gain > 0)
    stock = trial.snapshot.stock(trial.deciding)
    leaves = (stock.empty - stock.now)[there]
    order = np.lexsort((leaves, -gain[there]))[: EMPTIED[-1]]
    return [trial.snapshot.nodes[at] for at in there[order].tolist()]


def _with_room(trial: Trial, freed: Freed) -> dict[str, NodeRoom]:
    """Return the nodes with that much more free on them."""
    changed = {}
    for name, amounts in freed.items():
        node = trial.node(name)
        load = node.now
        taken = {
            resource: amount - amounts.get(resource, 0) for resource, amount in load.amounts.items()
        }
        now = replace(load, amounts=taken, pods=load.pods - amounts.get(PODS, 0))
        changed[name] = replace(node, now=now)
    return changed


# Cordons


def uncordon(trial: Trial) -> Iterator[Advice]:
    """Say which cordoned nodes would be enough, the fewest."""
    opened = _cordoned(trial)
    if not opened:
        return
    chosen = _fewest(trial, opened)
    if not chosen or not trial.frees(changed=chosen):
        return
    names = sorted(chosen)
    yield Advice(
        Change.UNCORDON,
        f"Uncordon {node_names(names)}: {then_fits(trial)}.",
        nodes=tuple(node_ref(name) for name in names),
        named=tuple(node_ref(name) for name in shown(names)),
    )


def _cordoned(trial: Trial) -> dict[str, NodeRoom]:
    """Return the nodes that only their cordon keeps from some shape, as they would be without."""
    keys = trial.request.topology_keys
    found = {}
    for node in _with_cordon(trial.snapshot):
        for party in trial.parties:
            if {one for one, _ in filters(node, party.shape, keys)} == {Filter.CORDON}:
                taints = tuple(taint for taint in node.taints if taint.key != CORDON)
                found[node.name] = replace(node, taints=taints, unschedulable=False)
                break
    return found


def _with_cordon(snapshot: NodeSnapshot) -> tuple[NodeRoom, ...]:
    if "cordoned" not in snapshot.cache:
        kinds = snapshot.kinds()
        marked = [
            kind.unschedulable or any(taint.key == CORDON for taint in kind.taints)
            for kind in kinds.nodes
        ]
        there = np.flatnonzero(np.array(marked, dtype=np.bool_)[kinds.codes]) if marked else ()
        snapshot.cache["cordoned"] = tuple(snapshot.nodes[at] for at in there)
    found: tuple[NodeRoom, ...] = snapshot.cache["cordoned"]
    return found


def _fewest(trial: Trial, opened: Mapping[str, NodeRoom]) -> dict[str, NodeRoom]:
    """Return the fewest of the nodes that are enough, those with the most places first."""
    best: dict[str, NodeRoom] = {}
    for here in _by_domain(trial, opened):
        ranked = sorted(here, key=lambda node: (-_places(trial, node), node.name))[:MOST_CORDONS]
        chosen: dict[str, NodeRoom] = {}
        for node in ranked:
            if best and len(chosen) + 1 >= len(best):
                break
            chosen[node.name] = node
            if trial.fits(changed=chosen):
                best = _needed(trial, chosen)
                break
    return best


def _by_domain(trial: Trial, opened: Mapping[str, NodeRoom]) -> Iterator[list[NodeRoom]]:
    """Yield the nodes that could be opened, those of one topology domain together."""
    found: dict[tuple[str, ...], list[NodeRoom]] = {}
    for node in opened.values():
        values = tuple(node.labels.get(key, "") for key in trial.request.topology_keys)
        found.setdefault(values, []).append(node)
    for values in sorted(found):
        if trial.request.domain in (None, values):
            yield found[values]


def _places(trial: Trial, node: NodeRoom) -> int:
    return max(
        (
            pods_that_fit(node, party.shape, When.NOW)[0]
            for party in trial.parties
            if is_eligible(node, party.shape, trial.request.topology_keys)
        ),
        default=0,
    )
