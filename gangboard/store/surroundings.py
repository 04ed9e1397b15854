"""The stored nodes of a cluster and the pods of a gang, as a relocation needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

from gangboard.decode.pods import POD
from gangboard.domain.capacity import PODS, NodeInfo, Requested
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.queue import QueueEntry
from gangboard.domain.resources import scheduler_units
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings, WaitingPods
from gangboard.plugins import registry
from gangboard.store.capacity import NodeCapacityRow, read_stored_nodes, read_stored_shapes
from gangboard.store.models import WatchedObject
from gangboard.store.objects import unpack
from gangboard.store.queue_rivals import count_queue_rivals
from gangboard.store.uid_lookups import Reference, read_referenced


def read_surroundings(cluster_id: int, gang: Gang) -> Surroundings:
    """Return the nodes of a cluster and the pods of a gang that have a node (3 queries, more for large gangs).

    For a Job with a queue entry of its own there are 2 more queries.
    """
    stored = read_stored_shapes(cluster_id)
    if stored is None:
        return Surroundings(why="nodes: not read yet")
    why, shapes = stored
    if why:
        return Surroundings(why=why)
    rows = sorted(read_stored_nodes(cluster_id), key=lambda row: row.name)
    return Surroundings(
        nodes=tuple(map(_node, rows)),
        pods=_read_pods(cluster_id, gang, rows),
        owners_on={row.name: frozenset(filter(None, row.pods.values())) for row in rows},
        waiting=tuple(
            WaitingPods(
                shape["waiting"],
                {name: Decimal(amount) for name, amount in shape["requests"].items()},
            )
            for shape in shapes
            if shape["waiting"]
        ),
        queue_rivals=count_queue_rivals(cluster_id, gang)
        if gang.owner.meta.ref.is_job and gang.queue.entries
        else None,
        promised=_promised_nodes(cluster_id, rows)
        if any(entry.assigned for entry in gang.entries)
        else frozenset(),
    )


def _promised_nodes(cluster_id: int, rows: Iterable[NodeCapacityRow]) -> frozenset[str]:
    """Return the nodes with fewer pods of an owner than its admission system assigned (1 query).

    Pods of a held Job are such pods: they do not exist, and the system keeps their room.
    """
    resources = [resource.key for resource in registry.queue_resources(QueueEntry)]
    stored = WatchedObject.objects.filter(cluster_id=cluster_id, resource__in=resources)
    assigned: Counter[tuple[str, str]] = Counter()
    for data in stored.values_list("data", flat=True).iterator(chunk_size=2000):
        entry = unpack(bytes(data), QueueEntry)
        if entry.admitted and entry.is_in_use:
            for part in entry.assigned:
                for node, number in part.nodes.items():
                    assigned[node, entry.owner_uid] += number
    running = Counter((row.name, owner) for row in rows for owner in row.pods.values())
    return frozenset(
        node for (node, owner), number in assigned.items() if number > running[node, owner]
    )


def _read_pods(cluster_id: int, gang: Gang, rows: Iterable[NodeCapacityRow]) -> tuple[Pod, ...]:
    owner = gang.owner.meta.ref
    references = [
        Reference(cluster_id, owner.namespace, uid)
        for row in rows
        for uid, root in row.pods.items()
        if root == owner.uid
    ]
    pods = read_referenced(references, {POD.key: Pod}).values()
    return tuple(sorted((pod for pod in pods if pod.is_live), key=lambda pod: pod.meta.ref.name))


def _node(row: NodeCapacityRow) -> NodeInfo:
    used = _amounts(row.used)
    pods = used.pop(PODS, 0)
    return NodeInfo(
        name=row.name,
        labels=row.labels,
        taints=tuple(map(_taint, row.taints)),
        unschedulable=row.cordoned,
        ready=row.ready,
        allocatable=_amounts(row.allocatable),
        now=Requested(used, pods),
        unreadable=frozenset(row.unreadable),
    )


def _amounts(texts: object) -> dict[str, int]:
    assert isinstance(texts, dict)  # noqa: S101  # a JSON column with maps only
    return {name: scheduler_units(name, Decimal(text)) for name, text in texts.items()}


def _taint(text: str) -> Taint:
    """Return a taint from its text in the form of kubectl: `key=value:effect`."""
    place, _, effect = text.rpartition(":")
    key, _, value = place.partition("=")
    return Taint(key, effect, value)
