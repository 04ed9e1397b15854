"""Rotation of clusters: with more clusters than slots they take turns.

A cluster is released only in exchange for one that waits, so that its caches are not lost without need. Its worker
keeps the caches, so the next turn continues where this one ended.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from django.conf import settings

from gangboard.polling.poll import drop_cache, hand_back, poll_window
from gangboard.polling.poll_slots import PollSlots
from gangboard.store.cluster_leases import FreeCluster, acquire_lease, free_clusters
from gangboard.store.heartbeats import alive_poll_workers, has_too_few_slots

MIN_WAIT = 5.0
"""Minimum wait of a cluster before another one gives way to it. A free slot would have taken it within this time."""
WINDOW_GRACE = 5.0
"""Seconds by which a window may be late. A later one does not count as about to give way."""
FOREIGN_FACTOR = 4.0
"""Factor by which the wait of a cluster counts less if another alive worker has its caches."""


def poll_for_one_window(
    cluster_id: int, *, holder: str, slots: PollSlots, stopping: threading.Event
) -> int | None:
    """Poll the cluster for one window. Return the cluster whose window this worker enqueues next."""
    if not slots.begin(cluster_id):
        return None
    for expired in slots.take_expired():
        drop_cache(expired)  # its lease has expired, so this worker gets no more messages for it
    next_cluster_id = None
    try:
        if poll_window(cluster_id, holder, stopping):
            next_cluster_id = _next_cluster(cluster_id, holder, slots, stopping)
    finally:
        slots.end(cluster_id, next_cluster_id)
    return next_cluster_id


def _next_cluster(
    cluster_id: int, holder: str, slots: PollSlots, stopping: threading.Event
) -> int | None:
    if stopping.is_set():
        hand_back(cluster_id, holder, keep=False)
        return None
    if not (slots.are_full and has_too_few_slots()):
        return cluster_id
    waiting = order_by_wait(free_clusters(), holder=holder, living=alive_poll_workers())
    if slots.rank(cluster_id, settings.POLL_WINDOW + WINDOW_GRACE) >= len(waiting):
        return cluster_id  # other clusters of this worker have had longer turns
    for candidate in waiting:
        if slots.reserve(cluster_id, candidate) and acquire_lease(candidate, holder) is not None:
            hand_back(cluster_id, holder)
            return candidate
    return cluster_id


def order_by_wait(
    free: Iterable[FreeCluster], *, holder: str, living: Collection[str]
) -> list[int]:
    """Return the clusters that `holder` should give way to, the longest waiting one first.

    The clusters of another alive worker are left to it, unless they wait much longer.
    """
    other_workers = set(living) - {holder}
    patience = min(MIN_WAIT, settings.POLL_WINDOW / 2)
    waits = [
        (
            cluster.waited / (FOREIGN_FACTOR if cluster.last_holder in other_workers else 1.0),
            cluster,
        )
        for cluster in free
    ]
    due = [(wait, cluster) for wait, cluster in waits if wait >= patience]
    return [cluster.cluster_id for _, cluster in sorted(due, key=lambda pair: -pair[0])]
