"""What would make a gang fit, worked out: each piece of advice was tried before it is given.

No advice rather than wrong advice: where the arithmetic cannot tell, and where the change could not
be checked within its budget, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gangboard.domain.advice import Advice
from gangboard.domain.facts import Unit
from gangboard.domain.placing import Constraint, PlacementCause
from gangboard.placement.advice_ends import (
    counting_on,
    deletions,
    wait_for_deletions,
    wait_for_end,
)
from gangboard.placement.advice_gang import (
    drop_topology,
    opt_out,
    select,
    tolerate,
)
from gangboard.placement.advice_nodes import free_room, uncordon
from gangboard.placement.advice_others import suspend_gangs
from gangboard.placement.advice_size import lower_quorum, lower_size
from gangboard.placement.pod_removal import nodes_to_free
from gangboard.placement.what_if import WhatIf

MOST = 3
_SILENT = frozenset({PlacementCause.FITS, PlacementCause.TOO_FEW_PODS, PlacementCause.CANNOT_TELL})

Maker = Callable[[WhatIf], Iterable[Advice]]

# In the order in which a person would rather do them: what costs nobody anything first.
_BY_NODES: tuple[Maker, ...] = (
    select,
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
_BY_TOPOLOGY: tuple[Maker, ...] = (
    drop_topology,
    uncordon,
    wait_for_end,
    suspend_gangs,
    free_room,
    lower_quorum,
)
_OF_ROOM: tuple[Maker, ...] = (wait_for_end, suspend_gangs, free_room)
"""What is worked out on the nodes without the pods that are being deleted."""


def advise(unit: Unit) -> tuple[Advice, ...]:
    """Return up to three changes, the best first, each of which alone makes the members fit.

    Where what is being deleted is enough, that alone is said: nobody has to change anything.
    """
    placing = unit.placing
    if placing is None or placing.assessment is None or placing.assessment.cause in _SILENT:
        return ()
    what_if = WhatIf(unit, placing.request, placing.assessment, nodes_to_free(unit))
    is_topology = Constraint.TOPOLOGY in placing.assessment.constraints
    going = deletions(what_if)
    waits = wait_for_deletions(what_if, going) if going is not None else None
    if waits is not None:
        return (waits,)
    found: list[Advice] = []
    for maker in _BY_TOPOLOGY if is_topology else _BY_NODES:
        if going is not None and maker in _OF_ROOM:
            found += counting_on(what_if, going, maker(going.what_if))
        else:
            found += maker(what_if)
        if len(found) >= MOST:
            break
    return tuple(found[:MOST])
