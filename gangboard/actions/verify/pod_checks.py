"""Pods after a suspend: the end of the gang's own pods, and siblings that must not change."""

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
    """Return how many pods are left and the rest of their grace period, or empty for no pods."""
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
    """Return the longest rest of a grace period, which ends at the deletionTimestamp."""
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
    """Return a sentence for each sibling pod that is gone or has a restarted container.

    `before` maps pod uid to [name, container restarts, uid of its Job]; `finished` are uids of Jobs
    that have ended by themselves, whose pods may go. New pods are not reported: each replaces a missing one. Entries of an
    older release lack the uid of the Job, so a missing pod is always reported.
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
