"""Which child Jobs and pods count now: restarts and retries leave old ones behind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime

from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.plugins import registry

INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
"""On pods of an Indexed Job, since Kubernetes 1.28; with older ones pods count as NonIndexed."""

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_DIGITS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that puts `w-2` before `w-10`."""
    parts = _DIGITS.split(name)
    return tuple(
        (text, int(number[:18]) if number else -1)
        for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True)
    )


def current_uids(root: Owner, owners: Iterable[Owner]) -> frozenset[str]:
    """Return the uids of the root and of the owners below it that belong to its current attempt.

    The kind of each parent says which of its children count; a child of an old child does not.
    """
    by_uid = {owner.meta.ref.uid: owner for owner in (root, *owners)}
    under: dict[str, list[Owner]] = defaultdict(list)
    for owner in by_uid.values():
        if owner.meta.controller is not None and owner is not root:
            under[owner.meta.controller.uid].append(owner)
    found = {root.meta.ref.uid: None}
    for uid in (waiting := [root.meta.ref.uid]):
        new = [
            child.meta.ref.uid
            for child in under[uid]
            if child.meta.ref.uid not in found and _is_current(by_uid[uid], child)
        ]
        found.update(dict.fromkeys(new))
        waiting.extend(new)
    return frozenset(found)


def _is_current(parent: Owner, child: Owner) -> bool:
    kind = registry.owner_kind(parent.meta.ref.group, parent.meta.ref.kind)
    return kind is None or kind.is_current(parent, child)


def standing(pods: Iterable[Pod], jobs: Collection[Owner]) -> tuple[Pod, ...]:
    """Return the pods that stand for a member now, at most one for each.

    A Job makes a new pod for each that failed or is on its way out, and the old one stays for a
    while. It stands for the member only until the new one is there: by completion index of an
    Indexed Job; of another Job the old ones fill up what the new ones leave of its size. Pods
    without a Job are never replaced: all stand.
    """
    by_uid = {job.meta.ref.uid: job for job in jobs}
    slots: dict[str, list[Pod]] = defaultdict(list)
    found: list[Pod] = []
    for pod in pods:
        uid = pod.meta.controller.uid if pod.meta.controller is not None else ""
        if uid in by_uid:
            slots[uid].append(pod)
        else:
            found.append(pod)
    for uid, of_job in slots.items():
        found.extend(_standing_of_job(by_uid[uid], of_job))
    return tuple(found)


def _standing_of_job(job: Owner, pods: list[Pod]) -> Iterable[Pod]:
    by_index: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_index[pod.labels.get(INDEX_LABEL, "")].append(pod)
    loose = by_index.pop("", [])
    yield from (max(same, key=_claim) for same in by_index.values())
    ranked = sorted(loose, key=_claim, reverse=True)
    firm = sum(map(_is_firm, ranked))
    yield from ranked[: max(firm, job.desired - len(by_index))]


def _claim(pod: Pod) -> tuple[bool, bool, datetime, str]:
    """Return the sort key by which, of the pods for one member, the greatest stands for it."""
    created = pod.meta.created_at or _LONG_AGO
    return _is_firm(pod), pod.phase != "Failed", created, pod.meta.ref.uid


def _is_firm(pod: Pod) -> bool:
    """Whether no other pod is made in its place: it neither failed nor is it being deleted.

    A pod that has succeeded stays so while it is being deleted.
    """
    return pod.phase == "Succeeded" or (pod.phase != "Failed" and not pod.is_terminating)


def pods_by_job(pods: Iterable[Pod], jobs: Iterable[Owner]) -> Mapping[str, tuple[Pod, ...]]:
    """Return the pods of each Job by the Job's uid; Jobs without pods have an empty entry."""
    found: dict[str, list[Pod]] = {job.meta.ref.uid: [] for job in jobs}
    for pod in pods:
        if pod.meta.controller is not None and pod.meta.controller.uid in found:
            found[pod.meta.controller.uid].append(pod)
    return {uid: tuple(of_job) for uid, of_job in found.items()}
