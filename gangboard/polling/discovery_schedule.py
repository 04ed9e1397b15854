"""When discovery of a cluster and the schema of its controllers are read. Both are read in threads, beside a window."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from gangboard.kube.connection import Connection
from gangboard.kube.discovery import LONGEST_HASH, Discovery, schema_hash
from gangboard.kube.errors import KubeError
from gangboard.logs import get_logger
from gangboard.plugins import registry
from gangboard.polling.resource_watch import WatchedResource

log = get_logger(__name__)

INTERVAL = 300.0
"""Seconds between two discoveries of a cluster that answered completely."""
UNKNOWN_PAUSE = 2.0
"""Seconds between two attempts while a cluster has no discovery at all."""
FIRST_PAUSE = 5.0
"""Seconds until the next attempt after an incomplete discovery. Doubled each time, up to `INTERVAL`."""

T = TypeVar("T")


def run_in_thread(name: str, call: Callable[[], T]) -> Future[T]:
    """Run `call` in a new thread and return its future. The call must not touch the database.

    The thread ends with the deadlines of its requests, or with the process.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except Exception as error:  # noqa: BLE001  # a thread's edge: `result` raises it
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


@dataclass(slots=True)
class DiscoverySchedule:
    """When discovery of one cluster is due, and the discovery that is running."""

    error: KubeError | None = None
    """Why the last discovery failed. None after a success."""
    _running: Future[tuple[Discovery, datetime]] | None = None
    _due_at: float = 0.0
    _not_before: float = 0.0
    _failures: int = 0

    @property
    def next_at(self) -> float:
        """The moment of `time.monotonic()` from which discovery is due."""
        return max(self._due_at, self._not_before)

    @property
    def is_running(self) -> bool:
        """True while a discovery has no result yet."""
        return self._running is not None and not self._running.done()

    def start(self, discover: Callable[[], Discovery]) -> bool:
        """Start a discovery if one is due. Return whether one was started."""
        if self._running is not None or time.monotonic() < self.next_at:
            return False
        self._running = run_in_thread("discover", lambda: (discover(), datetime.now(UTC)))
        return True

    def take_result(self, *, is_known: bool) -> tuple[Discovery, datetime] | None:
        """Return a finished discovery with its time, or None. `error` tells why one failed.

        `is_known`: the cluster has an older discovery. Raises a defect of the discovery.
        """
        if self._running is None or not self._running.done():
            return None
        running, self._running = self._running, None
        try:
            result = running.result()
        except KubeError as error:
            self.error = error
            self._plan((error,), is_known=is_known)
            return None
        self.error = None
        self._plan(result[0].failed.values(), is_known=True)
        return result

    def make_due(self) -> None:
        """Make the next discovery due now, unless the server has sent a Retry-After."""
        self._due_at = 0.0

    def _plan(self, errors: Collection[KubeError], *, is_known: bool) -> None:
        """Set the time of the next discovery: after five minutes, or after a growing pause if there are errors."""
        self._failures = self._failures + 1 if errors else 0
        pause = UNKNOWN_PAUSE
        if not errors:
            pause = INTERVAL
        elif is_known:
            pause = min(INTERVAL, FIRST_PAUSE * 2 ** min(self._failures - 1, 10))
        now = time.monotonic()
        self._due_at = now + pause
        self._not_before = now + max((error.retry_after or 0.0 for error in errors), default=0.0)


@dataclass(slots=True)
class ControllerBuilds:
    """The builds of controllers, for levers whose effect depends on the build."""

    _running: Future[str | None] | None = None

    def start(
        self, connection: Connection, watched: Mapping[str, WatchedResource], cluster_name: str
    ) -> None:
        """Start to read the builds, unless they are being read. Lists do not wait for them."""
        if self._running is None:
            self._running = run_in_thread(
                "schema", lambda: _read_builds(connection, watched, cluster_name)
            )

    @property
    def is_running(self) -> bool:
        """True while the builds are being read."""
        return self._running is not None and not self._running.done()

    def take_result(self) -> str | None:
        """Return the builds once they were read. None before that, and after a failure."""
        if self._running is None or not self._running.done():
            return None
        running, self._running = self._running, None
        return running.result()


def _read_builds(
    connection: Connection, watched: Mapping[str, WatchedResource], cluster_name: str
) -> str | None:
    """Return a text that differs between builds, or None if a schema cannot be read now.

    It consists of an equal part of the schema hash of each controller.
    """
    kinds = registry.kinds_depending_on_build()
    hashes: list[str] = []
    try:
        for kind in kinds:
            group, version = kind.resource.group, watched[kind.resource.key].version
            hashes.append(schema_hash(connection, group, version))
    except KubeError as error:
        log.warning("schema not read", cluster=cluster_name, why=error.sentence)
        return None
    return "".join(schema[: LONGEST_HASH // len(kinds)] for schema in hashes)
