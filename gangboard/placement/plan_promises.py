"""Waiting gangs that run after the steps of a plan so far, in every room."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from gangboard.domain.cluster_plan import MAX_NAMED, PlanGain
from gangboard.placement.plan_classes import GangClass
from gangboard.placement.plan_room import Room


class Promises:
    """Number of gangs of each class that run, and the gangs that steps suspend."""

    def __init__(self, classes: tuple[GangClass, ...]) -> None:
        self.classes = classes
        self.counts = [0] * len(classes)
        self.suspended: set[str] = set()
        """uids of the gangs that steps suspend."""
        self._class_of = {
            gang.ref.uid: index for index, item in enumerate(classes) for gang in item.gangs
        }

    def waiting(self, index: int) -> int:
        """Return the number of gangs of a class that do not run yet, without those that steps suspend."""
        gangs = self.classes[index].gangs
        total = sum(gang.ref.uid not in self.suspended for gang in gangs)
        return max(0, total - self.counts[index])

    def classes_of(self, uids: Iterable[str]) -> Iterator[int]:
        """Yield the class of each of these gangs that waits."""
        for uid in uids:
            if uid in self._class_of:
                yield self._class_of[uid]

    def targets(self) -> list[int]:
        """Return the classes that steps can help: some of their gangs do not run, and the arithmetic understands them.

        The gangs that request most accelerators come first.
        """
        return [
            index
            for index, item in enumerate(self.classes)
            if self.waiting(index) and item.is_decided
        ]

    def gained(self, rooms: Iterable[Room]) -> tuple[int, ...]:
        """Return how many more gangs of each class run in the worst of the rooms."""
        placed = least_placed(rooms)
        return tuple(max(0, now - before) for now, before in zip(placed, self.counts, strict=True))

    def add(self, gained: Sequence[int]) -> None:
        """Add the gangs that a step lets run."""
        self.counts = [before + more for before, more in zip(self.counts, gained, strict=True)]

    def gains(self, counts: Sequence[int]) -> tuple[PlanGain, ...]:
        """Return numbers of gangs of each class with the names of the gangs."""
        gains = []
        for count, item in zip(counts, self.classes, strict=True):
            if count:
                refs = [gang.ref for gang in item.gangs if gang.ref.uid not in self.suspended]
                named = tuple(refs[:MAX_NAMED])
                gains.append(PlanGain(named, len(refs), count, item.accelerators))
        return tuple(gains)

    def size(self, indexes: Collection[int]) -> tuple[int, int]:
        """Return the number of gangs of some classes that do not run yet, and their accelerators."""
        gangs = {index: self.waiting(index) for index in indexes}
        accelerators = sum(
            number * self.classes[index].accelerators for index, number in gangs.items()
        )
        return sum(gangs.values()), accelerators


def least_placed(rooms: Iterable[Room]) -> list[int]:
    """Return how many gangs of each class run in the worst of the rooms."""
    return [min(numbers) for numbers in zip(*(room.placed for room in rooms), strict=True)]
