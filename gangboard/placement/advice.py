"""What would make a gang fit, worked out: each piece of advice was tried before it is given.

No advice rather than wrong advice: where the arithmetic cannot tell, and where the change could not
be checked within its budget, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gangboard.domain.advice import Advice
from gangboard.domain.facts import Unit
from gangboard.domain.placing import Cause, Constraint
from gangboard.placement.advice_gang import (
    drop_topology,
    lower_quorum,
    lower_size,
    opt_out,
    tolerate,
)
from gangboard.placement.advice_nodes import free_room, uncordon
from gangboard.placement.advice_others import suspend_gangs, wait_for_end
from gangboard.placement.members import nodes_for
from gangboard.placement.trial import Trial

MOST = 3
_SILENT = frozenset({Cause.FITS, Cause.TOO_FEW_PODS, Cause.CANNOT_TELL})

Maker = Callable[[Trial], Iterable[Advice]]

# In the order in which a person would rather do them: what costs nobody anything first.
_BY_NODES: tuple[Maker, ...] = (
    uncordon,
    wait_for_end,
    suspend_gangs,
    free_room,
    lower_quorum,
    lower_size,
    tolerate,
    drop_topology,
    opt_out,
)
_BY_TOPOLOGY: tuple[Maker, ...] = (drop_topology, uncordon, suspend_gangs, free_room, lower_quorum)


def advise(unit: Unit) -> tuple[Advice, ...]:
    """Return up to three changes, the best first, each of which alone makes the members fit."""
    placing = unit.placing
    if placing is None or placing.assessment is None or placing.assessment.cause in _SILENT:
        return ()
    trial = Trial(unit, placing.request, placing.assessment, nodes_for(unit))
    is_topology = Constraint.TOPOLOGY in placing.assessment.constraints
    found: list[Advice] = []
    for maker in _BY_TOPOLOGY if is_topology else _BY_NODES:
        found += maker(trial)
        if len(found) >= MOST:
            break
    return tuple(found[:MOST])
