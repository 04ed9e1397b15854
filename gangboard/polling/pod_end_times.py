"""When pods that hold room end by themselves, at the latest, as far as that can be known.

A pod that is being deleted must be gone at its `deletionTimestamp`: the grace period is in it. The
deadline of a Job counts from `status.startTime`, not while it is suspended, and the Job controller
deletes its pods then (pastActiveDeadline in pkg/controller/job/job_controller.go); that of a pod
counts from its own. What is stopped may use its grace period, and holds its room until its
containers have ended.

An end at which something takes the place at once is none: a Job makes a failed pod anew until its
`backoffLimit`, a JobSet its Jobs until `maxRestarts`, a StatefulSet any pod. A Job makes a pod that
is being deleted anew at once, or when it has gone (`podReplacementPolicy`; manageJob of the same
file), and the new one may take the room: only its own gang counts on that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.builtin_controllers import recreates_same_pod
from gangboard.plugins import registry

_MOST = 10 * 365 * 86_400
"""Seconds; nobody waits for later ends."""


class HeldPod(NamedTuple):
    """What is kept of a pod that is not finished."""

    priority: int
    """0 where it has none."""
    placed: bool
    """It has a node."""
    owner: str
    """uid of its controller, or empty."""
    stop_seconds: int
    deadline: datetime | None
    """When its own deadline has ended it."""
    deleted_at: datetime | None
    """When its deletion must be over."""
    comes_back: bool
    """The same pod is made anew wherever it ends."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HoldingOwner:
    """What is kept of an owner, a Job among them."""

    controller: str
    suspended: bool
    suspendable: bool
    """A suspend of it stays: nobody else decides about it, and it has not ended."""
    deleted: bool
    """It is being deleted."""
    wants: int
    """Pods that it has or makes at a time; 0 where it makes none any more, or while suspended."""
    deadline: datetime | None
    """When its controller stops its pods."""
    tries_again: bool
    """What fails of it is made anew."""


Owners = Mapping[str, HoldingOwner]


def held_pod(pod: Pod) -> HeldPod:
    """Return what is kept of a pod."""
    controller = pod.meta.controller
    deadline = None
    if pod.deadline_seconds is not None:
        deadline = _after(_after(pod.start_time, pod.deadline_seconds), pod.stop_seconds)
    return HeldPod(
        priority=pod.priority or 0,
        placed=pod.is_placed,
        owner=controller.uid if controller is not None else "",
        stop_seconds=pod.stop_seconds,
        deadline=deadline,
        deleted_at=pod.meta.deleting_since,
        comes_back=pod.stays or recreates_same_pod(controller),
        created_at=pod.meta.created_at,
    )


def holding_owner(owner: Owner) -> HoldingOwner:
    """Return what is kept of an owner."""
    controller = owner.meta.controller
    runs = not owner.suspended and not owner.managed_by
    ended = owner.finish is not None or owner.meta.deleting_since is not None
    goes_on = runs and not ended and not owner.ending
    return HoldingOwner(
        controller=controller.uid if controller is not None else "",
        suspended=owner.suspended,
        suspendable=not (ended or controller or owner.managed_by or owner.queue),
        deleted=owner.meta.deleting_since is not None,
        wants=max(0, owner.desired - owner.succeeded_pods) if goes_on else 0,
        deadline=_after(owner.started_at, owner.deadline_seconds) if runs else None,
        tries_again=_tries_again(owner),
    )


def _tries_again(owner: Owner) -> bool:
    kind = registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)
    return kind is not None and kind.tries_again(owner)


def _after(start: datetime | None, seconds: int | None) -> datetime | None:
    if start is None or seconds is None or not 0 <= seconds <= _MOST:
        return None
    return start + timedelta(seconds=seconds)


def end_time_of(pod: HeldPod, owners: Owners) -> datetime | None:
    """Return when a pod that nobody deletes has ended by itself, at the latest; None when nothing tells."""
    if pod.comes_back or pod.deleted_at is not None:
        return None
    job = owners.get(pod.owner)
    if pod.deadline is None and (job is None or job.deadline is None):
        return None
    above = owners.get(job.controller) if job is not None else None
    if above is not None and above.tries_again:
        return None
    found = [] if job is not None and job.tries_again else [pod.deadline]
    if job is not None:
        found.append(_after(job.deadline, pod.stop_seconds))
    return min((end for end in found if end is not None), default=None)


def is_replacing(owner: str, stay: Collection[HeldPod], owners: Owners) -> bool:
    """Whether others are made, and have no node yet, in the place of an owner's deleted pods.

    `stay` are its pods that nobody deletes. A pod that fails, as the Job controller counts a
    deleted one, is made anew as long as that tries again; so is what a JobSet restarts.
    """
    job = owners.get(owner)
    above = owners.get(job.controller) if job is not None else None
    if job is None or job.suspended or (above is not None and not above.wants):
        return False
    if job.wants and (job.tries_again or any(not one.placed for one in stay)):
        return sum(one.placed for one in stay) < job.wants
    return above is not None and (job.deleted or above.tries_again)


def is_suspended(pod: HeldPod, root: str, owners: Owners) -> bool:
    """Whether the pod's Job or its gang is suspended already."""
    job, above = owners.get(pod.owner), owners.get(root)
    return (job is not None and job.suspended) or (above is not None and above.suspended)
