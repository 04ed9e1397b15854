"""A bare pod, PodGroup, CompositePodGroup, Workload or entry in a queue, presented as an owner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from gangboard.domain.group import Group, Policy
from gangboard.domain.owner import Finish, Outcome, Owner, PodRequests
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.facts.gang import Root
from gangboard.facts.groups import (
    POD_GROUP,
    WORKLOAD,
    group_size,
    has_entries,
    pods_by_group,
    takes_pods,
)


def as_owner(
    root: Root,
    groups: Sequence[Group],
    pods: Sequence[Pod],
    foreign_pods: Sequence[Pod],
) -> Owner:
    """Return the root as an owner. `groups` and `pods` are all of its gang, the root included."""
    if isinstance(root, Owner):
        return root
    if isinstance(root, Pod):
        return _pod_as_owner(root)
    if isinstance(root, QueueEntry):
        return _entry_as_owner(root, pods)
    return Owner(
        meta=root.meta,
        desired=_template_size(root)
        if root.meta.ref.kind == WORKLOAD and not has_entries(root)
        else _size_of(_units_of(root, groups), pods, foreign_pods),
        pod_requests=tuple(PodRequests(1, pod.requests) for pod in pods),
        finish=_finish_of_group(root, groups, pods, foreign_pods),
        priority_class=_only_class(pods),
    )


def _size_of(groups: Iterable[Group], pods: Iterable[Pod], foreign_pods: Iterable[Pod]) -> int:
    own, foreign = pods_by_group(pods), pods_by_group(foreign_pods)
    return sum(
        group_size(group, own.get(group.name, []), foreign.get(group.name, [])) for group in groups
    )


def _units_of(root: Group, groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return the groups that a bare PodGroup, CompositePodGroup or Workload stands for."""
    return (root,) if root.meta.ref.kind == POD_GROUP else tuple(filter(takes_pods, groups))


def _template_size(workload: Group) -> int:
    """Return the sum of the quorums of a Workload that no group names yet. Each template needs one group."""
    return sum(
        template.quorum or 0
        for template in workload.templates
        if template.policy is Policy.GANG and not template.composite
    )


def _pod_as_owner(pod: Pod) -> Owner:
    return Owner(
        meta=pod.meta,
        desired=1,
        pod_requests=(PodRequests(1, pod.requests),),
        finish=_finish_of_pod(pod),
        group_name=pod.group_name,
        priority_class=pod.priority_class,
        started_at=pod.start_time,
    )


def _entry_as_owner(entry: QueueEntry, pods: Sequence[Pod]) -> Owner:
    """Return pods that a queue admits together as one owner with the size of the entry."""
    return Owner(
        meta=entry.meta,
        desired=entry.group_pods,
        pod_requests=tuple(PodRequests(1, pod.requests) for pod in pods),
        finish=_finish_of_pods(pods, entry.group_pods),
        queue=entry.queue,
        priority_class=_only_class(pods),
    )


def _finish_of_pod(pod: Pod) -> Finish | None:
    """Return the end of a pod that no controller will replace.

    A pod that is being deleted has no end, because the kubelet marks it Failed after it stopped the containers.
    """
    if pod.is_terminating:
        return None
    time = pod.ready.since if pod.ready is not None else None
    if pod.phase == "Succeeded":
        return Finish(Outcome.SUCCEEDED, pod.reason, pod.message, time)
    if pod.phase != "Failed":
        return None
    reason = pod.reason
    for container in pod.containers:
        if not reason and container.exit_code:
            reason = container.reason or "Error"
    return Finish(Outcome.FAILED, reason, pod.message or _exit_text(pod), time)


def _exit_text(pod: Pod) -> str:
    ended = [container for container in pod.containers if container.exit_code]
    if not ended:
        return ""
    return f"container {ended[0].name} ended with exit code {ended[0].exit_code}"


def _finish_of_group(
    root: Group, groups: Sequence[Group], pods: Sequence[Pod], foreign_pods: Sequence[Pod]
) -> Finish | None:
    """Return the end of a group without a controller. All its pods must exist and have finished."""
    return _finish_of_pods(pods, _size_of(_units_of(root, groups), pods, foreign_pods))


def _finish_of_pods(pods: Sequence[Pod], size: int) -> Finish | None:
    if any(pod.is_live for pod in pods) or all(pod.is_terminating for pod in pods):
        return None
    if size > len(pods):
        return None
    times = [finish.at for pod in pods if (finish := _finish_of_pod(pod)) and finish.at]
    time: datetime | None = max(times, default=None)
    failed = sum(pod.phase == "Failed" for pod in pods)
    if not failed:
        return Finish(Outcome.SUCCEEDED, "", "", time)
    noun = "pod" if len(pods) == 1 else "pods"
    return Finish(Outcome.FAILED, "", f"{failed} of {len(pods)} {noun} failed", time)


def _only_class(pods: Sequence[Pod]) -> str:
    names = {pod.priority_class for pod in pods}
    return names.pop() if len(names) == 1 else ""
