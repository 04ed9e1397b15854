"""The inputs of verdicts: how they are read, and their digests.

A worker that takes over a cluster would have to assess all of its gangs. Therefore it stores a digest of the inputs with
each verdict, and skips the gangs whose digest is still the same. A gang that an event touched, or whose `recheck_at` is
due, is always assessed: a digest saves work and never decides that something has changed.

docs/architecture.md lists the inputs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

import gangboard
from gangboard.decode.events import EVENT
from gangboard.decode.holds import HOLD
from gangboard.decode.nodes import NODE
from gangboard.domain.api_resource import WatchState
from gangboard.domain.autoscaling import Autoscaling
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.suspension import RecordedSuspend
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.build_gang import GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView, kubernetes_minor
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.visibility import (
    group_resource,
    is_unobserved,
    known_kinds,
    queue_visibility,
)
from gangboard.store.gangs import unpack_memory
from gangboard.store.objects import content_digest
from gangboard.store.suspend_records import recorded_suspends

_pack = msgspec.msgpack.Encoder(decimal_format="string", order="deterministic").encode
_HEALTHY = (Health.RUNNING, Health.SUCCEEDED)
"""Verdicts that do not depend on the memory of a gang."""
_CLUSTER_EVENTS_NAMESPACE = "default"
"""Namespace of events about cluster-scoped objects."""


@dataclass(frozen=True, slots=True)
class _InputUids:
    """The objects from which one gang is built, by uid."""

    root: str
    members: Collection[str]
    foreign_pods: Collection[str]
    placeholders: Collection[str]
    node_claims: Collection[str]
    events: Collection[str]
    victims: Mapping[str, str]
    """Pod that is preempted for this gang → the pod or group that preempts it."""

    def stored(self) -> Iterator[str]:
        """Yield the objects that the store has. NodeClaims are in the caches."""
        yield self.root
        yield from self.members
        yield from self.foreign_pods
        yield from self.placeholders
        yield from self.events
        yield from self.victims


def _input_uids(cluster: ClusterCache, root: str) -> _InputUids:
    graph = cluster.ownership_graph
    members = graph.members(root)
    placeholders = graph.placeholders(root, members)
    node_claims = cluster.autoscaling.claim_uids(members)
    subjects = (*members, *graph.makers(members), *node_claims, *placeholders)
    return _InputUids(
        root,
        members,
        graph.foreign_pods(root, members),
        placeholders,
        node_claims,
        cluster.events.about(subjects),
        cluster.preemptions.victims_for(members),
    )


class GangReader:
    """Builds gangs of one cluster from its caches and the store."""

    def __init__(self, cluster: ClusterCache) -> None:
        self._cluster = cluster

    def read(
        self,
        roots: Sequence[str],
        rows: Mapping[str, dict[str, Any]],
        view: ClusterView,
        now: datetime,
    ) -> Iterator[tuple[Gang, bool]]:
        """Yield each gang whose root is stored, and whether its verdict is settled (`is_settled`).

        `rows` are the stored rows of these gangs. Schedules the rechecks that volume and resource claims need.
        """
        cluster = self._cluster
        inputs = [_input_uids(cluster, root) for root in roots]
        objects = cluster.objects.read({uid for uids in inputs for uid in uids.stored()})
        stopped = {
            uid: model.meta.ref.namespace
            for uid, model in objects.items()
            if isinstance(model, Owner) and is_stopped(model)
        }
        suspends = recorded_suspends(cluster.lease.cluster_id, stopped)
        for uids in inputs:
            if uids.root in objects:
                gang_objects = self._gang_objects(uids, objects, rows.get(uids.root), suspends, now)
                gang = build_gang(objects[uids.root], gang_objects, view, now)
                pods_and_owners = (*gang_objects.members, *gang_objects.foreign_pods)
                yield gang, is_settled(pods_and_owners, gang_objects.events)

    def _gang_objects(
        self,
        uids: _InputUids,
        objects: Mapping[str, Any],
        row: dict[str, Any] | None,
        suspends: Mapping[str, RecordedSuspend],
        now: datetime,
    ) -> GangObjects:
        cluster = self._cluster
        root = objects[uids.root]
        members = _present(uids.members, objects)
        events = _events_of(root, uids.node_claims, map(objects.get, uids.events))
        entries = [model for model in members if isinstance(model, QueueEntry)]
        queued_groups = [model for model in members if isinstance(model, Group) and model.queue]
        claims, recheck_at = cluster.pod_claims.unusable_claims(uids.members, now)
        if recheck_at is not None:
            cluster.rechecks.schedule(uids.root, recheck_at)
        return GangObjects(
            members=members,
            foreign_pods=_present(uids.foreign_pods, objects),
            placeholders=_present(uids.placeholders, objects),
            blueprints=cluster.blueprints.of(uids.members),
            owned_elsewhere=cluster.ownership_graph.is_owned_elsewhere(uids.root),
            events=events,
            unobserved=cluster.unobserved_in(root.meta.ref.namespace),
            memory=unpack_memory(row["memory"]) if row else {},
            memory_since=row["first_seen_at"] if row else None,
            queues=cluster.queues.named_by((*entries, *queued_groups)),
            claims=claims,
            suspensions=cluster.suspend_history.of(uids.members),
            recorded_suspends={uid: suspends[uid] for uid in uids.members if uid in suspends},
            victims=[
                (pod, preemptor)
                for uid, preemptor in uids.victims.items()
                if isinstance(pod := objects.get(uid), Pod)
            ],
            preemptors=cluster.preemptors(events, entries),
            use_alert=cluster.use_alerts.of(uids.root),
        )


def _present(uids: Iterable[str], objects: Mapping[str, Any]) -> list[Any]:
    return [objects[uid] for uid in uids if uid in objects]


def _events_of(root: Any, node_claims: Collection[str], objects: Iterable[Any]) -> list[Event]:
    """Return the events of the gang's namespace, and those about these cluster-scoped NodeClaims.

    An event can name any object, and can arrive before it. Events about cluster-scoped objects are in `default`.
    """
    namespace = root.meta.ref.namespace
    return [
        event
        for event in objects
        if isinstance(event, Event)
        and event.meta.ref.namespace
        == (_CLUSTER_EVENTS_NAMESPACE if event.regarding.uid in node_claims else namespace)
    ]


def read_cluster_view(
    cluster: ClusterCache, capacity: ClusterCapacity, autoscaling: Autoscaling, now: datetime
) -> ClusterView:
    """Return the facts that all gangs of a cluster share. `cluster.unobserved` must be up to date."""
    watched, discovery = cluster.watched, cluster.discovery
    groups = group_resource(watched)
    unobserved = {resource.resource for resource in cluster.unobserved}
    return ClusterView(
        nodes=cluster.nodes,
        nodes_known=watched[NODE.key].state == WatchState.OK,
        room=capacity,
        autoscaling=autoscaling,
        kubernetes=kubernetes_minor(discovery.server_version) if discovery else None,
        gang_api_version=groups.version if groups is not None else "",
        groups_unobserved=groups is not None and groups.resource.key in unobserved,
        known_kinds=known_kinds(watched, now),
        events_known=watched[EVENT.key].state == WatchState.OK,
        holds_known=_are_holds_known(cluster, now),
        queue_visibility=queue_visibility(watched, now),
        queue_systems=tuple(queue.label for queue in registry.admission_systems()),
    )


def _are_holds_known(cluster: ClusterCache, now: datetime) -> bool:
    """Return whether a Hold that is not in the caches does not exist."""
    holds = cluster.watched[HOLD.key]
    if holds.state == WatchState.NOT_SERVED:
        return True
    return holds.listed_at is not None and not is_unobserved(holds, now)


@cache
def code_digest() -> bytes:
    """Return the digest of this release's code, or empty bytes without its source files.

    A change of a rule, a decoder or a sentence changes verdicts, in a release and on a developer's machine.
    """
    folder = Path(gangboard.__file__).parent
    files = sorted(folder.rglob("*.py"))
    code = blake2b(digest_size=16)
    for file in files:
        code.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return code.digest() if files else b""


class InputDigests:
    """The digests of the gangs of one cluster at one moment."""

    def __init__(self, cluster: ClusterCache, now: datetime) -> None:
        self._cluster = cluster
        self._shared = _pack(_shared_inputs(cluster, now)) if code_digest() else b""
        self._nodes: dict[str, bytes] = {}
        self._queues = b""

    def of(self, root: str) -> bytes:
        """Return the digest of all inputs of the verdict on a gang, or empty bytes if it is unknown.

        It is valid for settled gangs only, because it leaves out the free capacity of nodes.
        """
        cluster, graph = self._cluster, self._cluster.ownership_graph
        if not self._shared or root not in cluster.object_digests:
            return b""
        uids = _input_uids(cluster, root)
        if uids.victims:
            return b""
        members = uids.members
        blueprints = [blueprint.meta.ref.uid for blueprint in cluster.blueprints.of(members)]
        digest = blake2b(self._shared, digest_size=16)
        for objects in (members, uids.foreign_pods, uids.placeholders, uids.events, blueprints):
            contents = sorted(cluster.object_digests.get(uid, b"") for uid in objects)
            digest.update(len(contents).to_bytes(4, "big"))
            digest.update(b"".join(contents))
        for name in sorted(graph.nodes_of((*members, *uids.foreign_pods))):
            digest.update(self._node(name))
        if cluster.queues.is_named_by(members):
            digest.update(self._all_queues())
        suspends, use_alert = cluster.suspend_history.of(members), cluster.use_alerts.of(root)
        digest.update(_pack((root, graph.is_owned_elsewhere(root), suspends, use_alert)))
        return digest.digest()

    def _node(self, name: str) -> bytes:
        """Return the digest of a node without its resourceVersion, which changes with each heartbeat."""
        if name not in self._nodes:
            node = self._cluster.nodes.get(name)
            if node is not None:
                node = replace(node, meta=replace(node.meta, resource_version=""))
            self._nodes[name] = content_digest(_pack((name, node)))
        return self._nodes[name]

    def _all_queues(self) -> bytes:
        if not self._queues:
            self._queues = content_digest(_pack(self._cluster.queues.digest_inputs()))
        return self._queues


def _shared_inputs(cluster: ClusterCache, now: datetime) -> tuple[Any, ...]:
    """Return the inputs that the verdicts on all gangs of a cluster share."""
    watched = cluster.watched
    groups = group_resource(watched)
    holds = watched[HOLD.key]
    return (
        code_digest(),
        cluster.cluster_name,
        cluster.discovery.server_version if cluster.discovery is not None else "",
        watched[NODE.key].state == WatchState.OK,
        watched[EVENT.key].state == WatchState.OK,
        (holds.state == WatchState.NOT_SERVED, holds.listed_at is None, is_unobserved(holds, now)),
        queue_visibility(watched, now),
        groups.version if groups is not None else "",
        sorted(known_kinds(watched, now)),
        cluster.unobserved,
        cluster.unreadable,
    )


def is_settled(objects: Iterable[Any], events: Iterable[Event]) -> bool:
    """Return whether the verdict on a gang depends on its own objects only, until its `recheck_at`.

    Three cases are not settled:

    - A pod waits for a node. Its verdict depends on all nodes and pods, on claims and on autoscalers.
    - An owner is stopped. The verdict names the action of gangboard that did it.
    - A member was preempted. The verdict names the gang of the preemptor.
    """
    for model in objects:
        if isinstance(model, Pod):
            if model.is_live and not model.is_terminating and not model.is_placed:
                return False
        elif isinstance(model, Owner):
            if is_stopped(model):
                return False
        elif isinstance(model, QueueEntry) and model.takers:
            return False
    return not any(event.reason == "Preempted" for event in events)


def is_stopped(owner: Owner) -> bool:
    """Return whether an action of gangboard may have stopped the owner, so that the record must be read."""
    return owner.finish is None and (owner.suspended or owner.paused_parallelism is not None)


def is_repeatable(
    health: Health, before: Mapping[str, UnitMemory], after: Mapping[str, UnitMemory]
) -> bool:
    """Return whether the next assessment, which starts with the memory `after`, gives the same verdict."""
    return health in _HEALTHY or _without_times(before) == _without_times(after)


def _without_times(memory: Mapping[str, UnitMemory]) -> dict[str, UnitMemory]:
    """Return the memory with one fixed time for each time that moves with every verdict.

    Whether such a time is known still counts.
    """
    return {
        name: replace(
            unit,
            whole_at=unit.whole_at and datetime.min,
            gated_at=unit.gated_at and datetime.min,
            reached_size_at=unit.reached_size_at and datetime.min,
        )
        for name, unit in memory.items()
    }
