"""A second poll worker beside the installation's own, and the rows of both in the database."""

from __future__ import annotations

import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.controlplane.client import PATIENCE
from tests.installation import Installation

LOOK_SECONDS = 0.2
"""Seconds between two looks. Each look at a page or the API takes processor time from what is waited for."""


class Lease(NamedTuple):
    """The holder of a cluster, and the fencing number."""

    holder: str
    number: int


@dataclass(frozen=True)
class Database:
    """The SQLite file of an installation, read past the product."""

    path: Path

    def leases(self) -> dict[str, Lease]:
        """Return the lease of each cluster by name."""
        rows = self._rows(
            "SELECT c.name, l.holder, l.number FROM store_lease l"
            " JOIN store_cluster c ON c.id = l.cluster_id"
        )
        return {str(name): Lease(str(holder), int(str(number))) for name, holder, number in rows}

    def workers(self) -> set[str]:
        """Return the names of the poll workers that have given a sign of life."""
        rows = self._rows("SELECT name FROM store_heartbeat WHERE kind = 'poll'")
        return {str(name) for (name,) in rows}

    def stored_versions(self, resource: str, name: str) -> dict[str, int]:
        """Return the resourceVersion of an object (such as of `jobs.batch`) as stored, by cluster."""
        rows = self._rows(
            "SELECT c.name, o.resource_version FROM store_watchedobject o"
            " JOIN store_cluster c ON c.id = o.cluster_id WHERE o.resource = ? AND o.name = ?",
            resource,
            name,
        )
        return {str(cluster): int(str(version)) for cluster, version in rows}

    def is_locked(self) -> bool:
        """Return whether a process has an open write transaction."""
        with closing(sqlite3.connect(self.path, timeout=1, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError:
                return True
        return False

    def _rows(self, statement: str, *values: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=5)) as database:
            return database.execute(statement, values).fetchall()


@dataclass(frozen=True)
class Worker:
    """A running poll worker."""

    pid: int
    holder: str
    """Its name in leases and heartbeats."""
    log: Path


@contextmanager
def second_worker(installation: Installation, database: Database) -> Iterator[Worker]:
    """Run one more poll worker with the environment of the installation."""
    before = database.workers()
    command = [sys.executable, "-m", "celery", "--quiet", "-A", "gangboard.celery", "worker"]
    command += ["--queues", "poll", "--pool", "threads", "--loglevel", "WARNING"]
    command += ["--without-gossip", "--without-mingle", "--hostname", "second@%h"]
    log = installation.folder / "second-worker.log"
    process = installation.start("second-worker", command, log)
    try:
        wait_until(lambda: bool(database.workers() - before), PATIENCE, "the second worker to live")
        (holder,) = database.workers() - before
        yield Worker(process.pid, holder, log)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def wait_until(look: Callable[[], object], seconds: float, what: str) -> float:
    """Wait until `look` is true; return how long that took."""
    started_at = time.monotonic()
    while not look():
        assert time.monotonic() - started_at < seconds, f"waited {seconds:g} s for {what}"
        time.sleep(LOOK_SECONDS)
    return time.monotonic() - started_at
