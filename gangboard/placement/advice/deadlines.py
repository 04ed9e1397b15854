"""Advice to wait for pods that are being deleted, and for deadlines.

Such advice needs no action. Other advice never asks a user to free the capacity of pods that are being deleted. If it
counts on their capacity, it says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import PODS, NodeInfo, RunningGang
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.domain.text import count, is_or_are, listed
from gangboard.placement.advice.what_if import WhatIf, keep_only_needed
from gangboard.placement.advice.wording import first_examples, node_names_text, then_fits
from gangboard.placement.node_columns import BoolColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.running_gangs import (
    ExpectedTerminations,
    GangTermination,
    expected_terminations_of,
    format_time,
)

MAX_TERMINATIONS = 64
"""Most terminations that one piece of advice counts on."""
MAX_TRIED = 16
"""Most terminations to try as the last one, once their sum could be enough."""


@dataclass(frozen=True, slots=True)
class PendingDeletions:
    """Pods that are being deleted on nodes that members could use."""

    terminations: tuple[GangTermination, ...]
    what_if: WhatIf
    """The unit on the nodes without these pods."""


# Deletions


def find_deletions(what_if: WhatIf) -> PendingDeletions | None:
    """Return the pods that are being deleted on nodes that members could use. None: there are none."""
    expected = expected_terminations_of(what_if.unit.gang.cluster.room, what_if.snapshot)
    if not expected.all:
        return None
    is_deleted = expected.select_expected(what_if.unit.now, what_if.own_uid, deleted=True)
    if not is_deleted.any():
        return None
    candidates = what_if.candidate_nodes
    relevant = np.flatnonzero(is_deleted & (expected.held(PODS, candidates) > 0))
    if not len(relevant):
        return None
    assessment = what_if.assessment
    totals = tuple(
        replace(
            line, free=line.free + int(expected.held(line.resource, candidates)[is_deleted].sum())
        )
        for line in assessment.totals
    )
    later = WhatIf(
        what_if.unit,
        what_if.request,
        replace(assessment, totals=totals),
        _snapshot_without(what_if, expected, is_deleted),
    )
    return PendingDeletions(tuple(expected.all[index] for index in relevant.tolist()), later)


def _snapshot_without(
    what_if: WhatIf, expected: ExpectedTerminations, is_deleted: BoolColumn
) -> NodeSnapshot:
    """Return the nodes without the pods that are being deleted, cached for all gangs."""
    cache, key = what_if.snapshot.cache, ("without", is_deleted.tobytes())
    if key not in cache:
        loads = [
            expected.all[index].termination.loads for index in np.flatnonzero(is_deleted).tolist()
        ]
        cache[key] = what_if.snapshot.changed(what_if.nodes_without(loads))
    snapshot: NodeSnapshot = cache[key]
    return snapshot


def wait_for_deletions(what_if: WhatIf, pending: PendingDeletions) -> Advice | None:
    """Return the advice to wait until the deleted pods are gone. None: their capacity is not enough."""
    if not pending.what_if.frees():
        return None
    sufficient = _earliest_sufficient(what_if, pending.terminations) or pending.terminations
    pods, names = _pods_on_candidates(what_if, sufficient)
    last = max(entry.termination.rounded for entry in sufficient)
    return Advice(
        AdviceKind.WAIT_FOR_END,
        f"Wait: {count(pods, 'pod')} on {node_names_text(names)} will be gone by "
        f"{format_time(last, what_if.unit.now)}; {then_fits(what_if)}.",
        named=_refs(names),
        at=max(entry.termination.at for entry in sufficient),
        until=min(entry.termination.rounded for entry in sufficient),
    )


def mention_deletions(
    what_if: WhatIf, pending: PendingDeletions, advised: Iterable[Advice]
) -> Iterator[Advice]:
    """Yield the advice with a clause that it counts on the pods that are being deleted."""
    pods, names = _pods_on_candidates(what_if, pending.terminations)
    first = min(entry.termination.rounded for entry in pending.terminations)
    last = format_time(
        max(entry.termination.rounded for entry in pending.terminations),
        what_if.unit.now,
    )
    verb = is_or_are(pods)
    clause = (
        f", once {count(pods, 'pod')} on {node_names_text(names)} that {verb} being deleted {verb} gone "
        f"({last} at the latest)."
    )
    for advice in advised:
        yield replace(
            advice,
            text=advice.text.removesuffix(".") + clause,
            named=tuple(dict.fromkeys((*advice.named, *_refs(names)))),
            at=advice.at
            and max(advice.at, *(entry.termination.at for entry in pending.terminations)),
            until=first if advice.until is None else min(advice.until, first),
        )


def _pods_on_candidates(
    what_if: WhatIf, terminations: Iterable[GangTermination]
) -> tuple[int, list[str]]:
    """Return the number of these pods on nodes that members could use, and the names of the nodes."""
    pods: Counter[str] = Counter()
    for entry in terminations:
        for name, load in entry.termination.loads.items():
            pods[name] += load.pods
    names = [
        what_if.snapshot.names[index] for index in np.flatnonzero(what_if.candidate_nodes).tolist()
    ]
    names = [name for name in names if pods[name]]
    return sum(pods[name] for name in names), names


def _refs(names: Sequence[str]) -> tuple[ObjectRef, ...]:
    return tuple(node_ref(name) for name in first_examples(names))


# Deadlines


def wait_for_deadlines(what_if: WhatIf) -> Iterator[Advice]:
    """Advise to wait for the earliest deadlines that free enough capacity."""
    expected = expected_terminations_of(what_if.unit.gang.cluster.room, what_if.snapshot)
    if not expected.all:
        return
    held = expected.held(what_if.deciding, what_if.candidate_nodes)
    is_expected = expected.select_expected(what_if.unit.now, what_if.own_uid, deleted=False)
    terminations = [
        (expected.all[index], int(held[index]))
        for index in np.flatnonzero(is_expected & (held > 0))[:MAX_TERMINATIONS].tolist()
        if expected.all[index].gang.root != what_if.own_uid
    ]
    sums = list(accumulate(amount for _, amount in terminations))
    first = bisect_left(sums, what_if.shortfall)
    if first >= len(terminations):
        return
    sufficient = _earliest_sufficient(
        what_if, [entry for entry, _ in terminations[: first + MAX_TRIED]], first + 1
    )
    if sufficient and what_if.frees(changed=_nodes_without(what_if, sufficient)):
        yield _advice(what_if, sufficient)


def _advice(what_if: WhatIf, terminations: Sequence[GangTermination]) -> Advice:
    now, last = what_if.unit.now, max(entry.termination.rounded for entry in terminations)
    gangs_by_uid = {entry.gang.root: entry.gang for entry in terminations}
    running_gangs = list(gangs_by_uid.values())
    named = first_examples(running_gangs)
    texts = [_gang_text(gang, terminations) for gang in named]
    if len(named) < len(running_gangs):
        texts.append(f"{len(running_gangs) - len(named)} others")
    is_single = len(running_gangs) == 1
    is_one = is_single and (
        _terminates_whole(running_gangs[0], terminations)
        or sum(entry.termination.pods for entry in terminations) == 1
    )
    deadlines = (
        "deadline"
        if len({entry.termination.rounded for entry in terminations}) == 1 and is_single
        else "deadlines"
    )
    return Advice(
        AdviceKind.WAIT_FOR_END,
        f"Wait for {listed(texts)}, which {'ends' if is_one else 'end'} "
        f"{'at' if len(terminations) == 1 else 'by'} {format_time(last, now)} at the latest "
        f"({'its' if is_one else 'their'} {deadlines}): {then_fits(what_if)}.",
        gangs=tuple(gang.ref for gang in named),
        at=max(entry.termination.at for entry in terminations),
        until=min(entry.termination.rounded for entry in terminations),
    )


def _gang_text(gang: RunningGang, terminations: Sequence[GangTermination]) -> str:
    """Return `Job team-b/batch`, or `2 pods of Job team-b/batch` if its other pods stay."""
    name = f"{gang.ref.kind} {gang.ref.namespace}/{gang.ref.name}"
    if _terminates_whole(gang, terminations):
        return name
    pods = _count_pods(gang, terminations)
    return f"{pods} {'pods' if pods > 1 else 'pod'} of {name}"


def _terminates_whole(gang: RunningGang, terminations: Sequence[GangTermination]) -> bool:
    """Return whether all pods of the gang terminate or are being deleted."""
    deleted = sum(entry.pods for entry in gang.terminations if entry.deleted)
    return _count_pods(gang, terminations) + deleted >= sum(
        load.pods for load in gang.loads.values()
    )


def _count_pods(gang: RunningGang, terminations: Sequence[GangTermination]) -> int:
    return sum(entry.termination.pods for entry in terminations if entry.gang.root == gang.root)


# The earliest sufficient terminations


def _earliest_sufficient(
    what_if: WhatIf, sequence: Sequence[GangTermination], fewest: int = 1
) -> tuple[GangTermination, ...]:
    """Return the terminations that are enough at the earliest time, in order of time.

    At least the first `fewest` are needed. Earlier terminations that do not help are left out. Empty: all
    together are not enough.
    """
    if not sequence or not what_if.fits(changed=_nodes_without(what_if, sequence)):
        return ()
    low, high = min(fewest, len(sequence)), len(sequence)
    while low < high:
        middle = (low + high) // 2
        if what_if.fits(changed=_nodes_without(what_if, sequence[:middle])):
            high = middle
        else:
            low = middle + 1
    sufficient = tuple(sequence[:high])
    low, high = 0, len(sufficient) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if what_if.fits(changed=_nodes_without(what_if, sufficient[middle:])):
            low = middle
        else:
            high = middle - 1
    *before, last = sufficient[low:]
    if len(before) >= MAX_TRIED:
        return *before, last

    def are_enough(sequence: Sequence[GangTermination]) -> bool:
        # Without the last one, the others are not enough.
        return what_if.fits(changed=_nodes_without(what_if, (*sequence, last)))

    return *keep_only_needed(before, are_enough), last


def _nodes_without(what_if: WhatIf, terminations: Iterable[GangTermination]) -> dict[str, NodeInfo]:
    return what_if.nodes_without([entry.termination.loads for entry in terminations])
