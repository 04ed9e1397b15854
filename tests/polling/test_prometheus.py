"""Instant queries: answers that are used, and answers that are refused with a sentence."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.polling import prometheus
from gangboard.polling.prometheus import PrometheusError, query_by_pod, read_service, read_url
from gangboard.prometheus_sources import PrometheusSource, read_sources, source_of
from tests.kube.conftest import authority, connect, serve, server_certificate
from tests.kube.server import Request, Server, Wire
from tests.polling.fake_prometheus import answering, vector

__all__ = ["authority", "connect", "serve", "server_certificate"]
SERVICE = PrometheusSource(namespace="monitoring", service="prometheus:9090")


def answer(*series: dict[str, Any], kind: str = "vector") -> bytes:
    document = {"status": "success", "data": {"resultType": kind, "result": list(series)}}
    return json.dumps(document).encode()


def series(value: str, **metric: str) -> dict[str, Any]:
    return {"metric": metric, "value": [1.0, value]}


def read(url: str, **settings: str) -> bytes:
    return read_url(PrometheusSource(url=url), "up", **{"token": "", "ca_file": "", **settings})


def test_several_accelerators_of_a_pod_are_averaged() -> None:
    body = answer(series("80", namespace="a", pod="p"), series("100", namespace="a", pod="p"))
    assert query_by_pod(body) == {("a", "p"): 90.0}


def test_exported_labels_name_the_pod_and_the_others_the_exporter() -> None:
    assert query_by_pod(vector({("a", "p"): 5.0})) == {("a", "p"): 5.0}
    assert query_by_pod(answer(series("7", namespace="a", pod="p", exported_pod=""))) == {
        ("a", "p"): 7.0
    }


@pytest.mark.parametrize(
    "bad",
    [
        series("NaN", namespace="a", pod="p"),
        series("+Inf", namespace="a", pod="p"),
        series("x", namespace="a", pod="p"),
        series("5", pod="p"),
        series("5"),
        {"metric": {"namespace": "a", "pod": "p"}},
        {"metric": {"namespace": 1}},
    ],
)
def test_series_without_a_pod_or_a_number_are_left_out(bad: dict[str, Any]) -> None:
    assert query_by_pod(answer(bad, series("5", namespace="a", pod="q"))) == {("a", "q"): 5.0}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>", "not its JSON"),
        (b'{"status":"error","error":"parse error: x"}', "refused the query: parse error: x"),
        (answer(kind="matrix"), "instant vector, and gives matrix"),
        (
            answer(series("0.87", namespace="a", pod="p"), series("101", namespace="a", pod="q")),
            "from 0 to 100",
        ),
    ],
)
def test_other_answers_are_refused(body: bytes, words: str) -> None:
    with pytest.raises(PrometheusError, match=words):
        query_by_pod(body)


def test_a_token_and_the_query_are_sent() -> None:
    seen: list[tuple[str, str]] = []

    def respond(target: str, headers: Any) -> tuple[int, bytes]:
        seen.append((target, headers.get("Authorization", "")))
        return 200, b"{}"

    with answering(respond) as url:
        assert read(f"{url}/prefix", token="t0ken") == b"{}"
    assert seen == [("/prefix/api/v1/query?query=up", "Bearer t0ken")]


@pytest.mark.parametrize("status", [301, 401, 503])
def test_a_bad_status_is_an_error(status: int) -> None:
    with (
        answering(lambda *_: (status, b"")) as url,
        pytest.raises(PrometheusError, match=str(status)),
    ):
        read(url)


def test_an_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MAX_BYTES", 1024 * 1024)
    with (
        answering(lambda *_: (200, b" " * (2 * 1024 * 1024))) as url,
        pytest.raises(PrometheusError, match="over 1 MiB"),
    ):
        read(url)


def test_a_refused_connection_and_an_unknown_authority(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PrometheusError, match="cannot be read"):
        read(f"http://127.0.0.1:{port}")
    with pytest.raises(PrometheusError, match="GANGBOARD_PROMETHEUS_CA"):
        read("https://127.0.0.1:1", ca_file=str(tmp_path / "none"))


@pytest.fixture
def dripping() -> Iterator[str]:
    """The address of a server that sends a byte every tenth of a second and never ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    stopping = threading.Event()

    def run() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not stopping.wait(0.1):
                try:
                    client.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=run)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    stopping.set()
    thread.join()
    listener.close()


def test_an_answer_that_drips_ends_at_the_deadline(
    dripping: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prometheus, "TOTAL_SECONDS", 0.5)
    started = time.monotonic()
    with pytest.raises(PrometheusError, match=r"no complete answer within 0\.5 s"):
        read(dripping)
    assert time.monotonic() - started < 5


def test_a_resolver_that_hangs_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()

    def hang(*_: object, **__: object) -> None:
        given_up.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, "late")

    monkeypatch.setattr(prometheus, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", hang)
    started = time.monotonic()
    with pytest.raises(PrometheusError) as caught:
        read("https://slow.example:9090")
    assert time.monotonic() - started < 20
    given_up.set()
    assert str(caught.value) == (
        "Prometheus slow.example:9090 cannot be read: its name was not resolved within 0.2 s."
    )


def test_a_query_may_take_longer_than_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "CONNECT_SECONDS", 0.5)

    def respond(*_: object) -> tuple[int, bytes]:
        time.sleep(1.0)
        return 200, b"{}"

    with answering(respond) as url:
        assert read(url) == b"{}"


# A Service of the cluster


def test_a_service_is_read_through_the_api_server(
    serve: Callable[..., Server], connect: Callable[..., Connection]
) -> None:
    targets: list[str] = []

    def script(request: Request, wire: Wire) -> None:
        targets.append(request.target)
        wire.json({"status": "success"})

    assert read_service(connect(serve(script)), SERVICE, "a{b}") == b'{"status": "success"}'
    path = "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy/api/v1/query"
    assert targets == [f"{path}?query=a%7Bb%7D"]


def test_a_forbidden_service_names_the_right(
    serve: Callable[..., Server], connect: Callable[..., Connection]
) -> None:
    def script(_request: Request, wire: Wire) -> None:
        wire.json({"kind": "Status", "message": "no", "reason": "Forbidden"}, status=403)

    with pytest.raises(PrometheusError, match="lacks get on services/proxy"):
        read_service(connect(serve(script)), SERVICE, "up")


# Settings


def test_sources_are_read_by_cluster() -> None:
    sources = read_sources(
        "east=https://p.example.com/prom/, west=service:mon/https:prom:web\n*=service:mon/prom:9090"
    )
    assert source_of("east", sources) == PrometheusSource(url="https://p.example.com/prom")
    west = source_of("west", sources)
    assert west is not None
    assert west.proxy_path == "/api/v1/namespaces/mon/services/https:prom:web/proxy"
    assert source_of("south", sources) == PrometheusSource(namespace="mon", service="prom:9090")
    assert source_of("south", {"east": sources["east"]}) is None


@pytest.mark.parametrize(
    "text",
    [
        "https://p.example.com",
        "east=",
        "=https://p",
        "east=ftp://p",
        "east=https://u:p@p",
        "east=https://p?x=1",
        "east=service:mon/prom",
        "east=service:mon/../x:1",
        "a=https://p a=https://q",
    ],
)
def test_other_texts_are_no_sources(text: str) -> None:
    with pytest.raises(ValueError, match=r"^NAME=ADDRESS, "):
        read_sources(text)
