"""Pods after a suspend: the end of the gang's own pods, and siblings that must not change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gangboard.domain.pod import Pod
from gangboard.domain.text import count, is_or_are


def live_pods(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the pods that still run or end; finished ones may stay for ever."""
    return tuple(pod for pod in pods if pod.is_live)


def ending_text(pods: tuple[Pod, ...], now: datetime) -> str:
    """Return how many pods are still there and how much of their grace is left; empty for none."""
    ending = [pod for pod in pods if pod.is_terminating]
    staying = len(pods) - len(ending)
    texts = []
    if ending:
        left = _grace_left(ending, now)
        text = f"{count(len(ending), 'pod')} {is_or_are(len(ending))} still ending"
        texts.append(f"{text}, {left} s of their grace left" if left else f"{text}, past the grace")
    if staying:
        texts.append(
            f"{count(staying, 'pod')} {'has' if staying == 1 else 'have'} not been asked to end yet"
        )
    return "; ".join(texts)


def _grace_left(pods: list[Pod], now: datetime) -> int:
    """Return the longest rest of a grace period: deletionTimestamp is when it will be over."""
    ends = [pod.meta.deleting_since for pod in pods if pod.meta.deleting_since is not None]
    return max(0, math.ceil((max(ends) - now).total_seconds())) if ends else 0


def places_text(pods: tuple[Pod, ...]) -> str:
    """Return names and nodes of pods for a sentence."""
    shown = [
        f"{pod.meta.ref.name} on node {pod.node}" if pod.node else pod.meta.ref.name
        for pod in pods[:3]
    ]
    more = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
    return ", ".join(shown) + more


def sibling_changes(
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
        elif pod_restarts(pod) > restarts:
            found.append(f"A container of sibling pod {name} was restarted.")
    return found


def pod_restarts(pod: Pod) -> int:
    """Return how often the containers of a pod were restarted."""
    return sum(container.restarts for container in pod.containers)
