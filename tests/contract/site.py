"""A server that the contract is run against, real or simulated, and what each does its own way."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.controlplane.client import Client, Json


@dataclass
class Site:
    """One API server. `fail_pod` lets a running pod fail, as no request of the API can."""

    client: Client
    context: ssl.SSLContext
    headers: dict[str, str]
    namespace: str
    fail_pod: Callable[[Json], None]

    @contextmanager
    def watch(self, path: str, **query: str | int) -> Iterator[Iterator[Json]]:
        """Open a watch and yield its events as they come; the iterator ends with the answer."""
        parts = urlsplit(self.client.url)
        assert parts.hostname is not None
        connection = HTTPSConnection(parts.hostname, parts.port, context=self.context, timeout=20)
        try:
            target = f"{path}?{urlencode({'watch': '1', **query})}"
            connection.request("GET", target, headers=self.headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield (json.loads(line) for line in response if line.strip())
        finally:
            connection.close()

    def raw(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Json, dict[str, str]]:
        """Send one request as it is; return status, decoded body and headers."""
        parts = urlsplit(self.client.url)
        assert parts.hostname is not None
        connection = HTTPSConnection(parts.hostname, parts.port, context=self.context, timeout=20)
        try:
            sent = None if body is None else json.dumps(body)
            named = {key.replace("_", "-"): value for key, value in headers.items()}
            connection.request(method, path, body=sent, headers=self.headers | named)
            response = connection.getresponse()
            return response.status, json.loads(response.read()), dict(response.getheaders())
        finally:
            connection.close()

    @property
    def pods(self) -> str:
        """The path of this namespace's pods."""
        return f"/api/v1/namespaces/{self.namespace}/pods"
