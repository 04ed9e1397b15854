"""Pods after a suspend: the termination of the suspended pods, and siblings that must not change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gangboard.domain.pod import Pod
from gangboard.domain.text import count, is_or_are


def live_pods(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the pods that run or end. Finished pods may stay for ever."""
    return tuple(pod for pod in pods if pod.is_live)


def ending_text(pods: tuple[Pod, ...], now: datetime) -> str:
    """Return the number of remaining pods and of their grace seconds, or an empty string without pods."""
    terminating = [pod for pod in pods if pod.is_terminating]
    others = len(pods) - len(terminating)
    texts = []
    if terminating:
        seconds = _remaining_grace(terminating, now)
        text = f"{count(len(terminating), 'pod')} {is_or_are(len(terminating))} still ending"
        texts.append(
            f"{text}, {seconds} s of their grace period left"
            if seconds
            else f"{text}, past the grace period"
        )
    if others:
        texts.append(
            f"{count(others, 'pod')} {'has' if others == 1 else 'have'} not received a delete request yet"
        )
    return "; ".join(texts)


def _remaining_grace(pods: list[Pod], now: datetime) -> int:
    """Return the longest remaining grace period in seconds. It ends at the deletionTimestamp."""
    times = [pod.meta.deleting_since for pod in pods if pod.meta.deleting_since is not None]
    return max(0, math.ceil((max(times) - now).total_seconds())) if times else 0


def places_text(pods: tuple[Pod, ...]) -> str:
    """Return names and nodes of pods for a sentence."""
    names = [
        f"{pod.meta.ref.name} on node {pod.node}" if pod.node else pod.meta.ref.name
        for pod in pods[:3]
    ]
    suffix = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
    return ", ".join(names) + suffix


def sibling_changes(
    before: Mapping[str, Sequence[Any]], pods: Iterable[Pod], *, finished: frozenset[str]
) -> list[str]:
    """Return a sentence for each sibling pod that is gone or has a restarted container.

    `before` maps pod uid to [name, container restarts, uid of its Job]. `finished` are the uids of Jobs
    that ended by themselves; their pods may go. New pods are not reported, because each replaces a
    missing one. Entries of an older release lack the uid of the Job, so their missing pods are always
    reported.
    """
    current = {pod.meta.ref.uid: pod for pod in pods}
    sentences = []
    for uid, (name, restarts, *job) in before.items():
        pod = current.get(uid)
        if pod is None:
            if not finished.intersection(job):
                sentences.append(f"Sibling pod {name} is gone.")
        elif pod_restarts(pod) > restarts:
            sentences.append(f"A container of sibling pod {name} was restarted.")
    return sentences


def pod_restarts(pod: Pod) -> int:
    """Return how often the containers of a pod were restarted."""
    return sum(container.restarts for container in pod.containers)
