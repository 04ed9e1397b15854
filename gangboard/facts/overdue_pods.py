"""Terminating pods that a unit waits for, and those that their nodes should have ended.

Only the kubelet ends a pod. On a node that is not ready a deleted pod therefore keeps its name and its seat. These
controllers create nothing in its place until the pod is gone:

- a Job with `podReplacementPolicy: Failed` (KEP-3939), and a Job that is about to fail
- an owner that restarts, while a Job of its former attempt has pods
- a controller that gives its pods fixed names
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.creation_refusal import newest_creation_refusal
from gangboard.facts.gang import Gang
from gangboard.facts.grace_periods import COUNT_GRACE, CREATION_GRACE
from gangboard.facts.jobs import requests_pods
from gangboard.facts.unit import Unit, is_failure_reason


def awaited_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return the terminating pods that must be gone before their controller creates the missing ones."""
    if not unit.missing:
        return ()
    old = _pods_of_former_jobs(unit)
    if not (unit.terminating or old) or newest_creation_refusal(unit) is not None:
        return ()  # a controller whose new pods are refused does not wait
    jobs = {job.meta.ref.uid: job for job in unit.gang.jobs} if unit.terminating else {}
    return (*[pod for pod in unit.terminating if _is_awaited(unit.gang, pod, jobs)], *old)


def _is_awaited(gang: Gang, pod: Pod, jobs: dict[str, Owner]) -> bool:
    """Return whether its controller has not replaced the pod and waits for its end.

    A known controller of another kind than Job counts, because one that does not wait replaces a deleted pod at once.
    An unknown controller may never replace it.
    """
    maker = pod.meta.controller
    if maker is None:
        return False
    job = jobs.get(maker.uid)
    if job is None:
        return (maker.group, maker.kind) in gang.kinds
    if job.finish is not None or not requests_pods(job):
        return False
    if is_failure_reason(job.ending) or job.meta.deleting_since is not None:
        return True
    return job.waits_for_terminating and pod.meta.ref.uid in gang.member_pods


def _pods_of_former_jobs(unit: Unit) -> tuple[Pod, ...]:
    """Return the pods of the former Jobs whose names the missing Jobs will have.

    Without such a pod these are the pods of all former Jobs, because an owner can wait for all of them before it
    creates any (`BlockingRecreate`).
    """
    if not unit.missing_jobs or not unit.gang.old_pods:
        return ()
    missing = frozenset(unit.missing_jobs)
    same_name = frozenset(
        job.meta.ref.uid for job in unit.gang.old_jobs if job.meta.ref.name in missing
    )
    pods = [
        pod
        for pod in unit.gang.old_pods
        if pod.meta.controller is not None and pod.meta.controller.uid in same_name
    ]
    return tuple(pods) or unit.gang.old_pods


def silent_pods(gang: Gang, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the terminating pods on nodes that are not ready. Empty if nodes cannot be read."""
    if not gang.cluster.nodes_known:
        return ()
    nodes = gang.cluster.nodes
    return tuple(
        pod
        for pod in pods
        if pod.is_terminating and pod.node in nodes and not nodes[pod.node].is_ready
    )


def overdue_pods(gang: Gang, pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the pods whose grace period ended 30 seconds ago or earlier, on nodes that are not ready."""
    return tuple(pod for pod in silent_pods(gang, pods) if _due(pod) <= gang.now)


def overdue_at(gang: Gang, pods: Iterable[Pod]) -> datetime | None:
    """Return when the next of the pods on nodes that are not ready becomes overdue, or None."""
    later = [due for pod in silent_pods(gang, pods) if (due := _due(pod)) > gang.now]
    return min(later, default=None)


def stuck_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return the awaited pods that are overdue on nodes that are not ready."""
    return overdue_pods(unit.gang, awaited_pods(unit))


def kept_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return the awaited pods that nodes should have ended two minutes ago and that no silent node keeps."""
    if not unit.gang.cluster.nodes_known:
        return ()
    awaited = awaited_pods(unit)
    silent = silent_pods(unit.gang, awaited)
    return tuple(
        pod
        for pod in awaited
        if pod not in silent and _end_of_grace(pod) + CREATION_GRACE <= unit.now
    )


def stuck_due(unit: Unit) -> datetime | None:
    """Return when the next awaited pod is late on its node, whether that is silent or not. None without such a pod."""
    awaited = awaited_pods(unit)
    times = [_end_of_grace(pod) + CREATION_GRACE for pod in awaited]
    later = [time for time in (*times, overdue_at(unit.gang, awaited)) if time and time > unit.now]
    return min(later, default=None)


def _due(pod: Pod) -> datetime:
    return _end_of_grace(pod) + COUNT_GRACE


def _end_of_grace(pod: Pod) -> datetime:
    # `deletionTimestamp` is the end of the grace period.
    assert pod.meta.deleting_since is not None  # noqa: S101 - callers select terminating pods
    return pod.meta.deleting_since


def waiting_object(gang: Gang, pod: Pod) -> Controller | ObjectRef:
    """Return the object whose controller waits for the pod: its own, or the owner that makes its Job again."""
    maker = pod.meta.controller
    if maker is None:
        return pod.meta.ref
    former = (*gang.old_jobs, *(job for job in gang.jobs if job.meta.deleting_since is not None))
    for job in former:
        if job.meta.ref.uid == maker.uid and job.meta.controller is not None:
            return job.meta.controller
    return maker
