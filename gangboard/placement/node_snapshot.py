"""Snapshot of the nodes of a cluster, with columns for placement.

A column is built when it is read for the first time, and then cached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import HostPort, PodTerm, Terms
from gangboard.placement.node_columns import (
    IntColumn,
    LabelColumn,
    NodeTotals,
    ResourceColumn,
    TaintGroups,
    changed_taint_groups,
    column_of,
    label_column,
    node_totals,
    patched,
    taint_groups,
)

Entry = TypeVar("Entry")
_KEY = "node snapshot"
NAME = ""
"""Stands for the name of a node among the keys of labels."""


@dataclass(frozen=True, slots=True)
class SparseNodeData:
    """Properties that only some nodes have, by row."""

    ports_now: Mapping[int, frozenset[HostPort]]
    ports_pinned: Mapping[int, frozenset[HostPort]]
    terms_now: Mapping[int, Requested]
    """Nodes with pods that have or match a term of anti-affinity."""
    terms_pinned: Mapping[int, Requested]
    unreadable: Mapping[int, frozenset[str]]
    silent: frozenset[int]
    """Nodes without `status.allocatable`."""


class NodeSnapshot(Sequence[NodeInfo]):
    """All nodes of a cluster at one moment, in the order of their names. A snapshot is immutable."""

    def __init__(self, nodes: Iterable[NodeInfo]) -> None:
        self._nodes: tuple[NodeInfo, ...] | None = tuple(sorted(nodes, key=lambda node: node.name))
        self.names = tuple(node.name for node in self._nodes)
        self.cache: dict[Hashable, Any] = {}
        """Cached results about these nodes."""
        self._base: NodeSnapshot | None = None
        self._rows: dict[int, NodeInfo] = {}
        """The nodes that differ from those of `_base`."""
        self._make_nodes: Callable[[], tuple[NodeInfo, ...]] | None = None
        self._totals: NodeTotals | None = None
        self._resources: dict[str, ResourceColumn] = {}
        self._labels: dict[str, LabelColumn] = {}
        self._of_labels: NodeSnapshot | None = None
        self._taint_groups: TaintGroups | None = None
        self._sparse: SparseNodeData | None = None

    @overload
    def __getitem__(self, row: int) -> NodeInfo: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[NodeInfo, ...]: ...
    def __getitem__(self, row: int | slice) -> NodeInfo | tuple[NodeInfo, ...]:
        """Return one or some of the nodes."""
        return self.nodes[row]

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.names)

    @property
    def nodes(self) -> tuple[NodeInfo, ...]:
        """All nodes, in the order of their names."""
        if self._nodes is None:
            assert self._make_nodes is not None  # noqa: S101 - `filled` sets it
            self._nodes = self._make_nodes()
        return self._nodes

    def changed(self, changes: Mapping[str, NodeInfo]) -> NodeSnapshot:
        """Return the snapshot with some nodes, by name, replaced. Unknown names are ignored.

        The new snapshot reuses the columns of this one, which costs much less than to build them.
        """
        rows = {row: changes[name] for name in changes if (row := self.row(name)) is not None}
        if not rows:
            return self
        snapshot = NodeSnapshot(())
        nodes = list(self.nodes)
        for row, node in rows.items():
            nodes[row] = node
        snapshot._nodes, snapshot.names = tuple(nodes), self.names
        snapshot._base, snapshot._rows = self, rows
        return snapshot

    def filled(
        self, free: Mapping[str, IntColumn], make_nodes: Callable[[], tuple[NodeInfo, ...]]
    ) -> NodeSnapshot:
        """Return the snapshot with more pods on its nodes, which have no host ports and no terms of anti-affinity.

        `free` has the free amounts with these pods, for each resource that they request. `make_nodes` returns the
        nodes. It is called only if a reader needs more than columns.
        """
        snapshot = NodeSnapshot(())
        snapshot._nodes, snapshot.names = None, self.names
        snapshot._base, snapshot._make_nodes = self, make_nodes
        for resource, now in free.items():
            column = self.resource(resource)
            snapshot._resources[resource] = ResourceColumn(column.allocatable, now, column.empty)
        return snapshot

    @property
    def before_filling(self) -> NodeSnapshot | None:
        """The snapshot that `filled` was called on. None: this one is not its result."""
        return None if self._make_nodes is None else self._base

    @property
    def of_labels(self) -> NodeSnapshot:
        """The snapshot that caches results about labels alone: an earlier one if its nodes have the same labels."""
        if self._of_labels is None:
            base = self._base
            self._of_labels = base.of_labels if base is not None and self._same_labels() else self
        return self._of_labels

    def row(self, name: str) -> int | None:
        """Return the row of the node with a name. None: the name is unknown."""
        if self._base is not None:
            return self._base.row(name)
        if "rows" not in self.cache:
            self.cache["rows"] = {known: row for row, known in enumerate(self.names)}
        rows: Mapping[str, int] = self.cache["rows"]
        return rows.get(name)

    def resource(self, resource: str) -> ResourceColumn:
        """Return the column of a resource. Nodes without it have 0 allocatable."""
        if resource not in self._resources:
            self._resources[resource] = self._read_column(resource)
        return self._resources[resource]

    def _read_column(self, resource: str) -> ResourceColumn:
        if self._totals is None:
            self._totals = node_totals(self.nodes if self._base is None else self._rows.values())
        if self._base is None:
            return column_of(self._totals, resource)
        if not self._rows:
            return self._base.resource(resource)
        column = column_of(self._totals, resource)
        return patched(self._base.resource(resource), list(self._rows), column)

    def labels(self, key: str) -> LabelColumn:
        """Return the column of a label. For NAME it has the names of the nodes."""
        if key not in self._labels:
            if self.of_labels is not self:
                self._labels[key] = self.of_labels.labels(key)
            else:
                self._labels[key] = label_column(
                    self.names if key == NAME else [node.labels.get(key) for node in self.nodes]
                )
        return self._labels[key]

    def _same_labels(self) -> bool:
        base = self._base.nodes if self._base is not None and self._rows else ()
        return all(
            node.labels is base[row].labels or node.labels == base[row].labels
            for row, node in self._rows.items()
        )

    def taint_groups(self) -> TaintGroups:
        """Return the nodes grouped by taints and cordon."""
        if self._taint_groups is None:
            self._taint_groups = (
                taint_groups(self.nodes)
                if self._base is None
                else changed_taint_groups(self._base.taint_groups(), self._rows)
            )
        return self._taint_groups

    def terms(self, when: When) -> Mapping[tuple[str, str], Terms]:
        """Return the terms of anti-affinity by other labels than the host name, by label and value."""
        place = ("terms", when)
        if place not in self.cache:
            sparse = self.sparse()
            loads = sparse.terms_now if when is When.CURRENT else sparse.terms_pinned
            self.cache[place] = terms_by_domain(
                (self.nodes[row].labels, load) for row, load in loads.items()
            )
        terms: Mapping[tuple[str, str], Terms] = self.cache[place]
        return terms

    def sparse(self) -> SparseNodeData:
        """Return the properties that only some nodes have."""
        if self._sparse is None:
            if self._base is None:
                self._sparse = _collect_sparse(enumerate(self.nodes))
            elif not self._rows:
                self._sparse = self._base.sparse()
            else:
                self._sparse = _patch_sparse(self._base.sparse(), self._rows)
        return self._sparse


def terms_by_domain(
    places: Iterable[tuple[Mapping[str, str], Requested]],
) -> dict[tuple[str, str], Terms]:
    """Return the terms of anti-affinity by other labels than the host name, by label and value.

    `places` are pairs of a node's labels and its requested amounts.
    """
    anti_affinity: defaultdict[tuple[str, str], set[PodTerm]] = defaultdict(set)
    matched_terms: defaultdict[tuple[str, str], set[PodTerm]] = defaultdict(set)
    for labels, load in places:
        for terms, collected in (
            (load.anti_affinity, anti_affinity),
            (load.matched_terms, matched_terms),
        ):
            for term in terms:
                if not term.is_by_host and term.is_exact and term.topology_key in labels:
                    collected[term.topology_key, labels[term.topology_key]].add(term)
    pairs = sorted({*anti_affinity, *matched_terms})
    return {
        pair: Terms(frozenset(anti_affinity.get(pair, ())), frozenset(matched_terms.get(pair, ())))
        for pair in pairs
    }


def snapshot_of(capacity: ClusterCapacity) -> NodeSnapshot:
    """Return the nodes of a cluster as a snapshot, cached for each `ClusterCapacity`."""
    if _KEY not in capacity.cache:
        capacity.cache[_KEY] = NodeSnapshot(capacity.nodes)
    snapshot = capacity.cache[_KEY]
    assert isinstance(snapshot, NodeSnapshot)  # noqa: S101 - the key is ours
    return snapshot


def as_snapshot(nodes: Sequence[NodeInfo]) -> NodeSnapshot:
    """Return nodes as a snapshot, unchanged if they are one."""
    return nodes if isinstance(nodes, NodeSnapshot) else NodeSnapshot(nodes)


def _collect_sparse(nodes: Iterable[tuple[int, NodeInfo]]) -> SparseNodeData:
    ports_now, ports_pinned = {}, {}
    terms_now, terms_pinned = {}, {}
    unreadable = {}
    silent = set()
    for row, node in nodes:
        if node.is_silent:
            silent.add(row)
        if node.now.host_ports:
            ports_now[row] = node.now.host_ports
        if node.pinned.host_ports:
            ports_pinned[row] = node.pinned.host_ports
        if node.now.anti_affinity or node.now.matched_terms:
            terms_now[row] = node.now
        if node.pinned.anti_affinity or node.pinned.matched_terms:
            terms_pinned[row] = node.pinned
        if node.unreadable:
            unreadable[row] = node.unreadable
    return SparseNodeData(
        ports_now, ports_pinned, terms_now, terms_pinned, unreadable, frozenset(silent)
    )


def _patch_sparse(base: SparseNodeData, rows: Mapping[int, NodeInfo]) -> SparseNodeData:
    new = _collect_sparse(rows.items())

    def merged(old: Mapping[int, Entry], new_rows: Mapping[int, Entry]) -> Mapping[int, Entry]:
        return {**{row: entry for row, entry in old.items() if row not in rows}, **new_rows}

    return SparseNodeData(
        merged(base.ports_now, new.ports_now),
        merged(base.ports_pinned, new.ports_pinned),
        merged(base.terms_now, new.terms_now),
        merged(base.terms_pinned, new.terms_pinned),
        merged(base.unreadable, new.unreadable),
        base.silent.difference(rows) | new.silent,
    )
