"""How a watch is cut into lines: HTTP chunks off, JSON lines out, as soon as the bytes are there."""

from __future__ import annotations

import re

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes. etcd refuses objects over 1.5 MiB."""
_LONGEST_FRAME_LINE = 4096
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")


class FramingError(ValueError):
    """The bytes are not HTTP chunks."""


class LineTooLongError(ValueError):
    """A line that no honest server sends."""


class Unchunker:
    """Takes the framing off a chunked body, whatever pieces it arrives in.

    http.client would do it too, but waits for the next chunk before it gives out this one's lines.
    """

    def __init__(self) -> None:
        self.finished = False
        """The last chunk was seen: this is the end, not a broken connection."""
        self.has_rest = False
        """Bytes came behind the end, which belong to nothing."""
        self._left = 0
        self._line = bytearray()
        self._data_just_ended = False
        self._in_trailers = False

    def feed(self, data: bytes) -> bytes:
        """Return the payload in these bytes, perhaps nothing. Raises FramingError."""
        payload = bytearray()
        position = 0
        while position < len(data) and not self.finished:
            if self._left:
                piece = data[position : position + self._left]
                payload += piece
                position += len(piece)
                self._left -= len(piece)
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
        self.has_rest |= position < len(data)
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
    """Collects bytes and gives out complete lines."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._tail = bytearray()

    @property
    def has_rest(self) -> bool:
        """A line has begun and not ended."""
        return bool(self._tail.strip())

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that these bytes complete, without empty ones. Raises LineTooLongError."""
        first, *others = data.split(b"\n")
        self._tail += first
        if len(self._tail) > self._longest:
            raise LineTooLongError
        if not others:
            return []
        lines = [bytes(self._tail), *others[:-1]]
        self._tail = bytearray(others[-1])
        return [line for line in lines if line.strip()]
