"""One watch: it yields lines as they arrive, ends in time, and detects a silent connection.

The official client opens it. The HTTP chunks are decoded here, because http.client waits for the next chunk before it
returns the lines of this one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType

from gangboard.kube.connection import Connection, Query
from gangboard.kube.error_translation import TRANSPORT_ERRORS
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.transport import DeadlineSocket, TLSConnection

_NUMBER = re.compile(r"[1-9][0-9]*", re.ASCII)


def is_lower(version: str, other: str) -> bool:
    """Return whether `version` comes before `other`. False if either is no number."""
    if not (_NUMBER.fullmatch(version) and _NUMBER.fullmatch(other)):
        return False
    return (len(version), version) < (len(other), other)


LONGEST_LINE = 16 * 1024 * 1024
"""Bytes. etcd refuses objects over 1.5 MiB."""
_LONGEST_FRAME_LINE = 4096
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")


class FramingError(ValueError):
    """The bytes are not HTTP chunks."""


class LineTooLongError(ValueError):
    """A line that no correct server sends."""


class Unchunker:
    """Decodes a chunked body, in whatever pieces it arrives."""

    def __init__(self) -> None:
        self.finished = False
        """The last chunk has arrived, so the body is complete."""
        self.has_remainder = False
        """Bytes arrived after the end. They belong to no response."""
        self._left = 0
        self._line = bytearray()
        self._data_just_ended = False
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Return the payload in these bytes, which may be empty. Raises FramingError."""
        payload = bytearray()
        position = 0
        while position < len(data) and not self.finished:
            if self._left:
                chunk = data[position : position + self._left]
                payload += chunk
                position += len(chunk)
                self._left -= len(chunk)
                continue
            end = data.find(b"\n", position)
            stop = len(data) if end < 0 else end + 1
            self._line += data[position:stop]
            position = stop
            if len(self._line) > _LONGEST_FRAME_LINE:
                raise FramingError("a chunk has no size")
            if end >= 0:
                self._take_line(bytes(self._line).strip())
                self._line.clear()
        self.has_remainder |= position < len(data)
        return bytes(payload)

    def _take_line(self, line: bytes) -> None:
        if self._in_trailers:
            self.finished = not line
        elif self._data_just_ended:
            if line:
                raise FramingError("a chunk is longer than it said")
            self._data_just_ended = False
        else:
            size = line.partition(b";")[0].strip()
            if not _SIZE.fullmatch(size):
                raise FramingError("a chunk has no size")
            self._left = int(size, 16)
            self._in_trailers = self._left == 0
            self._data_just_ended = not self._in_trailers


class LineSplitter:
    """Splits a stream of bytes into complete lines."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._tail = bytearray()

    @property
    def has_remainder(self) -> bool:
        """True if the last line is incomplete."""
        return bool(self._tail.strip())

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, without empty ones. Raises LineTooLongError."""
        first_part, *following = data.split(b"\n")
        self._tail += first_part
        if len(self._tail) > self._longest:
            raise LineTooLongError
        if not following:
            return []
        lines = [bytes(self._tail), *following[:-1]]
        self._tail = bytearray(following[-1])
        return [line for line in lines if line.strip()]


READ_SIZE = 256 * 1024


class Watch:
    """Changes of one resource since a resourceVersion. Iterate it once, in one thread.

    It yields `list[bytes]`: the complete JSON lines of one read, including bookmarks. The iteration ends when the
    server ends the watch after `timeout_seconds`, or after `close`. It raises KubeError: `gone` (list again),
    `timeout` (silently dead), `broken-off`, `too-large` (a line over 16 MiB), and every error of a GET.
    """

    def __init__(
        self,
        connection: Connection,
        path: str,
        resource_version: str,
        *,
        timeout_seconds: int,
        silence_deadline: float = 90.0,
        overdue: float = 5.0,
        query: Query = None,
        on_open: Callable[[], None] | None = None,
    ) -> None:
        """Times are in seconds.

        - `silence_deadline`: time without any byte, bookmarks included, after which the watch counts as dead.
        - `overdue`: how much later than `timeout_seconds` the server may end it.
        - `on_open`: called when the server has accepted the watch, which may be long before the first change.
        """
        fixed = query.items() if isinstance(query, Mapping) else query or ()
        self._query = [
            *fixed,
            ("watch", "1"),
            ("resourceVersion", resource_version),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(timeout_seconds)),
        ]
        self._connection = connection
        self._path = path
        self._timeout_seconds = timeout_seconds
        self._silence_deadline = silence_deadline
        self._overdue = overdue
        self._on_open = on_open
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._tls: TLSConnection | None = None
        """The connection while the watch uses it. Guarded by the lock."""
        self._was_read = False
        """The response was read to its end, so the connection can be reused."""

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration at once, without an error. Callable from any thread, any number of times."""
        with self._lock:
            self._closed.set()
            if self._tls is not None:
                self._tls.cut()

    def __iter__(self) -> Iterator[list[bytes]]:
        with self._lock:
            if self._closed.is_set():
                return
            self._tls = tls = self._connection.connection_for_watch()
        try:
            yield from self._batches(tls)
        except KubeError:
            # Errors after `close` come from the cut connection.
            if not self._closed.is_set():
                raise
        finally:
            self._release(tls)

    def _release(self, tls: TLSConnection) -> None:
        """Keep the connection for the next watch if it is reusable. `close` then no longer cuts it."""
        with self._lock:
            self._tls = None
            if self._was_read and not self._closed.is_set() and not tls.is_closed:
                self._connection.keep(tls)
            else:
                tls.dispose()

    def _batches(self, tls: TLSConnection) -> Iterator[list[bytes]]:
        response = self._connection.open(tls, self._path, self._query)
        try:
            ends_at = time.monotonic() + self._timeout_seconds
            if self._on_open is not None:
                self._on_open()
            chunked = response.headers.get("Transfer-Encoding", "").lower() == "chunked"
            yield from self._lines(tls.wire, Unchunker() if chunked else None, ends_at)
        finally:
            if self._was_read:
                response.release_conn()  # otherwise closing the response closes the connection
            response.close()

    def _lines(
        self, wire: DeadlineSocket, frames: Unchunker | None, ends_at: float
    ) -> Iterator[list[bytes]]:
        splitter = LineSplitter()
        last_byte_at = ends_at - self._timeout_seconds  # the headers were the first sign of life
        while not (frames and frames.finished):
            data = self._read(wire, last_byte_at, ends_at)
            if data is None or self._closed.is_set():
                return
            if not data:
                break
            last_byte_at = time.monotonic()
            lines = self._split(data, frames, splitter)
            if lines:
                yield lines
            if self._closed.is_set():
                return
        if splitter.has_remainder or (frames and not frames.finished):
            raise self._error(KubeErrorCode.BROKEN_OFF, "broke off in the middle of")
        self._was_read = frames is not None and not frames.has_remainder

    def _read(self, wire: DeadlineSocket, last_byte_at: float, ends_at: float) -> bytes | None:
        """Return the next bytes, after waiting for at least one. Empty at the end of the response, None if we end the
        watch.
        """
        latest_end = ends_at + self._overdue
        if time.monotonic() >= latest_end:
            # The server ignores timeoutSeconds. The next watch continues from here.
            return None
        wire.deadline = min(time.monotonic() + self._silence_deadline, latest_end)
        try:
            # A server sends each event separately. Events that have already arrived form one batch.
            data = wire.reader.read1(READ_SIZE)
            return data + wire.recv_available(READ_SIZE) if data else data
        except TimeoutError as error:
            if last_byte_at > ends_at:
                return None
            silence = f"{time.monotonic() - last_byte_at:.3g} s"
            raise self._error(
                KubeErrorCode.TIMEOUT,
                "is dead: neither an event nor a bookmark came for",
                silence,
            ) from error
        except TRANSPORT_ERRORS as error:
            raise self._error(KubeErrorCode.BROKEN_OFF, "broke off in the middle of") from error

    def _split(self, data: bytes, frames: Unchunker | None, splitter: LineSplitter) -> list[bytes]:
        try:
            return splitter.feed(frames.feed(data) if frames else data)
        except LineTooLongError as error:
            raise self._error(KubeErrorCode.TOO_LARGE, "sent a line over 16 MiB in") from error
        except FramingError as error:
            raise self._error(KubeErrorCode.BROKEN_OFF, "garbled") from error

    def _error(self, code: str, verb: str, silence: str = "") -> KubeError:
        host = self._connection.host
        if silence:
            return KubeError(code, f"The watch of {self._path} on {host} {verb} {silence}.")
        return KubeError(code, f"{host} {verb} the watch of {self._path}.")
