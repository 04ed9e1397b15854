"""The search for two shapes: exact for thousands of nodes, since one number tells all that matters.

For so many pods of the first shape, the most of the second that can stand beside them. What several
nodes take is the best of all ways to share the first shape among them; for nodes that are alike it is
worked out by doubling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gangboard.placement.classes import Vector
from gangboard.placement.node_snapshot import Whole
from gangboard.placement.packing import Budget, SearchClass

_WAY, _CHEAP = 2, 512
"""What one pass over a column costs in steps of the search, and how many numbers of it one step."""


@dataclass(frozen=True, slots=True)
class _Reach:
    """For at least so many pods of the first shape, the most of the second, on some nodes."""

    most: Whole
    nodes: Sequence[int]
    """The one node of a leaf."""
    parts: tuple[_Reach, _Reach] | None = None


def walk_two(
    pair: tuple[int, int],
    counts: Vector,
    classes: Sequence[SearchClass],
    target: int,
    budget: Budget,
) -> list[tuple[int, Vector]] | None:
    """Return what goes where for `target` pods, None when it cannot be; raise BudgetSpentError.

    `pair` are the two shapes of which pods are left.
    """
    first, second = sorted(pair, key=lambda shape: counts[shape])
    top = counts[first]
    whole: _Reach | None = None
    for one in classes:
        here = _of_class(one, first, second, top, budget)
        whole = here if whole is None else _joined(whole, here, top, budget)
    if whole is None:
        return None
    sums = np.arange(len(whole.most)) + np.minimum(whole.most, counts[second])
    best = int(np.argmax(sums))
    if int(sums[best]) < target:
        return None
    chain: list[tuple[int, Vector]] = []
    for node, low, high in _shares(whole, best):
        config = [0] * len(counts)
        config[first], config[second] = low, high
        chain.append((node, tuple(config)))
    return chain


def _of_class(one: SearchClass, first: int, second: int, top: int, budget: Budget) -> _Reach:
    most = np.zeros(one.caps[first] + 1, dtype=np.int64)
    for config in one.configs:
        most[config[first]] = max(int(most[config[first]]), config[second])
    # Where more of the first shape stand, fewer of them may stand, too.
    most = np.maximum.accumulate(most[::-1])[::-1]
    return _of_alike(most, one.nodes, top, budget)


def _of_alike(most: Whole, nodes: Sequence[int], top: int, budget: Budget) -> _Reach:
    """Return what nodes that are alike take together, half of them and the other half joined."""
    found: _Reach | None = None
    double = most
    powers = [most]
    while 2 ** len(powers) <= len(nodes):
        double = _best(double, double, top, budget)
        powers.append(double)
    start = 0
    for power in range(len(powers)):
        if len(nodes) >> power & 1:
            part = _tree(powers, power, nodes[start : start + 2**power])
            start += 2**power
            found = part if found is None else _joined(found, part, top, budget)
    assert found is not None  # noqa: S101 - a class has a node
    return found


def _tree(powers: Sequence[Whole], power: int, nodes: Sequence[int]) -> _Reach:
    if power == 0:
        return _Reach(powers[0], nodes)
    half = len(nodes) // 2
    parts = (
        _tree(powers, power - 1, nodes[:half]),
        _tree(powers, power - 1, nodes[half:]),
    )
    return _Reach(powers[power], nodes, parts)


def _joined(one: _Reach, other: _Reach, top: int, budget: Budget) -> _Reach:
    return _Reach(_best(one.most, other.most, top, budget), (), (one, other))


def _best(one: Whole, other: Whole, top: int, budget: Budget) -> Whole:
    """Return the best of all ways to share the first shape between two sets of nodes."""
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    budget.spend(len(short) * (_WAY + len(long) // _CHEAP))
    found = np.zeros(min(len(long) + len(short) - 2, top) + 1, dtype=np.int64)
    for count, beside in enumerate(short.tolist()):
        end = min(count + len(long), len(found))
        part = found[count:end]
        np.maximum(part, long[: end - count] + beside, out=part)
    return found


def _shares(whole: _Reach, count: int) -> list[tuple[int, int, int]]:
    """Return for each node how many of both shapes, with so many of the first in all."""
    found: list[tuple[int, int, int]] = []
    left = [(whole, count)]
    while left:
        one, share = left.pop()
        if one.parts is None:
            beside = int(one.most[share])
            if share or beside:
                found.append((one.nodes[0], share, beside))
            continue
        here, there = one.parts
        low = max(0, share - len(there.most) + 1)
        high = min(share, len(here.most) - 1)
        sums = here.most[low : high + 1] + there.most[share - high : share - low + 1][::-1]
        part = low + int(np.argmax(sums))
        left += [(here, part), (there, share - part)]
    return found
