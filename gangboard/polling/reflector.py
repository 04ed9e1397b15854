"""The thread that lists and watches one resource and sends its changes to the store writer."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from gangboard.decode.list_watch_decoder import Page
from gangboard.domain.api_resource import WatchState
from gangboard.kube.connection import Connection
from gangboard.kube.discovery import path_for
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.list_pager import pages
from gangboard.kube.watch import Watch, is_lower
from gangboard.polling.reachability import ContactMeter
from gangboard.polling.resource_watch import RetryAfter, WatchedResource
from gangboard.polling.visibility import PODS_KEY
from gangboard.polling.watch_batches import (
    Batch,
    BatchBuilder,
    ListCompleted,
    StateChange,
    UnreadableVersionError,
    WatchUpdate,
)

BACKOFF = (1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts after a failure."""

FAILURES_BEFORE_LIST = 3
"""Failed watches in a row after which the resourceVersion itself is doubtful and the resource is listed."""

SHORT_WATCH = 1.0
"""Seconds. A watch that the server ends earlier and without a line is a failure, as for client-go ("very short watch").
Opened again at once, it would only repeat that without end."""
MIN_WATCH_SECONDS = 2
"""Shortest `timeoutSeconds` of a watch, so that a watch that ends in time is never a short one."""
END_GRACE = 0.5
"""Seconds by which a window may be longer, so that its watches, which last whole seconds, can end."""
LATE = 0.5
"""Seconds by which a server may end a watch later than requested."""
COMPARED = PODS_KEY
"""The resource whose resourceVersion is compared regularly. Every cluster has it, and it changes most."""
HALT_CHECK_INTERVAL = 0.2
"""Seconds between two checks for `halt` while the thread waits for another one."""


class Reflector(threading.Thread):
    """Lists and watches one resource until `halt` is called or its time is over.

    It never touches the database. It puts its updates into `out`, in order.
    """

    def __init__(
        self,
        *,
        connection: Connection,
        watched: WatchedResource,
        versions: dict[str, str],
        list_slots: threading.Semaphore,
        out: queue.Queue[WatchUpdate],
        ends_at: float,
        list_only: bool,
        on_contact: Callable[[], None],
        meter: ContactMeter,
    ) -> None:
        super().__init__(name=f"follow {watched.resource.key}", daemon=True)
        self._connection = connection
        self._watched = watched
        self._batches = BatchBuilder(watched, versions, connection.host)
        self._list_slots = list_slots
        self._out = out
        self._ends_at = ends_at
        self._list_only = list_only
        self._on_contact = on_contact
        self._meter = meter
        self._halted = threading.Event()
        self._has_dropped = False
        """An update was lost, because the writer stopped taking any. The resource is not current then."""
        self._watch: Watch | None = None
        self._watch_ends_at = 0.0
        """Moment at which the server will have ended the watch, or 0 if the window does not wait for that."""
        self._resource_version = watched.resource_version
        retry_after = watched.retry_after
        self.error: KubeError | None = (
            retry_after.error
            if retry_after is not None and retry_after.until > time.monotonic()
            else None
        )
        """The last failure. None after a success."""
        self.is_listing = not self._resource_version or list_only
        self.is_not_served = False
        """The API server no longer serves the resource."""
        self.crash: BaseException | None = None
        """A defect of our own. The writer raises it."""

    def halt(self) -> None:
        """Stop soon. Other threads may call this."""
        self._halted.set()
        if self._watch is not None:
            self._watch.close()

    @property
    def is_about_to_end(self) -> bool:
        """True if the server is about to end the watch. Uncut, its connection serves the next watch."""
        return self.is_alive() and time.monotonic() < self._watch_ends_at

    def run(self) -> None:
        """List and watch until halted. Keep a defect of our own for the writer to raise."""
        try:
            self._list_and_watch()
        except Exception as defect:  # noqa: BLE001  # a thread's edge: recorded, raised by the writer
            self.crash = defect

    def _list_and_watch(self) -> None:
        failures = 0
        self._wait_for_retry_after()
        while not self._halted.is_set() and time.monotonic() < self._ends_at:
            try:
                if not self._resource_version or self._list_only:
                    self.is_listing = True
                    self._list()
                self.is_listing = False
                if self._list_only or self._halted.is_set():
                    return
                self._compare_revision()
                self._run_watch()
                failures = 0
            except UnreadableVersionError:
                self.is_listing = False
                self._send(self._unknown_version())
                return
            except KubeError as error:
                self.is_listing = False
                self._watched.revision.is_doubtful = True
                if self._halted.is_set():
                    return
                if error.code == KubeErrorCode.GONE or failures >= FAILURES_BEFORE_LIST:
                    self._resource_version = ""
                    if failures == 0:
                        failures = 1
                        continue  # the resourceVersion has expired: list at once, but only once
                self._report(error)
                if self.is_not_served or (self._list_only and not error.retry_after):
                    return
                self._wait(error.retry_after or BACKOFF[min(failures, len(BACKOFF) - 1)])
                failures += 1

    def _unknown_version(self) -> StateChange:
        """Return the update that the served version cannot be read. It names no object, because all users may see it."""
        key, version = self._watched.resource.key, self._watched.version
        return StateChange(
            key,
            WatchState.UNKNOWN_VERSION,
            f"{key} is served as {version}, which this release cannot read: not all of its objects have "
            f"the fields of {self._watched.resource.versions[0]}",
        )

    def _wait_for_retry_after(self) -> None:
        """Wait until the end of the server's Retry-After, even one from an earlier window."""
        if self._watched.retry_after is not None:
            self.is_listing = False
            self._wait(self._watched.retry_after.until - time.monotonic())

    def _wait(self, seconds: float) -> None:
        """Wait, at most until `halt` or the end of the window."""
        self._halted.wait(max(0.0, min(seconds, self._ends_at - time.monotonic())))

    def _report(self, error: KubeError) -> None:
        self.error = error
        self.is_not_served = error.code == KubeErrorCode.NOT_FOUND
        if error.retry_after:
            self._watched.retry_after = RetryAfter(error, time.monotonic() + error.retry_after)
        self._watched.last_try_at = datetime.now(UTC)
        state = (
            WatchState.FORBIDDEN if error.code == KubeErrorCode.FORBIDDEN else WatchState.FAILING
        )
        self._send(StateChange(self._watched.resource.key, state, error.sentence))

    def _send(self, update: WatchUpdate) -> None:
        """Send an update to the writer. An update that it does not take before the end is read again next time."""
        while not self._halted.is_set():
            try:
                self._out.put(update, timeout=HALT_CHECK_INTERVAL)
            except queue.Full:
                continue
            return
        self._has_dropped = True

    def _note_contact(self) -> None:
        self.error = None
        self._on_contact()

    def _mark_current(self) -> None:
        """Mark the resource as current: its list is complete or its watch alive."""
        if self._has_dropped:
            return
        self._note_contact()
        now = datetime.now(UTC)
        self._watched.contact_at = self._watched.last_try_at = self._watched.last_read_at = now

    @property
    def _path(self) -> str:
        resource = self._watched.resource
        return path_for(resource.group, self._watched.version, resource.plural)

    def _compare_revision(self) -> None:
        """Check whether the server was restored, if that is due. Raises RestoredError."""
        revision, resource = self._watched.revision, self._watched.resource
        if revision.is_due(regularly=resource.key == COMPARED):
            query = [*dict(resource.query).items(), ("limit", "1")]
            began = time.monotonic()
            body = self._connection.get(self._path, query)
            self._meter.take_answer(time.monotonic() - began)
            revision.compare(self._batches.read_page(body).resource_version)

    def _list(self) -> None:
        """List as soon as a slot is free, unless the window ends before that."""
        while not self._list_slots.acquire(timeout=HALT_CHECK_INTERVAL):
            is_late = self._list_only and time.monotonic() > self._ends_at
            if is_late or self._halted.is_set():
                return
        try:
            self._send_list()
        finally:
            self._list_slots.release()

    def _send_list(self) -> None:
        """Send all pages and then the end of the list, from which the watch continues."""
        seen: set[str] = set()
        unreadable: set[tuple[str, str]] = set()
        version = ""
        for page in self._pages():
            if self._halted.is_set():
                return  # the page arrived after the end of the window
            self._note_contact()
            self._watched.last_read_at = datetime.now(UTC)
            self._watched.revision.compare(page.resource_version)
            batch = self._batches.batch_of_page(page, seen, unreadable)
            if batch:
                self._send(batch)
            version = page.resource_version
        key, contact_at = self._watched.resource.key, self._watched.contact_at
        self._watched.silent_since = None
        self._mark_current()
        self._send(ListCompleted(key, version, frozenset(seen), frozenset(unreadable)))
        if self._has_dropped:
            self._watched.contact_at = contact_at  # deleted objects were not removed
        self._resource_version = version

    def _pages(self) -> Iterator[Page]:
        return pages(
            self._connection,
            self._path,
            self._batches.read_page,
            query=dict(self._watched.resource.query),
        )

    def _run_watch(self) -> None:
        """Watch until the time is over. Send each read as one batch.

        An accepted watch is no sign of life yet: see SHORT_WATCH. A quiet watch is no sign of life if the watch
        before it was silent.
        """
        is_alive = threading.Event()

        def mark_alive() -> None:
            self._mark_current()
            if not is_alive.is_set():
                is_alive.set()
                self._send(StateChange(self._watched.resource.key, WatchState.OK))

        was_silent = self._watched.silent_since is not None
        quiet = threading.Timer(SHORT_WATCH, is_alive.set if was_silent else mark_alive)
        quiet.daemon = True
        began, has_line = time.monotonic(), False
        self._watch = self._new_watch(quiet.start)
        if self._halted.is_set():
            self._watch.close()  # `halt` was called before there was a watch to close
        try:
            for lines in self._watch:
                self._send_lines(lines)
                self._watched.silent_since, has_line = None, True
                mark_alive()
        finally:
            self._watch.close()
            was_open = quiet.ident is not None
            if was_open:
                quiet.cancel()
                quiet.join()
        if self._halted.is_set():
            if was_open:
                self._note_cut(began, has_line=has_line)
        elif not is_alive.is_set():
            raise KubeError(
                KubeErrorCode.BROKEN_OFF,
                f"The watch of {self._path} on {self._connection.host} ended at once, without a word.",
            )
        else:
            self._watched.silent_since = None
            self._mark_current()  # the server ended the watch in time

    def _new_watch(self, on_open: Callable[[], None]) -> Watch:
        """Return a watch for the rest of the window."""
        remaining = self._ends_at - time.monotonic()
        seconds = max(MIN_WATCH_SECONDS, math.ceil(remaining))
        ends_soon_after_window = seconds - remaining <= END_GRACE
        self._watch_ends_at = time.monotonic() + seconds + LATE if ends_soon_after_window else 0.0
        return Watch(
            self._connection,
            self._path,
            self._resource_version,
            timeout_seconds=seconds,
            query=dict(self._watched.resource.query),
            on_open=on_open,
        )

    def _note_cut(self, began: float, *, has_line: bool) -> None:
        """Record whether a watch that `halt` ended was alive, or should have ended before."""
        watched = self._watched
        is_late = 0 < self._watch_ends_at <= time.monotonic()
        if is_late and not has_line:
            watched.silent_since = watched.silent_since or began
        elif watched.silent_since is None:
            self._mark_current()

    def _send_lines(self, lines: list[bytes]) -> None:
        batch = Batch(self._watched.resource.key)
        try:
            for line in lines:
                self._add_line(batch, line)
        finally:
            # The next watch starts after these lines, so the ones before a bad line are sent now.
            self._send(batch)

    def _add_line(self, batch: Batch, line: bytes) -> None:
        """Add one line of the watch to the batch. Raises KubeError."""
        event = self._batches.read_line(line)
        if event.type != "BOOKMARK":
            self._meter.count_event()
        self._batches.add_event(batch, event)
        if is_lower(event.resource_version, self._resource_version):
            self._watched.revision.is_doubtful = True
        elif event.resource_version:
            batch.resource_version = self._resource_version = event.resource_version
            self._watched.revision.rise_to(event.resource_version)
