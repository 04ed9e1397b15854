"""A halted reflector stops soon and does not claim updates that were not taken."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from gangboard.decode.nodes import NODE
from gangboard.kube.connection import Connection
from gangboard.polling import reflector
from gangboard.polling.reachability import ContactMeter
from gangboard.polling.reflector import Reflector
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.watch_batches import Batch, WatchUpdate

SOON = 30.0
"""Seconds within which a reader must have ended; what these ones read takes longer."""


def node(version: str) -> dict[str, Any]:
    return {"metadata": {"name": "n", "uid": "n", "resourceVersion": version}}


class Cluster:
    """Yields one page after the other on request."""

    host = "east.example"

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.asked = 0
        self.reading = threading.Event()
        self.answers = threading.Event()

    def get(self, _path: str, _query: Any = None) -> bytes:
        self.asked += 1
        self.reading.set()
        assert self.answers.wait(SOON)
        meta = {"resourceVersion": "7"}
        if self.asked < self.pages:
            meta["continue"] = str(self.asked)
        return json.dumps({"kind": "NodeList", "metadata": meta, "items": [node("5")]}).encode()


class OpenWatch:
    """A watch that is open at once and stays open until it is closed."""

    says: tuple[bytes, ...] = ()
    made: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, *_arguments: Any, on_open: Callable[[], None], **_options: Any) -> None:
        self._closed = threading.Event()
        self._on_open = on_open
        self.made()

    def __iter__(self) -> Iterator[list[bytes]]:
        self._on_open()
        for line in self.says:
            yield [line]
        self._closed.wait(2 * SOON)

    def close(self) -> None:
        self._closed.set()


@pytest.fixture
def watched() -> WatchedResource:
    return WatchedResource(NODE, version="v1")


def reader(
    watched: WatchedResource,
    cluster: Cluster | None = None,
    *,
    room: int = 64,
    list_only: bool = False,
) -> tuple[Reflector, queue.Queue[WatchUpdate]]:
    out: queue.Queue[WatchUpdate] = queue.Queue(maxsize=room)
    reflector = Reflector(
        connection=cast("Connection", cluster or Cluster(1)),
        watched=watched,
        versions={},
        list_slots=threading.BoundedSemaphore(1),
        out=out,
        ends_at=time.monotonic() + 60,
        list_only=list_only,
        on_contact=lambda: None,
        meter=ContactMeter(),
    )
    return reflector, out


def assert_ended(reflector: Reflector) -> None:
    reflector.join(SOON)
    assert not reflector.is_alive()
    assert reflector.crash is None


@pytest.mark.parametrize("list_only", [False, True])
@pytest.mark.parametrize("pages", [1, 3])
def test_a_page_after_the_halt_is_ignored(
    watched: WatchedResource, pages: int, list_only: bool
) -> None:
    """No thread waits for it: the next reader is running, or the cluster has another holder."""
    cluster = Cluster(pages)
    reflector, out = reader(watched, cluster, list_only=list_only)
    reflector.start()
    assert cluster.reading.wait(SOON)
    reflector.halt()
    cluster.answers.set()
    assert_ended(reflector)
    assert cluster.asked == 1
    assert out.empty()
    assert (watched.last_read_at, watched.contact_at, watched.last_try_at) == (None, None, None)


def test_a_list_with_an_untaken_end_is_not_current(watched: WatchedResource) -> None:
    """Its page is taken, but not that all others are gone: that is not all there is up to now."""
    cluster = Cluster(1)
    cluster.answers.set()
    reflector, out = reader(watched, cluster, room=1)
    reflector.start()
    while not out.full():
        time.sleep(0.01)
    time.sleep(0.1)  # the queue is full
    reflector.halt()
    assert_ended(reflector)
    assert isinstance(out.get_nowait(), Batch)
    assert watched.last_read_at is not None
    assert watched.contact_at is None


def test_a_halt_right_before_a_watch_stops_the_reflector(
    watched: WatchedResource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no watch yet that could be closed."""
    watched.resource_version = "7"
    halted, _ = reader(watched)
    monkeypatch.setattr(OpenWatch, "made", lambda _self: halted.halt())
    monkeypatch.setattr(reflector, "Watch", OpenWatch)
    halted.start()
    assert_ended(halted)


def test_untaken_events_are_not_claimed(
    watched: WatchedResource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch was alive until now, but its last event was dropped."""
    watched.resource_version = "7"
    line = json.dumps({"type": "MODIFIED", "object": node("8")}).encode()
    halted, out = reader(watched, room=1)
    out.put(Batch("nodes"))
    monkeypatch.setattr(OpenWatch, "says", (line,))
    monkeypatch.setattr(reflector, "Watch", OpenWatch)
    monkeypatch.setattr(reflector, "SHORT_WATCH", 60.0)
    halted.start()
    time.sleep(0.3)  # the queue is full
    halted.halt()
    assert_ended(halted)
    assert len(out.queue) == 1
    assert (watched.last_read_at, watched.contact_at) == (None, None)


def test_a_quiet_watch_is_current_until_its_end(
    watched: WatchedResource, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.resource_version = "7"
    opened = threading.Event()
    halted, _ = reader(watched)
    monkeypatch.setattr(OpenWatch, "made", lambda _self: opened.set())
    monkeypatch.setattr(reflector, "Watch", OpenWatch)
    monkeypatch.setattr(reflector, "SHORT_WATCH", 60.0)
    halted.start()
    assert opened.wait(SOON)
    time.sleep(0.1)
    halted.halt()
    assert_ended(halted)
    assert watched.contact_at is not None
    assert watched.contact_at == watched.last_read_at
