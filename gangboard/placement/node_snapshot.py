"""The nodes of a cluster as columns, which answer many questions about all of them.

A column is made when somebody asks for it first, and is kept. Whole numbers only: 64 bits where
every amount fits with room to spare, Python's own integers where one does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from gangboard.domain.capacity import (
    PODS,
    Amounts,
    ClusterRoom,
    HostPort,
    Load,
    NodeRoom,
    PodTerm,
    Taint,
    Terms,
)
from gangboard.domain.placing import When

Thing = TypeVar("Thing")
Mask = npt.NDArray[np.bool_]
Whole = npt.NDArray[Any]
"""Whole numbers: int64, or objects that are Python integers."""
SAFE = 2**62
"""Amounts up to here are kept in 64 bits: one can be taken from another."""
_KEY = "node snapshot"
NAME = ""
"""Stands for the name of a node among the keys of labels."""


def whole(amounts: Sequence[int]) -> Whole:
    """Return amounts as a column that holds them exactly."""
    try:
        column = np.array(amounts, dtype=np.int64)
    except OverflowError:
        return np.array(amounts, dtype=object)
    if len(column) and (int(column.max()) > SAFE or int(column.min()) < -SAFE):
        return np.array(amounts, dtype=object)
    return column


def total(column: Whole) -> int:
    """Return the exact sum of amounts that are not negative."""
    if not len(column):
        return 0
    if column.dtype == object or int(column.max()) > SAFE // len(column):
        return sum(column.tolist())
    return int(column.sum())


@dataclass(frozen=True, slots=True)
class Stock:
    """One resource on every node."""

    allocatable: Whole
    now: Whole
    """What is left with everything on the nodes; below zero on an overfull one."""
    empty: Whole
    """What is left with the pods that stay."""

    def free(self, when: When) -> Whole:
        """Return what is left."""
        return self.now if when is When.NOW else self.empty


@dataclass(frozen=True, slots=True)
class _Books:
    """What every node offers and what is taken, gathered once: each resource is looked up in it."""

    allocatable: Sequence[Amounts]
    now: Sequence[Amounts]
    staying: Sequence[Amounts]
    pods_now: Sequence[int]
    pods_staying: Sequence[int]


@dataclass(frozen=True, slots=True)
class Texts:
    """One text on every node, as places in a list of all that occur."""

    places: Mapping[str | None, int]
    """Text → its place; None stands for nodes that do not have the label."""
    codes: npt.NDArray[np.int64]

    def among(self, values: Iterable[str | None]) -> Mask:
        """Return the nodes that have one of these."""
        table = np.zeros(len(self.places), dtype=np.bool_)
        table[[self.places[value] for value in values if value in self.places]] = True
        return table[self.codes]


@dataclass(frozen=True, slots=True)
class Kinds:
    """The taints and cordons that occur, and which nodes have which."""

    nodes: tuple[NodeRoom, ...]
    """One node of each kind."""
    codes: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SparseNodeData:
    """What only some nodes have: node → what holds there."""

    ports_now: Mapping[int, frozenset[HostPort]]
    ports_staying: Mapping[int, frozenset[HostPort]]
    terms_now: Mapping[int, Load]
    """Where pods have or match a term of anti-affinity."""
    terms_staying: Mapping[int, Load]
    unreadable: Mapping[int, frozenset[str]]
    silent: frozenset[int]
    """The nodes that have not said what they offer."""


class NodeSnapshot(Sequence[NodeRoom]):
    """All nodes of a cluster at one moment, in the order of their names, never changed."""

    def __init__(self, nodes: Iterable[NodeRoom]) -> None:
        self.nodes = tuple(sorted(nodes, key=lambda node: node.name))
        self.names = tuple(node.name for node in self.nodes)
        self.cache: dict[Hashable, Any] = {}
        """What was worked out about these nodes, for whoever asks again."""
        self._base: NodeSnapshot | None = None
        self._rows: dict[int, NodeRoom] = {}
        """The nodes that differ from those of `_base`."""
        self._books: _Books | None = None
        self._stocks: dict[str, Stock] = {}
        self._texts: dict[str, Texts] = {}
        self._kinds: Kinds | None = None
        self._sparse: SparseNodeData | None = None

    @overload
    def __getitem__(self, at: int) -> NodeRoom: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[NodeRoom, ...]: ...
    def __getitem__(self, at: int | slice) -> NodeRoom | tuple[NodeRoom, ...]:
        """Return one or some of the nodes."""
        return self.nodes[at]

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    def changed(self, others: Mapping[str, NodeRoom]) -> NodeSnapshot:
        """Return the same snapshot with some nodes, by name, as they are here instead.

        Columns of this snapshot are taken over: it costs much less than a new one. Names that are
        not there are ignored.
        """
        rows = {at: others[name] for name in others if (at := self.place(name)) is not None}
        if not rows:
            return self
        made = NodeSnapshot(())
        nodes = list(self.nodes)
        for at, node in rows.items():
            nodes[at] = node
        made.nodes, made.names = tuple(nodes), self.names
        made._base, made._rows = self, rows
        return made

    def place(self, name: str) -> int | None:
        """Return which node has a name, None when none has."""
        if self._base is not None:
            return self._base.place(name)
        if "places" not in self.cache:
            self.cache["places"] = {one: at for at, one in enumerate(self.names)}
        found: int | None = self.cache["places"].get(name)
        return found

    def stock(self, resource: str) -> Stock:
        """Return one resource on every node, 0 allocatable where it is not there."""
        if resource not in self._stocks:
            self._stocks[resource] = self._stock(resource)
        return self._stocks[resource]

    def _stock(self, resource: str) -> Stock:
        if self._books is None:
            self._books = _books(self.nodes if self._base is None else self._rows.values())
        stock = _stock(self._books, resource)
        if self._base is None:
            return stock
        return _patched(self._base.stock(resource), list(self._rows), stock)

    def labels(self, key: str) -> Texts:
        """Return one label of every node; for NAME the names."""
        if key not in self._texts:
            if self._base is not None and self._same_labels():
                self._texts[key] = self._base.labels(key)
            else:
                self._texts[key] = _texts(
                    self.names if key == NAME else [node.labels.get(key) for node in self.nodes]
                )
        return self._texts[key]

    def _same_labels(self) -> bool:
        base = self._base.nodes if self._base is not None else ()
        return all(node.labels == base[at].labels for at, node in self._rows.items())

    def kinds(self) -> Kinds:
        """Return which taints and cordons occur where."""
        if self._kinds is None:
            base = self._base
            if base is not None and all(
                _kind(node) == _kind(base.nodes[at]) for at, node in self._rows.items()
            ):
                self._kinds = base.kinds()
            else:
                self._kinds = _kinds(self.nodes)
        return self._kinds

    def terms(self, when: When) -> Mapping[tuple[str, str], Terms]:
        """Return the terms of anti-affinity not by host, by label and value of the nodes they are about."""
        place = ("terms", when)
        if place not in self.cache:
            sparse = self.sparse()
            loads = sparse.terms_now if when is When.NOW else sparse.terms_staying
            self.cache[place] = terms_by_domain(
                (self.nodes[at].labels, load) for at, load in loads.items()
            )
        found: Mapping[tuple[str, str], Terms] = self.cache[place]
        return found

    def sparse(self) -> SparseNodeData:
        """Return what only some nodes have."""
        if self._sparse is None:
            if self._base is None:
                self._sparse = _sparse(enumerate(self.nodes))
            else:
                self._sparse = _sparse_instead(self._base.sparse(), self._rows)
        return self._sparse


def terms_by_domain(
    places: Iterable[tuple[Mapping[str, str], Load]],
) -> dict[tuple[str, str], Terms]:
    """Return the terms of anti-affinity not by host, by label and value of the nodes they are about.

    `places` are labels of nodes, and what is on each.
    """
    anti_affinity: defaultdict[tuple[str, str], set[PodTerm]] = defaultdict(set)
    matched_terms: defaultdict[tuple[str, str], set[PodTerm]] = defaultdict(set)
    for labels, load in places:
        for terms, found in (
            (load.anti_affinity, anti_affinity),
            (load.matched_terms, matched_terms),
        ):
            for term in terms:
                if not term.is_by_host and term.is_exact and term.topology_key in labels:
                    found[term.topology_key, labels[term.topology_key]].add(term)
    pairs = sorted({*anti_affinity, *matched_terms})
    return {
        pair: Terms(frozenset(anti_affinity.get(pair, ())), frozenset(matched_terms.get(pair, ())))
        for pair in pairs
    }


def snapshot_of(room: ClusterRoom) -> NodeSnapshot:
    """Return the nodes of a room as a snapshot, made once for each room."""
    if _KEY not in room.cache:
        room.cache[_KEY] = NodeSnapshot(room.nodes)
    found = room.cache[_KEY]
    assert isinstance(found, NodeSnapshot)  # noqa: S101 - the key is ours
    return found


def as_snapshot(nodes: Sequence[NodeRoom]) -> NodeSnapshot:
    """Return nodes as a snapshot: themselves when they are one."""
    return nodes if isinstance(nodes, NodeSnapshot) else NodeSnapshot(nodes)


def _books(nodes: Iterable[NodeRoom]) -> _Books:
    nodes = tuple(nodes)
    now, staying = [node.now for node in nodes], [node.staying for node in nodes]
    return _Books(
        [node.allocatable for node in nodes],
        [load.amounts for load in now],
        [load.amounts for load in staying],
        [load.pods for load in now],
        [load.pods for load in staying],
    )


def _stock(books: _Books, resource: str) -> Stock:
    allocatable = whole(_amounts_of(books.allocatable, resource))
    if resource == PODS:
        now, staying = whole(books.pods_now), whole(books.pods_staying)
    else:
        now = whole(_amounts_of(books.now, resource))
        staying = whole(_amounts_of(books.staying, resource))
    return Stock(allocatable, _less(allocatable, now), _less(allocatable, staying))


def _amounts_of(amounts: Sequence[Amounts], resource: str) -> list[int]:
    return [one.get(resource, 0) for one in amounts]


def _less(one: Whole, other: Whole) -> Whole:
    """Return the difference; both are at most SAFE from zero, so 64 bits hold it."""
    found: Whole = one - other
    return found if found.dtype == object else _checked(found)


def _checked(column: Whole) -> Whole:
    if len(column) and (int(column.max()) > SAFE or int(column.min()) < -SAFE):
        return column.astype(object)
    return column


def _patched(base: Stock, rows: Sequence[int], other: Stock) -> Stock:
    def column(old: Whole, new: Whole) -> Whole:
        made = old.astype(object) if object in (old.dtype, new.dtype) else old.copy()
        made[rows] = new
        return made

    return Stock(
        column(base.allocatable, other.allocatable),
        column(base.now, other.now),
        column(base.empty, other.empty),
    )


def _texts(values: Sequence[str | None]) -> Texts:
    places: dict[str | None, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return Texts(places, np.array(codes, dtype=np.int64))


def _kind(node: NodeRoom) -> tuple[tuple[Taint, ...], bool]:
    return node.taints, node.unschedulable


def _kinds(nodes: Sequence[NodeRoom]) -> Kinds:
    places: dict[tuple[tuple[Taint, ...], bool], int] = {}
    firsts: list[NodeRoom] = []
    codes: list[int] = []
    for node in nodes:
        at = places.setdefault(_kind(node), len(firsts))
        if at == len(firsts):
            firsts.append(node)
        codes.append(at)
    return Kinds(tuple(firsts), np.array(codes, dtype=np.int64))


def _sparse(nodes: Iterable[tuple[int, NodeRoom]]) -> SparseNodeData:
    ports_now, ports_staying = {}, {}
    terms_now, terms_staying = {}, {}
    unreadable = {}
    silent = set()
    for at, node in nodes:
        if node.is_silent:
            silent.add(at)
        if node.now.host_ports:
            ports_now[at] = node.now.host_ports
        if node.staying.host_ports:
            ports_staying[at] = node.staying.host_ports
        if node.now.anti_affinity or node.now.matched_terms:
            terms_now[at] = node.now
        if node.staying.anti_affinity or node.staying.matched_terms:
            terms_staying[at] = node.staying
        if node.unreadable:
            unreadable[at] = node.unreadable
    return SparseNodeData(
        ports_now, ports_staying, terms_now, terms_staying, unreadable, frozenset(silent)
    )


def _sparse_instead(base: SparseNodeData, rows: Mapping[int, NodeRoom]) -> SparseNodeData:
    new = _sparse(rows.items())

    def part(old: Mapping[int, Thing], other: Mapping[int, Thing]) -> Mapping[int, Thing]:
        return {**{at: one for at, one in old.items() if at not in rows}, **other}

    return SparseNodeData(
        part(base.ports_now, new.ports_now),
        part(base.ports_staying, new.ports_staying),
        part(base.terms_now, new.terms_now),
        part(base.terms_staying, new.terms_staying),
        part(base.unreadable, new.unreadable),
        base.silent.difference(rows) | new.silent,
    )
