"""Blockers: each cause that keeps nodes from the pods of a shape, and the nodes that it alone keeps out.

The node-fit table counts a node once, under the first filter that excludes it. So it does not say what a change would
open. Blockers count each cause on its own. A node that only one cause keeps out takes a pod once that cause is gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from gangboard.domain.placement_result import Filter
from gangboard.domain.verdict import FitBlocker
from gangboard.placement.node_columns import BoolColumn, IntColumn, total
from gangboard.placement.node_filters import EXAMPLES, NodeFilters, Obstacle
from gangboard.placement.node_snapshot import NodeSnapshot

MAX_BLOCKERS = 12
"""Most blockers of a shape. A cluster can have any number of taints."""
Blockers = tuple[tuple[FitBlocker, ...], int]
"""The blockers, those that alone keep out most nodes first, and the number of those left out."""
_UNKNOWN_AMOUNTS = frozenset({Filter.UNSAID, Filter.UNREADABLE})
_INDEPENDENT_OF_AMOUNTS = frozenset(
    {
        Filter.SELECTOR,
        Filter.POD_AFFINITY,
        Filter.CORDON,
        Filter.NOT_READY,
        Filter.TAINT,
    }
)
"""Causes without which a node takes as many pods as its free amounts allow."""


@dataclass(frozen=True, slots=True)
class _Cause:
    label: str
    detail: str
    nodes: int
    alone: int
    """Number of nodes that only this cause keeps out."""
    alone_mask: Callable[[], BoolColumn]
    """Returns these nodes. A function, because a cluster can have thousands of taints."""

    @property
    def rank(self) -> tuple[int, int, str, str]:
        """The sort key: the cause that alone keeps out most nodes first."""
        alone = 0 if self.label in _UNKNOWN_AMOUNTS else self.alone
        return -alone, -self.nodes, self.label, self.detail


def blockers_of(
    snapshot: NodeSnapshot,
    filters: NodeFilters,
    obstacles: Sequence[Obstacle],
    pods_per_node: IntColumn | None,
) -> Blockers:
    """Return the obstacles and untolerated taint keys of a shape that keep out any node.

    `pods_per_node` is the number of pods that each node takes by its free amounts. None: constraints between nodes
    decide about it.
    """
    codes, keys = filters.untolerated_keys()
    causes_per_node = np.zeros(len(snapshot), dtype=np.int64)
    for _, _, mask in obstacles:
        causes_per_node += mask
    if keys:
        causes_per_node += np.array([len(group) for group in keys], dtype=np.int64)[codes]
    has_one = causes_per_node == 1
    causes = [*_by_obstacle(obstacles, has_one), *_by_taint(codes, keys, has_one)]
    present = sorted((cause for cause in causes if cause.nodes), key=lambda cause: cause.rank)
    blockers = tuple(_blocker(snapshot, cause, pods_per_node) for cause in present[:MAX_BLOCKERS])
    return blockers, len(present) - len(blockers)


def _by_obstacle(obstacles: Sequence[Obstacle], has_one: BoolColumn) -> Iterator[_Cause]:
    for label, detail, mask in obstacles:
        alone = mask & has_one
        numbers = int(np.count_nonzero(mask)), int(np.count_nonzero(alone))
        yield _Cause(label, detail, *numbers, partial(_same, alone))


def _same(mask: BoolColumn) -> BoolColumn:
    return mask


def _by_taint(
    codes: IntColumn, keys: Sequence[Mapping[str, Filter]], has_one: BoolColumn
) -> Iterator[_Cause]:
    """Yield a cause for each taint key. `codes` are the taint groups of the nodes, `keys` the keys of each group."""
    groups_by_key: defaultdict[tuple[Filter, str], list[int]] = defaultdict(list)
    for code, group in enumerate(keys):
        for key, node_filter in group.items():
            detail = "" if node_filter is Filter.CORDON else key
            groups_by_key[node_filter, detail].append(code)
    nodes = np.bincount(codes, minlength=len(keys)).tolist()
    alone = np.bincount(codes[has_one], minlength=len(keys)).tolist()
    for (node_filter, detail), groups in groups_by_key.items():
        numbers = sum(nodes[code] for code in groups), sum(alone[code] for code in groups)
        yield _Cause(node_filter, detail, *numbers, partial(_in_groups, codes, groups, has_one))


def _in_groups(codes: IntColumn, groups: Sequence[int], has_one: BoolColumn) -> BoolColumn:
    mask: BoolColumn = np.isin(codes, groups) & has_one
    return mask


def _blocker(snapshot: NodeSnapshot, cause: _Cause, pods_per_node: IntColumn | None) -> FitBlocker:
    label, detail = str(cause.label), cause.detail
    if cause.label in _UNKNOWN_AMOUNTS:
        return FitBlocker(label, detail, cause.nodes)
    mask = cause.alone_mask()
    rows = np.flatnonzero(mask)[:EXAMPLES].tolist()
    pods = None
    if pods_per_node is not None and cause.label in _INDEPENDENT_OF_AMOUNTS:
        pods = total(pods_per_node[mask])
    return FitBlocker(
        label,
        detail,
        cause.nodes,
        cause.alone,
        pods,
        tuple(snapshot.names[row] for row in rows),
    )
