"""The latest times at which pods end by themselves, if they are known.

A pod that is being deleted must be gone at its `deletionTimestamp`, which includes the grace period. The deadline of
a Job counts from `status.startTime`, but not while it is suspended. The Job controller then deletes its pods
(pastActiveDeadline in pkg/controller/job/job_controller.go). The deadline of a pod counts from its own start. A
stopped pod may use its grace period, and holds its capacity until its containers have ended.

An end does not count if another pod takes the place at once. A Job recreates a failed pod until its `backoffLimit`, a
JobSet its Jobs until `maxRestarts`, a StatefulSet any pod. A Job also recreates a pod that is being deleted, at once
or when it is gone (`podReplacementPolicy`, manageJob in the same file). The new pod may take the capacity, so only
its own gang counts on that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.builtin_controllers import makes_independent_pods, recreates_same_pod
from gangboard.plugins import registry

_MAX_SECONDS = 10 * 365 * 86_400
"""Seconds. Later ends are ignored."""


class UnfinishedPod(NamedTuple):
    """The stored details of a pod that is not finished."""

    priority: int
    """0 if it has none."""
    placed: bool
    """It has a node."""
    owner: str
    """uid of its controller, or empty."""
    stop_seconds: int
    deadline: datetime | None
    """When its own deadline ends it."""
    deleted_at: datetime | None
    """When it must be gone, if it is being deleted."""
    is_recreated: bool
    """Its controller recreates the same pod after every end."""
    created_at: datetime | None = None
    is_replaceable: bool = False
    """Its controller makes independent pods, and replaces it on another node after a deletion."""


@dataclass(frozen=True, slots=True)
class OwnerState:
    """The stored details of an owner, which may be a Job."""

    controller: str
    suspended: bool
    suspendable: bool
    """A suspend of it lasts, because no other controller decides about it and it has not ended."""
    deleted: bool
    """It is being deleted."""
    wants: int
    """Number of pods that it runs at a time. 0 if it creates no more pods, and while it is suspended."""
    deadline: datetime | None
    """When its controller stops its pods."""
    retries: bool
    """Its failed pods or Jobs are recreated."""


Owners = Mapping[str, OwnerState]


def unfinished_pod(pod: Pod) -> UnfinishedPod:
    """Return the details of a pod."""
    controller = pod.meta.controller
    deadline = None
    if pod.deadline_seconds is not None:
        deadline = _after(_after(pod.start_time, pod.deadline_seconds), pod.stop_seconds)
    return UnfinishedPod(
        priority=pod.priority or 0,
        placed=pod.is_placed,
        owner=controller.uid if controller is not None else "",
        stop_seconds=pod.stop_seconds,
        deadline=deadline,
        deleted_at=pod.meta.deleting_since,
        is_recreated=pod.stays or recreates_same_pod(controller),
        created_at=pod.meta.created_at,
        is_replaceable=makes_independent_pods(controller) and not pod.stays,
    )


def owner_state(owner: Owner) -> OwnerState:
    """Return the details of an owner."""
    controller = owner.meta.controller
    runs = not owner.suspended and not owner.managed_by
    has_ended = owner.finish is not None or owner.meta.deleting_since is not None
    makes_pods = runs and not has_ended and not owner.ending
    return OwnerState(
        controller=controller.uid if controller is not None else "",
        suspended=owner.suspended,
        suspendable=not (has_ended or controller or owner.managed_by or owner.queue),
        deleted=owner.meta.deleting_since is not None,
        wants=max(0, owner.desired - owner.succeeded_pods) if makes_pods else 0,
        deadline=_after(owner.started_at, owner.deadline_seconds) if runs else None,
        retries=_retries(owner),
    )


def _retries(owner: Owner) -> bool:
    kind = registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)
    return kind is not None and kind.tries_again(owner)


def _after(start: datetime | None, seconds: int | None) -> datetime | None:
    if start is None or seconds is None or not 0 <= seconds <= _MAX_SECONDS:
        return None
    return start + timedelta(seconds=seconds)


def end_time_of(pod: UnfinishedPod, owners: Owners) -> datetime | None:
    """Return the latest time at which a pod that is not being deleted ends by itself. None if that is unknown."""
    if pod.is_recreated or pod.deleted_at is not None:
        return None
    job = owners.get(pod.owner)
    if pod.deadline is None and (job is None or job.deadline is None):
        return None
    above = owners.get(job.controller) if job is not None else None
    if above is not None and above.retries:
        return None
    ends = [] if job is not None and job.retries else [pod.deadline]
    if job is not None:
        ends.append(_after(job.deadline, pod.stop_seconds))
    return min((end for end in ends if end is not None), default=None)


def is_replacing(owner: str, staying: Collection[UnfinishedPod], owners: Owners) -> bool:
    """Return whether an owner has to replace its deleted pods with new ones that have no node yet.

    `staying` are its pods that are not being deleted. The Job controller counts a deleted pod as failed, so the owner
    must still retry. A JobSet that restarts also recreates them.
    """
    job = owners.get(owner)
    above = owners.get(job.controller) if job is not None else None
    if job is None or job.suspended or (above is not None and not above.wants):
        return False
    if job.wants and (job.retries or any(not pod.placed for pod in staying)):
        return sum(pod.placed for pod in staying) < job.wants
    return above is not None and (job.deleted or above.retries)


def is_suspended(pod: UnfinishedPod, root: str, owners: Owners) -> bool:
    """Return whether the pod's Job or its gang is suspended."""
    job, above = owners.get(pod.owner), owners.get(root)
    return (job is not None and job.suspended) or (above is not None and above.suspended)
