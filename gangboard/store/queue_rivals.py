"""Waiting queue entries that may take the quota of a gang's entry."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

from gangboard.domain.api_resource import Resource
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueTree
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.store.models import WatchedObject
from gangboard.store.objects import unpack

Model = TypeVar("Model", Queue, QueueEntry)


def count_queue_rivals(cluster_id: int, gang: Gang) -> int | None:
    """Return the number of waiting entries that share quota with the gang's entries (2 queries).

    Entries that can never be admitted are left out. None if the queue of the gang is unknown.
    """
    tree = QueueTree(_stored(cluster_id, registry.queue_resources(Queue), Queue))
    sharing = _sharing(tree, gang)
    if not sharing:
        return None
    own = {entry.meta.ref.uid for entry in gang.entries}
    entries = _stored(cluster_id, registry.queue_resources(QueueEntry), QueueEntry)
    return sum(
        _may_be_admitted(entry)
        and entry.meta.ref.uid not in own
        and _queue_of(tree, entry) in sharing
        for entry in entries
    )


def _sharing(tree: QueueTree, gang: Gang) -> set[QueueName]:
    """Return the queues that share quota with those that admitted the gang, with their aliases."""
    names: set[QueueName] = set()
    for entry in gang.queue.entries:
        queue = tree.find_entry_queue(entry.meta.ref.group, "", entry.admitted_by)
        if queue is not None:
            top = tree.lineage(queue)[-1]
            # A missing parent still joins the queues that name it.
            names |= tree.subtree(top.parent if top.parent is not None else top.name)
    return names


def _queue_of(tree: QueueTree, entry: QueueEntry) -> QueueName | None:
    """Return the queue that would admit an entry."""
    ref = entry.meta.ref
    entrance = tree.find_entry_queue(ref.group, ref.namespace, entry.queue)
    if entrance is None:
        return None
    return entrance.parent if entrance.level is QueueLevel.ALIAS else entrance.name


def _may_be_admitted(entry: QueueEntry) -> bool:
    return entry.stands_in_line and not (entry.message is not None and entry.message.code.is_final)


def _stored(
    cluster_id: int, resources: Collection[Resource], model: type[Model]
) -> Iterator[Model]:
    rows = WatchedObject.objects.filter(
        cluster_id=cluster_id, resource__in=[resource.key for resource in resources]
    ).values_list("data", flat=True)
    return (unpack(bytes(data), model) for data in rows.iterator(chunk_size=2000))
