"""CPU cost of reading a large simulated cluster, which runs in a separate process."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import Any
from unittest.mock import patch

from gangboard.decode.list_watch_decoder import Page, read_event, read_page
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.discovery import path_for
from gangboard.kube.list_pager import pages
from gangboard.kube.watch import Watch
from gangboard.polling.assessor import Assessor
from gangboard.polling.cluster_cache import resources
from gangboard.polling.poll import poll_once
from gangboard.store.clusters import add_cluster
from tools.flooded_cluster import serve

WATCH_SECONDS = 300
CLUSTER = "benchmark"

PODS = next(resource for resource in resources() if resource.key == "pods")
PATH = path_for("", "v1", "pods")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one pass, in CPU seconds of this process."""

    objects: int
    wire: float
    """Reading the bytes only, which is the cost of the client."""
    decoded: float
    """With decoding, as in a poll."""


@dataclass(frozen=True, slots=True)
class PollCost:
    """CPU seconds of this process for one complete poll of a cluster."""

    gangs: int
    total: float
    judging: float
    """The part that assesses gangs and stores their verdicts."""


class Bench:
    """Reads one cluster repeatedly."""

    def __init__(self, kubeconfig: str, connection: Connection, pipe: Pipe) -> None:
        self._kubeconfig = kubeconfig
        self._connection = connection
        self._pipe = pipe

    def poll_twice(self) -> tuple[PollCost, PollCost]:
        """Poll the cluster into the connected database twice, without a change in between.

        Each poll starts with empty caches, like a worker that takes over the cluster.
        """
        credentials = read_kubeconfig(self._kubeconfig)
        add_cluster(name=CLUSTER, document=credentials.to_document(), server=credentials.server)
        return _poll(), _poll()

    def relist(self) -> Cost:
        """List all pods in pages, twice."""
        wire, _ = _timed(lambda: sum(1 for _ in pages(self._connection, PATH, _Envelope)))
        decoded, objects = _timed(lambda: sum(len(page.objects) for page in self._pages()))
        return Cost(objects, wire, decoded)

    def watch(self, changes: int) -> Cost:
        """Read `changes` waiting changes of a watch, twice."""
        version = ""
        for page in self._pages():
            version = page.resource_version
        self._pipe.send(changes)
        self._pipe.recv()
        wire, _ = _timed(lambda: self._drain(version, changes, len))
        decoded, _ = _timed(lambda: self._drain(version, changes, _decode))
        return Cost(changes, wire, decoded)

    def _pages(self) -> Iterator[Page]:
        return pages(self._connection, PATH, lambda body: read_page(body, PODS))

    def _drain(self, version: str, changes: int, take: Callable[[bytes], object]) -> None:
        remaining = changes
        with Watch(self._connection, PATH, version, timeout_seconds=WATCH_SECONDS) as watch:
            for lines in watch:
                for line in lines:
                    take(line)
                remaining -= len(lines)
                if remaining <= 0:
                    return


def _decode(line: bytes) -> object:
    return read_event(line, PODS)


class _Envelope:
    """The metadata of a page, which the next request needs. It precedes the items."""

    def __init__(self, body: bytes) -> None:
        page = read_page(body[: body.index(b'"items"')] + b'"items":[]}', PODS)
        self.continue_token = page.continue_token
        self.resource_version = page.resource_version


@contextmanager
def bench(pods: int, changes: int) -> Iterator[Bench]:
    """Start a cluster of `pods` pods that remembers `changes` changes, and end it with the block."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, pods, changes), daemon=True)
    process.start()
    theirs.close()
    try:
        kubeconfig = ours.recv()
        with Connection(read_kubeconfig(kubeconfig)) as connection:
            yield Bench(kubeconfig, connection, ours)
    finally:
        ours.close()
        process.join()


def _timed(run: Callable[[], int | None]) -> tuple[float, int]:
    start = time.process_time()
    objects = run()
    return time.process_time() - start, objects or 0


def _poll() -> PollCost:
    judging = 0.0
    assess = Assessor.assess

    def timed_assess(*args: Any, **options: Any) -> bool:
        nonlocal judging
        start = time.thread_time()
        try:
            return assess(*args, **options)
        finally:
            judging += time.thread_time() - start

    with patch.object(Assessor, "assess", timed_assess):
        start = time.process_time()
        (report,) = poll_once(CLUSTER)
        total = time.process_time() - start
    if not report.ok:
        raise RuntimeError(report.sentence)
    return PollCost(report.gangs, total, judging)
