"""The gangs that hold room, as columns: what each holds where members could go, and what of it ends by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, compress

import numpy as np

from gangboard.domain.capacity import ClusterCapacity, Requested, RunningGang, Shape, Termination
from gangboard.domain.placement_result import When
from gangboard.placement.amounts import taken, wanted
from gangboard.placement.feasible_nodes import MOST_KEPT, FeasibleNodes
from gangboard.placement.node_columns import BoolColumn, IntColumn, int_column
from gangboard.placement.node_snapshot import NodeSnapshot

_FEW = 4
"""If fewer than one load in this many is needed, they are read one by one, without a column."""
_KEY = "running gangs"


@dataclass(frozen=True, slots=True)
class Gains:
    """Places that each gang makes, by topology domain."""

    owners: IntColumn
    """Places in `RunningGangs.all`."""
    domains: IntColumn
    places: IntColumn


class Shares:
    """So much of the room of a cluster, each part of it on some nodes."""

    def __init__(self, parts: Sequence[Mapping[str, Requested]], snapshot: NodeSnapshot) -> None:
        # Thousands of gangs on tens of thousands of nodes: no object of Python is made for a load.
        places = map(snapshot.row, chain.from_iterable(parts))
        nodes = np.array([-1 if index is None else index for index in places], dtype=np.int64)
        owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        loads: list[Requested] = list(chain.from_iterable(part.values() for part in parts))
        known = nodes >= 0
        self._size = len(parts)
        self._owners: IntColumn = owners[known]
        self._nodes: IntColumn = nodes[known]
        self._loads = loads if known.all() else list(compress(loads, known.tolist()))
        self._amounts: dict[str, IntColumn] = {}
        self._held: dict[Hashable, IntColumn] = {}

    def held(self, resource: str, mask: BoolColumn) -> IntColumn:
        """Return how much of a resource each holds on these nodes, in scheduler units."""
        place = resource, mask.tobytes()
        if place not in self._held:
            amounts = self._of(resource)
            sums: IntColumn = np.zeros(self._size, dtype=amounts.dtype)
            is_candidate = mask[self._nodes] if len(self._nodes) else np.zeros(0, dtype=np.bool_)
            np.add.at(sums, self._owners[is_candidate], amounts[is_candidate])
            self._held[place] = sums
        return self._held[place]

    def gains(
        self, snapshot: NodeSnapshot, feasible: FeasibleNodes, shape: Shape, codes: IntColumn
    ) -> Gains:
        """Return how many pods of a shape more fit in a domain when one of them alone is away.

        `feasible` is of `snapshot`, `codes` is the domain of each of its nodes, -1 for none. The
        sum is a guess for several together: two on one node can make the same place, or one place
        that neither makes alone.
        """
        # With the snapshot, which a gang with members on nodes has of its own: it goes with the what-if.
        cached: dict[Hashable, Gains] = snapshot.cache.setdefault(("gains", self), {})
        place = feasible, codes.tobytes()
        if place not in cached:
            while len(cached) >= MOST_KEPT:
                cached.pop(next(iter(cached)))
            cached[place] = self._worked_out(snapshot, feasible, shape, codes)
        return cached[place]

    def _worked_out(
        self, snapshot: NodeSnapshot, feasible: FeasibleNodes, shape: Shape, codes: IntColumn
    ) -> Gains:
        now = feasible.max_pods(When.CURRENT)
        eligible = feasible.eligible() & (codes >= 0) & (feasible.max_pods(When.DRAINED) > now)
        loads = np.flatnonzero(eligible[self._nodes])
        possible: IntColumn | None = None
        # Devices first: they leave the fewest to be looked at.
        for resource, amount in sorted(wanted(shape).items(), key=lambda pair: "/" not in pair[0]):
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

    def _of(self, resource: str, here: IntColumn | None = None) -> IntColumn:
        """Return how much of a resource each load takes: of all, or of those in these places."""
        if resource in self._amounts:
            column = self._amounts[resource]
            return column if here is None else column[here]
        if here is not None and len(here) * _FEW < len(self._loads):
            return int_column([taken(self._loads[index], resource) for index in here.tolist()])
        column = self._amounts[resource] = int_column(
            [taken(load, resource) for load in self._loads]
        )
        return column if here is None else column[here]


class RunningGangs(Shares):
    """All gangs that a user could suspend, in the order of `ClusterCapacity.running_gangs`."""

    def __init__(self, room: ClusterCapacity, snapshot: NodeSnapshot) -> None:
        self.all: tuple[RunningGang, ...] = tuple(
            gang for gang in room.running_gangs() if gang.suspendable and gang.active_loads
        )
        super().__init__([gang.active_loads for gang in self.all], snapshot)
        self.places = {gang.root: index for index, gang in enumerate(self.all)}
        """uid of the owner → place in `all`."""
        self.priorities = np.array([gang.priority for gang in self.all], dtype=np.int64)
        self.are_whole: BoolColumn = np.array([gang.is_whole for gang in self.all], dtype=np.bool_)
        self.ages = np.array([-_seconds(gang) for gang in self.all], dtype=np.float64)
        """A larger number is an older gang. An unknown age counts as the oldest."""


def _seconds(gang: RunningGang) -> float:
    return gang.oldest_pod_at.timestamp() if gang.oldest_pod_at is not None else 0.0


def running_gangs_of(room: ClusterCapacity, snapshot: NodeSnapshot) -> RunningGangs:
    """Return the running gangs of a room, worked out once for each room."""
    if _KEY not in room.cache:
        room.cache[_KEY] = RunningGangs(room, snapshot)
    running = room.cache[_KEY]
    assert isinstance(running, RunningGangs)  # noqa: S101 - the key is ours
    return running


# What ends by itself

_TERMINATIONS_KEY = "expected terminations"


@dataclass(frozen=True, slots=True)
class GangTermination:
    """Pods that end by themselves, and whose they are."""

    gang: RunningGang
    termination: Termination


class ExpectedTerminations(Shares):
    """All ends that are known, the first first."""

    def __init__(self, room: ClusterCapacity, snapshot: NodeSnapshot) -> None:
        terminations = [
            GangTermination(gang, termination)
            for gang in room.running_gangs()
            for termination in gang.terminations
        ]
        self.all = sorted(terminations, key=lambda end: end.termination.at)
        super().__init__([end.termination.loads for end in self.all], snapshot)
        self._are_deleted = np.array([end.termination.deleted for end in self.all], dtype=np.bool_)
        self._are_replaced = np.array(
            [end.termination.replaced for end in self.all], dtype=np.bool_
        )
        self._times = np.array([end.termination.rounded.timestamp() for end in self.all])
        self._replaced_of: dict[str, list[int]] = defaultdict(list)
        for index in np.flatnonzero(self._are_replaced).tolist():
            self._replaced_of[self.all[index].gang.root].append(index)

    def to_come(self, now: datetime, own: str, *, deleted: bool) -> BoolColumn:
        """Return which are still believed: the time that a sentence names has not come.

        The room of pods in whose place others are made is only for their own gang: `own` is the
        uid of the owner of those who ask.
        """
        counts = ~self._are_replaced
        counts[self._replaced_of.get(own, [])] = True
        ahead: BoolColumn = self._times > now.timestamp()
        expected: BoolColumn = ahead & (self._are_deleted == deleted) & counts
        return expected


def expected_terminations_of(room: ClusterCapacity, snapshot: NodeSnapshot) -> ExpectedTerminations:
    """Return the ends that are known in a room, worked out once for each room."""
    if _TERMINATIONS_KEY not in room.cache:
        room.cache[_TERMINATIONS_KEY] = ExpectedTerminations(room, snapshot)
    terminations = room.cache[_TERMINATIONS_KEY]
    assert isinstance(terminations, ExpectedTerminations)  # noqa: S101 - the key is ours
    return terminations


def clock(time: datetime, now: datetime) -> str:
    """Return `12:03 UTC`, with the date where that is not today's: a sentence is kept."""
    time, now = time.astimezone(UTC), now.astimezone(UTC)
    return f"{time:%H:%M} UTC" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M} UTC"
