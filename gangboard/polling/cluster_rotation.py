"""Which cluster is polled next: with more clusters than slots they take turns, one for one.

A cluster is handed back only in exchange for one that waits, so that its caches are not lost for
nothing; and its worker keeps them, so that the next turn goes on where this one has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from django.conf import settings

from gangboard.polling.poll import drop_cache, hand_back, poll_window
from gangboard.polling.poll_slots import PollSlots
from gangboard.store.cluster_leases import FreeCluster, acquire_lease, free_clusters
from gangboard.store.heartbeats import living_pollers, slots_are_short

SEEDING_SECONDS = 5.0
"""So long a cluster waits at least before another gives way: a free slot would have taken it."""
GRACE = 5.0
"""Seconds by which a window may be late; nobody waits for one that is later to give way."""
FOREIGN = 4.0
"""Another living worker has the caches of a cluster: here its wait counts that much less."""


def poll_for_one_window(
    cluster_id: int, *, holder: str, slots: PollSlots, stopping: threading.Event
) -> int | None:
    """Poll the cluster for one window; return whose window this worker has to order next."""
    if not slots.begin(cluster_id):
        return None
    for lost in slots.take_expired():
        drop_cache(lost)  # its lease has run out, too: nobody here asks for it any more
    following = None
    try:
        if poll_window(cluster_id, holder, stopping):
            following = _next_cluster(cluster_id, holder, slots, stopping)
    finally:
        slots.end(cluster_id, following)
    return following


def _next_cluster(
    cluster_id: int, holder: str, slots: PollSlots, stopping: threading.Event
) -> int | None:
    if stopping.is_set():
        hand_back(cluster_id, holder, keep=False)
        return None
    if not (slots.are_full and slots_are_short()):
        return cluster_id
    waiting = order_by_wait(free_clusters(), holder=holder, living=living_pollers())
    if slots.rank(cluster_id, settings.POLL_WINDOW + GRACE) >= len(waiting):
        return cluster_id  # others here have had longer turns
    for one in waiting:
        if slots.reserve(cluster_id, one) and acquire_lease(one, holder) is not None:
            hand_back(cluster_id, holder)
            return one
    return cluster_id


def order_by_wait(
    free: Iterable[FreeCluster], *, holder: str, living: Collection[str]
) -> list[int]:
    """Return the clusters that `holder` should give way to, the one that has waited longest first.

    Those of another living worker are left to it, unless they wait much longer than its own.
    """
    others = set(living) - {holder}
    patience = min(SEEDING_SECONDS, settings.POLL_WINDOW / 2)
    waits = [(one.waited / (FOREIGN if one.last_holder in others else 1.0), one) for one in free]
    due = [(wait, one) for wait, one in waits if wait >= patience]
    return [one.cluster_id for _, one in sorted(due, key=lambda pair: -pair[0])]
