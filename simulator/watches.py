"""Watches: an endless response of lines, each with one change or a bookmark."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from simulator.lists import Alter, render
from simulator.refusals import Refusal
from simulator.requests import Request
from simulator.resources import Resource
from simulator.selectors import Test, matcher
from simulator.store import Record, Store, Stored, with_type

_LONGEST = 3600  # Seconds until a watch ends if the client sets no timeout.
_INITIAL_END = "k8s.io/initial-events-end"


@dataclass
class Watch:
    """One watch. Iterate over `lines` and send each piece at once."""

    store: Store
    request: Request
    stopping: threading.Event
    bookmark_seconds: float
    alter: Alter | None = None

    def __post_init__(self) -> None:
        request = self.request
        assert request.resource is not None  # noqa: S101  # The router sets it.
        self._resource: Resource = request.resource
        self._table = self.store.table(self._resource)
        labels, fields = request.query.get("labelSelector"), request.query.get("fieldSelector")
        self._test: Test | None = matcher(self._resource.plural, labels or "", fields or "")
        self._bookmarks = request.query.get("allowWatchBookmarks", "").lower() in ("1", "true")
        self._after = 0
        """The watch sends no changes up to this resourceVersion, even after the store was restored."""

    def lines(self) -> Iterator[bytes]:
        """Yield pieces of the response, each of whole lines, until the timeout."""
        try:
            position, first = self._begin()
        except Refusal as refusal:
            # The real server starts the stream and sends the error inside.
            yield _line("ERROR", json.dumps(refusal.body).encode())
            return
        yield from first
        try:
            yield from self._follow(position)
        except Refusal as refusal:
            yield _line("ERROR", json.dumps(refusal.body).encode())

    def _begin(self) -> tuple[int, list[bytes]]:
        """Return the position to continue at and the initial lines. Raises a 410 `Refusal`."""
        version = self.request.number("resourceVersion") or 0
        initial = self.request.query.get("sendInitialEvents", "").lower() == "true"
        with self.store.lock:
            if version and not initial:
                self._after = version
                return self._table.history.position(version), []
            snapshot = self.store.snapshot(self._resource, self.request.namespace)
            position = self._table.history.end_position
        lines = [
            _line("ADDED", self._serialize(stored))
            for _, stored in snapshot.items
            if self._selects(stored)
        ]
        if initial:
            lines.append(self._bookmark(snapshot.version, {_INITIAL_END: "true"}))
        return position, lines

    def _follow(self, position: int) -> Iterator[bytes]:
        seconds = self.request.number("timeoutSeconds") or _LONGEST
        deadline = time.monotonic() + seconds
        bookmark = time.monotonic() + self.bookmark_seconds
        while not self.stopping.is_set():
            now = time.monotonic()
            with self.store.lock:
                until = min(deadline, bookmark) if self._bookmarks else deadline
                if self._table.history.end_position == position and until > now:
                    self._table.changed.wait(until - now)
                records = self._table.history.read(position)
                # If the table has no more records, the client has seen the newest version.
                version = self.store.version if len(records) < 500 else records[-1].version
            position += len(records)
            if output := b"".join(filter(None, map(self._changed, records))):
                yield output
            now = time.monotonic()
            # The last bookmark comes just before the end, as on the real server.
            if self._bookmarks and now >= min(bookmark, deadline):
                if version >= self._after:
                    yield self._bookmark(version, {})
                bookmark = now + self.bookmark_seconds
            if now >= deadline:
                return

    def _changed(self, record: Record) -> bytes | None:
        """Return the line of a change; None if the watch does not select it."""
        if record.version <= self._after:
            return None
        if self.request.namespace and record.key[0] != self.request.namespace:
            return None
        if self.request.name and record.key[1] != self.request.name:
            return None
        if self._test is None:
            return _line(record.type, self._serialize(record.stored))
        was = record.previous is not None and self._selects(record.previous)
        is_selected = record.type != "DELETED" and self._selects(record.stored)
        if not was and not is_selected:
            return None
        kind = "DELETED" if not is_selected else "MODIFIED" if was else "ADDED"
        return _line(kind, self._serialize(record.stored))

    def _selects(self, stored: Stored) -> bool:
        return self._test is None or self._test(json.loads(stored.body()))

    def _serialize(self, stored: Stored) -> bytes:
        body = render(self._resource, stored)
        if self.alter:
            body = self.alter(body)
        return with_type(body, self._resource, self.request.version)

    def _bookmark(self, version: int, annotations: dict[str, str]) -> bytes:
        meta: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        body = json.dumps({"metadata": meta}, separators=(",", ":")).encode()
        return _line("BOOKMARK", with_type(body, self._resource, self.request.version))


def _line(kind: str, obj: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + obj + b"}\n"
