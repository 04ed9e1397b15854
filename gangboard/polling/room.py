"""The room of a cluster while its lease is ours: what is on the nodes, and which gangs hold it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial

from gangboard.diagnosis.kinship import Kinship
from gangboard.domain.capacity import ClusterRoom, Party, Resident
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod
from gangboard.placement.usage import Usage


class RoomKeeper:
    """Takes in nodes and pods, gang or not, and keeps none of them.

    `version` goes up with everything that placement sees: nodes, what is on them, why they cannot
    be told, and which gangs hold room without being whole.
    """

    def __init__(self, kinship: Kinship, ref_of: Callable[[str], ObjectRef | None]) -> None:
        self.version = 0
        self._kinship = kinship
        self._ref_of = ref_of
        self._usage = Usage()
        self._why = ""
        self._priorities: dict[str, int] = {}
        """Of every pod that is not finished by uid; 0 where it has none."""
        self._ends: dict[str, datetime] = {}
        """When such a pod has ended by itself at the latest, where that is known."""
        self._broken: dict[str, tuple[Party, ...]] = {}
        """Roots of gangs that hold room without being whole → their members that wait."""
        self._residents: dict[str, Resident] = {}
        self._stale: set[str] | None = None
        """Roots whose entry in `_residents` is behind; None: all of them."""
        self._ask = partial(self._all_residents)

    def put(self, model: Node | Pod) -> None:
        """Take in the state of a node or pod."""
        if isinstance(model, Node):
            self._moved(self._usage.put_node(model))
            return
        uid = model.meta.ref.uid
        self._forget(uid)
        if not model.is_finished:
            self._priorities[uid] = model.priority or 0
            if model.start_time is not None and model.deadline_seconds is not None:
                self._ends[uid] = model.start_time + timedelta(seconds=model.deadline_seconds)
        self._moved(self._usage.put_pod(model))

    def remove_node(self, name: str) -> None:
        """Forget a node that is gone."""
        self._moved(self._usage.remove_node(name))

    def remove_pod(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self._forget(uid)
        self._moved(self._usage.remove_pod(uid))

    def _forget(self, uid: str) -> None:
        self._priorities.pop(uid, None)
        self._ends.pop(uid, None)

    def touch(self, roots: Iterable[str]) -> None:
        """Note that something of these gangs has changed: what they hold is asked again."""
        if self._stale is not None:
            self._stale.update(roots)

    def mark_whole(self, root: str) -> None:
        """Note that a gang is whole or holds nothing. What was never marked is taken as whole."""
        if self._broken.pop(root, None) is not None:
            self._regroup(root)

    def mark_broken(self, root: str, waits: tuple[Party, ...] = ()) -> None:
        """Note that a gang holds room without being whole, and which of its members wait."""
        if self._broken.get(root) != waits:
            self._broken[root] = waits
            self._regroup(root)

    def _regroup(self, root: str) -> None:
        """What was worked out about the old residents goes: they are part of the room."""
        self.touch((root,))
        self._ask = partial(self._all_residents)
        self.version += 1

    def at(self, why: str) -> ClusterRoom:
        """Return the room as it is now; the same object while nothing has changed.

        Its residents are worked out when they are asked for, from what is known at that moment:
        ask before the next news is taken in. All gangs judged in one go are.
        """
        if why != self._why:
            self._why = why
            self.version += 1
        return self._usage.room(why, self._ask)

    def broken(self) -> list[Resident]:
        """Return the gangs that hold room without being whole, in no order."""
        self._refresh()
        return [
            self._residents[root] for root in self._broken if self._residents.get(root) is not None
        ]

    def _all_residents(self) -> Sequence[Resident]:
        self._refresh()
        return tuple(self._residents[root] for root in sorted(self._residents))

    def _refresh(self) -> None:
        stale = self._kinship.roots() if self._stale is None else self._stale
        self._stale = set()
        for root in stale:
            found = self._resident(root)
            if found is None:
                self._residents.pop(root, None)
            else:
                self._residents[root] = found

    def _resident(self, root: str) -> Resident | None:
        """Return what a gang holds; None when it holds nothing, or is a pod that nobody suspends."""
        ref = self._ref_of(root)
        if ref is None or ref.kind == "Pod":
            return None
        members = self._kinship.members(root)
        # Pods of other gangs can be shown in this one.
        pods = [
            uid for uid in members if uid in self._priorities and self._kinship.root_of(uid) == root
        ]
        loads = self._usage.load_of(pods)
        if not loads:
            return None
        ends = [self._ends.get(uid) for uid in pods]
        known = [end for end in ends if end is not None]
        return Resident(
            root,
            ref,
            priority=max(self._priorities[uid] for uid in pods),
            loads=loads,
            whole=root not in self._broken,
            waits=self._broken.get(root, ()),
            ends_at=max(known) if len(known) == len(ends) else None,
        )

    def _moved(self, moved: bool) -> None:
        self.version += moved
