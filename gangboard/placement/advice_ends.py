"""Advice to wait: for pods that are being deleted, and for deadlines.

Nobody has to do anything then. What is being deleted is never somebody's to free: advice that asks for
more room counts on it, and says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import PODS, NodeRoom, Resident
from gangboard.domain.objects import ObjectRef
from gangboard.domain.text import count, is_or_are, listed
from gangboard.placement.advice_words import node_names, shown, then_fits
from gangboard.placement.endings import End, Endings, clock, endings_of
from gangboard.placement.node_snapshot import Mask, NodeSnapshot
from gangboard.placement.pod_removal import lacking, nodes_without, where
from gangboard.placement.what_if import WhatIf, node_ref, without_needless

MOST_ENDED = 64
"""Ends that are counted on together; nobody waits for more."""
MOST_TRIED = 16
"""Of them those that are tried as the last one, once there could be enough."""


@dataclass(frozen=True, slots=True)
class Deletions:
    """Pods that are being deleted where members could go."""

    ends: tuple[End, ...]
    what_if: WhatIf
    """The unit on the nodes without them."""


# Deletions


def deletions(what_if: WhatIf) -> Deletions | None:
    """Return what is being deleted, where that changes anything for the members."""
    endings = endings_of(what_if.unit.gang.cluster.room, what_if.snapshot)
    if not endings.all:
        return None
    going = endings.to_come(what_if.unit.now, what_if.own_uid, deleted=True)
    if not going.any():
        return None
    here = where(what_if)
    there = np.flatnonzero(going & (endings.held(PODS, here) > 0))
    if not len(there):
        return None
    assessment = what_if.assessment
    totals = tuple(
        replace(one, free=one.free + int(endings.held(one.resource, here)[going].sum()))
        for one in assessment.totals
    )
    later = WhatIf(
        what_if.unit,
        what_if.request,
        replace(assessment, totals=totals),
        _snapshot_without(what_if, endings, going),
    )
    return Deletions(tuple(endings.all[at] for at in there.tolist()), later)


def _snapshot_without(what_if: WhatIf, endings: Endings, going: Mask) -> NodeSnapshot:
    """Return the nodes without what is being deleted, made once for all gangs that ask for them."""
    cache, key = what_if.snapshot.cache, ("without", going.tobytes())
    if key not in cache:
        parts = [endings.all[at].ending.loads for at in np.flatnonzero(going).tolist()]
        cache[key] = what_if.snapshot.changed(nodes_without(what_if, parts))
    found: NodeSnapshot = cache[key]
    return found


def wait_for_deletions(what_if: WhatIf, found: Deletions) -> Advice | None:
    """Say when what is being deleted has gone, where that is enough."""
    if not found.what_if.frees():
        return None
    some = _first_enough(what_if, found.ends) or found.ends
    pods, names = _on_nodes(what_if, some)
    last = max(one.ending.told for one in some)
    return Advice(
        AdviceKind.WAIT_FOR_END,
        f"Wait: {count(pods, 'pod')} on {node_names(names)} will be gone by "
        f"{clock(last, what_if.unit.now)}; {then_fits(what_if)}.",
        named=_refs(names),
        at=max(one.ending.at for one in some),
        until=min(one.ending.told for one in some),
    )


def counting_on(what_if: WhatIf, found: Deletions, advised: Iterable[Advice]) -> Iterator[Advice]:
    """Add to advice that was worked out without what is being deleted that it counts on that."""
    pods, names = _on_nodes(what_if, found.ends)
    first = min(one.ending.told for one in found.ends)
    last = clock(max(one.ending.told for one in found.ends), what_if.unit.now)
    verb = is_or_are(pods)
    clause = (
        f", once {count(pods, 'pod')} on {node_names(names)} that {verb} being deleted {verb} gone "
        f"({last} at the latest)."
    )
    for one in advised:
        yield replace(
            one,
            text=one.text.removesuffix(".") + clause,
            named=tuple(dict.fromkeys((*one.named, *_refs(names)))),
            at=one.at and max(one.at, *(end.ending.at for end in found.ends)),
            until=first if one.until is None else min(one.until, first),
        )


def _on_nodes(what_if: WhatIf, ends: Iterable[End]) -> tuple[int, list[str]]:
    """Return how many pods these are on nodes where members could go, and the names of the nodes."""
    pods: Counter[str] = Counter()
    for one in ends:
        for name, load in one.ending.loads.items():
            pods[name] += load.pods
    names = [what_if.snapshot.names[at] for at in np.flatnonzero(where(what_if)).tolist()]
    names = [name for name in names if pods[name]]
    return sum(pods[name] for name in names), names


def _refs(names: Sequence[str]) -> tuple[ObjectRef, ...]:
    return tuple(node_ref(name) for name in shown(names))


# Deadlines


def wait_for_end(what_if: WhatIf) -> Iterator[Advice]:
    """Name the pods whose deadlines come first, where their end is enough."""
    endings = endings_of(what_if.unit.gang.cluster.room, what_if.snapshot)
    if not endings.all:
        return
    held = endings.held(what_if.deciding, where(what_if))
    coming = endings.to_come(what_if.unit.now, what_if.own_uid, deleted=False)
    ends = [
        (endings.all[at], int(held[at]))
        for at in np.flatnonzero(coming & (held > 0))[:MOST_ENDED].tolist()
        if endings.all[at].resident.root != what_if.own_uid
    ]
    sums = list(accumulate(amount for _, amount in ends))
    first = bisect_left(sums, lacking(what_if))
    if first >= len(ends):
        return
    some = _first_enough(what_if, [one for one, _ in ends[: first + MOST_TRIED]], first + 1)
    if some and what_if.frees(changed=_without(what_if, some)):
        yield _told(what_if, some)


def _told(what_if: WhatIf, some: Sequence[End]) -> Advice:
    now, last = what_if.unit.now, max(one.ending.told for one in some)
    whose = {one.resident.root: one.resident for one in some}
    residents = list(whose.values())
    named = shown(residents)
    texts = [_name(one, some) for one in named]
    if len(named) < len(residents):
        texts.append(f"{len(residents) - len(named)} others")
    alone = len(residents) == 1
    is_one = alone and (
        _ends_whole(residents[0], some) or sum(one.ending.pods for one in some) == 1
    )
    deadlines = "deadline" if len({one.ending.told for one in some}) == 1 and alone else "deadlines"
    return Advice(
        AdviceKind.WAIT_FOR_END,
        f"Wait for {listed(texts)}, which {'ends' if is_one else 'end'} "
        f"{'at' if len(some) == 1 else 'by'} {clock(last, now)} at the latest "
        f"({'its' if is_one else 'their'} {deadlines}): {then_fits(what_if)}.",
        gangs=tuple(one.ref for one in named),
        at=max(one.ending.at for one in some),
        until=min(one.ending.told for one in some),
    )


def _name(one: Resident, some: Sequence[End]) -> str:
    """Return `Job team-b/batch`, `2 pods of Job team-b/batch` where the rest of it stays."""
    name = f"{one.ref.kind} {one.ref.namespace}/{one.ref.name}"
    if _ends_whole(one, some):
        return name
    pods = _pods(one, some)
    return f"{pods} {'pods' if pods > 1 else 'pod'} of {name}"


def _ends_whole(one: Resident, some: Sequence[End]) -> bool:
    """Whether nothing of it is left then but what is being deleted."""
    deleted = sum(end.pods for end in one.ends if end.deleted)
    return _pods(one, some) + deleted >= sum(load.pods for load in one.loads.values())


def _pods(one: Resident, some: Sequence[End]) -> int:
    return sum(end.ending.pods for end in some if end.resident.root == one.root)


# How many


def _first_enough(what_if: WhatIf, ends: Sequence[End], fewest: int = 1) -> tuple[End, ...]:
    """Return those of the ends, the first first, that are enough at the earliest time.

    At least the `fewest` first of them are needed. Nothing where all are not enough. Left out is
    what ends before that and does not help.
    """
    if not ends or not what_if.fits(changed=_without(what_if, ends)):
        return ()
    low, high = min(fewest, len(ends)), len(ends)
    while low < high:
        middle = (low + high) // 2
        if what_if.fits(changed=_without(what_if, ends[:middle])):
            high = middle
        else:
            low = middle + 1
    some = tuple(ends[:high])
    low, high = 0, len(some) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if what_if.fits(changed=_without(what_if, some[middle:])):
            low = middle
        else:
            high = middle - 1
    *before, last = some[low:]
    if len(before) >= MOST_TRIED:
        return *before, last

    def are_enough(ends: Sequence[End]) -> bool:
        # The last one is what makes it enough.
        return what_if.fits(changed=_without(what_if, (*ends, last)))

    return *without_needless(before, are_enough), last


def _without(what_if: WhatIf, ends: Iterable[End]) -> dict[str, NodeRoom]:
    return nodes_without(what_if, [one.ending.loads for one in ends])
