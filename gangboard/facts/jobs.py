"""Facts about single Jobs: the key by which Holds refer to them, their size, and the pods of their members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod

JobKey = tuple[str, str, str]
"""(uid of the controller, namespace, name) of a Job."""
_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
"""On pods of an Indexed Job since Kubernetes 1.28. Pods of an older cluster count as NonIndexed."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def job_key(job: Owner) -> JobKey:
    """Return the key of a Job in `Gang.holds_by_job`."""
    ref, controller = job.meta.ref, job.meta.controller
    return controller.uid if controller else "", ref.namespace, ref.name


def hold_key(hold: Hold) -> JobKey:
    """Return the key of the Job that a Hold is for."""
    return hold.owner_uid, hold.meta.ref.namespace, hold.job_name


def age_of_hold(hold: Hold) -> tuple[bool, float, str]:
    """Return the sort key by which the oldest Hold comes first."""
    created = hold.meta.created_at
    return created is None, created.timestamp() if created else 0.0, hold.meta.ref.name


def is_paused(job: Owner) -> bool:
    """Return whether gangboard set the parallelism to 0. The annotation alone can be a leftover."""
    return job.parallelism == 0 and bool(job.paused_parallelism)


def requests_pods(job: Owner) -> bool:
    """Return whether a Job is neither suspended nor at parallelism 0."""
    return not job.suspended and job.parallelism != 0


def expected_pods(job: Owner) -> int:
    """Return the number of pods that a Job has or will have at a time, without succeeded ones."""
    return max(0, job.desired - job.succeeded_pods)


def select_member_pods(pods: Iterable[Pod], jobs: Collection[Owner]) -> tuple[Pod, ...]:
    """Return the pods that represent a member now, at most one for each member.

    A Job creates a new pod for each failed or deleted one, and the old pod exists for a while. The old pod represents
    the member until the new one exists. In an Indexed Job pods with the same completion index are for the same member.
    In another Job old pods count for the members that new pods leave open. Pods without a Job are never replaced.
    """
    by_uid = {job.meta.ref.uid: job for job in jobs}
    by_job: dict[str, list[Pod]] = defaultdict(list)
    members: list[Pod] = []
    for pod in pods:
        uid = pod.meta.controller.uid if pod.meta.controller is not None else ""
        if uid in by_uid:
            by_job[uid].append(pod)
        else:
            members.append(pod)
    for uid, of_job in by_job.items():
        members.extend(_members_of_job(by_uid[uid], of_job))
    return tuple(members)


def _members_of_job(job: Owner, pods: list[Pod]) -> list[Pod]:
    by_index: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_index[pod.labels.get(_INDEX_LABEL, "")].append(pod)
    loose = by_index.pop("", [])
    indexed = [same[0] if len(same) == 1 else max(same, key=_rank) for same in by_index.values()]
    ranked = sorted(loose, key=_rank, reverse=True)
    lasting = sum(map(_is_lasting, ranked))
    return indexed + ranked[: max(lasting, job.desired - len(by_index))]


def _rank(pod: Pod) -> tuple[bool, bool, datetime, str]:
    """Return the sort key of the pods for one member. The greatest represents it."""
    created = pod.meta.created_at or _LONG_AGO
    return _is_lasting(pod), pod.phase != "Failed", created, pod.meta.ref.uid


def _is_lasting(pod: Pod) -> bool:
    """Return whether the Job creates no replacement, because the pod neither failed nor is being deleted.

    A pod that succeeded keeps this state while it is being deleted.
    """
    return pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.is_terminating)
