"""Everybody else: the pods of the other Jobs must be the same, not one container restarted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gangboard.domain.pod import Pod


def changes(
    before: Mapping[str, Sequence[Any]], pods: Iterable[Pod], *, finished: frozenset[str]
) -> list[str]:
    """Return a sentence for each sibling pod that is not as it was.

    `before` maps pod uid to [name, container restarts, uid of its Job]; `finished` are uids of Jobs
    that have ended by themselves, whose pods may go. Pods that are new are the other side of one that
    is missing. What an older release wrote down lacks the uid: then nothing excuses a pod that is gone.
    """
    now = {pod.meta.ref.uid: pod for pod in pods}
    found = []
    for uid, (name, restarts, *job) in before.items():
        pod = now.get(uid)
        if pod is None:
            if not finished.intersection(job):
                found.append(f"Sibling pod {name} is gone.")
        elif restarts_of(pod) > restarts:
            found.append(f"A container of sibling pod {name} was restarted.")
    return found


def restarts_of(pod: Pod) -> int:
    """Return how often the containers of a pod were restarted."""
    return sum(container.restarts for container in pod.containers)
