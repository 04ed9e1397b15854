"""A Prometheus that answers instant queries with values of the tests, and an exporter for a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, bytes]


@contextmanager
def answering(respond: Callable[[str, Mapping[str, str]], Answer]) -> Iterator[str]:
    """Serve `respond(path with query, headers)` on a free port. Yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = respond(self.path, dict(self.headers))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class FakePrometheus:
    """The values of pods, and the queries that were sent."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str], float] = {}
        self.queries: list[str] = []
        self.status = 200
        self.body: bytes | None = None

    def respond(self, target: str, _headers: Mapping[str, str]) -> Answer:
        url = urlsplit(target)
        assert url.path == "/api/v1/query"
        self.queries.append(parse_qs(url.query)["query"][0])
        return self.status, vector(self.values) if self.body is None else self.body


def vector(values: Mapping[tuple[str, str], float]) -> bytes:
    """Return an instant vector as a DCGM exporter beside other pods gives it."""
    result = [
        {
            "metric": {
                "exported_namespace": namespace,
                "exported_pod": pod,
                "namespace": "monitoring",
                "pod": "dcgm-exporter-x",
            },
            "value": [1.5, str(value)],
        }
        for (namespace, pod), value in values.items()
    ]
    return json.dumps(
        {"status": "success", "data": {"resultType": "vector", "result": result}}
    ).encode()
