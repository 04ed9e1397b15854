"""Access of a namespace to a ClusterQueue: the LocalQueue, closed queues, and the namespace selector."""

from __future__ import annotations

from gangboard.domain.forecast import AdmissionState
from gangboard.domain.queue_policy import QueuePolicy
from gangboard.domain.quota import Queue, QueueName, QueueState
from gangboard.placement.matching import matches_label
from gangboard.queues.kueue.queues import GROUP

_NAMESPACE_NAME = "kubernetes.io/metadata.name"


def local_queue_name(namespace: str, name: str) -> QueueName:
    """Return the name of a LocalQueue."""
    return QueueName(GROUP, "LocalQueue", namespace, name)


def closed_text(namespace: str, name: str, state: AdmissionState) -> str:
    """Return why the queue admits no Workload, in the words of Kueue. Empty if it does."""
    local = state.queues.get(local_queue_name(namespace, name))
    if local is None:
        return f"LocalQueue {name} doesn't exist"
    if local.state is QueueState.STOPPED:
        return f"LocalQueue {name} is inactive"
    queue = state.queues.get(local.parent)
    parent = local.parent.name if local.parent is not None else ""
    if queue is None:
        return f"ClusterQueue {parent} doesn't exist"
    closed = QueueState.STOPPED, QueueState.INACTIVE
    if queue.state in closed or state.queues.is_circular(queue):
        return f"ClusterQueue {parent} is inactive"
    return f"LocalQueue {name} is inactive" if local.state in closed else ""


def admits_namespace(
    namespace: str, queue: Queue, policy: QueuePolicy, state: AdmissionState
) -> bool | None:
    """Return whether the queue admits the namespace. None: the labels that decide are unknown.

    A Workload with quota in the same namespace shows that the queue admits it.
    """
    if policy.namespaces is None:
        return False
    unknown = [item for item in policy.namespaces if item.key != _NAMESPACE_NAME]
    known = [item for item in policy.namespaces if item.key == _NAMESPACE_NAME]
    if not all(matches_label(item, namespace) for item in known):
        return False
    is_proved = any(
        entry.meta.ref.namespace == namespace and entry.admitted_by == queue.meta.ref.name
        for entry in state.entries
        if entry.is_in_use and entry.meta.ref.group == GROUP
    )
    return True if not unknown or is_proved else None
