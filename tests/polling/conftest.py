"""A simulated cluster, and polls of it in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.polling import poll
from gangboard.polling.poll import PollReport, poll_once
from gangboard.polling.session import Session
from gangboard.polling.window import Window
from gangboard.simulator import Simulator
from gangboard.store.clusters import add_cluster
from gangboard.store.leases import claim, release
from gangboard.store.models import Cluster, Gang, ResourceState, WatchedObject

HOLDER = "the test"


@dataclass
class Watching:
    """One simulated cluster that is watched by this test."""

    simulator: Simulator
    cluster: Cluster

    def once(self) -> PollReport:
        """List everything, apply, assess."""
        return poll_once(self.cluster.name)[0]

    def window(self, seconds: float = 1.0, *, impatient: bool = False) -> Window:
        """Hold the cluster for a window, as the worker does; `impatient` shortens the deadlines."""
        held = claim(self.cluster.pk, HOLDER)
        assert held is not None
        session = poll._session(held)
        assert session is not None
        if impatient:
            self._make_impatient(session)
        window = Window(session, seconds=seconds, repair_interval=900)
        window.run()
        return window

    def _make_impatient(self, session: Session) -> None:
        credentials = read_kubeconfig(self.simulator.kubeconfig_text())
        session.connection = Connection(credentials, connect_deadline=0.5, total_deadline=0.7)

    def forget(self) -> None:
        """Be a new worker: no caches."""
        poll.drop_session(self.cluster.pk)
        held = claim(self.cluster.pk, HOLDER)
        if held is not None:
            release(held)

    def state(self, resource: str) -> ResourceState:
        """Return how a resource can be seen."""
        return ResourceState.objects.get(cluster=self.cluster, resource=resource)

    def fresh(self) -> Cluster:
        """Return the cluster's row as it is now."""
        self.cluster.refresh_from_db()
        return self.cluster

    def gang(self, name: str) -> Gang:
        """Return a gang by name."""
        return Gang.objects.get(cluster=self.cluster, name=name, gone_at=None)

    def objects(self, resource: str) -> int:
        """Count the stored objects of a resource."""
        return WatchedObject.objects.filter(cluster=self.cluster, resource=resource).count()


@pytest.fixture
def watch(db: None) -> Iterator[Callable[..., Watching]]:
    """`watch(...)` starts a simulator with these arguments and adds it as a cluster."""
    started: list[Simulator] = []

    def start(name: str = "sim", **options: object) -> Watching:
        simulator = Simulator(**{"story": False, **options})  # type: ignore[arg-type]
        started.append(simulator.start())
        credentials = read_kubeconfig(simulator.kubeconfig_text())
        cluster = add_cluster(
            name=name, document=credentials.to_document(), server=credentials.server
        )
        return Watching(simulator, cluster)

    yield start
    for simulator in started:
        simulator.stop()
    for cluster_id in list(poll._sessions):
        poll.drop_session(cluster_id)


def eventually(look: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait until `look` is true. Raises AssertionError."""
    give_up_at = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < give_up_at, "did not come true"
        time.sleep(0.05)
