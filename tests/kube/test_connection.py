"""Connections to reachable and unreachable servers, and their deadlines."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from tests.kube.conftest import TOKEN
from tests.kube.reads import PODS, ok, refused
from tests.kube.server import GOES_ON, Clock, Request, Server, Wire, listening

Serve = Callable[..., Server]
Connect = Callable[..., Connection]


def test_a_response_arrives_and_our_headers_are_sent(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    body = connect(server).get(PODS, {"limit": "5", "continue": "a b&c"})
    assert body == b'{"kind": "PodList"}'
    request = server.requests[0]
    assert (request.path, request.query) == (PODS, {"limit": "5", "continue": "a b&c"})
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert request.headers["Accept"] == "application/json"
    assert request.headers["Accept-Encoding"] == "gzip"
    assert request.headers["User-Agent"] == "gangboard"


def test_a_server_behind_a_path_prefix_is_reached(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    connect(f"{server.url}/k8s/clusters/c-1/").get("/version")
    assert server.requests[0].path == "/k8s/clusters/c-1/version"


def test_one_connection_serves_many_requests(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    connection = connect(server)
    for _ in range(3):
        connection.get(PODS)
    assert (len(server.requests), server.connections) == (3, 1)


def test_threads_send_requests_at_the_same_time(serve: Serve, connect: Connect) -> None:
    together = threading.Barrier(4, timeout=GOES_ON)

    def script(request: Request, wire: Wire) -> None:
        together.wait()
        wire.json({"path": request.path})

    connection = connect(serve(script))
    answers: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(connection.get(f"/{n}")))
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GOES_ON)
    assert sorted(answers) == [b'{"path": "/%d"}' % n for n in range(4)]


def test_a_connection_closed_while_idle_is_replaced(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        ok(request, wire)
        wire.close()

    server = serve(script)
    connection = connect(server)
    connection.get(PODS)
    connection.get(PODS)
    assert server.connections == 2


def test_a_connection_that_dies_under_the_next_request_is_replaced_once(
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        if len(server.requests) == 2:
            wire.reset()
        else:
            ok(request, wire)

    server = serve(script)
    connection = connect(server)
    connection.get(PODS)
    assert connection.get(PODS)
    assert (len(server.requests), server.connections) == (3, 2)


def test_a_server_that_drips_its_body_meets_the_total_deadline(
    serve: Serve, connect: Connect, clock: Clock
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="1000")
        wire.drip(b"{" + b" " * 998 + b"}", clock)

    error = refused(connect(serve(script), total_deadline=50.0))
    assert (error.code, error.permanent) == ("timeout", False)
    assert "within 50 s" in error.sentence


def test_a_server_that_drips_its_headers_meets_the_total_deadline(
    serve: Serve, connect: Connect, clock: Clock
) -> None:
    def script(request: Request, wire: Wire) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Slow: " + b"x" * 1000
        wire.drip(head + b"\r\n\r\n{}", clock)

    assert refused(connect(serve(script), total_deadline=50.0)).code == "timeout"


def test_a_server_that_drips_chunks_meets_the_total_deadline(
    serve: Serve, connect: Connect, clock: Clock
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Transfer_Encoding="chunked")
        spaces = b"1\r\n \r\n" * 200
        wire.drip(b"1\r\n{\r\n" + spaces + b"1\r\n}\r\n0\r\n\r\n", clock)

    assert refused(connect(serve(script), total_deadline=50.0)).code == "timeout"


def test_a_server_that_never_answers_meets_the_deadline_of_the_call(
    serve: Serve, connect: Connect
) -> None:
    error = refused(connect(serve(lambda request, wire: wire.hold())), deadline=1.0)
    assert error.code == "timeout"


def test_the_deadline_holds_on_a_connection_that_is_used_again(
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.hold() if len(server.requests) > 1 else ok(request, wire)

    server = serve(script)
    connection = connect(server)
    connection.get(PODS)
    assert refused(connection, deadline=0.2).code == "timeout"


def test_a_black_hole_is_unreachable_after_the_connect_deadline(connect: Connect) -> None:
    # A listener whose queue is full drops further connections, as a firewall does.
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        time.sleep(0.05)
        started = time.monotonic()
        error = refused(
            connect(f"https://127.0.0.1:{listener.getsockname()[1]}", connect_deadline=0.3)
        )
        assert (error.code, error.permanent) == ("unreachable", False)
        assert "within 0.3 s" in error.sentence
        assert time.monotonic() - started < GOES_ON, "the kernel tries for two minutes"


def test_a_refused_connection_is_unreachable(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = refused(connect(f"https://127.0.0.1:{port}"))
    assert error.code == "unreachable"
    assert "refuses" in error.sentence


def test_an_unresolvable_name_is_unreachable(connect: Connect) -> None:
    error = refused(connect("https://nowhere.invalid:6443", connect_deadline=1.0))
    assert error.code == "unreachable"
    assert "not resolved" in error.sentence


def test_a_hanging_resolver_does_not_block_the_client(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolving, given_up = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> None:
        resolving.set()
        given_up.wait(GOES_ON)
        raise socket.gaierror(socket.EAI_AGAIN, "late")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    started = time.monotonic()
    error = refused(connect("https://slow.example:6443", connect_deadline=0.2))
    assert time.monotonic() - started < GOES_ON
    given_up.set()
    assert error.code == "unreachable"
    assert "not resolved within 0.2 s" in error.sentence
    assert resolving.wait(GOES_ON)


def test_a_silent_port_meets_the_connect_deadline(
    connect: Connect,
) -> None:
    with listening() as port:
        error = refused(connect(f"https://127.0.0.1:{port}", connect_deadline=0.2))
    assert error.code == "timeout"
    assert "TLS handshake" in error.sentence


def test_proxies_of_the_environment_are_ignored(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert connect(serve(ok)).get(PODS)


def test_a_changed_token_file_is_read_again(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    server = serve(ok)
    file = tmp_path / "token"
    file.write_text("first\n")
    connection = connect(server, login={"token": None, "token_file": str(file)})
    connection.get(PODS)
    (tmp_path / "next").write_text("second\n")
    (tmp_path / "next").replace(file)
    connection.get(PODS)
    sent = [request.headers["Authorization"] for request in server.requests]
    assert sent == ["Bearer first", "Bearer second"]


def test_a_missing_token_file_is_named(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "token"
    connection = connect(serve(ok), login={"token": None, "token_file": str(file)})
    with pytest.raises(KubeError, match="token does not exist") as caught:
        connection.get(PODS)
    assert caught.value.code == "credentials"
