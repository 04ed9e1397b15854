"""Advice about other gangs: which of them, suspended, make room, and which ends by itself first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from gangboard.domain.advice import Advice, Change
from gangboard.domain.capacity import Load, NodeRoom, Resident
from gangboard.domain.placing import Answer
from gangboard.placement.advice_words import amount_of, then_fits
from gangboard.placement.amounts import wanted
from gangboard.placement.trial import Trial

SUSPENDABLE = frozenset({"Job", "JobSet"})
"""Kinds of owners that gangboard suspends as a whole."""
MOST_GANGS = 3
MOST_SINGLES = 12
MOST_IN_SETS = 7


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
    held = amount_of(_deciding(trial), sum(one.held for one in chosen))
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


def _deciding(trial: Trial) -> str:
    if trial.assessment.deciding:
        return trial.assessment.deciding
    asked = wanted(trial.shape)
    dear = sorted((name for name in asked if "/" in name), key=lambda name: -asked[name])
    return dear[0] if dear else next(iter(asked))


def _priority(trial: Trial) -> int:
    found = [pod.priority for pod in trial.unit.unplaced if pod.priority is not None]
    return max(found, default=0)


def _candidates(trial: Trial) -> list[_Candidate]:
    """Return them by priority and by how much they hold, the least first."""
    hosts = {name for party in trial.request.parties for name in trial.slots(party.shape).now}
    deciding, most = _deciding(trial), _priority(trial)
    found = []
    for resident in trial.unit.facts.room.residents():
        if resident.ref.kind not in SUSPENDABLE or resident.priority > most:
            continue
        if resident.root == trial.unit.owner.meta.ref.uid:
            continue
        loads = [load for name, load in resident.loads.items() if name in hosts]
        held = sum(
            load.pods if deciding == "pods" else load.amounts.get(deciding, 0) for load in loads
        )
        if held:
            found.append(_Candidate(resident, held))
    return sorted(found, key=lambda one: (one.held, one.resident.priority, one.resident.ref.name))


def _smallest_set(trial: Trial, found: Sequence[_Candidate]) -> tuple[_Candidate, ...]:
    """Try one alone, then two, then three; of each number the least held first."""
    lacking = _lacking(trial)
    singles = [one for one in found if one.held >= lacking][:MOST_SINGLES]
    for single in singles:
        if _fits_without(trial, (single,)):
            return (single,)
    largest = list(found)[-MOST_IN_SETS:]
    for size in range(2, MOST_GANGS + 1):
        sets = sorted(combinations(largest, size), key=lambda some: sum(one.held for one in some))
        for some in sets:
            if sum(one.held for one in some) >= lacking and _fits_without(trial, some):
                return some
    return ()


def _lacking(trial: Trial) -> int:
    """Return how much of the deciding resource is missing in total; 1 where it is not the total."""
    for total in trial.assessment.totals:
        if total.resource == _deciding(trial):
            return max(1, total.needed - total.free)
    return 1


def _fits_without(trial: Trial, some: Sequence[_Candidate]) -> bool:
    changed: dict[str, NodeRoom] = {}
    for one in some:
        for name, load in one.resident.loads.items():
            node = changed.get(name) or trial.by_name.get(name)
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
