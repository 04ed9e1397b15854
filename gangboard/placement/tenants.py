"""The gangs that hold room, as columns: how much of what each holds where members could go."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from gangboard.domain.capacity import PODS, ClusterRoom, Load, Resident, Shape
from gangboard.domain.placing import When
from gangboard.placement.amounts import wanted
from gangboard.placement.ground import Ground, Mask, Whole, whole
from gangboard.placement.hosts import Hosts

SUSPENDABLE = frozenset({"Job", "JobSet"})
"""Kinds of owners that gangboard suspends as a whole."""
_KEY = "tenants"


@dataclass(frozen=True, slots=True)
class Gains:
    """Who makes how many places, in which topology domain."""

    owners: Whole
    """Places in `Tenants.all`."""
    domains: Whole
    places: Whole


class Tenants:
    """All residents of a room that can be suspended."""

    def __init__(self, room: ClusterRoom, ground: Ground) -> None:
        self._ground = ground
        found = [one for one in room.residents() if one.ref.kind in SUSPENDABLE]
        self.all: tuple[Resident, ...] = tuple(
            sorted(found, key=lambda one: (one.ref.namespace, one.ref.name, one.root))
        )
        places = {name: at for at, name in enumerate(ground.names)}
        entries = [
            (at, places[name], load)
            for at, one in enumerate(self.all)
            for name, load in one.loads.items()
            if name in places
        ]
        self._owners = np.array([at for at, _, _ in entries], dtype=np.int64)
        self._nodes = np.array([node for _, node, _ in entries], dtype=np.int64)
        self._loads: tuple[Load, ...] = tuple(load for _, _, load in entries)
        self._amounts: dict[str, Whole] = {}
        self._held: dict[Hashable, Whole] = {}
        self._gains: dict[Hashable, tuple[Hosts, Gains]] = {}
        self.places = {one.root: at for at, one in enumerate(self.all)}
        """uid of the owner → place in `all`."""
        self.ending = [(at, one.ends_at) for at, one in enumerate(self.all) if one.ends_at]
        self.priorities = np.array([one.priority for one in self.all], dtype=np.int64)

    def held(self, resource: str, mask: Mask) -> Whole:
        """Return how much of a resource each holds on these nodes, in scheduler units."""
        place = resource, mask.tobytes()
        if place not in self._held:
            amounts = self._of(resource)
            sums: Whole = np.zeros(len(self.all), dtype=amounts.dtype)
            here = mask[self._nodes] if len(self._nodes) else np.zeros(0, dtype=np.bool_)
            np.add.at(sums, self._owners[here], amounts[here])
            self._held[place] = sums
        return self._held[place]

    def gains(self, hosts: Hosts, shape: Shape, codes: Whole) -> Gains:
        """Return how many pods of a shape more fit in a domain when one of them alone is away.

        `codes` is the domain of each node, -1 for none. Together several gain at least the sum.
        """
        place = id(hosts), codes.tobytes()
        if place not in self._gains:
            # The hosts are kept as well: their id stays theirs for as long as this lives.
            self._gains[place] = hosts, self._worked_out(hosts, shape, codes)
        return self._gains[place][1]

    def _worked_out(self, hosts: Hosts, shape: Shape, codes: Whole) -> Gains:
        now = hosts.caps(When.NOW)[self._nodes]
        useful = hosts.eligible()[self._nodes] & (codes[self._nodes] >= 0)
        then: Whole | None = None
        for resource, amount in wanted(shape).items():
            free = self._ground.stock(resource).now[self._nodes] + self._of(resource)
            fit = np.maximum(free, 0) // amount
            then = fit if then is None else np.minimum(then, fit)
        if then is None:
            return Gains(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        here = np.flatnonzero(useful & (then > now))
        width = int(codes.max()) + 1 if len(codes) else 1
        pairs, back = np.unique(
            self._owners[here] * width + codes[self._nodes[here]], return_inverse=True
        )
        sums = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(sums, back, (then - now)[here].astype(np.int64))
        return Gains(pairs // width, pairs % width, sums)

    def _of(self, resource: str) -> Whole:
        if resource not in self._amounts:
            self._amounts[resource] = whole(
                [
                    load.pods if resource == PODS else load.amounts.get(resource, 0)
                    for load in self._loads
                ]
            )
        return self._amounts[resource]


def tenants_of(room: ClusterRoom, ground: Ground) -> Tenants:
    """Return the residents of a room, worked out once for each room."""
    if _KEY not in room.cache:
        room.cache[_KEY] = Tenants(room, ground)
    found = room.cache[_KEY]
    assert isinstance(found, Tenants)  # noqa: S101 - the key is ours
    return found
