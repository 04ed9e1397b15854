"""Clients that reach the installation through its published port."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from tests.live.open_page import OpenPage
from tests.production.site import Site
from tests.sign_in import sign_in

PORT = 8080
"""Port of the proxy in its container."""
SECONDS = 30.0
BURST_SECONDS = 60.0


class Answer(NamedTuple):
    """One answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


class Client:
    """Sends requests to the proxy from the gateway of the network, as the published port does."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.token = ""

    def send(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request on a connection of its own."""
        all_headers = {"Host": "localhost", **self._authorization(), **(headers or {})}
        if body is not None:
            all_headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(
            self._site.address("proxy"),
            PORT,
            timeout=SECONDS,
            source_address=(self._site.network.gateway, 0),
        )
        try:
            connection.request(method, path, json.dumps(body) if body else None, all_headers)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def send_as(
        self, sender: str, service: str, port: int, path: str, headers: Mapping[str, str]
    ) -> Answer:
        """Send a GET to a service from the address of another one."""
        source = (self._site.address(sender), 0)
        connection = http.client.HTTPConnection(
            self._site.address(service), port, timeout=SECONDS, source_address=source
        )
        try:
            connection.request("GET", path, headers=dict(headers))
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """Return the JSON of a GET that must be answered with 200."""
        answer = self.send("GET", f"/api/v1/{path}")
        assert answer.status == 200, answer
        return answer.json()

    def cookie(self, link: str) -> str:
        """Sign in with a one-time link; return the cookie of the session."""
        path = link.partition("/sign-in/")[2]
        return sign_in(f"{self._url()}/sign-in/{path}")

    def open_page(self, path: str, cookie: str) -> WaitingPage:
        """Open a page that waits for news all the time, as a browser does."""
        return WaitingPage(OpenPage(self._url(), path, cookie, re.compile("(?!)")))

    def burst(self, path: str, number: int) -> list[int]:
        """Send that many requests at the same moment, each on a connection; return the statuses."""
        return asyncio.run(asyncio.wait_for(self._burst(path, number), BURST_SECONDS))

    def _url(self) -> str:
        return f"http://{self._site.address('proxy')}:{PORT}"

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    async def _burst(self, path: str, number: int) -> list[int]:
        head = {"Host": "localhost", "Connection": "close", **self._authorization()}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        request = "\r\n".join([*lines, "", ""]).encode()
        connections = await asyncio.gather(*(self._connect() for _ in range(number)))

        async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
            writer.write(request)
            answer = await reader.read()
            writer.close()
            return int(answer.split(b" ", 2)[1])

        return await asyncio.gather(*(ask(*connection) for connection in connections))

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        local = self._site.network.gateway, 0
        return await asyncio.open_connection(self._site.address("proxy"), PORT, local_addr=local)


class WaitingPage:
    """An open page in a thread of its own."""

    def __init__(self, page: OpenPage) -> None:
        self._page = page
        self._stop = threading.Event()
        self._thread = threading.Thread(target=page.run, args=(self._stop,), daemon=True)

    def __enter__(self) -> None:
        self._thread.start()
        assert self._page.ready.wait(SECONDS)
        assert self._page.failures == []

    def __exit__(self, *_: object) -> None:
        self._stop.set()


class Load:
    """Threads that ask all the time; `with Load(...) as load`, then `load.answers`."""

    def __init__(self, client: Client, requests: Mapping[str, Mapping[str, str]]) -> None:
        """`requests`: path → headers; each path has a thread."""
        self._client = client
        self._stop = threading.Event()
        self.answers: list[tuple[float, int]] = []
        """(when the answer came, status); 0 is no answer at all."""
        self._threads = [
            threading.Thread(target=self._ask, args=pair, daemon=True) for pair in requests.items()
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(SECONDS)

    def _ask(self, path: str, headers: Mapping[str, str]) -> None:
        while not self._stop.wait(0.05):
            try:
                status = self._client.send("GET", path, headers=headers).status
            except (OSError, http.client.HTTPException):
                status = 0
            self.answers.append((time.monotonic(), status))
