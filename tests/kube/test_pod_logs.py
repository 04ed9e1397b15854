"""The request of a log, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kubernetes.client import ApiClient, Configuration, CoreV1Api

from gangboard.kube.connection import Connection
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.pod_logs import READ_BYTES, LogRequest, read_log
from tests.kube.certificates import Issued
from tests.kube.server import Request, Server, Wire

Serve = Callable[..., Server]
Connect = Callable[..., Connection]
PLAIN = LogRequest("research", "train-0", "", previous=False, tail=200)
REQUESTS = [PLAIN, LogRequest("research", "train-0.x", "main", previous=True, tail=7)]
KIB = 1024


def text_answer(body: bytes) -> Callable[[Request, Wire], None]:
    def script(_request: Request, wire: Wire) -> None:
        wire.answer(body, Content_Type="text/plain")

    return script


@pytest.mark.parametrize("request_", REQUESTS)
def test_the_request_is_that_of_the_official_client(
    serve: Serve, connect: Connect, authority: Issued, tmp_path: Path, request_: LogRequest
) -> None:
    targets: list[str] = []

    def script(request: Request, wire: Wire) -> None:
        targets.append(request.target)
        text_answer(b"one\n")(request, wire)

    server = serve(script)
    read_log(connect(server), request_, kept_bytes=KIB)
    ca = tmp_path / "ca.crt"
    ca.write_text(authority.certificate_pem)
    configuration = Configuration(host=server.url, ssl_ca_cert=str(ca))
    with ApiClient(configuration) as client:
        CoreV1Api(client).read_namespaced_pod_log(
            request_.pod,
            request_.namespace,
            container=request_.container or None,
            limit_bytes=READ_BYTES,
            previous=request_.previous or None,
            tail_lines=request_.tail,
        )
    ours, official = targets
    assert ours == official
    assert ours.startswith(f"/api/v1/namespaces/research/pods/{request_.pod}/log?")


def test_the_end_of_a_long_log_is_kept(serve: Serve, connect: Connect) -> None:
    body = b"".join(b"%06d\n" % number for number in range(3000))
    end = read_log(connect(serve(text_answer(body))), PLAIN, kept_bytes=10 * KIB)
    assert (end.text, end.lacks_earlier, end.lacks_later) == (body[-10 * KIB :], True, False)


def test_an_empty_log(serve: Serve, connect: Connect) -> None:
    end = read_log(connect(serve(text_answer(b""))), PLAIN, kept_bytes=KIB)
    assert (end.text, end.lacks_earlier, end.lacks_later) == (b"", False, False)


def test_a_page_of_a_proxy_is_no_log(serve: Serve, connect: Connect) -> None:
    def script(_request: Request, wire: Wire) -> None:
        wire.answer(b"<html>Sign in</html>", Content_Type="text/html")

    with pytest.raises(KubeError) as caught:
        read_log(connect(serve(script)), PLAIN, kept_bytes=KIB)
    assert caught.value.code == KubeErrorCode.NOT_JSON
    assert "plain text" in caught.value.sentence
