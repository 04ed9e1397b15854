"""One bad response of a server, or of a proxy before it, per test."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from gangboard.kube.connection import Connection
from tests.kube.conftest import TOKEN
from tests.kube.reads import PODS, ok, refused
from tests.kube.server import Request, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]


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
    body = {"kind": "Status", "message": 'pods is forbidden: User "x" cannot list'}
    error = refused(connect(serve(lambda request, wire: wire.json(body, status))))
    assert (error.code, error.status, error.permanent) == (code, status, permanent)
    assert body["message"] in error.sentence
    assert PODS in error.sentence


def test_a_server_message_is_cleaned_and_cut(serve: Serve, connect: Connect) -> None:
    status = {"kind": "Status", "message": f"a\r\nb\x1b[31m\u202e{TOKEN} " + "x" * 5000}
    error = refused(connect(serve(lambda request, wire: wire.json(status, 403))))
    assert "a b [31m [token] xxx" in error.sentence
    assert error.sentence.isprintable()
    assert len(error.sentence) < 450


def test_a_load_balancer_page_with_a_bad_status_is_described(
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
    [
        ("7", 7.0),
        ("3600", 60.0),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("-1", None),
        ("Wed, 21 Oct 99999999999999999999 07:28:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -1400", 60.0),
    ],
)
def test_retry_after_is_honoured_up_to_a_minute(
    serve: Serve, connect: Connect, header: str, seconds: float | None
) -> None:
    error = refused(connect(serve(lambda request, wire: wire.json({}, 429, Retry_After=header))))
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


def test_a_body_shorter_than_announced_is_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="100")
        wire.send(b"{}")
        wire.close()

    assert refused(connect(serve(script))).code == "broken-off"


def test_a_cut_chunk_is_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Transfer_Encoding="chunked")
        wire.send(b"ff\r\n{}")
        wire.close()

    assert refused(connect(serve(script))).code == "broken-off"


def test_a_reset_in_the_body_is_incomplete(serve: Serve, connect: Connect) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.head(Content_Length="100")
        wire.send(b"{}")
        wire.reset()

    assert refused(connect(serve(script))).code == "broken-off"


def test_json_that_ends_early_is_incomplete(serve: Serve, connect: Connect) -> None:
    error = refused(connect(serve(lambda request, wire: wire.answer(b'{"items":[1,'))))
    assert error.code == "broken-off"
    assert "is cut off after 12 bytes" in error.sentence


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


def test_damaged_compression_is_incomplete(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request, wire: wire.answer(b"{}not gzip", Content_Encoding="gzip"))
    assert refused(connect(server)).code == "broken-off"
