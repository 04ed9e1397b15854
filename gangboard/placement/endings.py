"""What ends by itself in a room, in the order of time, and how sentences tell such a time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from gangboard.domain.capacity import ClusterRoom, Ending, Resident
from gangboard.placement.node_snapshot import Mask, NodeSnapshot
from gangboard.placement.running_gangs import Shares

_KEY = "endings"


@dataclass(frozen=True, slots=True)
class End:
    """Pods that end by themselves, and whose they are."""

    resident: Resident
    ending: Ending


class Endings(Shares):
    """All ends that are known, the first first."""

    def __init__(self, room: ClusterRoom, snapshot: NodeSnapshot) -> None:
        found = [End(one, ending) for one in room.residents() for ending in one.ends]
        self.all = sorted(found, key=lambda one: one.ending.at)
        super().__init__([one.ending.loads for one in self.all], snapshot)
        self._are_deleted = np.array([one.ending.deleted for one in self.all], dtype=np.bool_)
        self._are_replaced = np.array([one.ending.replaced for one in self.all], dtype=np.bool_)
        self._told = np.array([one.ending.told.timestamp() for one in self.all])
        self._replaced_of: dict[str, list[int]] = defaultdict(list)
        for at in np.flatnonzero(self._are_replaced).tolist():
            self._replaced_of[self.all[at].resident.root].append(at)

    def to_come(self, now: datetime, own: str, *, deleted: bool) -> Mask:
        """Return which are still believed: the time that a sentence names has not come.

        The room of pods in whose place others are made is only for their own gang: `own` is the
        uid of the owner of those who ask.
        """
        counts = ~self._are_replaced
        counts[self._replaced_of.get(own, [])] = True
        ahead: Mask = self._told > now.timestamp()
        found: Mask = ahead & (self._are_deleted == deleted) & counts
        return found


def endings_of(room: ClusterRoom, snapshot: NodeSnapshot) -> Endings:
    """Return the ends that are known in a room, worked out once for each room."""
    if _KEY not in room.cache:
        room.cache[_KEY] = Endings(room, snapshot)
    found = room.cache[_KEY]
    assert isinstance(found, Endings)  # noqa: S101 - the key is ours
    return found


def clock(at: datetime, now: datetime) -> str:
    """Return `12:03 UTC`, with the date where that is not today's: a sentence is kept."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M} UTC" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M} UTC"
