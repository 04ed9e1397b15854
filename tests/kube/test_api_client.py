"""Costs, connections and logs of the official client, and its unused parts."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gangboard.kube import connection_pools
from gangboard.kube.api_client import MAX_IDLE
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import CredentialError, KubeError
from gangboard.kube.watch import Watch
from gangboard.kube.write_client import WriteClient
from tests.kube.conftest import TOKEN
from tests.kube.reads import PODS, ok
from tests.kube.server import Request, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]


def modules_after(code: str) -> set[str]:
    """The modules that a fresh process has when it has run this."""
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(done.stdout.decode().split())


def test_the_client_is_imported_only_for_a_connection() -> None:
    loaded = modules_after("import gangboard.kube.write_client, gangboard.kube.watch")
    assert "gangboard.kube.connection" in loaded
    assert "kubernetes" not in loaded


def test_no_typed_model_is_ever_loaded() -> None:
    loaded = modules_after("import gangboard.kube.api_client")
    assert "kubernetes.client.api_client" in loaded
    models = {name for name in loaded if name.startswith("kubernetes.client.models.")}
    apis = {name for name in loaded if name.startswith("kubernetes.client.api.")}
    assert (models, apis) == (set(), set())


def test_an_idle_connection_expires(
    serve: Serve, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(ok)
    connection = connect(server)
    connection.get(PODS)
    monkeypatch.setattr(connection_pools, "IDLE_SECONDS", 0.0)
    connection.get(PODS)
    assert server.connections == 2


def test_few_connections_stay_open_without_a_warning(
    serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    many = MAX_IDLE + 2
    together = threading.Barrier(many, timeout=60)

    def script(request: Request, wire: Wire) -> None:
        together.wait()
        ok(request, wire)

    server = serve(script)
    connection = connect(server, connect_deadline=60.0, total_deadline=60.0)
    for connections in (many, many + 2):
        threads = [threading.Thread(target=connection.get, args=(PODS,)) for _ in range(many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert server.connections == connections
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_connection_is_reused_after_a_refusal_was_read(serve: Serve, connect: Connect) -> None:
    server = serve(lambda _, wire: wire.json({"kind": "Status"}, 403))
    connection = connect(server)
    for _ in range(3):
        with pytest.raises(KubeError, match="forbids"):
            connection.get(PODS)
    assert (len(server.requests), server.connections) == (3, 1)


@pytest.mark.parametrize("location", ["http://[", "https://a%.example", "/elsewhere", "\udcff"])
def test_the_target_of_a_redirect_is_not_read(
    serve: Serve, connect: Connect, location: str
) -> None:
    def script(request: Request, wire: Wire) -> None:
        wire.send(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ")
        wire.send(location.encode(errors="surrogateescape") + b"\r\n\r\n")

    server = serve(script)
    with pytest.raises(KubeError) as caught:
        connect(server).get(PODS)
    assert (caught.value.code, len(server.requests)) == ("redirected", 1)


def test_requests_are_possible_after_close(serve: Serve, connect: Connect) -> None:
    server = serve(ok)
    connection = connect(server)
    connection.get(PODS)
    connection.close()
    assert connection.get(PODS)
    assert server.connections == 2


def test_secrets_are_not_logged(
    serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    def script(request: Request, wire: Wire) -> None:
        if "watch" in request.query:
            wire.stream()
            wire.end_chunks()
        wire.json({}, 500 if request.method == "PATCH" else 200)

    caplog.set_level(logging.DEBUG)
    connection = connect(serve(script))
    connection.get(PODS)
    assert list(Watch(connection, PODS, "7", timeout_seconds=1)) == []
    with pytest.raises(KubeError):
        WriteClient(connection).merge_patch(f"{PODS}/a", b'{"secret":"in-the-body"}')
    assert PODS in caplog.text, "urllib3 tells of requests"
    assert TOKEN not in caplog.text
    assert "in-the-body" not in caplog.text


def test_kubeconfigs_of_the_environment_are_ignored(
    serve: Serve, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched = tmp_path / "touched"
    config = tmp_path / "config"
    config.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:9'}}]\n"
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        f"users: [{{name: a, user: {{exec: {{command: touch, args: ['{touched}']}}}}}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", str(config))
    assert connect(serve(ok)).get(PODS)
    assert not touched.exists()


def test_an_address_that_urllib3_cannot_read_is_refused_at_once() -> None:
    with pytest.raises(CredentialError, match="not an address"):
        Connection(Credentials("https://a%.example", token="t"))
