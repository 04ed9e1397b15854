"""Advice about other gangs: which of them, suspended, make room, and which ends by itself first."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gangboard.domain.advice import Advice, Change
from gangboard.domain.capacity import Load, NodeRoom, Resident
from gangboard.domain.placing import Answer
from gangboard.placement.advice_words import amount_of, then_fits
from gangboard.placement.ground import Mask
from gangboard.placement.hosts import hosts_of
from gangboard.placement.tenants import tenants_of
from gangboard.placement.trial import Trial

MOST_GANGS = 3
MOST_SINGLES = 12
MOST_IN_SETS = 7
MOST_SEARCHED = 4
"""Tries of each number where shapes differ, so that each has to be searched."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A gang of equal or lower priority that holds something useful."""

    resident: Resident
    held: int
    """Of the deciding resource on nodes where members can go, in scheduler units."""


def suspend_gangs(trial: Trial) -> Iterator[Advice]:
    """Name the fewest running gangs of lower or equal priority that make room, at most three."""
    if trial.assessment.empty.answer is not Answer.YES:
        return
    chosen = _smallest_set(trial, _candidates(trial))
    if not chosen:
        return
    held = amount_of(trial.deciding, sum(one.held for one in chosen))
    listed = " and ".join(
        f"{one.resident.ref.kind} {one.resident.ref.namespace}/{one.resident.ref.name} "
        f"(priority {one.resident.priority})"
        for one in chosen
    )
    many = len(chosen) > 1
    yield Advice(
        Change.SUSPEND_GANGS,
        f"Suspend {listed}, which {'hold' if many else 'holds'} {held}"
        f"{' together' if many else ''}: {then_fits(trial)}.",
        gangs=tuple(one.resident.ref for one in chosen),
    )


def _priority(trial: Trial) -> int:
    found = [pod.priority for pod in trial.unit.unplaced if pod.priority is not None]
    return max(found, default=0)


def _candidates(trial: Trial) -> list[_Candidate]:
    """Return those of no higher priority that hold some of the deciding resource, the least first."""
    tenants = tenants_of(trial.unit.facts.room, trial.ground)
    if not tenants.all:
        return []
    held = tenants.held(trial.deciding, _useful_nodes(trial))
    there = np.flatnonzero((held > 0) & (tenants.priorities <= _priority(trial)))
    order = there[np.lexsort((tenants.priorities[there], held[there]))]
    own = trial.unit.owner.meta.ref.uid
    return [
        _Candidate(tenants.all[at], int(held[at]))
        for at in _ends(order.tolist(), held[order].tolist(), _lacking(trial))
        if tenants.all[at].root != own
    ]


def _ends(order: list[int], held: list[int], lacking: int) -> list[int]:
    """Return the first that hold enough alone, and those that hold the most: all that is tried."""
    enough = bisect_left(held, lacking)
    kept = {*order[enough : enough + MOST_SINGLES + 1], *order[-MOST_IN_SETS - 1 :]}
    return [at for at in order if at in kept]


def _useful_nodes(trial: Trial) -> Mask:
    keys = trial.request.topology_keys
    masks = [hosts_of(trial.ground, party.shape).eligible(keys) for party in trial.parties]
    found: Mask = np.logical_or.reduce(masks)
    return found


def _smallest_set(trial: Trial, found: Sequence[_Candidate]) -> tuple[_Candidate, ...]:
    """Try one alone, then two, then three; of each number the least held first."""
    lacking = _lacking(trial)
    most = MOST_SINGLES if trial.is_one_shape else MOST_SEARCHED
    for single in [one for one in found if one.held >= lacking][:most]:
        if _fits_without(trial, (single,)):
            return (single,)
    largest = list(found)[-MOST_IN_SETS:]
    for size in range(2, MOST_GANGS + 1):
        sets = sorted(combinations(largest, size), key=lambda some: sum(one.held for one in some))
        enough = [some for some in sets if sum(one.held for one in some) >= lacking]
        for some in enough if trial.is_one_shape else enough[:MOST_SEARCHED]:
            if _fits_without(trial, some):
                return some
    return ()


def _lacking(trial: Trial) -> int:
    """Return how much of the deciding resource is missing in total; 1 where it is not the total."""
    for total in trial.assessment.totals:
        if total.resource == trial.deciding:
            return max(1, total.needed - total.free)
    return 1


def _fits_without(trial: Trial, some: Sequence[_Candidate]) -> bool:
    changed: dict[str, NodeRoom] = {}
    for one in some:
        for name, load in one.resident.loads.items():
            node = changed.get(name) or trial.find(name)
            if node is not None:
                changed[name] = replace(node, now=_less(node.now, load, node.staying))
    return trial.fits(changed=changed)


def _less(load: Load, gone: Load, staying: Load) -> Load:
    """Return what is left on a node; ports and sets that another pod may share are kept if it stays."""
    amounts: Mapping[str, int] = {
        resource: amount - gone.amounts.get(resource, 0)
        for resource, amount in load.amounts.items()
    }
    return Load(
        amounts,
        load.pods - gone.pods,
        (load.host_ports - gone.host_ports) | staying.host_ports,
        (load.apart - gone.apart) | staying.apart,
    )


def wait_for_end(trial: Trial) -> Iterator[Advice]:
    """Name the gang whose deadline comes first, where its end is enough."""
    now = trial.unit.now
    known = [
        (one.resident.ends_at, one)
        for one in _candidates(trial)
        if one.resident.ends_at is not None and one.resident.ends_at > now
    ]
    for ends_at, one in sorted(known, key=lambda found: found[0]):
        if _fits_without(trial, (one,)):
            ref = one.resident.ref
            minutes = max(1, round((ends_at - now).total_seconds() / 60))
            yield Advice(
                Change.WAIT_FOR_END,
                f"Wait for {ref.kind} {ref.namespace}/{ref.name}, which ends in {minutes} min at the "
                f"latest (its deadline): {then_fits(trial)}.",
                gangs=(ref,),
                at=ends_at,
            )
            return
