"""Nodes of one room of a plan as columns: the ground that all rooms share, with the pods that the room has placed on it.

A plan places thousands of gangs. So a placed pod changes numbers in columns, and a node object is made only where a reader
needs it. The number of pods that fit is counted again only for nodes that changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import PODS, NodeInfo, Requested, Shape
from gangboard.placement.amounts import pod_amounts
from gangboard.placement.gang_nodes import add_requested
from gangboard.placement.node_columns import SAFE, IntColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_ground import Demand, Demands, Ground, pods_that_fit

PlacedPods = Sequence[tuple[int, Shape, int]]
"""Row of a node, shape, and number of pods."""
_NO_ROWS: IntColumn = np.zeros(0, dtype=np.int64)
_MIN_BASELINE = 64
"""Changed nodes up to which a baseline stays."""


class _Baseline:
    """Free amounts at one moment, with the number of pods of each demand that fit then on all nodes together."""

    def __init__(self, ground: Ground, free: Mapping[str, IntColumn]) -> None:
        self.ground = ground
        self._free = dict(free)
        self._totals: dict[Demand, int] = {}

    def free(self, demand: Demand) -> Mapping[str, IntColumn]:
        """Return the free amounts of the resources of a demand."""
        for resource, _ in demand.amounts:
            if resource not in self._free:
                self._free[resource] = self.ground.free(resource)
        return self._free

    def total(self, demand: Demand) -> int:
        """Return how many pods of a demand fit on all nodes together."""
        if demand not in self._totals:
            pods = pods_that_fit(demand, self.free(demand), self.ground.is_open(demand))
            self._totals[demand] = int(pods.sum())
        return self._totals[demand]


class FilledNodes:
    """The ground with the pods that one room has placed on it."""

    def __init__(self, ground: Ground, demands: Demands) -> None:
        self.ground = ground
        self.demands = demands
        self._free: dict[str, IntColumn] = {}
        self._owns_columns = False
        """False if another room reads the same columns, so that a change needs copies."""
        self.pods: IntColumn = np.zeros(len(ground.snapshot), dtype=np.int64)
        """Number of placed pods on each node."""
        self._placed: list[tuple[int, Shape, int]] = []
        self._related: dict[str, NodeInfo] = {}
        """Nodes with placed pods that have host ports or terms of anti-affinity, by name."""
        self._baseline = _Baseline(ground, {})
        self._touched: set[int] = set()
        """Rows that changed since the baseline."""
        self._touched_rows: IntColumn | None = None
        self._totals: dict[Demand, int] = {}
        """Results of `total` since the last change."""
        self._snapshot: NodeSnapshot | None = None

    def copy(self) -> FilledNodes:
        """Return a copy that changes independently."""
        copied = FilledNodes.__new__(FilledNodes)
        copied.__dict__.update(self.__dict__)
        self._owns_columns = copied._owns_columns = False
        copied._free = dict(self._free)
        copied._placed = list(self._placed)
        copied._related = dict(self._related)
        copied._touched = set(self._touched)
        return copied

    # Reading

    def _column(self, resource: str) -> IntColumn:
        if resource not in self._free:
            # No placed pod has requested it, so the ground has the same amounts.
            self._free[resource] = self.ground.free(resource)
            self._owns_columns = False
        return self._free[resource]

    def free(self, demand: Demand) -> Mapping[str, IntColumn]:
        """Return the free amounts of the resources of a demand."""
        for resource, _ in demand.amounts:
            self._column(resource)
        return self._free

    def places(self, demand: Demand, rows: IntColumn | None = None) -> IntColumn:
        """Return how many pods of a demand fit on each node, or on the nodes in `rows`."""
        return pods_that_fit(demand, self.free(demand), self.ground.is_open(demand), rows)

    def takes(self, demand: Demand, number: int) -> bool:
        """Return whether so many pods of a demand fit on all nodes together."""
        baseline = self._baseline
        # Placed pods only use capacity, so without a change of the ground the baseline is an upper bound.
        if baseline.ground is self.ground and baseline.total(demand) < number:
            return False
        return self.total(demand) >= number

    def total(self, demand: Demand) -> int:
        """Return how many pods of a demand fit on all nodes together."""
        if demand not in self._totals:
            self._totals[demand] = self._total(demand)
        return self._totals[demand]

    def _total(self, demand: Demand) -> int:
        rows, baseline = self._rows(), self._baseline
        whole = baseline.total(demand)
        if not len(rows):
            return whole
        before = pods_that_fit(demand, baseline.free(demand), baseline.ground.is_open(demand), rows)
        return whole + int(self.places(demand, rows).sum()) - int(before.sum())

    def rebase(self) -> None:
        """Count from now on what changes after this moment. Copies share the numbers of this moment."""
        self._baseline = _Baseline(self.ground, self._free)
        self._owns_columns = False
        self._touched, self._touched_rows = set(), _NO_ROWS

    def _rows(self) -> IntColumn:
        """Return the rows that changed since the baseline. With too many of them, there is a new baseline."""
        if len(self._touched) > max(_MIN_BASELINE, len(self.pods) // 3):
            self.rebase()
        if self._touched_rows is None:
            self._touched_rows = np.fromiter(self._touched, np.int64, len(self._touched))
        return self._touched_rows

    @property
    def snapshot(self) -> NodeSnapshot:
        """The nodes now, for arithmetic that needs more than free amounts."""
        if self._snapshot is None:
            base = self.ground.snapshot
            if self._related:
                base = base.changed(self._related)
            ground, placed = self.ground.snapshot, self._placed[:]
            self._snapshot = base.filled(self._free, lambda: _nodes_with(ground, placed))
            self._owns_columns = False
        return self._snapshot

    def node(self, name: str) -> NodeInfo | None:
        """Return a node now. None: the cluster has no such node."""
        row = self.ground.snapshot.row(name)
        return None if row is None else self._node(row)

    def _node(self, row: int) -> NodeInfo:
        node = self.ground.snapshot.nodes[row]
        if not self.pods[row]:
            return node
        pods = [(shape, number) for place, shape, number in self._placed if place == row]
        return with_pods(node, pods)

    # Changing

    def put(self, placed: PlacedPods) -> None:
        """Put pods on nodes."""
        if not placed:
            return
        shapes = {id(shape): shape for _, shape, _ in placed}
        amounts = {key: {PODS: 1, **pod_amounts(shape.requests)} for key, shape in shapes.items()}
        for resource in {name for of_one in amounts.values() for name in of_one}:
            self._column(resource)
        self._own_columns()
        for key, of_one in amounts.items():
            entries = [(row, number) for row, shape, number in placed if id(shape) == key]
            rows = np.array([row for row, _ in entries], dtype=np.int64)
            numbers = np.array([number for _, number in entries], dtype=np.int64)
            for resource, amount in of_one.items():
                if amount:
                    _subtract(self._free, resource, rows, numbers, amount)
            np.add.at(self.pods, rows, numbers)
        self._placed += placed
        self._touch(row for row, _, _ in placed)
        related = {
            key
            for key, shape in shapes.items()
            if shape.host_ports or shape.anti_affinity or shape.matched_terms
        }
        if related:
            for row in {row for row, shape, _ in placed if id(shape) in related}:
                self._related[self.ground.snapshot.names[row]] = self._node(row)

    def stand_on(self, ground: Ground, names: Iterable[str]) -> None:
        """Replace the ground by one in which these nodes differ."""
        rows = [row for name in names if (row := self.ground.snapshot.row(name)) is not None]
        if self._free:
            self._own_columns()
        index = np.array(rows, dtype=np.int64)
        for resource in self._free:
            more = ground.free(resource)[index] - self.ground.free(resource)[index]
            _add(self._free, resource, index, more)
        self.ground = ground
        self._touch(rows)
        for row in rows:
            name = ground.snapshot.names[row]
            if name in self._related:
                self._related[name] = self._node(row)

    def _touch(self, rows: Iterable[int]) -> None:
        self._touched.update(rows)
        self._touched_rows = self._snapshot = None
        self._totals = {}

    def _own_columns(self) -> None:
        if not self._owns_columns:
            self._free = {resource: column.copy() for resource, column in self._free.items()}
            self.pods = self.pods.copy()
            self._owns_columns = True


def _subtract(
    columns: dict[str, IntColumn], resource: str, rows: IntColumn, numbers: IntColumn, amount: int
) -> None:
    """Subtract the amounts of pods. Rows may repeat."""
    if amount * int(numbers.max()) > SAFE // max(1, len(rows)):
        columns[resource] = columns[resource].astype(object)
        numbers = numbers.astype(object)
    np.subtract.at(columns[resource], rows, numbers * amount)


def _add(columns: dict[str, IntColumn], resource: str, rows: IntColumn, more: IntColumn) -> None:
    if more.dtype == object:
        columns[resource] = columns[resource].astype(object)
    columns[resource][rows] += more


def _nodes_with(ground: NodeSnapshot, placed: PlacedPods) -> tuple[NodeInfo, ...]:
    pods: dict[int, list[tuple[Shape, int]]] = {}
    for row, shape, number in placed:
        pods.setdefault(row, []).append((shape, number))
    nodes = list(ground.nodes)
    for row, of_row in pods.items():
        nodes[row] = with_pods(nodes[row], of_row)
    return tuple(nodes)


def with_pods(node: NodeInfo, pods: Iterable[tuple[Shape, int]]) -> NodeInfo:
    """Return a node with more pods on it: shapes with their numbers."""
    now = node.now
    for shape, number in pods:
        if number:
            now = add_requested(now, _load(shape, number))
    return replace(node, now=now)


def _load(shape: Shape, number: int) -> Requested:
    return Requested(
        {name: amount * number for name, amount in pod_amounts(shape.requests).items()},
        number,
        shape.host_ports,
        dict.fromkeys(shape.anti_affinity, number),
        dict.fromkeys(shape.matched_terms, number),
    )
