"""Poll workers that stop, die and return: the lease moves on, and no data is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from simulator import Simulator
from simulator.load import synthetic
from tests.controlplane.client import PATIENCE
from tests.installation import Installation
from tests.live.figures import tell
from tests.live.poll_worker import LOOK_SECONDS, Database, Worker, second_worker, wait_until

pytestmark = pytest.mark.slow

WINDOW_SECONDS = 10.0
TAKE_OVER_SECONDS = 60.0
"""The lease ends after 15 s; then a busy machine has to notice, to order a poll and to read."""
CLUSTERS = ("one", "two")
GANGS = 30
JOB, NAMESPACE = "gang-0", "load-0"
"""Suspended and resumed in each cluster."""
_LOST = "lease lost"
"""Log lines of a worker."""


@dataclass(frozen=True)
class Scene:
    """Two simulated clusters, a gangboard with its poll worker, and a second worker.

    Shared by all tests of this file. Each starts with the current holders of the clusters.
    """

    installation: Installation
    database: Database
    simulators: dict[str, Simulator]
    first: Worker
    second: Worker

    def suspend(self, suspend: bool) -> dict[str, int]:
        """Suspend or resume the Job of each cluster; return their resourceVersions."""

        def change(job: dict[str, Any]) -> None:
            job["spec"]["suspend"] = suspend

        versions = {}
        for cluster, simulator in self.simulators.items():
            changed_job = simulator.objects.update("batch/v1", "Job", JOB, change, NAMESPACE)
            versions[cluster] = int(changed_job["metadata"]["resourceVersion"])
        return versions

    def shows(self, code: str) -> bool:
        """Return whether the API shows this for the Job of each cluster."""
        return self._codes() == [(cluster, code) for cluster in CLUSTERS]

    def _codes(self) -> list[tuple[str, str]]:
        gangs = self.installation.gangs(namespace=NAMESPACE, kind="Job")
        return sorted((gang["cluster"], gang["code"]) for gang in gangs if gang["name"] == JOB)

    def gangs(self) -> list[tuple[str, ...]]:
        """Return every gang with its verdict from the API."""
        keys = ("cluster", "namespace", "api_group", "kind", "name", "uid", "code")
        return sorted(tuple(str(gang[key]) for key in keys) for gang in self.installation.gangs())

    def are_held_by(self, holder: str) -> bool:
        """Return whether that worker holds all clusters."""
        leases = self.database.leases()
        return set(leases) == set(CLUSTERS) and {lease.holder for lease in leases.values()} == {
            holder
        }

    def holder(self) -> Worker:
        """Return the worker that holds all clusters: leases are sticky."""
        return next(
            worker for worker in (self.first, self.second) if self.are_held_by(worker.holder)
        )

    def stop(self, worker: Worker) -> None:
        """SIGSTOP a worker, not in the middle of a write: SQLite would lock us all out."""
        for _ in range(20):
            os.kill(worker.pid, signal.SIGSTOP)
            if not self.database.is_locked():
                return
            os.kill(worker.pid, signal.SIGCONT)
            time.sleep(0.2)
        raise AssertionError("the worker was never without a transaction")


@pytest.fixture(scope="module")
def installed_scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    tmp_path = tmp_path_factory.mktemp("workers")
    with ExitStack() as stack:
        simulators, kubeconfigs = {}, {}
        for cluster in CLUSTERS:
            simulator = stack.enter_context(Simulator("empty", story=False, name=cluster))
            synthetic(simulator, pods=GANGS * 4, gangs=GANGS)
            simulators[cluster] = simulator
            kubeconfigs[cluster] = tmp_path / cluster
            kubeconfigs[cluster].write_text(simulator.kubeconfig_text())
        installation = stack.enter_context(Installation(kubeconfigs))
        database = Database(installation.folder / "gangboard.sqlite3")
        wait_until(lambda: len(installation.gangs()) == 2 * GANGS, PATIENCE, "the first polls")
        (holder,) = database.workers()
        (pid,) = installation.children("worker --queues poll")
        first = Worker(pid, holder, installation.log)
        second = stack.enter_context(second_worker(installation, database))
        yield Scene(installation, database, simulators, first, second)


@pytest.fixture
def scene(installed_scene: Scene) -> Scene:
    """Both Jobs run, as at the beginning."""
    installed_scene.suspend(False)
    wait_until(lambda: installed_scene.shows("running"), PATIENCE, "both Jobs to run")
    return installed_scene


def test_a_duplicate_message_watches_a_cluster_once(scene: Scene) -> None:
    holder = scene.holder()
    script = "import gangboard.celery; from gangboard.polling.tasks import poll;"
    script += "[poll.apply_async((pk,), queue='poll') for pk in range(1, 3) for _ in range(3)]"
    with _count_watches(scene.simulators["one"]) as watches:
        scene.installation.manage("shell", "--verbosity", "0", "-c", script)
        time.sleep(1)
        watches.clear()
        time.sleep(WINDOW_SECONDS * 1.2)
        assert 1 <= len(watches) <= 2, "one watch of its pods for each window"
    assert scene.holder() == holder, "leases are sticky"


def test_a_worker_stopped_past_its_lease_writes_nothing(scene: Scene) -> None:
    stopped = scene.holder()
    numbers = {name: lease.number for name, lease in scene.database.leases().items()}
    lost = stopped.log.read_text().count(_LOST)
    gangs = scene.gangs()
    scene.stop(stopped)
    try:
        scene.suspend(True)
        seconds = wait_until(
            lambda: scene.shows("suspended"),
            TAKE_OVER_SECONDS,
            "the other worker to take over and show the change",
        )
        tell(f"stopped worker: its clusters are true again after {seconds:.1f} s")
        survivor = scene.holder()
        assert survivor != stopped
        # It has not read these: its sockets hold the news of all this time.
        newest = scene.suspend(False)
        wait_until(
            lambda: scene.shows("running"), PATIENCE, "the other worker to show the next change"
        )
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    _nothing_goes_back(scene, survivor, newest, WINDOW_SECONDS)
    assert stopped.log.read_text().count(_LOST) - lost == len(CLUSTERS)
    leases = scene.database.leases()
    assert {name: lease.number for name, lease in leases.items()} == {
        name: number + 1 for name, number in numbers.items()
    }
    assert scene.gangs() == gangs
    scene.suspend(True)
    wait_until(lambda: scene.shows("suspended"), PATIENCE, "the other worker to go on")


def _nothing_goes_back(
    scene: Scene, holder: Worker, newest: dict[str, int], seconds: float
) -> None:
    """Look for a while: holder, stored objects and verdicts stay those of the worker that took over."""
    give_up_at = time.monotonic() + seconds
    while time.monotonic() < give_up_at:
        assert scene.are_held_by(holder.holder)
        assert scene.database.stored_versions("jobs.batch", JOB) == newest
        assert scene.shows("running")
        time.sleep(LOOK_SECONDS)


def test_another_worker_takes_over_from_a_killed_worker(scene: Scene) -> None:
    gangs = scene.gangs()
    killed = scene.holder()
    os.kill(killed.pid, signal.SIGKILL)
    scene.suspend(True)
    seconds = wait_until(
        lambda: scene.shows("suspended"),
        TAKE_OVER_SECONDS,
        "another worker to take over and show the change",
    )
    tell(f"killed worker: its clusters are true again after {seconds:.1f} s")
    assert not any(lease.holder == killed.holder for lease in scene.database.leases().values())
    scene.suspend(False)
    wait_until(lambda: scene.shows("running"), PATIENCE, "it to go on")
    assert scene.gangs() == gangs, "no gang is lost or doubled"


@contextmanager
def _count_watches(simulator: Simulator) -> Iterator[list[float]]:
    """Give a list that grows with every watch of pods that begins in the block."""
    watches: list[float] = []
    answer = simulator.api.answer

    def counting(request: Any) -> Any:
        answered = answer(request)
        if request.verb == "watch" and request.resource.plural == "pods":
            watches.append(time.time())
        return answered

    simulator.api.answer = counting  # type: ignore[method-assign]
    try:
        yield watches
    finally:
        simulator.api.answer = answer  # type: ignore[method-assign]
