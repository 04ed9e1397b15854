"""Watches return lines at once, end in time, and detect a silent connection."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from gangboard.kube.watch import Watch
from tests.kube.server import GOES_ON, Clock, Request, Server, Wire, listening

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
PODS = "/api/v1/pods"
EVENT = b'{"type":"ADDED","object":{}}'


def watch(connection: Connection, **settings: Any) -> Watch:
    return Watch(connection, PODS, "7", **{"timeout_seconds": 600, **settings})


def failure(watching: Watch) -> tuple[KubeError, list[bytes]]:
    """The error that ends the watch, and the lines before it."""
    received: list[bytes] = []
    with pytest.raises(KubeError) as caught:
        received.extend(line for lines in watching for line in lines)
    return caught.value, received


def test_lines_arrive_until_the_server_ends_the_watch(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n" + EVENT[:5])
        wire.chunk(EVENT[5:] + b"\n")
        wire.end_chunks()

    server = serve(script)
    watching = watch(connect(server), timeout_seconds=9, query={"fieldSelector": "a=b"})
    assert [line for lines in watching for line in lines] == [EVENT, EVENT]
    assert server.requests[0].query == {
        "watch": "1",
        "resourceVersion": "7",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "9",
        "fieldSelector": "a=b",
    }
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


def test_lines_that_arrive_together_are_one_batch(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.send((b"%x\r\n%b\n\r\n" % (len(EVENT) + 1, EVENT)) * 50)
        wire.end_chunks()

    assert [len(lines) for lines in watch(connect(serve(script)))] == [50]


def test_events_waiting_in_the_buffer_are_one_batch(serve: Serve, connect: Connect) -> None:
    sent = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        for _ in range(51):
            wire.chunk(EVENT + b"\n")
        wire.end_chunks()
        sent.set()

    batches = []
    for lines in watch(connect(serve(script))):
        batches.append(len(lines))
        assert sent.wait(GOES_ON)
    assert sum(batches) == 51
    assert len(batches) <= 3


def test_lines_before_a_reset_are_returned(serve: Serve, connect: Connect) -> None:
    came = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.send((b"%x\r\n%b\n\r\n" % (len(EVENT) + 1, EVENT)) * 2)
        assert came.wait(GOES_ON)  # a reset discards unread bytes
        wire.reset()

    batches = iter(watch(connect(serve(script))))
    assert next(batches) == [EVENT, EVENT]
    came.set()
    with pytest.raises(KubeError) as caught:
        next(batches)
    assert caught.value.code == "broken-off"


def test_an_unchunked_watch_ends_with_the_connection(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Connection="close")
        wire.send(EVENT + b"\n")
        wire.close()

    assert list(watch(connect(serve(script)))) == [[EVENT]]


def test_a_small_event_is_seen_within_50_ms(serve: Serve, connect: Connect) -> None:
    """The next one comes when it was seen, so it is not seen thanks to the next one."""
    sent: list[float] = []
    came: list[float] = []
    received = threading.Semaphore(0)

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        for _ in range(10):
            sent.append(time.monotonic())
            wire.chunk(EVENT + b"\n")
            assert received.acquire(timeout=GOES_ON)
        wire.end_chunks()

    for lines in watch(connect(serve(script))):
        came.extend(time.monotonic() for _ in lines)
        received.release()
    lags = [seen_at - sent_at for seen_at, sent_at in zip(came, sent, strict=True)]
    assert min(lags) < 0.05, lags


def test_an_event_is_seen_before_its_chunk_is_complete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.send(b"ffff\r\n" + EVENT + b"\n")
        wire.hold()

    watching = watch(connect(serve(script)))
    assert next(iter(watching)) == [EVENT]
    watching.close()


def test_the_opening_is_reported_before_the_first_change(serve: Serve, connect: Connect) -> None:
    opened = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        opened.wait(GOES_ON)
        wire.end_chunks()

    assert list(watch(connect(serve(script)), on_open=opened.set)) == []
    assert opened.is_set()


def closes_at_once(watching: Watch, waits: threading.Event) -> None:
    """Close a watch in another thread once `waits` is true there.

    Without the close, the wait would end after `GOES_ON` seconds. The watch has to end earlier.
    """
    ended = threading.Event()

    def run() -> None:
        assert list(watching) == []
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    assert waits.wait(GOES_ON)
    time.sleep(0.1)  # the last step to where it waits; closed before that, it ends as well
    watching.close()
    assert ended.wait(GOES_ON / 2), "the iteration did not end, or raised"


def test_close_ends_a_silent_watch(serve: Serve, connect: Connect) -> None:
    opened = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.hold()

    closes_at_once(watch(connect(serve(script)), on_open=opened.set), opened)


def test_close_ends_a_watch_waiting_for_headers(serve: Serve, connect: Connect) -> None:
    requested = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        requested.set()
        wire.hold()

    closes_at_once(watch(connect(serve(script), total_deadline=GOES_ON)), requested)


def test_close_ends_a_watch_during_the_handshake(connect: Connect) -> None:
    connected = threading.Event()

    def handshake(sock: socket.socket) -> None:
        assert sock.recv(1, socket.MSG_PEEK), "the client speaks first"
        connected.set()

    with listening(handshake, keep=True) as port:
        closes_at_once(
            watch(connect(f"https://127.0.0.1:{port}", total_deadline=GOES_ON)), connected
        )


def test_close_before_the_start_sends_no_request(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.stream())
    with watch(connect(server)) as watching:
        watching.close()
        assert list(watching) == []
    assert server.connections == 0


def test_no_line_is_returned_after_close(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        while wire.is_open:
            wire.chunk(EVENT + b"\n")

    watching = watch(connect(serve(script)))
    batches = 0
    for _ in watching:
        batches += 1
        watching.close()
    assert batches == 1


def test_a_compacted_history_is_gone(serve: Serve, connect: Connect) -> None:
    status = {"kind": "Status", "message": "too old resource version: 7 (99)"}
    error, _ = failure(watch(connect(serve(lambda request, wire: wire.json(status, 410)))))
    assert (error.code, error.status) == ("gone", 410)
    assert "too old resource version" in error.sentence


def test_a_login_page_is_not_a_watch(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.answer(b"<html>", Content_Type="text/html"))
    assert failure(watch(connect(server)))[0].code == "not-json"


def test_an_unfinished_last_line_is_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n" + EVENT[:9])
        wire.end_chunks()

    error, received = failure(watch(connect(serve(script))))
    assert (error.code, received) == ("broken-off", [EVENT])


def test_an_end_without_the_last_chunk_is_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n")
        wire.close()

    error, received = failure(watch(connect(serve(script))))
    assert (error.code, received) == ("broken-off", [EVENT])


def test_a_reset_is_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.reset()

    assert failure(watch(connect(serve(script))))[0].code == "broken-off"


def test_invalid_chunks_are_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.send(b"hello\r\n")
        wire.hold()

    error, _ = failure(watch(connect(serve(script))))
    assert error.code == "broken-off"
    assert "garbled" in error.sentence


def test_an_endless_line_is_too_large(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        while wire.is_open:
            wire.chunk(b"x" * 1_000_000)

    assert failure(watch(connect(serve(script))))[0].code == "too-large"


def test_a_silently_dead_watch_is_noticed(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n")
        wire.hold()

    error, received = failure(watch(connect(serve(script)), silence_deadline=1.0))
    assert (error.code, received) == ("timeout", [EVENT])
    assert f"The watch of {PODS} on 127.0.0.1" in error.sentence
    assert "is dead: neither an event" in error.sentence


def test_bookmarks_are_signs_of_life(serve: Serve, connect: Connect, clock: Clock) -> None:
    received = threading.Semaphore(0)
    opened = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        assert opened.wait(GOES_ON)
        for _ in range(6):
            clock.ahead += 50
            wire.chunk(b'{"type":"BOOKMARK"}\n')
            assert received.acquire(timeout=GOES_ON)
        wire.end_chunks()

    batches = 0
    for _ in watch(connect(serve(script)), silence_deadline=90.0, on_open=opened.set):
        batches += 1
        received.release()
    assert batches == 6


def test_an_overdue_dead_watch_is_noticed(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.hold()

    error, _ = failure(watch(connect(serve(script)), timeout_seconds=0, overdue=1.0))
    assert error.code == "timeout"


def test_a_server_that_ignores_timeout_seconds_is_left_in_time(
    serve: Serve, connect: Connect, clock: Clock
) -> None:
    received = threading.Semaphore(0)

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        for _ in range(100):
            wire.chunk(EVENT + b"\n")
            assert received.acquire(timeout=GOES_ON)
        wire.reset()

    batches = 0
    for _ in watch(connect(serve(script)), timeout_seconds=60, overdue=30.0):
        batches += 1
        clock.ahead += 20
        received.release()
    assert batches == 5, "the fifth comes 80 s after the beginning, the next would after 100"


def test_two_watches_and_a_list_share_one_connection_object(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        if "watch" in request.query:
            wire.stream()
            wire.chunk(EVENT + b"\n")
            wire.hold()
        wire.json({})

    connection = connect(serve(script))
    with watch(connection) as first, watch(connection) as second:
        assert next(iter(first)) == next(iter(second)) == [EVENT]
        assert connection.get(PODS) == b"{}"
