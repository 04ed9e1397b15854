"""A simulated cluster, and polls of it in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gangboard.domain.api_resource import WatchState
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.polling import poll
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.poll import PollReport, poll_once
from gangboard.polling.poll_window import PollWindow
from gangboard.polling.resource_watch import WatchedResource
from gangboard.store.cluster_leases import acquire_lease, release_lease
from gangboard.store.clusters import add_cluster
from gangboard.store.models import Cluster, Gang, ResourceState, WatchedObject
from simulator import Simulator
from simulator.fleets import EAST

HOLDER = "the test"
_NAMES = (
    "llama-ft",
    "debug-shell",
    "retrieval-ft",
    "flan-repro",
    "gnn-paper",
    "llama-70b-sft",
    "mixtral-align",
)
FEW = replace(EAST, gangs=tuple(gang for gang in EAST.gangs if gang.key[2] in _NAMES))
"""Seven gangs of the fleet `east`: running, a bare pod, held by a queue, finished, failed, waiting, and one
with a held Job."""
BOOKMARKS = 0.1
"""Seconds between two bookmarks of a watch. They show how far it has read."""
LOOK_AGAIN = 0.01


@dataclass
class Watching:
    """A simulated cluster that a test watches."""

    simulator: Simulator
    cluster: Cluster

    def once(self) -> PollReport:
        """List, store and assess everything."""
        return poll_once(self.cluster.name)[0]

    def window(self, seconds: float) -> PollWindow:
        """Run a window of this length, as the worker does."""
        held = acquire_lease(self.cluster.pk, HOLDER)
        assert held is not None
        cache = poll._cache_for(held)
        assert cache is not None
        window = PollWindow(cache, seconds=seconds, repair_interval=900)
        window.run()
        return window

    def windows_until(self, condition: Callable[[], bool], *, within: float = 60.0) -> None:
        """Run windows until the condition is true."""
        give_up_at = time.monotonic() + within
        while not condition():
            assert time.monotonic() < give_up_at, f"it has not come to that in {within:g} s"
            self.window(0.5)

    def settle(
        self,
        *,
        also: Collection[str] = (),
        failing: Collection[str] = (),
        impatient: bool = False,
        within: float = 60.0,
    ) -> PollWindow:
        """Hold the cluster until all of its current state was taken, however slow the machine is.

        Every served resource has to get there, and those of `also` even if no object needed them
        before. Those of `failing` have faults, and have to fail in this window, in which the others
        are read, although they may be the same as before. `impatient` shortens the deadlines. Raises
        AssertionError.
        """
        target, began = self.simulator.store.version, datetime.now(UTC)

        def is_settled(watched: WatchedResource) -> bool:
            if watched.resource.key in failing:
                return has_failed(watched, began)
            return _is_known(watched, target) and (not failing or was_read(watched, began))

        def resources_behind(cache: ClusterCache) -> list[str]:
            return [
                watched.resource.key for watched in _served(cache, also) if not is_settled(watched)
            ]

        return self.window_until(
            lambda cache: bool(_served(cache, also)) and not resources_behind(cache),
            impatient=impatient,
            within=within,
            why=resources_behind,
        )

    def window_until(
        self,
        condition: Callable[[ClusterCache], bool],
        *,
        impatient: bool = False,
        within: float = 60.0,
        why: Callable[[ClusterCache], object] = lambda _: "the condition is false",
    ) -> PollWindow:
        """Run one window until the condition is true. Another thread checks it. Raises AssertionError."""
        stopping = threading.Event()
        held = acquire_lease(self.cluster.pk, HOLDER)
        assert held is not None
        cache = poll._cache_for(held)
        assert cache is not None
        if impatient:
            self._make_impatient(cache)
        window = PollWindow(cache, seconds=within, repair_interval=900, stopping=stopping)
        was_true = threading.Event()

        def stop_when_true() -> None:
            while not stopping.wait(LOOK_AGAIN):
                if condition(cache):
                    was_true.set()
                    stopping.set()

        looking = threading.Thread(target=stop_when_true, daemon=True)
        looking.start()
        try:
            window.run()
        finally:
            stopping.set()
            looking.join()
        assert was_true.is_set() or condition(cache), f"not in {within:g} s: {why(cache)}"
        return window

    def _make_impatient(self, cache: ClusterCache) -> None:
        credentials = read_kubeconfig(self.simulator.kubeconfig_text())
        cache.connection = Connection(credentials, connect_deadline=0.5, total_deadline=0.7)

    def fail(self) -> PollWindow:
        """Run one window until everything has failed in it: discovery, if it is needed, or all served resources."""
        began = datetime.now(UTC)

        def has_all_failed(cache: ClusterCache) -> bool:
            if cache.discovery is None:
                return cache.discovery_schedule.error is not None
            return all(has_failed(watched, began) for watched in _served(cache, ()))

        return self.window_until(has_all_failed)

    def forget(self) -> None:
        """Drop the caches, as for a new worker."""
        poll.drop_cache(self.cluster.pk)
        held = acquire_lease(self.cluster.pk, HOLDER)
        if held is not None:
            release_lease(held)

    def state(self, resource: str) -> ResourceState:
        """Return the state of a resource."""
        return ResourceState.objects.get(cluster=self.cluster, resource=resource)

    def fresh(self) -> Cluster:
        """Return the current row of the cluster."""
        self.cluster.refresh_from_db()
        return self.cluster

    def gang(self, name: str) -> Gang:
        """Return a gang by name."""
        return Gang.objects.get(cluster=self.cluster, name=name, gone_at=None)

    def objects(self, resource: str) -> int:
        """Count the stored objects of a resource."""
        return WatchedObject.objects.filter(cluster=self.cluster, resource=resource).count()


def _served(cache: ClusterCache, also: Collection[str]) -> list[WatchedResource]:
    return [
        watched
        for key, watched in cache.watched.items()
        if watched.version and (key in also or watched.state != WatchState.NOT_NEEDED)
    ]


def _is_known(watched: WatchedResource, target: int) -> bool:
    """Return whether the writer has applied all updates up to that resourceVersion."""
    return int(watched.resource_version or 0) >= target


def has_failed(watched: WatchedResource, since: datetime) -> bool:
    """Return whether a list or watch of a resource has failed since that moment."""
    is_failing = watched.state in (WatchState.FAILING, WatchState.FORBIDDEN)
    return is_failing and watched.last_try_at is not None and watched.last_try_at >= since


def was_read(watched: WatchedResource, since: datetime) -> bool:
    """Return whether a resource has been current since that moment, by a list or a sign of life of a watch."""
    return watched.contact_at is not None and watched.contact_at >= since


@pytest.fixture
def watch(db: None) -> Iterator[Callable[..., Watching]]:
    """`watch(...)` starts a simulator with these arguments and adds it as a cluster.

    It has few gangs unless a fleet is given. Creating and assessing a whole fleet takes half a
    second, which only tests about every kind of gang need.
    """
    started: list[Simulator] = []

    def start(name: str = "sim", **options: object) -> Watching:
        chosen: dict[str, Any] = {"fleet": FEW, "story": False, "bookmark_seconds": BOOKMARKS}
        simulator = Simulator(**chosen | options)
        started.append(simulator.start())
        credentials = read_kubeconfig(simulator.kubeconfig_text())
        cluster = add_cluster(
            name=name, document=credentials.to_document(), server=credentials.server
        )
        return Watching(simulator, cluster)

    yield start
    for simulator in started:
        simulator.stop()
    for cluster_id in list(poll._caches):
        poll.drop_cache(cluster_id)


def eventually(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until the condition is true. Raises AssertionError."""
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, "did not come true"
        time.sleep(0.05)
