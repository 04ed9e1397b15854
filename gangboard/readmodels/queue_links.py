"""The queue that a gang is in, as the Queues page names it."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.diagnosis.scheduler_queues import scheduler_queues
from gangboard.domain.objects import ObjectRef
from gangboard.domain.quota import Queue, QueueLevel
from gangboard.plugins import registry
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack


def queue_of_gang(gang: Gang, groups: Iterable[ObjectRef]) -> str:
    """Return the name of the queue whose page tells of the gang, empty where there is none (2 queries at most).

    The gang names an alias, which leads to a queue, or its groups name a queue of their scheduler. Two systems can
    have queues of one name, so the API of its groups decides. Whoever may see the gang may see this queue.
    """
    if not gang.queue or gang.gone_at is not None:
        return ""
    apis = {ref.group for ref in groups} & set(scheduler_queues())
    queues = _queues(gang.cluster_id, gang.queue, ("", gang.namespace))
    for queue in queues:
        is_admitting = queue.level is QueueLevel.QUEUE and not queue.meta.ref.namespace
        if is_admitting and queue.meta.ref.group in apis:
            return queue.meta.ref.name
    parents = {one.parent for one in queues if one.level is QueueLevel.ALIAS and one.parent}
    for parent in sorted(parents):
        if any(one.name == parent for one in _queues(gang.cluster_id, parent.name, ("",))):
            return parent.name
    return ""


def _queues(cluster_id: int, name: str, namespaces: tuple[str, ...]) -> list[Queue]:
    rows = WatchedObject.objects.filter(
        cluster_id=cluster_id,
        resource__in=[resource.key for resource in registry.queue_resources(Queue)],
        namespace__in=namespaces,
        name=name,
    )
    return [unpack(bytes(data), Queue) for data in rows.values_list("data", flat=True)]
