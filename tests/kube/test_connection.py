"""One bad behaviour of a server, or of what stands before it, per test."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError
from tests.kube.certificates import Issued, issue
from tests.kube.conftest import TOKEN
from tests.kube.server import Request, Server, Wire, listening

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
PODS = "/api/v1/pods"


def refused(connection: Connection, **settings: float) -> KubeError:
    with pytest.raises(KubeError) as caught:
        connection.get(PODS, **settings)  # type: ignore[arg-type]
    error = caught.value
    assert connection.host in error.sentence
    assert TOKEN not in error.sentence
    assert error.__cause__ is not None or error.status is not None or error.code == "too-large"
    return error


def ok(request: Request, wire: Wire) -> None:
    wire.json({"kind": "PodList"})


def test_an_answer_arrives_with_our_headers_sent(serve: Serve, connect: Connect) -> None:
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


def test_threads_ask_at_the_same_time(serve: Serve, connect: Connect) -> None:
    together = threading.Barrier(4, timeout=5)

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
        thread.join(5)
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
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="1000")
        wire.drip(b"{" + b" " * 999, 0.05)

    started = time.monotonic()
    error = refused(connect(serve(script), total_deadline=0.4))
    assert (error.code, error.permanent) == ("timeout", False)
    assert "within 0.4 s" in error.sentence
    assert time.monotonic() - started < 0.8


def test_a_server_that_drips_its_headers_meets_the_total_deadline(
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000, 0.05)

    started = time.monotonic()
    assert refused(connect(serve(script), total_deadline=0.4)).code == "timeout"
    assert time.monotonic() - started < 0.8


def test_a_server_that_drips_chunks_meets_the_total_deadline(
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Transfer_Encoding="chunked")
        wire.drip(b"1\r\n{\r\n" * 200, 0.03)

    assert refused(connect(serve(script), total_deadline=0.3)).code == "timeout"


def test_a_server_that_never_answers_meets_the_deadline_of_the_call(
    serve: Serve, connect: Connect
) -> None:
    error = refused(connect(serve(lambda request, wire: wire.hold())), deadline=0.2)
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
        assert time.monotonic() - started < 0.7


def test_a_refused_connection_is_unreachable(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    error = refused(connect(f"https://127.0.0.1:{port}"))
    assert error.code == "unreachable"
    assert "refuses" in error.sentence


def test_a_name_that_does_not_exist_is_unreachable(connect: Connect) -> None:
    error = refused(connect("https://nowhere.invalid:6443", connect_deadline=1.0))
    assert error.code == "unreachable"
    assert "not resolved" in error.sentence


def test_a_resolver_that_hangs_does_not_hold_us_up(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> None:
        time.sleep(0.6)
        raise socket.gaierror(socket.EAI_AGAIN, "late")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    started = time.monotonic()
    error = refused(connect("https://slow.example:6443", connect_deadline=0.2))
    assert error.code == "unreachable"
    assert "not resolved within 0.2 s" in error.sentence
    assert time.monotonic() - started < 0.5


def test_a_port_that_takes_connections_and_is_silent_meets_the_connect_deadline(
    connect: Connect,
) -> None:
    with listening() as port:
        error = refused(connect(f"https://127.0.0.1:{port}", connect_deadline=0.2))
    assert error.code == "timeout"
    assert "TLS handshake" in error.sentence


def test_a_port_that_speaks_plain_http_is_named(connect: Connect) -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listening(behave) as port:
        error = refused(connect(f"https://127.0.0.1:{port}"))
    assert error.code == "tls"
    assert "does not speak TLS" in error.sentence


def test_a_handshake_that_is_broken_off_is_named(connect: Connect) -> None:
    with listening(lambda connection: None) as port:
        error = refused(connect(f"https://127.0.0.1:{port}"))
    assert error.code in ("tls", "unreachable")
    assert "broke off" in error.sentence


def test_a_certificate_of_an_unknown_authority_is_refused(serve: Serve, connect: Connect) -> None:
    stranger = issue("stranger", names=(), is_authority=True)
    server = serve(ok, issue("localhost", stranger))
    error = refused(connect(server))
    assert (error.code, error.permanent) == ("tls", True)
    assert "authority that we were not told to trust" in error.sentence
    assert server.requests == []


def test_a_self_signed_certificate_is_refused_and_called_so(serve: Serve, connect: Connect) -> None:
    assert "self-signed" in refused(connect(serve(ok, issue("localhost")))).sentence


def test_a_certificate_that_has_expired_is_called_so(
    serve: Serve, connect: Connect, authority: Issued
) -> None:
    expired = issue("localhost", authority, ends_in=timedelta(hours=-1))
    assert "has expired" in refused(connect(serve(ok, expired))).sentence


def test_a_certificate_for_another_name_is_called_so(
    serve: Serve, connect: Connect, authority: Issued
) -> None:
    other = issue("other", authority, names=("other.example",))
    assert "not valid for '127.0.0.1'" in refused(connect(serve(ok, other))).sentence


def test_without_a_ca_the_authorities_of_the_system_decide(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    assert refused(connect(server, login={"ca_pem": None})).code == "tls"
    assert server.requests == []


def test_tls_server_name_is_what_the_certificate_must_carry(
    serve: Serve, connect: Connect, authority: Issued
) -> None:
    server = serve(ok, issue("other", authority, names=("other.example",)))
    assert connect(server, login={"tls_server_name": "other.example"}).get(PODS)


def test_a_client_certificate_logs_in(serve: Serve, connect: Connect, authority: Issued) -> None:
    server = serve(ok, client_ca=authority.certificate_pem)
    reader = issue("reader", authority)
    login = {
        "token": None,
        "client_certificate_pem": reader.certificate_pem,
        "client_key_pem": reader.key_pem,
    }
    assert connect(server, login=login).get(PODS)
    assert "Authorization" not in server.requests[0].headers


def test_a_client_certificate_that_is_missing_is_named(
    serve: Serve, connect: Connect, authority: Issued
) -> None:
    error = refused(connect(serve(ok, client_ca=authority.certificate_pem)))
    assert error.code == "tls"
    assert "refused our TLS connection or client certificate" in error.sentence


@pytest.mark.parametrize(
    ("status", "code", "permanent"),
    [
        (400, "bad-request", True),
        (401, "unauthorized", True),
        (403, "forbidden", True),
        (404, "not-found", True),
        (410, "gone", False),
        (429, "throttled", False),
        (500, "server-error", False),
        (503, "server-error", False),
    ],
)
def test_a_status_becomes_a_code_and_its_message_part_of_the_sentence(
    serve: Serve, connect: Connect, status: int, code: str, permanent: bool
) -> None:
    said = {"kind": "Status", "message": 'pods is forbidden: User "x" cannot list'}
    error = refused(connect(serve(lambda request, wire: wire.json(said, status))))
    assert (error.code, error.status, error.permanent) == (code, status, permanent)
    assert said["message"] in error.sentence
    assert PODS in error.sentence


def test_what_a_server_says_is_cleaned_and_cut(serve: Serve, connect: Connect) -> None:
    said = {"kind": "Status", "message": f"a\r\nb\x1b[31m\u202e{TOKEN} " + "x" * 5000}
    error = refused(connect(serve(lambda request, wire: wire.json(said, 403))))
    assert "a b [31m [token] xxx" in error.sentence
    assert error.sentence.isprintable()
    assert len(error.sentence) < 450


def test_a_page_of_a_load_balancer_behind_a_bad_status_is_described(
    serve: Serve, connect: Connect
) -> None:
    page = b"<html>Bad gateway</html>"
    error = refused(
        connect(serve(lambda request, wire: wire.answer(page, 502, Content_Type="text/html")))
    )
    assert error.code == "server-error"
    assert "it sent an HTML page (text/html), not a Kubernetes status" in error.sentence


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("3600", 60.0), ("soon", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("-1", None)],
)
def test_retry_after_is_honoured_up_to_a_minute(
    serve: Serve, connect: Connect, header: str, seconds: float | None
) -> None:
    error = refused(
        connect(serve(lambda request, wire: wire.json({}, 429, Retry_After=header)))
    )
    assert error.retry_after == seconds


def test_a_redirect_is_not_followed(serve: Serve, connect: Connect) -> None:
    target = serve(ok)
    server = serve(lambda request, wire: wire.answer(b"", 302, Location=f"{target.url}/"))
    error = refused(connect(server))
    assert (error.code, error.status) == ("redirected", 302)
    assert target.connections == 0


def test_a_login_page_with_200_is_not_json(serve: Serve, connect: Connect) -> None:
    page = b"<!DOCTYPE html><title>Sign in</title>"
    error = refused(
        connect(serve(lambda request, wire: wire.answer(page, Content_Type="text/html; a=b")))
    )
    assert error.code == "not-json"
    assert "with an HTML page (200, text/html) instead of JSON" in error.sentence


def test_a_page_that_claims_to_be_json_is_not_json(serve: Serve, connect: Connect) -> None:
    error = refused(connect(serve(lambda request, wire: wire.answer(b"<html></html>"))))
    assert error.code == "not-json"


def test_an_empty_answer_is_not_json(serve: Serve, connect: Connect) -> None:
    assert "nothing (200" in refused(connect(serve(lambda _, wire: wire.answer(b"")))).sentence


def test_a_body_shorter_than_announced_is_broken_off(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="100")
        wire.send(b"{}")
        wire.close()

    assert refused(connect(serve(script))).code == "broken-off"


def test_a_chunk_that_is_cut_is_broken_off(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Transfer_Encoding="chunked")
        wire.send(b"ff\r\n{}")
        wire.close()

    assert refused(connect(serve(script))).code == "broken-off"


def test_a_connection_that_is_reset_in_the_body_is_broken_off(
    serve: Serve, connect: Connect
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="100")
        wire.send(b"{}")
        wire.reset()

    assert refused(connect(serve(script))).code == "broken-off"


def test_json_that_ends_in_the_middle_of_a_complete_answer_is_broken_off(
    serve: Serve, connect: Connect
) -> None:
    error = refused(connect(serve(lambda request, wire: wire.answer(b'{"items":[1,'))))
    assert error.code == "broken-off"
    assert "ends in the middle, after 12 bytes" in error.sentence


def test_a_server_that_closes_without_an_answer_is_named(serve: Serve, connect: Connect) -> None:
    error = refused(connect(serve(lambda request, wire: wire.close())))
    assert error.code == "broken-off"
    assert "without an answer" in error.sentence


def test_a_server_that_does_not_speak_http_is_named(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.send(b"220 mail.example ESMTP\r\n")
        wire.close()

    error = refused(connect(serve(script)))
    assert error.code == "not-json"
    assert "does not speak HTTP" in error.sentence


def test_an_answer_announced_too_large_is_not_read(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="2000000")
        wire.hold()

    error = refused(connect(serve(script), max_bytes=1024 * 1024))
    assert (error.code, error.permanent) == ("too-large", True)
    assert "over 1 MiB" in error.sentence


def test_an_answer_that_grows_too_large_is_stopped(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Transfer_Encoding="chunked")
        while wire.is_open:
            wire.chunk(b" " * 10_000)

    assert refused(connect(serve(script), max_bytes=100_000)).code == "too-large"


def test_compression_is_undone(serve: Serve, connect: Connect) -> None:
    body = b'{"a": "%s"}' % (b"b" * 1_000_000)
    server = serve(lambda _, wire: wire.answer(gzip.compress(body), Content_Encoding="gzip"))
    assert connect(server).get(PODS) == body


def test_compression_can_be_switched_off(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    connect(server, gzip=False).get(PODS)
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


def test_a_gzip_bomb_is_stopped_at_the_limit(serve: Serve, connect: Connect) -> None:
    bomb = gzip.compress(b"[" + b" " * 50_000_000)
    server = serve(lambda request, wire: wire.answer(bomb, Content_Encoding="gzip"))
    assert refused(connect(server, max_bytes=1_000_000)).code == "too-large"


def test_damaged_compression_is_broken_off(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.answer(b"{}not gzip", Content_Encoding="gzip"))
    assert refused(connect(server)).code == "broken-off"


def test_proxies_of_the_environment_are_ignored(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert connect(serve(ok)).get(PODS)


def test_a_token_in_a_file_is_read_again_when_it_changes(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
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


def test_a_token_file_that_vanishes_is_named(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    connection = connect(serve(ok), login={"token": None, "token_file": str(file)})
    with pytest.raises(KubeError, match="token does not exist") as caught:
        connection.get(PODS)
    assert caught.value.code == "credentials"


def test_the_key_of_the_client_is_not_left_on_the_disk(
    connect: Connect, authority: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    reader = issue("reader", authority)
    login = {
        "client_certificate_pem": reader.certificate_pem,
        "client_key_pem": reader.key_pem,
    }
    connect("https://127.0.0.1:1", login=login)
    assert list(tmp_path.iterdir()) == []
