"""Advice about nodes: room to free on them, and cordons to lift."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gangboard.domain.advice import Advice, Change
from gangboard.domain.capacity import PODS, Load, NodeRoom, Shape
from gangboard.domain.placing import Answer, Constraint, Filter, When
from gangboard.placement.advice_words import amount_of, each_node, node_names, then_fits
from gangboard.placement.amounts import free, wanted
from gangboard.placement.eligibility import filters, is_eligible, pods_that_fit
from gangboard.placement.matching import CORDON
from gangboard.placement.trial import Trial, node_ref

MOST_CORDONS = 50
MOST_EMPTIED = 6
MOST_HALVINGS = 4
_BY_PODS = (Constraint.HOST_PORTS, Constraint.APART)

Freed = dict[str, dict[str, int]]
"""Node → resource → how much more must be free there, in scheduler units."""


# Free room


def free_room(trial: Trial) -> Iterator[Advice]:
    """Say how much must become free on how few nodes, where that could happen at all."""
    if trial.assessment.empty.answer is not Answer.YES:
        return
    freed = _least_for_one_shape(trial) if trial.is_one_shape else _least_for_several(trial)
    if not freed or not trial.fits(changed=_with_room(trial, freed)):
        return
    names = sorted(freed)
    yield Advice(
        Change.FREE_ROOM,
        f"Free {_amounts_text(freed)} {each_node(names)}: {then_fits(trial)}.",
        nodes=tuple(node_ref(name) for name in names),
        free=freed,
    )


def _amounts_text(freed: Freed) -> str:
    """Say `4 nvidia.com/gpu`; where nodes differ, the range of what each must free."""
    resources = sorted({name for amounts in freed.values() for name in amounts})
    texts = []
    for resource in resources:
        found = sorted({amounts.get(resource, 0) for amounts in freed.values()})
        low, high = found[0], found[-1]
        text = amount_of(resource, high)
        texts.append(text if low == high else f"up to {text}")
    return " and ".join(texts)


@dataclass(order=True, slots=True)
class _Slot:
    """One place more on a node, with what has to be freed for all places on it so far."""

    cost: tuple[int, int, str]
    place: int
    shortage: Mapping[str, int] = field(compare=False)


def _least_for_one_shape(trial: Trial) -> Freed:
    """Take the cheapest places of the best domain, until all needed members have one."""
    shape, now = trial.shape, trial.slots(trial.shape).now
    best: tuple[tuple[int, int], Freed] | None = None
    for _, nodes in sorted(trial.domains().items()):
        hosts = [node for node in nodes if node.name in now]
        missing = trial.request.needed - sum(now[node.name] for node in hosts)
        freed = _cheapest(trial, shape, hosts, missing)
        if not freed:
            continue
        price = sum(one.get(_deciding(trial), 0) for one in freed.values()), len(freed)
        if best is None or price < best[0]:
            best = price, freed
    return best[1] if best is not None else {}


def _deciding(trial: Trial) -> str:
    return trial.assessment.deciding or next(iter(wanted(trial.shape)))


def _cheapest(trial: Trial, shape: Shape, hosts: Sequence[NodeRoom], missing: int) -> Freed:
    asked = wanted(shape)
    now = trial.slots(shape).now
    heap = []
    for node in hosts:
        slot = _slot(trial, node, asked, shape, now[node.name] + 1, now[node.name])
        if slot is not None:
            heap.append(slot)
    heapq.heapify(heap)
    freed: Freed = {}
    while missing > 0 and heap:
        slot = heapq.heappop(heap)
        name = slot.cost[2]
        freed[name] = dict(slot.shortage)
        missing -= 1
        following = _slot(trial, trial.by_name[name], asked, shape, slot.place + 1, slot.place)
        if following is not None:
            heapq.heappush(heap, following)
    return freed if missing <= 0 else {}


def _slot(
    trial: Trial,
    node: NodeRoom,
    asked: Mapping[str, int],
    shape: Shape,
    place: int,
    before: int,
) -> _Slot | None:
    """Return what the place costs more than the one before; None where there is no such place."""
    most, _ = pods_that_fit(node, shape, When.EMPTY, asked)
    _, limit = pods_that_fit(node, shape, When.NOW, asked)
    if place > most or limit in _BY_PODS:
        return None
    shortage = _shortage(node, {name: amount * place for name, amount in asked.items()})
    earlier = _shortage(node, {name: amount * before for name, amount in asked.items()})
    deciding = _deciding(trial)
    step = shortage.get(deciding, 0) - earlier.get(deciding, 0)
    return _Slot((step, sum(shortage.values()), node.name), place, shortage)


def _shortage(node: NodeRoom, amounts: Mapping[str, int]) -> dict[str, int]:
    """Return how much is missing on the node now, only what is."""
    lacking = {name: amount - free(node, name, When.NOW) for name, amount in amounts.items()}
    return {name: amount for name, amount in lacking.items() if amount > 0}


def _least_for_several(trial: Trial) -> Freed:
    """Empty one node after the other until all fit, then give back what was not needed."""
    emptied: dict[str, NodeRoom] = {}
    for node in _worth_emptying(trial):
        emptied[node.name] = replace(node, now=node.staying)
        if trial.fits(changed=emptied):
            break
        if len(emptied) == MOST_EMPTIED:
            return {}
    else:
        return {}
    for name in sorted(emptied):
        fewer = {other: node for other, node in emptied.items() if other != name}
        if trial.fits(changed=fewer):
            emptied = fewer
    return _halved(trial, _asked_by(trial, emptied))


def _asked_by(trial: Trial, emptied: Mapping[str, NodeRoom]) -> Freed:
    """Return what a placement on the emptied nodes wants more than they have free now."""
    asked = {party.shape.name: wanted(party.shape) for party in trial.request.parties}
    freed: Freed = {}
    for name, counts in trial.fit(changed=emptied).placement.items():
        if name not in emptied:
            continue
        sums: dict[str, int] = {}
        for shape, count in counts.items():
            for resource, amount in asked[shape].items():
                sums[resource] = sums.get(resource, 0) + amount * count
        shortage = _shortage(trial.by_name[name], sums)
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
    found = []
    keys = trial.request.topology_keys
    for node in trial.nodes:
        gain = 0
        for party in trial.request.parties:
            asked = wanted(party.shape)
            if is_eligible(node, party.shape, keys, asked):
                empty, _ = pods_that_fit(node, party.shape, When.EMPTY, asked)
                now, _ = pods_that_fit(node, party.shape, When.NOW, asked)
                gain = max(gain, min(empty, party.count) - min(now, party.count))
        if gain:
            deciding = _deciding(trial)
            leaves = free(node, deciding, When.EMPTY) - free(node, deciding, When.NOW)
            found.append((-gain, leaves, node.name))
    return [trial.by_name[name] for _, _, name in sorted(found)]


def _with_room(trial: Trial, freed: Freed) -> dict[str, NodeRoom]:
    """Return the nodes with that much more free on them."""
    changed = {}
    for name, amounts in freed.items():
        node = trial.by_name[name]
        load = node.now
        taken = {
            resource: amount - amounts.get(resource, 0) for resource, amount in load.amounts.items()
        }
        pods = load.pods - amounts.get(PODS, 0)
        now = Load(taken, pods, load.host_ports, load.apart)
        changed[name] = replace(node, now=now)
    return changed


# Cordons


def uncordon(trial: Trial) -> Iterator[Advice]:
    """Say which cordoned nodes would be enough, the fewest."""
    opened = _cordoned(trial)
    if not opened:
        return
    chosen = _fewest(trial, opened)
    if not chosen:
        return
    names = sorted(chosen)
    yield Advice(
        Change.UNCORDON,
        f"Uncordon {node_names(names)}: {then_fits(trial)}.",
        nodes=tuple(node_ref(name) for name in names),
    )


def _cordoned(trial: Trial) -> dict[str, NodeRoom]:
    """Return the nodes that only their cordon keeps from some shape, as they would be without."""
    keys = trial.request.topology_keys
    found = {}
    for node in trial.nodes:
        if not (node.unschedulable or any(taint.key == CORDON for taint in node.taints)):
            continue
        for party in trial.request.parties:
            if {one for one, _ in filters(node, party.shape, keys)} == {Filter.CORDON}:
                taints = tuple(taint for taint in node.taints if taint.key != CORDON)
                found[node.name] = replace(node, taints=taints, unschedulable=False)
                break
    return found


def _fewest(trial: Trial, opened: Mapping[str, NodeRoom]) -> dict[str, NodeRoom]:
    """Return the fewest of the nodes that are enough, those with the most places first."""
    best: dict[str, NodeRoom] = {}
    for _, nodes in sorted(trial.domains().items()):
        here = [opened[node.name] for node in nodes if node.name in opened]
        ranked = sorted(here, key=lambda node: (-_places(trial, node), node.name))[:MOST_CORDONS]
        chosen: dict[str, NodeRoom] = {}
        for node in ranked:
            if best and len(chosen) + 1 >= len(best):
                break
            chosen[node.name] = node
            if trial.fits(changed=chosen):
                best = _without_needless(trial, chosen)
                break
    return best


def _places(trial: Trial, node: NodeRoom) -> int:
    return max(
        (
            pods_that_fit(node, party.shape, When.NOW)[0]
            for party in trial.request.parties
            if is_eligible(node, party.shape, trial.request.topology_keys)
        ),
        default=0,
    )


def _without_needless(trial: Trial, chosen: dict[str, NodeRoom]) -> dict[str, NodeRoom]:
    for name in sorted(chosen):
        fewer = {other: node for other, node in chosen.items() if other != name}
        if fewer and trial.fits(changed=fewer):
            chosen = fewer
    return chosen
