"""A hanging cluster beside one that answers. Run by test_one_hangs.py; prints the results.

The Celery tasks themselves, in as many threads for each queue as `manage.py up` gives it; the broker is
a list. A process of its own, because each thread needs a real connection to a real database.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import django

django.setup()

from django.db import connection  # noqa: E402

from gangboard.actions import dispatch, service, tasks  # noqa: E402
from gangboard.actions.actor_client import KubeActorClient  # noqa: E402
from gangboard.actions.clock import RealClock  # noqa: E402
from gangboard.kube.errors import KubeError  # noqa: E402
from gangboard.ops import processes  # noqa: E402
from gangboard.store.models import Action, HoldCheck  # noqa: E402
from gangboard.store.row_leases import RowLeases  # noqa: E402
from simulator import Simulator  # noqa: E402
from simulator.fleet_spec import Fleet, Gang, NodePool, Role  # noqa: E402
from tests.actions.conftest import CPU, FLEET  # noqa: E402
from tests.actions.site import JOBSET, NAMESPACE, Site, make_site  # noqa: E402

HELD, CLICKED = 3, 40
"""Jobs of the cluster that hangs: with a Hold, and clicked on."""
SWEEPS = 10
LONGEST = 60.0
"""Seconds. A test waits this long only if it fails."""
LEASES = RowLeases("held_until", LONGEST * 4)
LARGE = Fleet(
    "large",
    (NodePool("cpu", 1),),
    (
        Gang(
            NAMESPACE,
            "JobSet",
            JOBSET,
            "running",
            roles=(Role("workers", CPU, jobs=HELD + CLICKED, states=("absent",)),),
        ),
    ),
)


class Workers:
    """The processes that take messages: a pool for each queue, and the delayed messages."""

    def __init__(self) -> None:
        self.pools = {queue: ThreadPoolExecutor(threads) for queue, threads in _threads().items()}
        self.timers: list[threading.Timer] = []
        self.stopping = False

    def order(self, queue: str, task: Callable[..., Any], *arguments: Any) -> None:
        def run() -> None:
            try:
                if not self.stopping:
                    task(*arguments)
            finally:
                connection.close()

        self.pools[queue].submit(run)

    def send(self, action_id: str, *, delay: float = 0.0) -> None:
        """`dispatch.send`, without a broker."""
        if self.stopping:
            return
        arguments = (dispatch.QUEUE, tasks.advance, action_id)
        timer = threading.Timer(delay, self.order, arguments)
        timer.start()
        self.timers.append(timer)

    def stop(self) -> None:
        self.stopping = True
        for timer in self.timers:
            timer.cancel()
        for pool in self.pools.values():
            pool.shutdown(cancel_futures=True)


def _threads() -> dict[str, int]:
    """Return queue → threads of the workers that `manage.py up` starts."""
    counts = {}
    for make in (getattr(processes, name, None) for name in ("act_worker", "prove_worker")):
        if make is not None:
            argv = make(folder=Path()).argv
            queue, threads = (
                argv[argv.index(option) + 1] for option in ("--queues", "--concurrency")
            )
            counts[queue] = int(threads)
    return counts


class Hanging:
    """Blocks every write to one cluster until released."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.over = threading.Event()
        self.waiting: Counter[str] = Counter()
        self.given_up = 0
        self.lock = threading.Lock()

    def wrap(self, name: str) -> Any:
        real = getattr(KubeActorClient, name)

        def call(client: KubeActorClient, *arguments: Any, **options: Any) -> Any:
            if client._connection._credentials.server != self.server:
                return real(client, *arguments, **options)
            with self.lock:
                self.waiting["proof" if name == "merge_patch" else "write"] += 1
            self.over.wait(LONGEST)
            with self.lock:
                self.given_up += 1
            raise KubeError("timeout", "nothing came back")

        return mock.patch.object(KubeActorClient, name, call)


def main() -> None:
    options: dict[str, Any] = {"minor": "1.37", "story": False, "speed": 100.0}
    with (
        mock.patch("gangboard.actions.service.wake"),
        Simulator(fleet=FLEET, **options) as healthy_simulator,
        Simulator(fleet=LARGE, **options) as hanging_simulator,
    ):
        healthy = make_site(healthy_simulator, name="healthy")
        hangs = make_site(hanging_simulator, name="hangs", user_name="otto")
        for number in range(HELD):
            assert hangs.act(name=f"{JOBSET}-workers-{number}").state == "verified"
        assert healthy.act(name="train-workers-1").state == "verified"
        healthy.poll()
        hangs.poll()
        print(json.dumps(play(healthy, hangs)))


def play(healthy: Site, hangs: Site) -> dict[str, Any]:
    hanging, workers, clock = Hanging(hangs.cluster.server), Workers(), RealClock()
    names = [f"{JOBSET}-workers-{HELD + number}" for number in range(CLICKED)]
    clicks = [hangs.action_request(name=name) for name in names]
    sweep: Callable[[], None] = tasks.sweep
    with (
        hanging.wrap("merge_patch"),
        hanging.wrap("json_patch"),
        hanging.wrap("create"),
        mock.patch.object(dispatch, "send", workers.send),
        _routed(workers, tasks.prove),
        _routed(workers, tasks.inspect),
        # Hanging calls here exceed every deadline.
        mock.patch("gangboard.store.actions.LEASES", LEASES),
        mock.patch("gangboard.store.row_leases.CHORE_LEASES", LEASES),
    ):
        try:
            for _ in range(SWEEPS):
                sweep()
            _, results = service.request_many(hangs.viewer, clicks, now=clock.now(), clock=clock)
            for result in results:
                workers.order(dispatch.QUEUE, tasks.advance, result.action_id)
            _until(lambda: sum(hanging.waiting.values()) >= 8)
            swept = threading.Event()
            workers.order(dispatch.QUEUE, sweep)
            workers.order(dispatch.QUEUE, swept.set)
            clicked = service.request(
                healthy.viewer, healthy.action_request(), now=clock.now(), clock=clock
            ).action_id
            workers.order(dispatch.QUEUE, tasks.advance, clicked)
            _until(lambda: Action.objects.get(pk=clicked).finished_at is not None)
            _until(swept.is_set)
            _until(lambda: HoldCheck.objects.filter(cluster=healthy.cluster).exists())
            return {
                "state": Action.objects.get(pk=clicked).state,
                "swept": swept.is_set(),
                "proved": HoldCheck.objects.filter(cluster=healthy.cluster, in_force=True).count(),
                "given_up": hanging.given_up,
                "proofs": hanging.waiting["proof"],
                "writes": hanging.waiting["write"],
            }
        finally:
            hanging.over.set()
            workers.stop()


def _routed(workers: Workers, task: Any) -> Any:
    def order(arguments: tuple[Any, ...], *, queue: str, **_: Any) -> None:
        workers.order(queue, task, *arguments)

    return mock.patch.object(task, "apply_async", order)


def _until(condition: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + LONGEST
    while not condition() and time.monotonic() < give_up_at:
        time.sleep(0.02)


if __name__ == "__main__":
    main()
