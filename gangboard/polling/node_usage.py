"""Usage of the nodes of a cluster, and the gangs that hold their capacity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import (
    ClusterCapacity,
    PodSet,
    Requested,
    RunningGang,
    Termination,
    round_up,
)
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.placement.usage import Usage
from gangboard.polling.pod_end_times import (
    OwnerState,
    UnfinishedPod,
    end_time_of,
    is_replacing,
    is_suspended,
    owner_state,
    unfinished_pod,
)


class NodeUsageTracker:
    """Derives the capacity of a cluster from its nodes, all of its pods, their owners and the queue entries of those.

    It stores only the parts of these objects that it needs. `version` increases with every change that placement can
    see: nodes, their pods, the reason why the capacity is unknown, gangs that are incomplete, and the times at which
    pods end.
    """

    def __init__(self, graph: OwnershipGraph, ref_of: Callable[[str], ObjectRef | None]) -> None:
        self.version = 0
        self._graph = graph
        self._ref_of = ref_of
        self._usage = Usage()
        self._why = ""
        self._pods: dict[str, UnfinishedPod] = {}
        """Unfinished pods by uid."""
        self._owners: dict[str, OwnerState] = {}
        self._queued: dict[str, str] = {}
        """uid of a queue entry → uid of its owner."""
        self._incomplete: dict[str, tuple[PodSet, ...]] = {}
        """Root of an incomplete gang with capacity → its members that wait."""
        self._running: dict[str, RunningGang] = {}
        self._stale: set[str] | None = None
        """Roots whose running gang is out of date. None: all of them."""
        self._read_running = partial(self._all_running)

    def put(self, model: Node | Pod | Owner | QueueEntry) -> None:
        """Store a node, a pod, an owner or a queue entry."""
        if isinstance(model, Node):
            self._note_change(self._usage.put_node(model))
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
            self._pods[uid] = unfinished_pod(pod)
        usage_changed = self._usage.put_pod(pod)
        self._note_change(usage_changed)
        if before is not None and not usage_changed and pod.node and before != self._pods.get(uid):
            self._renew()

    def _put_owner(self, owner: Owner) -> None:
        uid = owner.meta.ref.uid
        before, after = self._owners.get(uid), owner_state(owner)
        self._owners[uid] = after
        # A new owner has no pods yet.
        if before is not None and before != after:
            self._renew()

    def _put_entry(self, entry: QueueEntry) -> None:
        uid = entry.meta.ref.uid
        if self._queued.get(uid) != entry.owner_uid:
            self._queued[uid] = entry.owner_uid
            self._renew()

    def remove_node(self, name: str) -> None:
        """Remove a deleted node."""
        self._note_change(self._usage.remove_node(name))

    def remove_pod(self, uid: str) -> None:
        """Remove a deleted pod."""
        self._pods.pop(uid, None)
        self._note_change(self._usage.remove_pod(uid))

    def remove_owner(self, uid: str) -> None:
        """Remove a deleted owner or queue entry. Other uids are ignored."""
        self._owners.pop(uid, None)
        if self._queued.pop(uid, None) is not None:
            self._renew()

    def mark_stale(self, roots: Iterable[str]) -> None:
        """Mark the running gangs of these roots as out of date."""
        if self._stale is not None:
            self._stale.update(roots)

    def mark_complete(self, root: str) -> None:
        """Record that a gang is complete or has no capacity. That is the default."""
        if self._incomplete.pop(root, None) is not None:
            self._renew_gang(root)

    def mark_incomplete(self, root: str, waiting: tuple[PodSet, ...] = ()) -> None:
        """Record that a gang has capacity without being complete, and its members that wait."""
        if self._incomplete.get(root) != waiting:
            self._incomplete[root] = waiting
            self._renew_gang(root)

    def _renew_gang(self, root: str) -> None:
        self.mark_stale((root,))
        self._renew()

    def _renew(self) -> None:
        """Invalidate the capacity, because its running gangs have changed."""
        self._read_running = partial(self._all_running)
        self.version += 1

    def capacity(self, why: str) -> ClusterCapacity:
        """Return the current capacity. It is the same object while nothing has changed.

        `why`: the reason why the capacity is unknown, or empty. The running gangs are computed on first use, from the
        state at that time. Use them before the next update is applied, as a round of assessments does.
        """
        if why != self._why:
            self._why = why
            self.version += 1
        return self._usage.capacity(why, self._read_running)

    def pods_on(self, node: str) -> dict[str, str]:
        """Return the uids of the pods that use a node → the root of their gang, or "" without a gang."""
        uids = sorted(self._usage.pods_on(node))
        return {uid: self._graph.root_of(uid) or "" for uid in uids}

    def replaceable_pods(self, nodes: Iterable[str]) -> list[str]:
        """Return the uids of pods on these nodes that belong to no gang and that their controller replaces.

        Pods that are being deleted, or that are only nominated to the node, are not among them.
        """
        uids = (uid for node in nodes for uid in sorted(self._usage.pods_on(node)))
        return [
            uid
            for uid in uids
            if (pod := self._pods.get(uid)) is not None
            and pod.is_replaceable
            and pod.placed
            and pod.deleted_at is None
            and not self._graph.root_of(uid)
        ]

    def load_of(self, uids: Collection[str]) -> Mapping[str, Requested]:
        """Return the summed requests of these pods on each known node."""
        return self._usage.load_of(uids)

    def incomplete_gangs(self) -> list[RunningGang]:
        """Return the incomplete gangs that have capacity, in no order."""
        self._refresh(self._stale_roots() & self._incomplete.keys())
        return [
            self._running[root] for root in self._incomplete if self._running.get(root) is not None
        ]

    def _all_running(self) -> Sequence[RunningGang]:
        self._refresh(self._stale_roots())
        return tuple(self._running[root] for root in sorted(self._running))

    def _stale_roots(self) -> set[str]:
        if self._stale is None:
            self._stale = self._graph.roots()
        return self._stale

    def _refresh(self, stale: Collection[str]) -> None:
        """Compute the running gangs of these roots again."""
        self._stale = self._stale_roots().difference(stale)
        for root in stale:
            running = self._running_gang(root)
            if running is None:
                self._running.pop(root, None)
            else:
                self._running[root] = running

    def _running_gang(self, root: str) -> RunningGang | None:
        """Return the capacity of a gang. None if it has none, or is a single pod without a known end."""
        ref = self._ref_of(root)
        if ref is None:
            return None
        members = (root,) if ref.kind == "Pod" else self._graph.members(root)
        pods = self._pods_of(root, members)
        terminations = self._terminations(pods)
        # A single pod cannot be suspended, so only its end matters.
        loads = self._usage.load_of(pods) if terminations or ref.kind != "Pod" else {}
        if not loads:
            return None
        staying = [
            uid
            for uid, pod in pods.items()
            if pod.deleted_at is None and not is_suspended(pod, root, self._owners)
        ]
        return RunningGang(
            root,
            ref,
            priority=max(pod.priority for pod in pods.values()),
            loads=loads,
            is_whole=root not in self._incomplete,
            waits=self._incomplete.get(root, ()),
            by_suspending=None if len(staying) == len(pods) else self._usage.load_of(staying),
            suspendable=self._is_suspendable(root, members),
            oldest_pod_at=min(
                (pod.created_at for pod in pods.values() if pod.created_at), default=None
            ),
            terminations=terminations,
        )

    def _pods_of(self, root: str, members: Iterable[str]) -> dict[str, UnfinishedPod]:
        """Return the unfinished pods of a gang. Its members can include pods of other gangs."""
        return {
            uid: self._pods[uid]
            for uid in members
            if uid in self._pods and self._graph.root_of(uid) == root
        }

    def accelerators_on_nodes(self, root: str) -> int:
        """Return the accelerators of all unfinished pods of a gang on nodes, terminating pods included."""
        ref = self._ref_of(root)
        is_pod = ref is None or ref.kind == "Pod"
        members = (root,) if is_pod else self._graph.members(root)
        return self._usage.accelerators_of(self._pods_of(root, members))

    def _is_suspendable(self, root: str, members: Iterable[str]) -> bool:
        owner = self._owners.get(root)
        if owner is None or not owner.suspendable:
            return False
        return not (self._queued and any(self._queued.get(uid) == root for uid in members))

    def _terminations(self, pods: dict[str, UnfinishedPod]) -> tuple[Termination, ...]:
        """Return the pods that end by themselves, grouped by minute."""
        groups: dict[tuple[datetime, bool, bool], list[str]] = defaultdict(list)
        last: dict[tuple[datetime, bool, bool], datetime] = {}
        replacing = self._replacing_owners(pods.values())
        for uid, pod in pods.items():
            is_deleted = pod.deleted_at is not None
            end = (
                pod.deleted_at
                if is_deleted and not pod.is_recreated
                else end_time_of(pod, self._owners)
            )
            if end is not None:
                key = round_up(end), is_deleted, is_deleted and pod.owner in replacing
                groups[key].append(uid)
                last[key] = max(end, last.get(key, end))
        terminations = (
            Termination(last[key], self._usage.load_of(uids), deleted=key[1], replaced=key[2])
            for key, uids in groups.items()
        )
        with_load = (termination for termination in terminations if termination.loads)
        return tuple(sorted(with_load, key=lambda termination: termination.at))

    def _replacing_owners(self, pods: Collection[UnfinishedPod]) -> set[str]:
        """Return the uids of the owners that replace pods which are being deleted."""
        owners = {pod.owner for pod in pods if pod.deleted_at is not None}
        staying: dict[str, list[UnfinishedPod]] = {uid: [] for uid in owners}
        if staying:
            for pod in pods:
                if pod.deleted_at is None and pod.owner in staying:
                    staying[pod.owner].append(pod)
        return {
            uid for uid, siblings in staying.items() if is_replacing(uid, siblings, self._owners)
        }

    def _note_change(self, changed: bool) -> None:
        self.version += changed
