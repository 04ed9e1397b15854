"""Advice about other gangs: which of them, suspended, make room, and which ends by itself first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from gangboard.domain.advice import Advice, Change
from gangboard.domain.capacity import Load, NodeRoom, Resident
from gangboard.domain.placing import Answer
from gangboard.placement.advice_words import amount_of, then_fits
from gangboard.placement.ground import Mask, Whole
from gangboard.placement.hosts import hosts_of
from gangboard.placement.neighbours import fewer
from gangboard.placement.tenants import Tenants, tenants_of
from gangboard.placement.trial import Trial

MOST_GANGS = 3
MOST_SEARCHED = 4
"""Tries of one alone where shapes differ, so that each has to be searched."""


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
    chosen = _by_places(trial) if _adds_up(trial) else ()
    chosen = chosen or _by_search(trial)
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


def _adds_up(trial: Trial) -> bool:
    """Whether the places on each node can simply be added: one shape that shares nodes freely."""
    shape = trial.shape
    bound = shape.host_ports or shape.apart or shape.matched or shape.spread or shape.unsupported
    return trial.is_one_shape and not bound


def _priority(trial: Trial) -> int:
    found = [pod.priority for pod in trial.unit.unplaced if pod.priority is not None]
    return max(found, default=0)


def _allowed(trial: Trial, tenants: Tenants) -> Mask:
    """Return which of them may be asked to go: nobody of higher priority, and not the gang itself."""
    own = trial.own_uid
    allowed: Mask = tenants.priorities <= _priority(trial)
    if own in tenants.places:
        allowed = allowed.copy()
        allowed[tenants.places[own]] = False
    return allowed


def _held(trial: Trial, tenants: Tenants) -> Whole:
    """Return how much of the deciding resource each holds on nodes where members can go."""
    keys = trial.request.topology_keys
    masks = [hosts_of(trial.ground, party.shape).eligible(keys) for party in trial.parties]
    return tenants.held(trial.deciding, np.logical_or.reduce(masks))


def _by_places(trial: Trial) -> tuple[_Candidate, ...]:
    """Choose by the places that each makes: the fewest gangs, then those that hold the least."""
    tenants = tenants_of(trial.unit.facts.room, trial.ground)
    if not tenants.all:
        return ()
    codes, missing = trial.missing_by_domain()
    gains = tenants.gains(trial.hosts, trial.shape, codes)
    may = np.flatnonzero(_allowed(trial, tenants)[gains.owners])
    owners, domains, places = gains.owners[may], gains.domains[may], gains.places[may]
    enough = np.flatnonzero(places >= missing[domains])
    if len(enough):
        held = _held(trial, tenants)
        best = enough[np.lexsort((owners[enough], held[owners[enough]]))[0]]
        return (_Candidate(tenants.all[owners[best]], int(held[owners[best]])),)
    for some in _several(owners, domains, places, missing):
        held = _held(trial, tenants)
        found = tuple(_Candidate(tenants.all[at], int(held[at])) for at in some)
        if _fits_without(trial, found):
            return _without_needless(trial, found)
    return ()


def _several(
    owners: Whole, domains: Whole, places: Whole, missing: Whole
) -> Iterator[tuple[int, ...]]:
    """Yield the two or three that make the most places in a domain, where that may be enough."""
    order = np.lexsort((owners, -places, domains))
    starts = np.flatnonzero(np.diff(domains[order], prepend=-1))
    left = MOST_SEARCHED
    for size in range(2, MOST_GANGS + 1):
        for start in starts.tolist():
            most = order[start : start + size]
            domain = domains[most[0]]
            if len(most) < size or domains[most[-1]] != domain:
                continue
            if int(places[most].sum()) >= int(missing[domain]):
                yield tuple(owners[most].tolist())
                left -= 1
            if not left:
                return


def _without_needless(trial: Trial, some: tuple[_Candidate, ...]) -> tuple[_Candidate, ...]:
    """Leave out those without whom the others are enough."""
    for one in some:
        fewer = tuple(other for other in some if other is not one)
        if fewer and _fits_without(trial, fewer):
            some = fewer
    return some


def _by_search(trial: Trial) -> tuple[_Candidate, ...]:
    """Try a few that hold enough alone, the least first, then the two and three largest."""
    tenants = tenants_of(trial.unit.facts.room, trial.ground)
    if not tenants.all:
        return ()
    held = _held(trial, tenants)
    lacking = _lacking(trial)
    there = np.flatnonzero((held > 0) & _allowed(trial, tenants))
    if int(np.sort(held[there])[-MOST_GANGS:].sum()) < lacking:
        return ()
    order = there[np.lexsort((tenants.priorities[there], held[there]))]
    first = int(np.searchsorted(held[order], lacking))
    tried = [[at] for at in order[first : first + MOST_SEARCHED].tolist()]
    tried += [order[-size:].tolist() for size in range(2, MOST_GANGS + 1) if len(order) >= size]
    for places in tried:
        some = tuple(_Candidate(tenants.all[at], int(held[at])) for at in places)
        if sum(one.held for one in some) >= lacking and _fits_without(trial, some):
            fewest = _without_needless(trial, some)
            if _frees_without(trial, fewest):
                return fewest
    return ()


def _lacking(trial: Trial) -> int:
    """Return how much of the deciding resource is missing in total: at least so much must go."""
    for total in trial.assessment.totals:
        if total.resource == trial.deciding:
            return max(1, total.needed - total.free)
    return 1


def _fits_without(trial: Trial, some: Sequence[_Candidate]) -> bool:
    return trial.fits(changed=_nodes_without(trial, some))


def _frees_without(trial: Trial, some: Sequence[_Candidate]) -> bool:
    return trial.frees(changed=_nodes_without(trial, some))


def _nodes_without(trial: Trial, some: Sequence[_Candidate]) -> dict[str, NodeRoom]:
    changed: dict[str, NodeRoom] = {}
    for one in some:
        for name, load in one.resident.loads.items():
            node = changed.get(name) or trial.find(name)
            if node is not None:
                changed[name] = replace(node, now=_less(node.now, load, node.staying))
    return changed


def _less(load: Load, gone: Load, staying: Load) -> Load:
    """Return what is left on a node; ports that pods share which stay are kept."""
    amounts: Mapping[str, int] = {
        resource: amount - gone.amounts.get(resource, 0)
        for resource, amount in load.amounts.items()
    }
    return Load(
        amounts,
        load.pods - gone.pods,
        (load.host_ports - gone.host_ports) | staying.host_ports,
        fewer(load.apart, gone.apart),
        fewer(load.matched, gone.matched),
    )


def wait_for_end(trial: Trial) -> Iterator[Advice]:
    """Name the gang whose deadline comes first, where its end is enough."""
    now = trial.unit.now
    for ends_at, one in _ending(trial):
        if _frees_without(trial, (one,)):
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


def _ending(trial: Trial) -> list[tuple[datetime, _Candidate]]:
    """Return those that hold something useful and end by themselves, the first to end first."""
    room = trial.unit.facts.room
    if "ends" not in room.cache:  # most clusters have none, and then nothing more is worked out
        room.cache["ends"] = any(one.ends_at for one in room.residents())
    if not room.cache["ends"]:
        return []
    tenants = tenants_of(room, trial.ground)
    held = _held(trial, tenants)
    found = [
        (ends_at, _Candidate(tenants.all[at], int(held[at])))
        for at, ends_at in tenants.ending
        if ends_at > trial.unit.now and held[at] and tenants.all[at].root != trial.own_uid
    ]
    return sorted(found, key=lambda one: one[0])[:MOST_SEARCHED]
