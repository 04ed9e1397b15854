"""Capacity that running gangs hold, as columns, and the terminations to expect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, compress

import numpy as np

from gangboard.domain.capacity import ClusterCapacity, Requested, RunningGang, Shape, Termination
from gangboard.domain.placement_result import When
from gangboard.placement.amounts import requested_amounts, used_amount
from gangboard.placement.feasible_nodes import MAX_CACHED, FeasibleNodes
from gangboard.placement.node_columns import BoolColumn, IntColumn, int_column
from gangboard.placement.node_snapshot import NodeSnapshot

_SPARSE_FACTOR = 4
"""Fewer than one load in this many is read one by one, without a column."""
_KEY = "running gangs"


@dataclass(frozen=True, slots=True)
class Gains:
    """Pods that fit in addition without a gang, by gang and topology domain."""

    owners: IntColumn
    """Indexes in `RunningGangs.all`."""
    domains: IntColumn
    pods: IntColumn


class HeldCapacity:
    """Requests of several gangs, or of pods that terminate together, on the nodes of a cluster."""

    def __init__(
        self, loads_by_gang: Sequence[Mapping[str, Requested]], snapshot: NodeSnapshot
    ) -> None:
        # Create no Python object per load, because there are thousands of gangs on tens of thousands of nodes.
        rows = map(snapshot.row, chain.from_iterable(loads_by_gang))
        nodes = np.array([-1 if index is None else index for index in rows], dtype=np.int64)
        owners = np.repeat(
            np.arange(len(loads_by_gang)), [len(gang_loads) for gang_loads in loads_by_gang]
        )
        loads: list[Requested] = list(
            chain.from_iterable(gang_loads.values() for gang_loads in loads_by_gang)
        )
        known = nodes >= 0
        self._size = len(loads_by_gang)
        self._owners: IntColumn = owners[known]
        self._nodes: IntColumn = nodes[known]
        self._loads = loads if known.all() else list(compress(loads, known.tolist()))
        self._amounts: dict[str, IntColumn] = {}
        self._held: dict[Hashable, IntColumn] = {}

    def held(self, resource: str, mask: BoolColumn) -> IntColumn:
        """Return how much of a resource each entry holds on these nodes, in scheduler units."""
        cache_key = resource, mask.tobytes()
        if cache_key not in self._held:
            amounts = self._of(resource)
            sums: IntColumn = np.zeros(self._size, dtype=amounts.dtype)
            is_candidate = mask[self._nodes] if len(self._nodes) else np.zeros(0, dtype=np.bool_)
            np.add.at(sums, self._owners[is_candidate], amounts[is_candidate])
            self._held[cache_key] = sums
        return self._held[cache_key]

    def gains(
        self, snapshot: NodeSnapshot, feasible: FeasibleNodes, shape: Shape, codes: IntColumn
    ) -> Gains:
        """Return how many more pods of a shape fit in each domain without one of the gangs.

        `feasible` belongs to `snapshot`. `codes` is the domain of each node, or -1. The sum over several gangs is only an
        estimate. Two gangs on one node can free the same place, or together free a place that neither frees alone.
        """
        # The cache belongs to the snapshot, because a gang with members on nodes has its own snapshot.
        cached: dict[Hashable, Gains] = snapshot.cache.setdefault(("gains", self), {})
        cache_key = feasible, codes.tobytes()
        if cache_key not in cached:
            while len(cached) >= MAX_CACHED:
                cached.pop(next(iter(cached)))
            cached[cache_key] = self._count_gains(snapshot, feasible, shape, codes)
        return cached[cache_key]

    def _count_gains(
        self, snapshot: NodeSnapshot, feasible: FeasibleNodes, shape: Shape, codes: IntColumn
    ) -> Gains:
        now = feasible.max_pods(When.CURRENT)
        eligible = feasible.eligible() & (codes >= 0) & (feasible.max_pods(When.DRAINED) > now)
        loads = np.flatnonzero(eligible[self._nodes])
        possible: IntColumn | None = None
        # Devices come first, because they exclude the most loads.
        for resource, amount in sorted(
            requested_amounts(shape).items(), key=lambda pair: "/" not in pair[0]
        ):
            free = snapshot.resource(resource).now[self._nodes[loads]] + self._of(resource, loads)
            fit = np.maximum(free, 0) // amount
            possible = fit if possible is None else np.minimum(possible, fit)
            is_more = possible > now[self._nodes[loads]]
            loads, possible = loads[is_more], possible[is_more]
        if possible is None or not len(loads):
            return Gains(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        gained = (possible - now[self._nodes[loads]]).astype(np.int64)
        width = int(codes.max()) + 1
        pairs, back = np.unique(
            self._owners[loads] * width + codes[self._nodes[loads]], return_inverse=True
        )
        sums = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(sums, back, gained)
        return Gains(pairs // width, pairs % width, sums)

    def _of(self, resource: str, indexes: IntColumn | None = None) -> IntColumn:
        """Return how much of a resource each load uses, of all loads or of those at these indexes."""
        if resource in self._amounts:
            column = self._amounts[resource]
            return column if indexes is None else column[indexes]
        if indexes is not None and len(indexes) * _SPARSE_FACTOR < len(self._loads):
            return int_column(
                [used_amount(self._loads[index], resource) for index in indexes.tolist()]
            )
        column = self._amounts[resource] = int_column(
            [used_amount(load, resource) for load in self._loads]
        )
        return column if indexes is None else column[indexes]


class RunningGangs(HeldCapacity):
    """All gangs that a user could suspend, in the order of `ClusterCapacity.running_gangs`."""

    def __init__(self, capacity: ClusterCapacity, snapshot: NodeSnapshot) -> None:
        self.all: tuple[RunningGang, ...] = tuple(
            gang for gang in capacity.running_gangs() if gang.suspendable and gang.active_loads
        )
        super().__init__([gang.active_loads for gang in self.all], snapshot)
        self.index_by_uid = {gang.root: index for index, gang in enumerate(self.all)}
        """uid of the owner → index in `all`."""
        self.priorities = np.array([gang.priority for gang in self.all], dtype=np.int64)
        self.are_whole: BoolColumn = np.array([gang.is_whole for gang in self.all], dtype=np.bool_)
        self.ages = np.array([-_start_seconds(gang) for gang in self.all], dtype=np.float64)
        """A larger number is an older gang. An unknown age counts as the oldest."""


def _start_seconds(gang: RunningGang) -> float:
    return gang.oldest_pod_at.timestamp() if gang.oldest_pod_at is not None else 0.0


def running_gangs_of(capacity: ClusterCapacity, snapshot: NodeSnapshot) -> RunningGangs:
    """Return the running gangs of a cluster, cached for each `ClusterCapacity`."""
    if _KEY not in capacity.cache:
        capacity.cache[_KEY] = RunningGangs(capacity, snapshot)
    running = capacity.cache[_KEY]
    assert isinstance(running, RunningGangs)  # noqa: S101 - the key is ours
    return running


# Expected terminations

_TERMINATIONS_KEY = "expected terminations"


@dataclass(frozen=True, slots=True)
class GangTermination:
    """Pods that terminate together, and their gang."""

    gang: RunningGang
    termination: Termination


class ExpectedTerminations(HeldCapacity):
    """All known terminations, in order of time."""

    def __init__(self, capacity: ClusterCapacity, snapshot: NodeSnapshot) -> None:
        terminations = [
            GangTermination(gang, termination)
            for gang in capacity.running_gangs()
            for termination in gang.terminations
        ]
        self.all = sorted(terminations, key=lambda entry: entry.termination.at)
        super().__init__([entry.termination.loads for entry in self.all], snapshot)
        self._are_deleted = np.array(
            [entry.termination.deleted for entry in self.all], dtype=np.bool_
        )
        self._are_replaced = np.array(
            [entry.termination.replaced for entry in self.all], dtype=np.bool_
        )
        self._times = np.array([entry.termination.rounded.timestamp() for entry in self.all])
        self._replaced_of: dict[str, list[int]] = defaultdict(list)
        for index in np.flatnonzero(self._are_replaced).tolist():
            self._replaced_of[self.all[index].gang.root].append(index)

    def select_expected(self, now: datetime, own: str, *, deleted: bool) -> BoolColumn:
        """Return the terminations whose time, as sentences show it, is still in the future.

        Pods that their controller replaces only free capacity for their own gang. `own` is the uid of the owner of the
        gang that needs capacity.
        """
        counts = ~self._are_replaced
        counts[self._replaced_of.get(own, [])] = True
        ahead: BoolColumn = self._times > now.timestamp()
        expected: BoolColumn = ahead & (self._are_deleted == deleted) & counts
        return expected


def expected_terminations_of(
    capacity: ClusterCapacity, snapshot: NodeSnapshot
) -> ExpectedTerminations:
    """Return the known terminations of a cluster, cached for each `ClusterCapacity`."""
    if _TERMINATIONS_KEY not in capacity.cache:
        capacity.cache[_TERMINATIONS_KEY] = ExpectedTerminations(capacity, snapshot)
    terminations = capacity.cache[_TERMINATIONS_KEY]
    assert isinstance(terminations, ExpectedTerminations)  # noqa: S101 - the key is ours
    return terminations


def format_time(time: datetime, now: datetime) -> str:
    """Return `12:03 UTC`, with the date if it is not today, because sentences are stored."""
    time, now = time.astimezone(UTC), now.astimezone(UTC)
    return f"{time:%H:%M} UTC" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M} UTC"
