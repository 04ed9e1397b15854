"""What is on the nodes of a cluster while its lease is ours, and which gangs hold their room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import ClusterCapacity, PodSet, RunningGang, Termination, round_up
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.placement.usage import Usage
from gangboard.polling.pod_end_times import (
    HeldPod,
    HoldingOwner,
    end_time_of,
    held_pod,
    holding_owner,
    is_replacing,
    is_suspended,
)


class NodeUsageTracker:
    """Takes in nodes, pods, gang or not, their owners and what queues have of those; keeps none.

    `version` goes up with everything that placement sees: nodes, what is on them, why they cannot
    be told, which gangs hold room without being whole, and what of it ends by itself.
    """

    def __init__(self, graph: OwnershipGraph, ref_of: Callable[[str], ObjectRef | None]) -> None:
        self.version = 0
        self._graph = graph
        self._ref_of = ref_of
        self._usage = Usage()
        self._why = ""
        self._pods: dict[str, HeldPod] = {}
        """Every pod that is not finished, by uid."""
        self._owners: dict[str, HoldingOwner] = {}
        self._queued: dict[str, str] = {}
        """Entry in a queue → the owner that it is about, by uid."""
        self._broken: dict[str, tuple[PodSet, ...]] = {}
        """Roots of gangs that hold room without being whole → their members that wait."""
        self._residents: dict[str, RunningGang] = {}
        self._stale: set[str] | None = None
        """Roots whose entry in `_residents` is behind; None when all of them are."""
        self._ask = partial(self._all_residents)

    def put(self, model: Node | Pod | Owner | QueueEntry) -> None:
        """Take in the state of a node, a pod, a Job or what makes Jobs, or an entry in a queue."""
        if isinstance(model, Node):
            self._moved(self._usage.put_node(model))
        elif isinstance(model, Pod):
            self._put_pod(model)
        elif isinstance(model, QueueEntry):
            self._put_entry(model)
        else:
            self._put_owner(model)

    def _put_pod(self, pod: Pod) -> None:
        uid = pod.meta.ref.uid
        before = self._pods.pop(uid, None)
        if not pod.is_finished:
            self._pods[uid] = held_pod(pod)
        moved = self._usage.put_pod(pod)
        self._moved(moved)
        if before is not None and not moved and pod.node and before != self._pods.get(uid):
            self._renew()

    def _put_owner(self, owner: Owner) -> None:
        uid = owner.meta.ref.uid
        before, after = self._owners.get(uid), holding_owner(owner)
        self._owners[uid] = after
        # A new one has no pods yet.
        if before is not None and before != after:
            self._renew()

    def _put_entry(self, entry: QueueEntry) -> None:
        uid = entry.meta.ref.uid
        if self._queued.get(uid) != entry.owner_uid:
            self._queued[uid] = entry.owner_uid
            self._renew()

    def remove_node(self, name: str) -> None:
        """Forget a node that is gone."""
        self._moved(self._usage.remove_node(name))

    def remove_pod(self, uid: str) -> None:
        """Forget a pod that is gone."""
        self._pods.pop(uid, None)
        self._moved(self._usage.remove_pod(uid))

    def remove_owner(self, uid: str) -> None:
        """Forget an owner or an entry in a queue that is gone, if it was one."""
        self._owners.pop(uid, None)
        if self._queued.pop(uid, None) is not None:
            self._renew()

    def touch(self, roots: Iterable[str]) -> None:
        """Note that something of these gangs has changed: what they hold is asked again."""
        if self._stale is not None:
            self._stale.update(roots)

    def mark_whole(self, root: str) -> None:
        """Note that a gang is whole or holds nothing. What was never marked is taken as whole."""
        if self._broken.pop(root, None) is not None:
            self._regroup(root)

    def mark_broken(self, root: str, waits: tuple[PodSet, ...] = ()) -> None:
        """Note that a gang holds room without being whole, and which of its members wait."""
        if self._broken.get(root) != waits:
            self._broken[root] = waits
            self._regroup(root)

    def _regroup(self, root: str) -> None:
        self.touch((root,))
        self._renew()

    def _renew(self) -> None:
        """What was worked out about the old running_gangs goes: they are part of the room."""
        self._ask = partial(self._all_residents)
        self.version += 1

    def at(self, why: str) -> ClusterCapacity:
        """Return the room as it is now; the same object while nothing has changed.

        Its running_gangs are worked out when they are asked for, from what is known at that moment:
        ask before the next news is taken in. All gangs judged in one go are.
        """
        if why != self._why:
            self._why = why
            self.version += 1
        return self._usage.room(why, self._ask)

    def pods_on(self, node: str) -> dict[str, str]:
        """Return the uids of the pods that take room on a node → the root of their gang, empty for none."""
        uids = sorted(self._usage.pods_on(node))
        return {uid: self._graph.root_of(uid) or "" for uid in uids}

    def broken(self) -> list[RunningGang]:
        """Return the gangs that hold room without being whole, in no order."""
        self._refresh(self._known_stale() & self._broken.keys())
        return [
            self._residents[root] for root in self._broken if self._residents.get(root) is not None
        ]

    def _all_residents(self) -> Sequence[RunningGang]:
        self._refresh(self._known_stale())
        return tuple(self._residents[root] for root in sorted(self._residents))

    def _known_stale(self) -> set[str]:
        if self._stale is None:
            self._stale = self._graph.roots()
        return self._stale

    def _refresh(self, stale: Collection[str]) -> None:
        """Work out anew what these gangs hold."""
        self._stale = self._known_stale().difference(stale)
        for root in stale:
            found = self._resident(root)
            if found is None:
                self._residents.pop(root, None)
            else:
                self._residents[root] = found

    def _resident(self, root: str) -> RunningGang | None:
        """Return what a gang holds; None when it holds nothing, or is a pod that just runs."""
        ref = self._ref_of(root)
        if ref is None:
            return None
        members = (root,) if ref.kind == "Pod" else self._graph.members(root)
        # Pods of other gangs can be shown in this one.
        pods = {
            uid: self._pods[uid]
            for uid in members
            if uid in self._pods and self._graph.root_of(uid) == root
        }
        ends = self._ends(pods)
        # Nobody suspends a pod.
        loads = self._usage.load_of(pods) if ends or ref.kind != "Pod" else {}
        if not loads:
            return None
        stay = [
            uid
            for uid, pod in pods.items()
            if pod.deleted_at is None and not is_suspended(pod, root, self._owners)
        ]
        return RunningGang(
            root,
            ref,
            priority=max(pod.priority for pod in pods.values()),
            loads=loads,
            is_whole=root not in self._broken,
            waits=self._broken.get(root, ()),
            by_suspending=None if len(stay) == len(pods) else self._usage.load_of(stay),
            suspendable=self._is_suspendable(root, members),
            oldest_pod_at=min(
                (pod.created_at for pod in pods.values() if pod.created_at), default=None
            ),
            terminations=ends,
        )

    def _is_suspendable(self, root: str, members: Iterable[str]) -> bool:
        owner = self._owners.get(root)
        if owner is None or not owner.suspendable:
            return False
        return not (self._queued and any(self._queued.get(uid) == root for uid in members))

    def _ends(self, pods: dict[str, HeldPod]) -> tuple[Termination, ...]:
        """Return what of these ends by itself, those of one minute together."""
        found: dict[tuple[datetime, bool, bool], list[str]] = defaultdict(list)
        last: dict[tuple[datetime, bool, bool], datetime] = {}
        replacing = self._replacing(pods.values())
        for uid, pod in pods.items():
            deleted = pod.deleted_at is not None
            at = (
                pod.deleted_at if deleted and not pod.comes_back else end_time_of(pod, self._owners)
            )
            if at is not None:
                key = round_up(at), deleted, deleted and pod.owner in replacing
                found[key].append(uid)
                last[key] = max(at, last.get(key, at))
        ends = (
            Termination(last[key], self._usage.load_of(uids), deleted=key[1], replaced=key[2])
            for key, uids in found.items()
        )
        return tuple(sorted((one for one in ends if one.loads), key=lambda one: one.at))

    def _replacing(self, pods: Collection[HeldPod]) -> set[str]:
        """Return the uids of those that make others in the place of pods that are being deleted."""
        owners = {pod.owner for pod in pods if pod.deleted_at is not None}
        stay: dict[str, list[HeldPod]] = {uid: [] for uid in owners}
        if stay:
            for pod in pods:
                if pod.deleted_at is None and pod.owner in stay:
                    stay[pod.owner].append(pod)
        return {uid for uid, mates in stay.items() if is_replacing(uid, mates, self._owners)}

    def _moved(self, moved: bool) -> None:
        self.version += moved
