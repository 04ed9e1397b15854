"""Selection of the advice for a unit, least harm first.

Wrong advice is worse than no advice. A unit gets none if the arithmetic cannot tell, or if a change could not be
checked within its budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gangboard.domain.advice import Advice, Harm, harm_of
from gangboard.domain.placement_result import Constraint, PlacementCause
from gangboard.facts.unit import Unit
from gangboard.placement.advice.constraints import drop_topology, opt_out, select, tolerate
from gangboard.placement.advice.deadlines import (
    find_deletions,
    mention_deletions,
    wait_for_deadlines,
    wait_for_deletions,
)
from gangboard.placement.advice.free_capacity import wait_for_capacity, wait_for_more_capacity
from gangboard.placement.advice.nodes import restore, uncordon
from gangboard.placement.advice.size import lower_quorum, lower_size
from gangboard.placement.advice.suspend_other_gangs import suspend_broken, suspend_gangs
from gangboard.placement.advice.what_if import WhatIf
from gangboard.placement.gang_nodes import nodes_to_free

MAX_ADVICE = 3
_CAUSES_WITHOUT_ADVICE = frozenset(
    {PlacementCause.FITS, PlacementCause.TOO_FEW_PODS, PlacementCause.CANNOT_TELL}
)

AdviceSource = Callable[[WhatIf], Iterable[Advice]]

# Ordered by harm, least first.
_BY_NODES: tuple[AdviceSource, ...] = (
    wait_for_deadlines,
    wait_for_capacity,
    uncordon,
    restore,
    suspend_broken,
    select,
    lower_quorum,
    lower_size,
    tolerate,
    drop_topology,
    opt_out,
)
_BY_TOPOLOGY: tuple[AdviceSource, ...] = (
    wait_for_deadlines,
    wait_for_capacity,
    uncordon,
    restore,
    suspend_broken,
    drop_topology,
    lower_quorum,
)
_CAPACITY_ADVICE: tuple[AdviceSource, ...] = (
    wait_for_deadlines,
    wait_for_capacity,
    suspend_broken,
    suspend_gangs,
)
"""Advice that is tried on nodes without the pods that are being deleted."""


def advise(unit: Unit) -> tuple[Advice, ...]:
    """Return up to three changes, least harm first. Each change alone makes the members fit.

    The advice to stop whole gangs comes last, if no broken gang holds enough. It is never alone, because the
    members can also wait. If the pods being deleted free enough capacity, the only advice is to wait for them.
    """
    placing = unit.placing
    if (
        placing is None
        or placing.assessment is None
        or placing.assessment.cause in _CAUSES_WITHOUT_ADVICE
    ):
        return ()
    what_if = WhatIf(unit, placing.request, placing.assessment, nodes_to_free(unit))
    is_topology = Constraint.TOPOLOGY in placing.assessment.constraints
    pending = find_deletions(what_if)
    wait = wait_for_deletions(what_if, pending) if pending is not None else None
    if wait is not None:
        return (wait,)

    def advice_by(source: AdviceSource) -> Iterable[Advice]:
        if pending is not None and source in _CAPACITY_ADVICE:
            return mention_deletions(what_if, pending, source(pending.what_if))
        return source(what_if)

    advised: list[Advice] = []
    for source in _BY_TOPOLOGY if is_topology else _BY_NODES:
        advised += advice_by(source)
        if len(advised) >= MAX_ADVICE:
            break
    advised = advised[:MAX_ADVICE]
    if not any(harm_of(advice.change) is Harm.BROKEN_GANGS for advice in advised):
        advised += advice_by(suspend_gangs)
    harms = {harm_of(advice.change) for advice in advised}
    if Harm.WHOLE_GANGS in harms and Harm.NOTHING not in harms:
        advised.insert(0, wait_for_more_capacity(what_if))
    return tuple(advised)
