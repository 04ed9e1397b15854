"""Nodes that equal pods of a plan take: those that the scheduler scores highest, or the worst ones for other gangs."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from random import Random

import numpy as np

from gangboard.placement.feasible_nodes import fewest_pods_first
from gangboard.placement.node_columns import IntColumn
from gangboard.placement.topology_domains import fullest_nodes


class Choice(StrEnum):
    """Nodes that pods take."""

    SCORED = "scored"
    """As the scheduler scores them by CPU and memory."""
    PACKED = "packed"
    """Those with the fewest places first."""
    WIDEST = "widest"
    """Those with the most places first, which leaves the least room for large pods."""
    DRAWN = "drawn"
    """Any with a place, drawn. The scheduler also draws among nodes with the same score, and devices have no score."""


def packed_nodes(places: IntColumn, count: int) -> Mapping[int, int]:
    """Return nodes for so many equal pods, or for as many as fit, the nodes with the fewest places first.

    `places` are the pods that fit on each node. The result is row → number of pods.
    """
    return fullest_nodes(fewest_pods_first(places), count)


def widest_nodes(places: IntColumn, count: int) -> Mapping[int, int]:
    """Return nodes for equal pods, each on the node with the most places left. They must fit."""
    rows = np.flatnonzero(places)
    if len(rows) > count:
        # Each pod changes one node, so no more than `count` nodes can be the widest. Among equal ones, the first is.
        keys = np.arange(len(rows)) - places[rows].astype(np.int64) * len(rows)
        rows = rows[np.argpartition(keys, count)[:count]]
    heap = [(-left, row) for left, row in zip(places[rows].tolist(), rows.tolist(), strict=True)]
    heapq.heapify(heap)
    taken = Counter[int]()
    for _ in range(count):
        left, row = heap[0]
        taken[row] += 1
        if left < -1:
            heapq.heapreplace(heap, (left + 1, row))
        else:
            heapq.heappop(heap)
    return taken


def drawn_nodes(places: IntColumn, count: int, seed: int) -> Mapping[int, int]:
    """Return drawn nodes for equal pods, the same ones for the same seed. The pods must fit."""
    rows = np.flatnonzero(places).tolist()
    dice = Random(seed)  # noqa: S311 - no secret
    taken = Counter[int]()
    for _ in range(count):
        index = dice.randrange(len(rows))
        row = rows[index]
        taken[row] += 1
        if taken[row] == int(places[row]):
            rows[index] = rows[-1]
            rows.pop()
    return taken
