"""A certificate authority for the session, and servers and connections that end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from tests.kube.certificates import Issued, issue
from tests.kube.server import GOES_ON, Clock, Script, Server

TOKEN = "secret-token-of-the-reader"  # not a secret


@pytest.fixture(scope="session")
def authority() -> Issued:
    return issue("authority of the tests", names=(), is_authority=True)


@pytest.fixture(scope="session")
def server_certificate(authority: Issued) -> Issued:
    return issue("localhost", authority)


@pytest.fixture
def serve(server_certificate: Issued) -> Iterator[Callable[..., Server]]:
    """`serve(script, issued=…, client_ca=…)` → a running Server."""
    servers: list[Server] = []

    def start(script: Script, issued: Issued = server_certificate, **settings: Any) -> Server:
        servers.append(Server(issued, script, **settings))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
    assert [crash for server in servers for crash in server.crashes] == []


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the client."""
    fake_clock = Clock()
    for module in ("connection", "transport", "watch"):
        monkeypatch.setattr(f"gangboard.kube.{module}.time", fake_clock)
    return fake_clock


@pytest.fixture
def connect(authority: Issued) -> Iterator[Callable[..., Connection]]:
    """`connect(server, **changes)` → a Connection that trusts the authority of the tests.

    Its connect deadline is long. Tests of that deadline set another one.
    """
    connections: list[Connection] = []

    def make(
        server: Server | str, *, login: dict[str, Any] | None = None, **settings: Any
    ) -> Connection:
        fields: dict[str, Any] = {"ca_pem": authority.certificate_pem, "token": TOKEN}
        fields |= login or {}
        url = server if isinstance(server, str) else server.url
        waits = {"connect_deadline": GOES_ON, **settings}
        connections.append(Connection(Credentials(url, **fields), **waits))
        return connections[-1]

    yield make
    for connection in connections:
        connection.close()
