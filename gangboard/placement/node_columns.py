"""Node columns: one amount, label or set of taints for every node of a cluster.

Amounts are integers: int64 if every amount is far from overflow, else Python integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gangboard.domain.capacity import PODS, Amounts, NodeInfo
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import Taint

BoolColumn = npt.NDArray[np.bool_]
IntColumn = npt.NDArray[Any]
"""Integers: int64, or objects that are Python integers."""
SAFE = 2**62
"""Largest amount in an int64 column. The difference of two such amounts does not overflow."""


def int_column(amounts: Sequence[int]) -> IntColumn:
    """Return a column with the exact amounts."""
    try:
        column = np.array(amounts, dtype=np.int64)
    except OverflowError:
        return np.array(amounts, dtype=object)
    if len(column) and (int(column.max()) > SAFE or int(column.min()) < -SAFE):
        return np.array(amounts, dtype=object)
    return column


def total(column: IntColumn) -> int:
    """Return the exact sum of amounts that are not negative."""
    if not len(column):
        return 0
    if column.dtype == object or int(column.max()) > SAFE // len(column):
        return sum(column.tolist())
    return int(column.sum())


def largest_rows(column: IntColumn, number: int) -> list[int]:
    """Return the rows of the largest entries above zero, largest first, then in order."""
    rows = np.flatnonzero(column > 0)
    largest: list[int] = rows[np.argsort(-column[rows], kind="stable")[:number]].tolist()
    return largest


@dataclass(frozen=True, slots=True)
class ResourceColumn:
    """The amounts of a resource on every node."""

    allocatable: IntColumn
    now: IntColumn
    """Free amounts with all pods on the nodes, below zero on an overfull node."""
    empty: IntColumn
    """Free amounts with only pinned pods on the nodes."""

    def free(self, when: When) -> IntColumn:
        """Return the free amounts."""
        return self.now if when is When.CURRENT else self.empty


@dataclass(frozen=True, slots=True)
class NodeTotals:
    """Allocatable and requested amounts of all nodes, collected once and read per resource."""

    allocatable: Sequence[Amounts]
    now: Sequence[Amounts]
    pinned: Sequence[Amounts]
    pods_now: Sequence[int]
    pods_pinned: Sequence[int]


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """The value of a label on every node, encoded as integers."""

    codes_by_value: Mapping[str | None, int]
    """Value → code. None stands for nodes without the label."""
    codes: npt.NDArray[np.int64]

    def among(self, values: Iterable[str | None]) -> BoolColumn:
        """Return the nodes that have one of these values."""
        table = np.zeros(len(self.codes_by_value), dtype=np.bool_)
        table[[self.codes_by_value[value] for value in values if value in self.codes_by_value]] = (
            True
        )
        return table[self.codes]


@dataclass(frozen=True, slots=True)
class TaintGroups:
    """Nodes grouped by taints and cordon."""

    nodes: tuple[NodeInfo, ...]
    """One node of each group."""
    codes: npt.NDArray[np.int64]


def node_totals(nodes: Iterable[NodeInfo]) -> NodeTotals:
    """Collect allocatable and requested amounts of all nodes."""
    nodes = tuple(nodes)
    now, pinned = [node.now for node in nodes], [node.pinned for node in nodes]
    return NodeTotals(
        [node.allocatable for node in nodes],
        [load.amounts for load in now],
        [load.amounts for load in pinned],
        [load.pods for load in now],
        [load.pods for load in pinned],
    )


def column_of(totals: NodeTotals, resource: str) -> ResourceColumn:
    """Return the column of one resource."""
    allocatable = int_column(_amounts_of(totals.allocatable, resource))
    if resource == PODS:
        now, pinned = int_column(totals.pods_now), int_column(totals.pods_pinned)
    else:
        now = int_column(_amounts_of(totals.now, resource))
        pinned = int_column(_amounts_of(totals.pinned, resource))
    return ResourceColumn(
        allocatable, _difference(allocatable, now), _difference(allocatable, pinned)
    )


def _amounts_of(amounts: Sequence[Amounts], resource: str) -> list[int]:
    return [node_amounts.get(resource, 0) for node_amounts in amounts]


def _difference(column: IntColumn, taken: IntColumn) -> IntColumn:
    """Return the difference. Both are at most SAFE from zero, so it does not overflow."""
    difference: IntColumn = column - taken
    return difference if difference.dtype == object else _checked(difference)


def _checked(column: IntColumn) -> IntColumn:
    if len(column) and (int(column.max()) > SAFE or int(column.min()) < -SAFE):
        return column.astype(object)
    return column


def patched(base: ResourceColumn, rows: Sequence[int], changed: ResourceColumn) -> ResourceColumn:
    """Return a column with some rows replaced by the rows of another column, in order."""

    def column(old: IntColumn, new: IntColumn) -> IntColumn:
        copy = old.astype(object) if object in (old.dtype, new.dtype) else old.copy()
        copy[rows] = new
        return copy

    return ResourceColumn(
        column(base.allocatable, changed.allocatable),
        column(base.now, changed.now),
        column(base.empty, changed.empty),
    )


def label_column(values: Sequence[str | None]) -> LabelColumn:
    """Return the column of a label from its values. None stands for nodes without it."""
    codes_by_value: dict[str | None, int] = {}
    codes = [codes_by_value.setdefault(value, len(codes_by_value)) for value in values]
    return LabelColumn(codes_by_value, np.array(codes, dtype=np.int64))


def taints_of(node: NodeInfo) -> tuple[tuple[Taint, ...], bool]:
    """Return the taints of a node, and whether it is cordoned."""
    return node.taints, node.unschedulable


def taint_groups(nodes: Sequence[NodeInfo]) -> TaintGroups:
    """Return the nodes by their taints and cordons."""
    codes_by_taints: dict[tuple[tuple[Taint, ...], bool], int] = {}
    representatives: list[NodeInfo] = []
    codes: list[int] = []
    for node in nodes:
        index = codes_by_taints.setdefault(taints_of(node), len(representatives))
        if index == len(representatives):
            representatives.append(node)
        codes.append(index)
    return TaintGroups(tuple(representatives), np.array(codes, dtype=np.int64))


def changed_taint_groups(groups: TaintGroups, changes: Mapping[int, NodeInfo]) -> TaintGroups:
    """Return the groups after some nodes, by row, were replaced. A group may have no node then."""
    codes_by_taints = {taints_of(node): code for code, node in enumerate(groups.nodes)}
    representatives = list(groups.nodes)
    codes: dict[int, int] = {}
    for row, node in changes.items():
        code = codes_by_taints.setdefault(taints_of(node), len(representatives))
        if code == len(representatives):
            representatives.append(node)
        if code != groups.codes[row]:
            codes[row] = code
    if not codes:
        return groups
    changed = groups.codes.copy()
    changed[list(codes)] = list(codes.values())
    return TaintGroups(tuple(representatives), changed)
