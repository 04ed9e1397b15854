"""Nodes of a plan without its gangs, which all rooms share, and what pods demand of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from gangboard.domain.capacity import NodeInfo, Shape
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import depends_on_other_pods
from gangboard.placement.matching import undecidable
from gangboard.placement.node_columns import SAFE, BoolColumn, IntColumn
from gangboard.placement.node_filters import NodeFilters
from gangboard.placement.node_snapshot import NodeSnapshot


@dataclass(frozen=True, eq=False, slots=True)
class Demand:
    """Requirements of pods for which only node properties and free amounts decide. Equal shapes share one."""

    shape: Shape
    amounts: tuple[tuple[str, int], ...]
    """Resource → amount of one pod in scheduler units."""
    selection: Hashable
    """Equal for shapes with the same node selector and node affinity."""
    is_understood: bool
    """Whether the arithmetic knows all requirements."""


class Demands:
    """The demand of each shape of a plan."""

    def __init__(self) -> None:
        self._by_shape: dict[int, tuple[Shape, Demand | None]] = {}
        """`id` of a shape → the shape, which keeps the id, and its demand."""
        self._by_requirements: dict[Hashable, Demand] = {}

    def of(self, shape: Shape) -> Demand | None:
        """Return the demand of a shape. None: pods on nodes decide by more than their amounts."""
        known = self._by_shape.get(id(shape))
        if known is None:
            demand = None if depends_on_other_pods(shape) else self._demand(shape)
            known = self._by_shape[id(shape)] = shape, demand
        return known[1]

    def _demand(self, shape: Shape) -> Demand:
        amounts = tuple(sorted(requested_amounts(shape).items()))
        selection = tuple(sorted(shape.node_selector.items())), shape.affinity
        is_understood = not (shape.unsupported or undecidable(shape))
        requirements = amounts, selection, shape.tolerations, is_understood
        if requirements not in self._by_requirements:
            self._by_requirements[requirements] = Demand(shape, amounts, selection, is_understood)
        return self._by_requirements[requirements]


class Ground:
    """The nodes after some steps, without the waiting gangs. It does not change."""

    def __init__(self, snapshot: NodeSnapshot) -> None:
        self.snapshot = snapshot
        self._masks: dict[Hashable, BoolColumn] = {}
        self._open: dict[Demand, BoolColumn] = {}
        """The masks of `is_open`, for demands seen before."""

    def is_open(self, demand: Demand) -> BoolColumn:
        """Return the nodes that the selector, the affinity and the tolerations of a demand allow, with known amounts."""
        mask = self._open.get(demand)
        if mask is None:
            key = demand.selection, self._read_resources(demand), demand.shape.tolerations
            if key not in self._masks:
                tolerated = NodeFilters(self.snapshot, demand.shape).tolerated()
                self._masks[key] = self.is_selected(demand) & tolerated
            mask = self._open[demand] = self._masks[key]
        return mask

    def is_selected(self, demand: Demand) -> BoolColumn:
        """Return the nodes that the selector and the affinity of a demand allow, with known amounts."""
        resources = self._read_resources(demand)
        key = demand.selection, resources
        if key not in self._masks:
            mask = NodeFilters(self.snapshot, demand.shape).selected().copy()
            unreadable = self.snapshot.sparse().unreadable.items()
            mask[[row for row, names in unreadable if names & resources]] = False
            self._masks[key] = mask
        return self._masks[key]

    def _read_resources(self, demand: Demand) -> frozenset[str]:
        """Return the resources of a demand that a node could not be read about."""
        if not self.snapshot.sparse().unreadable:
            return frozenset()
        return frozenset(resource for resource, _ in demand.amounts)

    def free(self, resource: str) -> IntColumn:
        """Return the free amounts of a resource."""
        return self.snapshot.resource(resource).now

    def takes_any(self, demand: Demand, rows: IntColumn) -> bool:
        """Return whether a pod of a demand fits on one of the nodes in `rows`."""
        free = {resource: self.free(resource) for resource, _ in demand.amounts}
        return bool(pods_that_fit(demand, free, self.is_open(demand), rows).any())

    def node(self, name: str) -> NodeInfo | None:
        """Return a node. None: the cluster has no such node."""
        row = self.snapshot.row(name)
        return None if row is None else self.snapshot.nodes[row]

    def changed(self, nodes: Mapping[str, NodeInfo]) -> Ground:
        """Return the ground with some nodes, by name, replaced."""
        return Ground(self.snapshot.changed(nodes)) if nodes else self


def pods_that_fit(
    demand: Demand,
    free: Mapping[str, IntColumn],
    is_open: BoolColumn,
    rows: IntColumn | None = None,
) -> IntColumn:
    """Return how many pods of a demand fit on each node, or on the nodes in `rows`."""
    pods: IntColumn | None = None
    for resource, amount in demand.amounts:
        column = free[resource] if rows is None else free[resource][rows]
        if amount > SAFE:
            column = column.astype(object)
        if amount > 1:
            column = column // amount
        pods = column if pods is None else np.minimum(pods, column)
    mask = is_open if rows is None else is_open[rows]
    if pods is None:
        return np.zeros(len(mask), dtype=np.int64)
    return np.where(mask, np.maximum(pods, 0), 0)
