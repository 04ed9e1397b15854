"""Server and client certificates."""

from __future__ import annotations

import contextlib
import gc
import math
import select
import socket
import ssl
import struct
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.error_translation import SentRequest, connect_error, handle_server_error
from gangboard.kube.transport import tls_context
from tests.kube.certificates import Issued, issue
from tests.kube.reads import PODS, ok, refused
from tests.kube.server import Server, listening

Serve = Callable[..., Server]
Connect = Callable[..., Connection]


def test_a_port_that_speaks_plain_http_is_named(connect: Connect) -> None:
    def behave(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listening(behave) as port:
        error = refused(connect(f"https://127.0.0.1:{port}"))
    assert error.code == "tls"
    assert "does not speak TLS" in error.sentence


def test_an_interrupted_handshake_is_named(connect: Connect) -> None:
    with listening(lambda connection: None) as port:
        error = refused(connect(f"https://127.0.0.1:{port}"))
    assert error.code in ("tls", "unreachable")
    assert "closed the connection" in error.sentence


@pytest.mark.parametrize("end", [ssl.SSLEOFError, ssl.SSLZeroReturnError])
def test_every_python_version_names_a_closed_connection_alike(end: type[ssl.SSLError]) -> None:
    asked = SentRequest("cluster", "GET", "/api", 5.0, 10.0, deadline=math.inf)
    assert (
        connect_error(end(), asked).sentence
        == "cluster closed the connection during the TLS handshake."
    )
    answer = handle_server_error(end(), asked)
    assert (answer.code, answer.sentence) == (
        "broken-off",
        "cluster broke off in the middle of its answer to GET /api.",
    )


def test_a_connection_that_is_reset_before_tls_begins_leaves_no_socket_open() -> None:
    def reset(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    context = tls_context(Credentials("https://127.0.0.1", token="t"))
    with warnings.catch_warnings(record=True) as recorded, listening(reset) as port:
        warnings.simplefilter("always")
        raw = socket.create_connection(("127.0.0.1", port))
        assert select.select([raw], [], [], 5)[0], "the reset has come"
        with contextlib.suppress(ConnectionResetError):
            context.wrap_socket(raw, server_hostname="localhost")
        gc.collect()
    assert [
        str(warning.message) for warning in recorded if "DeadlineSocket" in str(warning.message)
    ] == []


def test_a_certificate_of_an_unknown_authority_is_refused(serve: Serve, connect: Connect) -> None:
    stranger = issue("stranger", names=(), is_authority=True)
    server = serve(ok, issue("localhost", stranger))
    error = refused(connect(server))
    assert (error.code, error.permanent) == ("tls", True)
    assert "authority that gangboard does not trust" in error.sentence
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
    certificate = issue("other", authority, names=("other.example",))
    assert "not valid for '127.0.0.1'" in refused(connect(serve(ok, certificate))).sentence


def test_system_authorities_are_used_without_a_ca(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    assert refused(connect(server, login={"ca_pem": None})).code == "tls"
    assert server.requests == []


def test_the_certificate_must_match_tls_server_name(
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
    assert "refused the TLS connection or the client certificate" in error.sentence


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
