"""Pools of nodes with a square for each node, and the labels that can make pools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.node_amounts import NodeRow, plain_number, read_decimal
from gangboard.readmodels.node_pools import (
    POOL_LABELS,
    TOPOLOGY_LABELS,
    NodeSquare,
    Pool,
    pool_of,
    sum_nodes,
)

MOST_LABELS = 60
MOST_SQUARES = 120
MOST_NAMES = 3
"""Names of cordoned nodes, and of nodes that are not ready, beside a pool."""


def make_pools(
    nodes: Iterable[NodeRow], by: str = "", gangs: Mapping[str, str] | None = None
) -> tuple[Pool, ...]:
    """Return the nodes in pools by the label `by`, or by the well-known labels.

    Pools are sorted by value, and nodes without a label are last. The pools name nodes and gangs, so they are
    for viewers who may read these names. `gangs` is uid of an owner → name.
    """
    groups: dict[tuple[str, str], list[NodeRow]] = {}
    for node in nodes:
        groups.setdefault(pool_of(node, by), []).append(node)
    pools = []
    for label, value in sorted(groups, key=lambda group: (not group[0], group[1], group[0])):
        members = groups[label, value]
        pool = with_node_names(sum_nodes(label, value, members), members)
        pools.append(_with_squares(pool, members, gangs or {}))
    return tuple(pools)


def with_node_names(pool: Pool, nodes: Sequence[NodeRow]) -> Pool:
    """Return the pool with the names of its nodes that take no pods, for viewers who may read them."""
    return replace(
        pool,
        cordoned_names=_first_names(node for node in nodes if node.ready and node.cordoned),
        not_ready_names=_first_names(node for node in nodes if not node.ready),
    )


def without_taints(pool: Pool) -> Pool:
    """Return the pool with the number of its taints only, because a taint often names a team."""
    return replace(pool, taints=(), more_taints=len(pool.taints) + pool.more_taints)


def _first_names(nodes: Iterable[NodeRow]) -> str:
    names = sorted(printable(node.name) for node in nodes)
    unnamed = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {unnamed:,} more" if unnamed > 0 else "")


def _with_squares(pool: Pool, nodes: Iterable[NodeRow], gangs: Mapping[str, str]) -> Pool:
    main = next((amount.resource for amount in pool.amounts if amount.is_accelerator), None)
    if main is None:
        return pool
    with_devices = sorted((node for node in nodes if main in node.allocatable), key=_by_topology)
    squares = tuple(_square(node, main, gangs) for node in with_devices[:MOST_SQUARES])
    return replace(pool, squares=squares, more_squares=len(with_devices) - len(squares))


def _by_topology(node: NodeRow) -> tuple[tuple[str, ...], str]:
    return tuple(node.labels.get(label, "") for label in TOPOLOGY_LABELS), node.name


def _square(node: NodeRow, resource: str, gangs: Mapping[str, str]) -> NodeSquare:
    offered, used = (
        read_decimal(column.get(resource, "0")) for column in (node.allocatable, node.used)
    )
    known = resource not in node.unreadable and offered is not None and used is not None
    free = max(Decimal(), offered - used) if offered is not None and used is not None else Decimal()
    if not node.ready:
        state = "not ready"
    elif node.cordoned:
        state = "cordoned"
    elif not known:
        state = "unknown"
    elif node.held.get(resource, "0") not in ("", "0"):
        state = "held"
    else:
        state = "free" if free else "full"
    return NodeSquare(
        name=printable(node.name),
        free=plain_number(free, commas=False) if known else "",
        offered=printable(node.allocatable[resource]),
        state=state,
        gangs=tuple(sorted({gangs[root] for root in node.roots.values() if root in gangs})),
    )


@dataclass(slots=True)
class LabelChoices:
    """Collects the labels that several nodes share, to choose from."""

    _values: dict[str, set[str]] = field(default_factory=dict)
    _nodes: Counter[str] = field(default_factory=Counter)
    _pool_labels: set[str] = field(default_factory=set)

    def add(self, nodes: Iterable[NodeRow]) -> None:
        """Add the labels of some nodes."""
        for node in nodes:
            self._pool_labels.add(pool_of(node)[0])
            for label, value in node.labels.items():
                self._values.setdefault(label, set()).add(value)
                self._nodes[label] += 1

    @property
    def default(self) -> str:
        """The label of all pools if the viewer chooses none. Empty if nodes have different ones, or none."""
        return next(iter(self._pool_labels)) if len(self._pool_labels) == 1 else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels that some nodes share a value of, without the default; those of pools and topology first."""
        shared = [
            label
            for label, values in self._values.items()
            if len(values) < self._nodes[label] and label not in (HOSTNAME, self.default)
        ]
        first = {label: place for place, label in enumerate((*TOPOLOGY_LABELS, *POOL_LABELS))}
        shared.sort(key=lambda label: (first.get(label, len(first)), label))
        return tuple(shared[:MOST_LABELS])
