"""A watch reuses the connection of an earlier watch, and replaces a dead one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gangboard.kube import connection_pools
from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from gangboard.kube.watch import Watch
from tests.kube.server import GOES_ON, Request, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
PODS = "/api/v1/pods"
EVENT = b'{"type":"ADDED","object":{}}'


def end_watch(_request: Request, wire: Wire) -> None:
    """One change, and the end as it should be."""
    wire.stream()
    wire.chunk(EVENT + b"\n")
    wire.end_chunks()


def watched(connection: Connection, **settings: Any) -> list[bytes]:
    """Return all lines of one watch and close it afterwards, as its users do."""
    with Watch(connection, PODS, "7", **{"timeout_seconds": 600, **settings}) as watch:
        return [line for lines in watch for line in lines]


def test_a_connection_serves_consecutive_watches(serve: Serve, connect: Connect) -> None:
    server = serve(end_watch)
    connection = connect(server)
    for _ in range(5):
        assert watched(connection) == [EVENT]
    assert (len(server.requests), server.connections) == (5, 1)


def test_concurrent_watches_use_separate_connections(serve: Serve, connect: Connect) -> None:
    together = threading.Barrier(3, timeout=GOES_ON)

    def script(request: Request, wire: Wire) -> None:
        together.wait()
        end_watch(request, wire)

    server = serve(script)
    connection = connect(server)
    for _ in range(2):
        threads = [threading.Thread(target=watched, args=(connection,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GOES_ON)
    assert (len(server.requests), server.connections) == (6, 3)


def test_lists_and_watches_do_not_take_each_others_connections(
    serve: Serve, connect: Connect
) -> None:
    """A list is not cut off, and is not repeated unless its connection was closed."""

    def script(request: Request, wire: Wire) -> None:
        if "watch" in request.query:
            end_watch(request, wire)
        else:
            wire.json({})

    server = serve(script)
    connection = connect(server)
    for _ in range(2):
        watched(connection)
        connection.get(PODS)
    assert (len(server.requests), server.connections) == (4, 2)


def _cut_off(_request: Request, wire: Wire) -> None:
    wire.stream()
    wire.chunk(EVENT + b"\n")
    wire.close()


def _half_a_line(_request: Request, wire: Wire) -> None:
    wire.stream()
    wire.chunk(EVENT)
    wire.end_chunks()


def _more_behind_the_end(_request: Request, wire: Wire) -> None:
    wire.stream()
    wire.send(b"0\r\n\r\nHTTP/1.1 200 OK\r\n")


def _asks_to_close(_request: Request, wire: Wire) -> None:
    wire.head(Transfer_Encoding="chunked", Connection="close")
    wire.end_chunks()


def _refuses(_request: Request, wire: Wire) -> None:
    wire.json({"kind": "Status"}, 403)


@pytest.mark.parametrize(
    "first", [_cut_off, _half_a_line, _more_behind_the_end, _asks_to_close, _refuses]
)
def test_a_connection_without_a_clean_end_is_not_reused(
    serve: Serve, connect: Connect, first: Callable[[Request, Wire], None]
) -> None:
    scripts = iter([first, end_watch])
    server = serve(lambda request, wire: next(scripts)(request, wire))
    connection = connect(server)
    with suppress(KubeError):
        watched(connection)
    assert watched(connection) == [EVENT]
    assert server.connections == 2


def test_a_cut_connection_is_not_reused(serve: Serve, connect: Connect) -> None:
    def script(_request: Request, wire: Wire) -> None:
        wire.stream()
        wire.chunk(EVENT + b"\n")
        wire.hold()

    server = serve(script)
    connection = connect(server)
    for _ in range(2):
        with Watch(connection, PODS, "7", timeout_seconds=600) as watch:
            assert next(iter(watch)) == [EVENT]
    assert server.connections == 2


def test_closing_an_ended_watch_does_not_affect_the_next_one(
    serve: Serve, connect: Connect
) -> None:
    server = serve(end_watch)
    connection = connect(server)
    first = Watch(connection, PODS, "7", timeout_seconds=600)
    assert list(first) == [[EVENT]]
    second = iter(Watch(connection, PODS, "7", timeout_seconds=600))
    assert next(second) == [EVENT]
    first.close()
    assert list(second) == []
    assert server.connections == 1


def test_a_connection_closed_by_the_server_is_replaced(serve: Serve, connect: Connect) -> None:
    closed = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        end_watch(request, wire)
        if len(server.requests) == 1:
            wire.close()
            closed.set()

    server = serve(script)
    connection = connect(server)
    assert watched(connection) == [EVENT]
    assert closed.wait(GOES_ON)
    time.sleep(0.1)  # its farewell arrives; before that, the next test has it
    assert watched(connection) == [EVENT]
    assert (len(server.requests), server.connections) == (2, 2)


def test_a_connection_that_fails_during_the_next_request_is_replaced_once(
    serve: Serve, connect: Connect
) -> None:
    """The first watch is well, its connection dies under the second, and so does the new one."""

    def script(request: Request, wire: Wire) -> None:
        if len(server.requests) == 1:
            end_watch(request, wire)
        else:
            wire.reset()

    server = serve(script)
    connection = connect(server)
    assert watched(connection) == [EVENT]
    with pytest.raises(KubeError) as caught:
        watched(connection)
    assert caught.value.code == "broken-off"
    assert (len(server.requests), server.connections) == (3, 2)


def test_a_connection_forgotten_by_the_network_is_replaced_after_the_connect_deadline(
    serve: Serve, connect: Connect
) -> None:
    """The connection gives no sign that it is dead. Requests on it get no response."""

    def script(request: Request, wire: Wire) -> None:
        if len(server.requests) == 2:
            wire.hold()
        end_watch(request, wire)

    server = serve(script)
    connection = connect(server, connect_deadline=0.5, total_deadline=GOES_ON)
    assert watched(connection) == [EVENT]
    assert watched(connection) == [EVENT]
    assert (len(server.requests), server.connections) == (3, 2)


def test_the_usual_deadlines_hold_without_network(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kept connection is silent, and a new connection fails. The error reports the latter."""

    def script(request: Request, wire: Wire) -> None:
        if len(server.requests) > 1:
            wire.hold()
        end_watch(request, wire)

    server = serve(script)
    connection = connect(server, connect_deadline=0.3)
    assert watched(connection) == [EVENT]

    def refuse(*_: object) -> None:
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(KubeError) as caught:
        watched(connection)
    assert (caught.value.code, len(server.requests)) == ("unreachable", 2)


def test_close_ends_a_watch_on_a_silent_connection(serve: Serve, connect: Connect) -> None:
    requested = threading.Event()

    def script(request: Request, wire: Wire) -> None:
        if len(server.requests) > 1:
            requested.set()
            wire.hold()
        end_watch(request, wire)

    server = serve(script)
    connection = connect(server)
    assert watched(connection) == [EVENT]
    watch = Watch(connection, PODS, "7", timeout_seconds=600)
    thread = threading.Thread(target=lambda: list(watch))
    thread.start()
    assert requested.wait(GOES_ON)
    watch.close()
    thread.join(GOES_ON / 2)
    assert not thread.is_alive()
    assert (len(server.requests), server.connections) == (2, 1)


def test_a_connection_that_was_idle_for_long_is_not_reused(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(end_watch)
    connection = connect(server)
    watched(connection)
    monkeypatch.setattr(connection_pools, "IDLE_SECONDS", 0.0)
    watched(connection)
    assert server.connections == 2


def test_kept_connections_are_closed_with_the_connection(serve: Serve, connect: Connect) -> None:
    server = serve(end_watch)
    connection = connect(server)
    watched(connection)
    assert server.open == 1
    connection.close()
    give_up_at = time.monotonic() + GOES_ON
    while server.open:
        assert time.monotonic() < give_up_at
        time.sleep(0.01)


def test_a_renewed_token_is_sent_with_the_next_watch(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    server = serve(end_watch)
    connection = connect(server, login={"token": None, "token_file": str(file)})
    watched(connection)
    file.write_text("another")
    watched(connection)
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer one", "Bearer another"]
    assert server.connections == 1
