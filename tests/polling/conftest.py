"""A simulated cluster, and polls of it in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
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

    def window(self, seconds: float = 1.0, *, impatient: bool = False) -> PollWindow:
        """Run a window, as the worker does. `impatient` shortens the deadlines."""
        held = acquire_lease(self.cluster.pk, HOLDER)
        assert held is not None
        cache = poll._cache_for(held)
        assert cache is not None
        if impatient:
            self._make_impatient(cache)
        window = PollWindow(cache, seconds=seconds, repair_interval=900)
        window.run()
        return window

    def windows_until(self, condition: Callable[[], bool], *, within: float = 60.0) -> None:
        """Run windows until the condition is true."""
        give_up_at = time.monotonic() + within
        while not condition():
            assert time.monotonic() < give_up_at, f"it has not come to that in {within:g} s"
            self.window(0.5)

    def settle(self, *, also: Collection[str] = (), within: float = 60.0) -> PollWindow:
        """Hold the cluster until all of its current state was taken, however slow the machine is.

        For clusters without faults. Every served resource has to get there, and those of `also`
        even if no object needed them before. Raises AssertionError.
        """
        target = self.simulator.store.version
        stopping = threading.Event()
        held = acquire_lease(self.cluster.pk, HOLDER)
        assert held is not None
        cache = poll._cache_for(held)
        assert cache is not None
        window = PollWindow(cache, seconds=within, repair_interval=900, stopping=stopping)

        def stop_when_settled() -> None:
            while not stopping.is_set() and not _is_at(cache, target, also):
                time.sleep(LOOK_AGAIN)
            stopping.set()

        looking = threading.Thread(target=stop_when_settled, daemon=True)
        looking.start()
        try:
            window.run()
        finally:
            stopping.set()
            looking.join()
        behind = [
            watched.resource.key
            for watched in _served(cache, also)
            if not _is_known(watched, target)
        ]
        assert not behind, f"not settled in {within:g} s: {', '.join(behind)}"
        return window

    def _make_impatient(self, cache: ClusterCache) -> None:
        credentials = read_kubeconfig(self.simulator.kubeconfig_text())
        cache.connection = Connection(credentials, connect_deadline=0.5, total_deadline=0.7)

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


def _is_at(cache: ClusterCache, target: int, also: Collection[str]) -> bool:
    served = _served(cache, also)
    return bool(served) and all(_is_known(watched, target) for watched in served)


def _is_known(watched: WatchedResource, target: int) -> bool:
    """Return whether the writer has applied all updates up to that resourceVersion."""
    return int(watched.resource_version or 0) >= target


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
