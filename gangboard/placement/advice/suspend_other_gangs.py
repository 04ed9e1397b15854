"""Advice to suspend other gangs that hold the needed capacity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import NodeInfo, RunningGang
from gangboard.domain.placement_result import FitAnswer
from gangboard.domain.text import is_or_are, listed, plural
from gangboard.placement.advice.what_if import WhatIf, keep_only_needed
from gangboard.placement.advice.wording import then_fits
from gangboard.placement.amounts import format_amount, used_amount
from gangboard.placement.node_columns import BoolColumn, IntColumn
from gangboard.placement.running_gangs import RunningGangs, running_gangs_of

MAX_GANGS = 3
MAX_SEARCHES = 4
"""Most single gangs, and most combinations, to try by search."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A gang of equal or lower priority that holds useful capacity."""

    gang: RunningGang
    held: int
    """Amount of the deciding resource on nodes that members could use, in scheduler units."""


def suspend_broken(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to suspend the fewest gangs, at most three, that are not whole and hold enough capacity."""
    yield from _suspend(what_if, AdviceKind.SUSPEND_BROKEN)


def suspend_gangs(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to suspend the fewest gangs, at most three, that hold enough capacity, whole or not."""
    yield from _suspend(what_if, AdviceKind.SUSPEND_GANGS)


def _suspend(what_if: WhatIf, kind: AdviceKind) -> Iterator[Advice]:
    """Advise to suspend gangs of equal or lower priority: lower priorities first, then shorter runs."""
    if what_if.assessment.empty.answer is not FitAnswer.YES:
        return
    running = running_gangs_of(what_if.unit.gang.cluster.room, what_if.snapshot)
    allowed = _allowed_gangs(what_if, running)
    if kind is AdviceKind.SUSPEND_BROKEN:
        allowed = allowed & ~running.are_whole
    if not allowed.any():
        return
    chosen = _choose_by_places(what_if, running, allowed) if _places_add_up(what_if) else ()
    chosen = chosen or _choose_by_search(what_if, running, allowed)
    if not chosen:
        return
    gangs_text = listed(
        [
            f"{candidate.gang.ref.kind} {candidate.gang.ref.namespace}/{candidate.gang.ref.name} "
            f"(priority {candidate.gang.priority})"
            for candidate in chosen
        ]
    )
    if kind is AdviceKind.SUSPEND_BROKEN:
        gangs_text += f", which {is_or_are(len(chosen))} not whole and"
    else:
        gangs_text += ", which"
    yield Advice(
        kind,
        f"Suspend {gangs_text} {_held_text(what_if, chosen)}: {then_fits(what_if)}.",
        gangs=tuple(candidate.gang.ref for candidate in chosen),
    )


def _held_text(what_if: WhatIf, chosen: Sequence[_Candidate]) -> str:
    """Return `holds 8 GPUs`, or `frees 4 GPUs …` if members cannot use all of it.

    The user who decides which gang to stop reads the amount as the size of the gang.
    """
    held = sum(candidate.held for candidate in chosen)
    loads = chain.from_iterable(candidate.gang.loads.values() for candidate in chosen)
    is_all = held == sum(used_amount(load, what_if.deciding) for load in loads)
    verb = plural(len(chosen), "hold" if is_all else "free")
    text = f"{verb} {format_amount(what_if.deciding, held)}{' together' if len(chosen) > 1 else ''}"
    if is_all:
        return text
    return f"{text} on nodes that the waiting {'pod' if what_if.request.size == 1 else 'pods'} could use"


def _places_add_up(what_if: WhatIf) -> bool:
    """Return whether the places of all nodes add up: one shape without constraints between pods."""
    shape = what_if.shape
    bound = (
        shape.host_ports
        or shape.anti_affinity
        or shape.matched_terms
        or shape.spreads
        or shape.unsupported
    )
    return what_if.is_one_shape and not bound


def _priority(what_if: WhatIf) -> int:
    priorities = [pod.priority for pod in what_if.unit.unplaced if pod.priority is not None]
    return max(priorities, default=0)


def _allowed_gangs(what_if: WhatIf, running: RunningGangs) -> BoolColumn:
    """Return the gangs that advice may stop, without gangs of higher priority and the gang itself."""
    own_uid = what_if.own_uid
    allowed: BoolColumn = running.priorities <= _priority(what_if)
    if own_uid in running.index_by_uid:
        allowed = allowed.copy()
        allowed[running.index_by_uid[own_uid]] = False
    return allowed


def _held_amounts(what_if: WhatIf, running: RunningGangs) -> IntColumn:
    """Return how much of the deciding resource each gang holds on nodes that members could use."""
    return running.held(what_if.deciding, what_if.candidate_nodes)


def _choose_by_places(
    what_if: WhatIf, running: RunningGangs, allowed: BoolColumn
) -> tuple[_Candidate, ...]:
    """Choose gangs by the places that they free: the fewest gangs, then those with the least loss."""
    codes, missing = what_if.missing_by_domain()
    gains = running.gains(what_if.snapshot, what_if.feasible, what_if.shape, codes)
    may = np.flatnonzero(allowed[gains.owners])
    owners, domains, places = gains.owners[may], gains.domains[may], gains.pods[may]
    enough = np.flatnonzero(places >= missing[domains])
    if len(enough):
        held = _held_amounts(what_if, running)
        best = _order_by_loss(running, held, owners[enough])[0]
        return (_Candidate(running.all[best], int(held[best])),)
    for indexes in _combinations(owners, domains, places, missing):
        held = _held_amounts(what_if, running)
        candidates = tuple(_Candidate(running.all[index], int(held[index])) for index in indexes)
        if _fits_without(what_if, candidates):
            return keep_only_needed(candidates, partial(_fits_without, what_if))
    return ()


def _order_by_loss(running: RunningGangs, held: IntColumn, gangs: IntColumn) -> IntColumn:
    """Return indexes in `RunningGangs.all`, ordered by the loss if the gang is stopped.

    Gangs that are not whole come first, then low priorities, then short runs, then gangs that hold little.
    """
    order = np.lexsort(
        (
            gangs,
            held[gangs],
            running.ages[gangs],
            running.priorities[gangs],
            running.are_whole[gangs],
        )
    )
    ordered: IntColumn = gangs[order]
    return ordered


def _combinations(
    owners: IntColumn, domains: IntColumn, places: IntColumn, missing: IntColumn
) -> Iterator[tuple[int, ...]]:
    """Yield the two or three gangs that free the most places in a domain, if that may be enough."""
    order = np.lexsort((owners, -places, domains))
    starts = np.flatnonzero(np.diff(domains[order], prepend=-1))
    remaining = MAX_SEARCHES
    for size in range(2, MAX_GANGS + 1):
        for start in starts.tolist():
            most = order[start : start + size]
            domain = domains[most[0]]
            if len(most) < size or domains[most[-1]] != domain:
                continue
            if int(places[most].sum()) >= int(missing[domain]):
                yield tuple(owners[most].tolist())
                remaining -= 1
            if not remaining:
                return


def _choose_by_search(
    what_if: WhatIf, running: RunningGangs, allowed: BoolColumn
) -> tuple[_Candidate, ...]:
    """Choose by search: gangs that hold enough alone, least loss first, then the two and three largest."""
    held = _held_amounts(what_if, running)
    least = what_if.shortfall
    holders = np.flatnonzero((held > 0) & allowed)
    if int(np.sort(held[holders])[-MAX_GANGS:].sum()) < least:
        return ()
    order = holders[np.lexsort((running.priorities[holders], held[holders]))]
    sufficient = _order_by_loss(running, held, holders[held[holders] >= least])
    tried = [[index] for index in sufficient[:MAX_SEARCHES].tolist()]
    tried += [order[-size:].tolist() for size in range(2, MAX_GANGS + 1) if len(order) >= size]
    for places in tried:
        candidates = tuple(_Candidate(running.all[index], int(held[index])) for index in places)
        if sum(candidate.held for candidate in candidates) >= least and _fits_without(
            what_if, candidates
        ):
            fewest = keep_only_needed(candidates, partial(_fits_without, what_if))
            if _frees_without(what_if, fewest):
                return fewest
    return ()


def _fits_without(what_if: WhatIf, candidates: Sequence[_Candidate]) -> bool:
    return bool(candidates) and what_if.fits(changed=_nodes_without(what_if, candidates))


def _frees_without(what_if: WhatIf, candidates: Sequence[_Candidate]) -> bool:
    return what_if.frees(changed=_nodes_without(what_if, candidates))


def _nodes_without(what_if: WhatIf, candidates: Sequence[_Candidate]) -> dict[str, NodeInfo]:
    return what_if.nodes_without([candidate.gang.active_loads for candidate in candidates])
