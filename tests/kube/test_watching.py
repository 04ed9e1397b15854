"""Watches: at once, in time, and never silently dead."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from gangboard.kube.watching import Watch
from tests.kube.server import Request, Server, Wire, listening

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
PODS = "/api/v1/pods"
EVENT = b'{"type":"ADDED","object":{}}'


def watch(connection: Connection, **settings: Any) -> Watch:
    return Watch(connection, PODS, "7", **{"timeout_seconds": 10, **settings})


def failure(watching: Watch) -> tuple[KubeError, list[bytes]]:
    """The error that ends the watch, and the lines before it."""
    seen: list[bytes] = []
    with pytest.raises(KubeError) as caught:
        seen.extend(line for lines in watching for line in lines)
    return caught.value, seen


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


def test_events_that_waited_for_us_are_one_batch(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        for _ in range(51):
            wire.chunk(EVENT + b"\n")
        wire.end_chunks()

    batches = []
    for lines in watch(connect(serve(script))):
        batches.append(len(lines))
        time.sleep(0.2)
    assert sum(batches) == 51
    assert len(batches) <= 3


def test_what_came_before_a_reset_is_given_out(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n")
        wire.chunk(EVENT + b"\n")
        time.sleep(0.1)
        wire.reset()

    error, seen = failure(watch(connect(serve(script))))
    assert (error.code, seen) == ("broken-off", [EVENT, EVENT])


def test_a_watch_without_chunks_ends_with_the_connection(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Connection="close")
        wire.send(EVENT + b"\n")
        wire.close()

    assert list(watch(connect(serve(script)))) == [[EVENT]]


def test_a_small_event_is_seen_within_50_ms(serve: Serve, connect: Connect) -> None:
    sent: list[float] = []

    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        for _ in range(5):
            time.sleep(0.03)
            sent.append(time.monotonic())
            wire.chunk(EVENT + b"\n")
        wire.end_chunks()

    came = [time.monotonic() for _ in watch(connect(serve(script)))]
    lags = sorted(seen - at for seen, at in zip(came, sent, strict=True))
    assert lags[2] < 0.05, lags


def test_an_event_is_seen_although_its_chunk_is_not_complete(
    serve: Serve, connect: Connect
) -> None:
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
        opened.wait(5)
        wire.end_chunks()

    assert list(watch(connect(serve(script)), on_open=opened.set)) == []
    assert opened.is_set()


def close_soon(watching: Watch) -> tuple[threading.Thread, list[float]]:
    """Iterate in a thread; returns it and, when it has ended, the moment."""
    ended: list[float] = []

    def run() -> None:
        assert list(watching) == []
        ended.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.15)
    return thread, ended


def closes_at_once(watching: Watch) -> None:
    thread, ended = close_soon(watching)
    closed_at = time.monotonic()
    watching.close()
    thread.join(3)
    assert ended, "the iteration did not end, or raised"
    assert ended[0] - closed_at < 0.2


def test_close_ends_a_silent_watch(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.hold()

    closes_at_once(watch(connect(serve(script))))


def test_close_ends_a_watch_that_waits_for_headers(serve: Serve, connect: Connect) -> None:
    closes_at_once(watch(connect(serve(lambda request, wire: wire.hold()))))


def test_close_ends_a_watch_in_the_handshake(connect: Connect) -> None:
    with listening() as port:
        closes_at_once(watch(connect(f"https://127.0.0.1:{port}")))


def test_close_before_the_start_asks_nothing(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.stream())
    with watch(connect(server)) as watching:
        watching.close()
        assert list(watching) == []
    assert server.connections == 0


def test_nothing_is_given_out_after_close(serve: Serve, connect: Connect) -> None:
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


def test_history_that_is_cut_is_gone(serve: Serve, connect: Connect) -> None:
    status = {"kind": "Status", "message": "too old resource version: 7 (99)"}
    error, _ = failure(watch(connect(serve(lambda request, wire: wire.json(status, 410)))))
    assert (error.code, error.status) == ("gone", 410)
    assert "too old resource version" in error.sentence


def test_a_login_page_is_not_a_watch(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.answer(b"<html>", Content_Type="text/html"))
    assert failure(watch(connect(server)))[0].code == "not-json"


def test_half_a_line_at_the_end_is_broken_off(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n" + EVENT[:9])
        wire.end_chunks()

    error, seen = failure(watch(connect(serve(script))))
    assert (error.code, seen) == ("broken-off", [EVENT])


def test_an_end_without_the_last_chunk_is_broken_off(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n")
        wire.close()

    error, seen = failure(watch(connect(serve(script))))
    assert (error.code, seen) == ("broken-off", [EVENT])


def test_a_reset_is_broken_off(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.reset()

    assert failure(watch(connect(serve(script))))[0].code == "broken-off"


def test_chunks_that_are_none_are_broken_off(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.send(b"hello\r\n")
        wire.hold()

    error, _ = failure(watch(connect(serve(script))))
    assert error.code == "broken-off"
    assert "garbled" in error.sentence


def test_a_line_that_never_ends_is_too_large(serve: Serve, connect: Connect) -> None:
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

    started = time.monotonic()
    error, seen = failure(watch(connect(serve(script)), silence_deadline=0.3))
    assert (error.code, seen) == ("timeout", [EVENT])
    assert f"The watch of {PODS} on 127.0.0.1" in error.sentence
    assert "silently dead" in error.sentence
    assert time.monotonic() - started < 0.8


def test_bookmarks_are_signs_of_life(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        for _ in range(6):
            time.sleep(0.1)
            wire.chunk(b'{"type":"BOOKMARK"}\n')
        wire.end_chunks()

    assert len(list(watch(connect(serve(script)), silence_deadline=0.4))) == 6


def test_a_dead_watch_that_should_have_ended_is_noticed(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        wire.hold()

    error, _ = failure(watch(connect(serve(script)), timeout_seconds=0, overdue=0.2))
    assert error.code == "timeout"


def test_a_server_that_ignores_timeout_seconds_is_left_in_time(
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.stream()
        while wire.is_open:
            wire.chunk(EVENT + b"\n")
            time.sleep(0.02)

    started = time.monotonic()
    assert list(watch(connect(serve(script)), timeout_seconds=0, overdue=0.3))
    assert time.monotonic() - started < 0.8


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
