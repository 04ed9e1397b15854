"""With more clusters than slots, they take turns and keep their caches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db.models.functions import Now

from gangboard.polling import cache_warm_up, cluster_rotation, poll, poll_slots, tasks
from gangboard.polling import tasks as worker_process
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.cluster_rotation import _next_cluster, order_by_wait
from gangboard.polling.poll_slots import PollSlots
from gangboard.polling.poll_window import PollWindow
from gangboard.store import cluster_leases
from gangboard.store.cluster_leases import (
    NEVER_HELD,
    FreeCluster,
    acquire_lease,
    free_clusters,
    release_lease,
)
from gangboard.store.heartbeats import record_heartbeat
from gangboard.store.models import Cluster, Lease, ResourceState, WatchedObject
from simulator import Simulator
from simulator.load import synthetic
from tests.polling.conftest import HOLDER, Watching

SLOTS = 3
PODS = 8
OTHER = "another worker"


@dataclass
class Worker:
    """A poll worker that handles its messages one after the other."""

    orders: list[int] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    """Clusters in the order in which they had a window."""
    rows: int = 0
    """Stored objects that were read back."""
    lists: int = 0
    """Number of list requests that the clusters received."""

    def work(self, windows: int) -> None:
        """Seed, and carry out orders until so many windows are over."""
        until, give_up_at = len(self.windows) + windows, time.monotonic() + 600
        while len(self.windows) < until:
            assert time.monotonic() < give_up_at, "orders are lost"
            record_heartbeat(worker_process.HOLDER, "poll", SLOTS)
            tasks.seed()
            orders, self.orders = self.orders, []
            for cluster_id in orders:
                tasks.poll(cluster_id)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    poll_worker = Worker()
    monkeypatch.setattr(settings, "POLL_WINDOW", 0.1)
    # Windows that a real worker has side by side follow each other here: no lease may run out.
    long = replace(cluster_leases.LEASES, seconds=600.0)
    monkeypatch.setattr(cluster_leases, "LEASES", long)
    monkeypatch.setattr(poll_slots, "CLUSTER_LEASE_SECONDS", long.seconds)
    monkeypatch.setattr(tasks, "slots", PollSlots(SLOTS))
    monkeypatch.setattr(
        tasks.poll, "apply_async", lambda arguments, **_: poll_worker.orders.append(arguments[0])
    )
    stored, run = cache_warm_up.stored_objects, PollWindow.run

    def counted(cache: ClusterCache) -> Iterator[tuple[Any, ...]]:
        for row in stored(cache):
            poll_worker.rows += 1
            yield row

    def noted(window: PollWindow) -> None:
        poll_worker.windows.append(window._cache.lease.cluster_id)
        run(window)

    monkeypatch.setattr(cache_warm_up, "stored_objects", counted)
    monkeypatch.setattr(PollWindow, "run", noted)
    return poll_worker


def _are_read(*clusters: Watching) -> bool:
    """Return whether all served resources were listed completely, so that they can be watched."""
    states = ResourceState.objects.filter(cluster__in=[watching.cluster for watching in clusters])
    listed = states.exclude(resource_version="")
    return (
        listed.filter(resource="pods").count() == len(clusters)
        and listed.count() == states.exclude(version="").count()
    )


def _count_lists(simulator: Simulator, worker: Worker) -> None:
    answer = simulator.api.answer

    def counting(request: Any) -> Any:
        answered = answer(request)
        worker.lists += request.verb == "list"
        return answered

    simulator.api.answer = counting  # type: ignore[method-assign]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("clusters", [SLOTS, SLOTS + 2])
def test_a_cluster_that_returns_to_its_worker_is_not_listed_again(
    watch: Callable[..., Watching],
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    clusters: int,
) -> None:
    watched = [watch(f"c{number:02}", fleet="empty") for number in range(clusters)]
    for watching in watched:
        synthetic(watching.simulator, pods=PODS, gangs=2)
        _count_lists(watching.simulator, worker)
    # A reflector whose thread starts after the window sends no list. On a slow machine only a
    # longer window is enough.
    seconds, give_up_at = 0.25, time.monotonic() + 300
    while not _are_read(*watched):
        assert time.monotonic() < give_up_at, "some cluster never had its turn"
        monkeypatch.setattr(settings, "POLL_WINDOW", seconds)
        worker.work(clusters)
        seconds *= 2
    assert worker.lists >= 3 * clusters
    monkeypatch.setattr(settings, "POLL_WINDOW", 0.1)
    worker.rows = worker.lists = 0
    worker.work(3 * clusters)
    assert (worker.rows, worker.lists) == (0, 0)
    assert len(set(worker.windows[-3 * clusters :])) == clusters, "everybody in turn"
    assert len(free_clusters()) == clusters - SLOTS, "a slot is never empty"


@pytest.mark.django_db(transaction=True)
def test_a_cluster_gives_way_to_a_waiting_cluster(
    watch: Callable[..., Watching], worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With three clusters on two slots, the cluster with the longest window gives way and the other
    stays."""
    slots = PollSlots(2)
    monkeypatch.setattr(tasks, "slots", slots)
    first, second, third = (watch(name, fleet="empty").cluster.pk for name in ("a", "b", "c"))
    worker.work(2)
    assert worker.windows == [first, second]
    record_heartbeat(worker_process.HOLDER, "poll", 2)
    monkeypatch.setattr(settings, "POLL_WINDOW", 10)  # the third has waited for less than that
    Lease.objects.update_or_create(cluster_id=third, defaults={"expires_at": Now()})

    def following(cluster_id: int) -> int | None:
        """Return whose window is ordered after one of this cluster."""
        assert slots.begin(cluster_id)
        cluster = _next_cluster(cluster_id, worker_process.HOLDER, slots, threading.Event())
        slots.end(cluster_id, cluster)
        return cluster

    assert following(first) == first
    assert following(second) == second
    Lease.objects.filter(cluster=third).update(expires_at=Now() - timedelta(seconds=6))
    assert following(second) == second, "the first has had its slot for longer"
    assert following(first) == third
    assert [free.cluster_id for free in free_clusters()] == [first]
    assert following(second) == second, "the first has only just gone"


@pytest.mark.django_db
def test_two_windows_that_end_together_give_way_to_two_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both have asked who waits before either has taken one; the lease of the worker lets both."""
    clusters = [
        Cluster.objects.create(name=name, server="https://x.example", credentials=b"")
        for name in ("a", "b", "c", "d")
    ]
    first, second, third, fourth = (cluster.pk for cluster in clusters)
    slots = PollSlots(2)
    for held in (first, second):
        assert acquire_lease(held, "me") is not None
        assert slots.begin(held)
    waiting = free_clusters()
    assert [free.cluster_id for free in waiting] == [third, fourth]
    monkeypatch.setattr(cluster_rotation, "free_clusters", lambda: waiting)
    followings = [_next_cluster(held, "me", slots, threading.Event()) for held in (first, second)]
    assert followings == [third, fourth]
    for held, following in zip((first, second), followings, strict=True):
        slots.end(held, following)
    assert [free.cluster_id for free in free_clusters()] == [first, second]


@pytest.mark.django_db
class TestWaitingOrder:
    @pytest.fixture(autouse=True)
    def long_windows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(settings, "POLL_WINDOW", 10)

    def turn(self, *free: FreeCluster) -> list[int]:
        return order_by_wait(free, holder="me", living={"me", OTHER})

    def test_the_longest_waiting_cluster_comes_first_and_a_new_one_before_all(self) -> None:
        order = self.turn(
            FreeCluster(1, "me", 9), FreeCluster(2, "me", 70), FreeCluster(3, "", NEVER_HELD)
        )
        assert order == [3, 2, 1]

    def test_a_short_wait_displaces_no_cluster(self) -> None:
        assert self.turn(FreeCluster(1, "me", 4.9)) == []

    def test_clusters_of_another_alive_worker_are_left_to_it_for_a_while(self) -> None:
        assert self.turn(FreeCluster(1, OTHER, 19), FreeCluster(2, "me", 6)) == [2]
        assert self.turn(FreeCluster(1, OTHER, 21), FreeCluster(2, "me", 6)) == [2, 1]
        assert self.turn(FreeCluster(1, OTHER, 25), FreeCluster(2, "me", 6)) == [1, 2]

    def test_clusters_of_a_dead_worker_are_free_for_all(self) -> None:
        assert self.turn(FreeCluster(1, "dead", 6)) == [1]


@pytest.mark.django_db(transaction=True)
class TestRestingCaches:
    def test_caches_survive_a_pause_and_are_dropped_after_another_holder(
        self, watch: Callable[..., Watching]
    ) -> None:
        watching = watch(fleet="empty")
        watching.window(0.1)
        cache = poll._caches[watching.cluster.pk]
        poll.hand_back(watching.cluster.pk, HOLDER)
        watching.window(0.1)
        assert poll._caches[watching.cluster.pk] is cache
        poll.hand_back(watching.cluster.pk, HOLDER)
        lease = acquire_lease(watching.cluster.pk, OTHER)
        assert lease is not None
        release_lease(lease)
        watching.window(0.1)
        assert poll._caches[watching.cluster.pk] is not cache

    def test_a_cluster_taken_by_another_worker_frees_its_cache(
        self, watch: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poll, "MAX_RESTING_CLUSTERS", 1)
        clusters = [watch(name, fleet="empty") for name in ("a", "b")]
        for watching in clusters:
            watching.window(0.1)
        first, second = (watching.cluster.pk for watching in clusters)
        poll.hand_back(first, HOLDER)
        poll.hand_back(second, HOLDER)
        assert list(poll._caches) == [first], "the one that came first stays"
        clusters[1].window(0.1)
        assert acquire_lease(first, OTHER) is not None
        poll.hand_back(second, HOLDER)
        assert list(poll._caches) == [second]

    def test_a_removed_cluster_frees_its_cache(
        self, watch: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(poll, "MAX_RESTING_CLUSTERS", 1)
        removed, second = (watch(name, fleet="empty") for name in ("a", "b"))
        for watching in (removed, second):
            watching.window(0.1)
        poll.hand_back(removed.cluster.pk, HOLDER)
        removed.cluster.delete()
        poll.hand_back(second.cluster.pk, HOLDER)
        assert list(poll._caches) == [second.cluster.pk]

    def test_large_clusters_are_not_kept(
        self, watch: Callable[..., Watching], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        watching = watch(fleet="empty")
        synthetic(watching.simulator, pods=PODS, gangs=2)
        watching.settle()
        objects = WatchedObject.objects.count()
        assert objects >= PODS
        monkeypatch.setattr(poll, "MAX_RESTING_OBJECTS", objects - 1)
        poll.hand_back(watching.cluster.pk, HOLDER)
        assert poll._caches == {}
        watching.window(0.1)
        monkeypatch.setattr(poll, "MAX_RESTING_OBJECTS", objects)
        poll.hand_back(watching.cluster.pk, HOLDER)
        assert list(poll._caches) == [watching.cluster.pk]


class TestSlots:
    def test_a_second_message_for_a_polled_cluster_is_refused(self) -> None:
        slots = PollSlots(2)
        assert slots.begin(1)
        assert not slots.begin(1)
        slots.end(1, 1)
        assert slots.begin(1)

    def test_a_slot_stays_with_its_cluster_between_windows(self) -> None:
        slots = PollSlots(1)
        assert slots.begin(1)
        slots.end(1, 1)
        assert not slots.begin(2)
        assert slots.begin(1)
        slots.end(1, None)
        assert slots.begin(2)

    def test_a_cluster_with_a_reserved_slot_gets_no_other(self) -> None:
        """Seed may have ordered its window as well, and another slot may be free by now."""
        slots = PollSlots(2)
        assert slots.begin(1)
        assert slots.reserve(1, 3)
        assert not slots.begin(3)
        assert not slots.reserve(1, 3)
        slots.end(1, 3)
        assert slots.begin(3)
        assert not slots.reserve(3, 3), "it has one"

    def test_a_reservation_ends_with_the_window(self) -> None:
        slots = PollSlots(2)
        assert slots.begin(1)
        assert slots.reserve(1, 3)
        slots.end(1, None)
        assert slots.begin(3)

    def test_rotation_does_not_wait_for_an_endless_window(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slots = PollSlots(2)
        assert slots.begin(1)
        assert slots.begin(2)
        assert slots.rank(2, overdue=15) == 1
        later = time.monotonic() + 16
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert slots.rank(2, overdue=15) == 0

    def test_a_slot_whose_message_was_lost_is_free_again(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slots = PollSlots(1)
        assert slots.begin(1)
        slots.end(1, 1)
        assert slots.are_full
        later = time.monotonic() + 16
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert not slots.are_full
        assert slots.begin(2)

    def test_an_expired_cluster_is_returned_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Except of one that is back by then."""
        slots = PollSlots(3)
        for cluster in (1, 2, 3):
            assert slots.begin(cluster)
        slots.end(1, 1)
        slots.end(2, 2)
        assert slots.take_expired() == set()
        later = time.monotonic() + 16
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert slots.begin(2)
        assert slots.take_expired() == {1}, "a window of the third runs, and the second is back"
        assert slots.take_expired() == set()
