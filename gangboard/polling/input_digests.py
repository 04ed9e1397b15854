"""Digests of the inputs of verdicts.

A worker that takes over a cluster has to judge all of its gangs. With each verdict it therefore stores a digest of what
the verdict was made from, and skips the gangs whose digest is still the same. A gang that an event touched, or whose
`recheck_at` is due, is judged in any case: a digest saves work, it never decides that something has changed.

docs/architecture.md lists the inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
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
from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.verdict import UnitMemory
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.visibility import (
    groups_seen,
    is_unobserved,
    known_kinds,
    queue_visibility,
)
from gangboard.store.objects import content_digest

_pack = msgspec.msgpack.Encoder(decimal_format="string", order="deterministic").encode
_HEALTHY = (Health.RUNNING, Health.SUCCEEDED)
"""Verdicts that do not depend on what is remembered of a gang."""


@cache
def code_digest() -> bytes:
    """Return the digest of this release's code; empty if its source files are not there.

    Another rule, decoder or sentence is another verdict, in a release and on a developer's machine.
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
        self._of_all = _pack(_cluster_inputs(cluster, now)) if code_digest() else b""
        self._nodes: dict[str, bytes] = {}
        self._queues = b""

    def of(self, root: str) -> bytes:
        """Return the digest of all inputs of the verdict on a gang; empty if it is not known.

        Only for gangs that are settled: what is free on nodes is not in it.
        """
        cluster, graph = self._cluster, self._cluster.ownership_graph
        if not self._of_all or root not in cluster.contents:
            return b""
        members = graph.members(root)
        if cluster.preemptions.victims_for(members):
            return b""
        foreign = graph.foreign_pods(root, members)
        placeholders = graph.placeholders(root, members)
        claims = cluster.autoscaling.subjects(members)
        makers = graph.makers(members)
        events = cluster.events.about((*members, *makers, *claims, *placeholders))
        blueprints = (blueprint.meta.ref.uid for blueprint in cluster.blueprints.of(members))
        digest = blake2b(self._of_all, digest_size=16)
        for uids in (members, foreign, placeholders, events, blueprints):
            contents = sorted(cluster.contents.get(uid, b"") for uid in uids)
            digest.update(len(contents).to_bytes(4, "big"))
            digest.update(b"".join(contents))
        for name in sorted(graph.nodes_of((*members, *foreign))):
            digest.update(self._node(name))
        if cluster.queues.is_named_by(members):
            digest.update(self._all_queues())
        digest.update(
            _pack((root, graph.is_owned_elsewhere(root), cluster.suspend_history.of(members)))
        )
        return digest.digest()

    def _node(self, name: str) -> bytes:
        """Return the digest of a node without its resourceVersion, which each heartbeat moves."""
        if name not in self._nodes:
            node = self._cluster.nodes.get(name)
            if node is not None:
                node = replace(node, meta=replace(node.meta, resource_version=""))
            self._nodes[name] = content_digest(_pack((name, node)))
        return self._nodes[name]

    def _all_queues(self) -> bytes:
        if not self._queues:
            self._queues = content_digest(_pack(self._cluster.queues.shown()))
        return self._queues


def _cluster_inputs(cluster: ClusterCache, now: datetime) -> tuple[Any, ...]:
    """Return what the verdicts of all gangs of a cluster have in common."""
    watched = cluster.watched
    groups = groups_seen(watched)
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
    """Whether the verdict on a gang depends on its own objects only, until its `recheck_at`.

    Not so if a pod waits for a node: then it depends on all nodes and pods of the cluster, on claims and autoscalers.
    Not so if an owner is stopped, which gangboard's record of actions explains, or a preemptor is named by its gang.
    """
    for thing in objects:
        if isinstance(thing, Pod):
            if thing.is_live and not thing.is_terminating and not thing.is_placed:
                return False
        elif isinstance(thing, Owner):
            if is_stopped(thing):
                return False
        elif isinstance(thing, QueueEntry) and thing.message and thing.message.taker:
            return False
    return not any(event.reason == "Preempted" for event in events)


def is_stopped(owner: Owner) -> bool:
    """Whether an action of gangboard may have stopped it; most objects need no look at the record."""
    return owner.finish is None and (owner.suspended or owner.paused_parallelism is not None)


def is_repeatable(
    health: Health, before: Mapping[str, UnitMemory], after: Mapping[str, UnitMemory]
) -> bool:
    """Whether a verdict made with the memory that it left behind would be the same."""
    return health in _HEALTHY or _marks(before) == _marks(after)


def _marks(memory: Mapping[str, UnitMemory]) -> dict[str, UnitMemory]:
    """Return the memory without the times that move with each verdict; that they are known still counts."""
    return {
        name: replace(
            unit,
            whole_at=unit.whole_at and datetime.min,
            gated_at=unit.gated_at and datetime.min,
            reached_size_at=unit.reached_size_at and datetime.min,
        )
        for name, unit in memory.items()
    }
