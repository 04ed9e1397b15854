"""One thread per resource lists it where needed, then watches it, and hands on what changed."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from gangboard.decode.events import EVENT
from gangboard.decode.list_watch_decoder import (
    DecodeProblem,
    Page,
    TooLargeError,
    WatchEvent,
    build_model,
    read_event,
    read_page,
)
from gangboard.domain.api_resource import DecodeError, WatchState
from gangboard.kube.connection import Connection
from gangboard.kube.discovery import path_for
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.list_pager import pages
from gangboard.kube.watch import Watch, is_lower
from gangboard.polling.reachability import ContactMeter
from gangboard.polling.resource_watch import Batch, Changed, Listed, News, PutOff, Seen, Watched
from gangboard.polling.visibility import PODS_KEY

BACKOFF = (1.0, 2.0, 4.0, 8.0)
"""Seconds between tries after a failure."""

FAILURES_BEFORE_LIST = 3
"""Failed watches in a row after which the resourceVersion itself is suspected and listed anew."""

SHORT_WATCH = 1.0
"""Seconds. A watch that the server ends sooner and without a word is a failure, as for client-go
("very short watch"): opened again at once it would be asked for without end, and tell nothing."""
LEAST_SECONDS = 2
"""Seconds for which a watch is asked for at least, so that its end in time is never a short one."""
WAITED_FOR = 0.5
"""Seconds for which a window goes on at most so that its watches, which last whole seconds, can end."""
LATE = 0.5
"""Seconds by which a server may end a watch later than it was asked to."""
COMPARED = PODS_KEY
"""The resource whose resourceVersion is compared regularly: every cluster has it, and it changes most."""
LOOK_EVERY = 0.2
"""Seconds after which whoever waits for another thread looks whether it was told to halt."""


class _MisfitError(Exception):
    """An object of a version that is not known cannot be read as the newest known version."""


class Reflector(threading.Thread):
    """Lists and watches one resource until `halt` is called or its time is over.

    It never touches the database: what it finds goes into `out`, in order.
    """

    def __init__(
        self,
        *,
        connection: Connection,
        watched: Watched,
        versions: dict[str, str],
        list_slots: threading.Semaphore,
        out: queue.Queue[News],
        ends_at: float,
        list_only: bool,
        on_contact: Callable[[], None],
        meter: ContactMeter,
    ) -> None:
        super().__init__(name=f"follow {watched.resource.key}", daemon=True)
        self._connection = connection
        self._watched = watched
        self._versions = versions
        self._list_slots = list_slots
        self._out = out
        self._ends_at = ends_at
        self._list_only = list_only
        self._on_contact = on_contact
        self._meter = meter
        self._halted = threading.Event()
        self._has_dropped = False
        """Something was read that nobody took any more: then nothing is known up to now."""
        self._watch: Watch | None = None
        self._ends_by_itself = 0.0
        """Moment at which the server will have ended the watch; 0 where that is not worth waiting for."""
        self._resource_version = watched.resource_version
        put_off = watched.put_off
        self.error: KubeError | None = (
            put_off.error if put_off is not None and put_off.until > time.monotonic() else None
        )
        """The last failure; None after a success."""
        self.is_listing = not self._resource_version or list_only
        self.vanished = False
        """The API server does not serve it any more."""
        self.crash: BaseException | None = None
        """A defect of our own; the writer raises it."""

    def halt(self) -> None:
        """End soon; may be called from another thread."""
        self._halted.set()
        if self._watch is not None:
            self._watch.close()

    @property
    def ends_by_itself(self) -> bool:
        """Whether its watch is about to end: one that is not cut keeps its connection for the next one."""
        return self.is_alive() and time.monotonic() < self._ends_by_itself

    def run(self) -> None:
        """List and watch until told to stop. A defect of our own is kept for the writer to raise."""
        try:
            self._list_and_watch()
        except Exception as defect:  # noqa: BLE001  # a thread's edge: recorded, raised by the writer
            self.crash = defect

    def _list_and_watch(self) -> None:
        failures = 0
        self._wait_as_asked()
        while not self._halted.is_set() and time.monotonic() < self._ends_at:
            try:
                if not self._resource_version or self._list_only:
                    self.is_listing = True
                    self._list()
                self.is_listing = False
                if self._list_only or self._halted.is_set():
                    return
                self._compare()
                self._look()
                failures = 0
            except _MisfitError:
                self.is_listing = False
                self._hand_over(self._misfit())
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
                        continue  # the history was cut: list again at once, but only once
                self._report(error)
                if self.vanished or (self._list_only and not error.retry_after):
                    return
                self._wait(error.retry_after or BACKOFF[min(failures, len(BACKOFF) - 1)])
                failures += 1

    def _misfit(self) -> Seen:
        """Return the news that the served version cannot be read. No object is named: all may see it."""
        key, version = self._watched.resource.key, self._watched.version
        return Seen(
            key,
            WatchState.UNKNOWN_VERSION,
            f"{key} is served as {version}, which this release cannot read: not all of its objects have "
            f"the fields of {self._watched.resource.versions[0]}",
        )

    def _check_fit(self, problems: Iterable[DecodeProblem]) -> None:
        """Raise _MisfitError if the version is guessed and an object is lost by that."""
        if self._watched.is_guess and any(problem.lost for problem in problems):
            raise _MisfitError

    def _wait_as_asked(self) -> None:
        """Let the time pass for which the server put us off, also when that was a window ago."""
        if self._watched.put_off is not None:
            self.is_listing = False
            self._wait(self._watched.put_off.until - time.monotonic())

    def _wait(self, seconds: float) -> None:
        """Wait, not longer than until `halt` or the end of our time."""
        self._halted.wait(max(0.0, min(seconds, self._ends_at - time.monotonic())))

    def _report(self, error: KubeError) -> None:
        self.error = error
        self.vanished = error.code == KubeErrorCode.NOT_FOUND
        if error.retry_after:
            self._watched.put_off = PutOff(error, time.monotonic() + error.retry_after)
        self._watched.tried_at = datetime.now(UTC)
        state = (
            WatchState.FORBIDDEN if error.code == KubeErrorCode.FORBIDDEN else WatchState.FAILING
        )
        self._hand_over(Seen(self._watched.resource.key, state, error.sentence))

    def _hand_over(self, news: News) -> None:
        """Give news to the writer; what it does not take before the end is read again next time."""
        while not self._halted.is_set():
            try:
                self._out.put(news, timeout=LOOK_EVERY)
            except queue.Full:
                continue
            return
        self._has_dropped = True

    def _answered(self) -> None:
        self.error = None
        self._on_contact()

    def _vouch(self) -> None:
        """Say that what was taken is all there is up to now: a list came to its end, or a watch lives."""
        if self._has_dropped:
            return
        self._answered()
        now = datetime.now(UTC)
        self._watched.contact_at = self._watched.tried_at = self._watched.seen_at = now

    @property
    def _path(self) -> str:
        resource = self._watched.resource
        return path_for(resource.group, self._watched.version, resource.plural)

    def _compare(self) -> None:
        """See whether the server has gone back, where that is due. Raises RestoredError."""
        revision, resource = self._watched.revision, self._watched.resource
        if revision.is_due(regularly=resource.key == COMPARED):
            query = [*dict(resource.query).items(), ("limit", "1")]
            began = time.monotonic()
            body = self._connection.get(self._path, query)
            self._meter.take_answer(time.monotonic() - began)
            revision.compare(self._read_page(body).resource_version)

    def _list(self) -> None:
        """List when it is its turn; when nobody waits for that any more, do nothing."""
        while not self._list_slots.acquire(timeout=LOOK_EVERY):
            is_late = self._list_only and time.monotonic() > self._ends_at
            if is_late or self._halted.is_set():
                return
        try:
            self._hand_over_list()
        finally:
            self._list_slots.release()

    def _hand_over_list(self) -> None:
        """Hand on all pages and then the end, from which the watch goes on."""
        seen: set[str] = set()
        troubled: set[tuple[str, str]] = set()
        version = ""
        for page in pages(
            self._connection, self._path, self._read_page, query=dict(self._watched.resource.query)
        ):
            if self._halted.is_set():
                return  # it was on its way for longer than anyone waits for it
            self._answered()
            self._watched.seen_at = datetime.now(UTC)
            self._watched.revision.compare(page.resource_version)
            self._hand_on(page, seen, troubled)
            version = page.resource_version
        key, known_at = self._watched.resource.key, self._watched.contact_at
        self._watched.silent_since = None
        self._vouch()
        self._hand_over(Listed(key, version, frozenset(seen), frozenset(troubled)))
        if self._has_dropped:
            self._watched.contact_at = known_at  # what is gone was not taken away
        self._resource_version = version

    def _read_page(self, body: bytes) -> Page:
        try:
            return read_page(body, self._watched.resource)
        except TooLargeError as error:
            raise KubeError(KubeErrorCode.TOO_LARGE, f"{self._connection.host}: {error}") from error
        except DecodeError as error:
            raise KubeError(KubeErrorCode.NOT_JSON, str(error)) from error

    def _hand_on(self, page: Page, seen: set[str], troubled: set[tuple[str, str]]) -> None:
        self._check_fit(page.problems)
        batch = Batch(self._watched.resource.key, problems=list(page.problems))
        for problem in page.problems:
            seen.add(problem.uid)
            troubled.add((problem.namespace, problem.name))
        for wire in page.objects:
            meta = wire.metadata
            seen.add(meta.uid)
            if self._versions.get(meta.uid) != meta.resource_version:
                self._take(batch, wire)
        if batch:
            self._hand_over(batch)

    def _take(self, batch: Batch, wire: object) -> None:
        """Build the model of a changed object into the batch."""
        model, problem = build_model(self._watched.resource, wire, self._watched.version)
        if problem is not None:
            self._check_fit((problem,))
            batch.problems.append(problem)
        if model is None:
            return
        ref = model.meta.ref
        if (ref.namespace, ref.name) in self._watched.problems and problem is None:
            batch.understood.append((ref.namespace, ref.name))
        batch.changed.append(
            Changed(ref.uid, model.meta.resource_version, ref.namespace, ref.name, model)
        )

    def _look(self) -> None:
        """Watch until the time is over; hand on each read as one batch.

        An accepted watch is no sign of life yet: see SHORT_WATCH. A quiet watch is no sign either if the
        watch before it sent no line and did not end in time.
        """
        lives = threading.Event()

        def live() -> None:
            self._vouch()
            if not lives.is_set():
                lives.set()
                self._hand_over(Seen(self._watched.resource.key, WatchState.OK))

        is_silent = self._watched.silent_since is not None
        quiet = threading.Timer(SHORT_WATCH, lives.set if is_silent else live)
        quiet.daemon = True
        began, heard = time.monotonic(), False
        self._watch = self._new_watch(quiet.start)
        if self._halted.is_set():
            self._watch.close()  # `halt` came when there was none that it could close
        try:
            for lines in self._watch:
                self._digest(lines)
                self._watched.silent_since, heard = None, True
                live()
        finally:
            self._watch.close()
            was_open = quiet.ident is not None
            if was_open:
                quiet.cancel()
                quiet.join()
        if self._halted.is_set():
            if was_open:
                self._take_cut(began, heard=heard)
        elif not lives.is_set():
            raise KubeError(
                KubeErrorCode.BROKEN_OFF,
                f"The watch of {self._path} on {self._connection.host} ended at once, without a word.",
            )
        else:
            self._watched.silent_since = None
            self._vouch()  # the server has ended it in time

    def _new_watch(self, on_open: Callable[[], None]) -> Watch:
        """Return a watch for the rest of the time."""
        left = self._ends_at - time.monotonic()
        seconds = max(LEAST_SECONDS, math.ceil(left))
        is_soon = seconds - left <= WAITED_FOR
        self._ends_by_itself = time.monotonic() + seconds + LATE if is_soon else 0.0
        return Watch(
            self._connection,
            self._path,
            self._resource_version,
            timeout_seconds=seconds,
            query=dict(self._watched.resource.query),
            on_open=on_open,
        )

    def _take_cut(self, began: float, *, heard: bool) -> None:
        """Note how a watch was when `halt` ended it: it lived, or it should have ended by itself before."""
        watched = self._watched
        is_late = 0 < self._ends_by_itself <= time.monotonic()
        if is_late and not heard:
            watched.silent_since = watched.silent_since or began
        elif watched.silent_since is None:
            self._vouch()

    def _digest(self, lines: list[bytes]) -> None:
        batch = Batch(self._watched.resource.key)
        try:
            for line in lines:
                self._read(batch, line)
        finally:
            # What came before a bad line is not sent again by a watch that goes on behind it.
            self._hand_over(batch)

    def _read(self, batch: Batch, line: bytes) -> None:
        """Take what one line tells into the batch. Raises KubeError."""
        try:
            event = read_event(line, self._watched.resource)
        except DecodeError as error:
            raise KubeError(KubeErrorCode.BROKEN_OFF, str(error)) from error
        if event.type == "ERROR":
            code = KubeErrorCode.GONE if event.status_code == 410 else KubeErrorCode.SERVER_ERROR
            raise KubeError(code, event.message or "the watch ended with an error")
        if event.type != "BOOKMARK":
            self._meter.count_event()
        if event.type == "DELETED":
            self._take_deletion(batch, event)
        elif event.problem is not None:
            self._check_fit((event.problem,))
            batch.problems.append(event.problem)
        elif event.object is not None and event.type != "BOOKMARK":
            self._take(batch, event.object)
        if is_lower(event.resource_version, self._resource_version):
            self._watched.revision.is_doubtful = True
        elif event.resource_version:
            batch.resource_version = self._resource_version = event.resource_version
            self._watched.revision.rise_to(event.resource_version)

    def _take_deletion(self, batch: Batch, event: WatchEvent) -> None:
        """Note that an object is gone, also one that could not be read.

        Events expire after an hour; what they told is kept as long as their object.
        """
        gone = event.problem if event.object is None else event.object.metadata
        if gone is None or self._watched.resource.key == EVENT.key:
            return
        if gone.uid:
            batch.deleted.append(gone.uid)
        if (gone.namespace, gone.name) in self._watched.problems:
            batch.understood.append((gone.namespace, gone.name))
