"""What would make a gang fit, worked out: each piece of advice was tried before it is given.

No advice rather than wrong advice: where the arithmetic cannot tell, and where the change could not
be checked within its budget, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gangboard.domain.advice import Advice, Harm, harm_of
from gangboard.domain.placing import Constraint, PlacementCause
from gangboard.facts.unit import Unit
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
from gangboard.placement.advice_nodes import uncordon, wait_for_any_room, wait_for_room
from gangboard.placement.advice_others import suspend_broken, suspend_gangs
from gangboard.placement.advice_size import lower_quorum, lower_size
from gangboard.placement.advice_withheld import restore
from gangboard.placement.pod_removal import nodes_to_free
from gangboard.placement.what_if import WhatIf

MOST = 3
_SILENT = frozenset({PlacementCause.FITS, PlacementCause.TOO_FEW_PODS, PlacementCause.CANNOT_TELL})

Maker = Callable[[WhatIf], Iterable[Advice]]

# Ordered by harm, least first.
_BY_NODES: tuple[Maker, ...] = (
    wait_for_end,
    wait_for_room,
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
_BY_TOPOLOGY: tuple[Maker, ...] = (
    wait_for_end,
    wait_for_room,
    uncordon,
    restore,
    suspend_broken,
    drop_topology,
    lower_quorum,
)
_OF_ROOM: tuple[Maker, ...] = (wait_for_end, wait_for_room, suspend_broken, suspend_gangs)
"""What is worked out on the nodes without the pods that are being deleted."""


def advise(unit: Unit) -> tuple[Advice, ...]:
    """Return up to three changes, the least harm first, each of which alone makes the members fit.

    Behind these comes the one to stop gangs that run whole, where no gang that is not whole has enough
    room. It is never the only one: the members can also wait. Where what is being deleted is enough,
    that alone is said: nobody has to change anything.
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

    def made(maker: Maker) -> Iterable[Advice]:
        if going is not None and maker in _OF_ROOM:
            return counting_on(what_if, going, maker(going.what_if))
        return maker(what_if)

    found: list[Advice] = []
    for maker in _BY_TOPOLOGY if is_topology else _BY_NODES:
        found += made(maker)
        if len(found) >= MOST:
            break
    found = found[:MOST]
    if not any(harm_of(one.change) is Harm.BROKEN_GANGS for one in found):
        found += made(suspend_gangs)
    harms = {harm_of(one.change) for one in found}
    if Harm.WHOLE_GANGS in harms and Harm.NOTHING not in harms:
        found.insert(0, wait_for_any_room(what_if))
    return tuple(found)
