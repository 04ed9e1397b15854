"""Simulators, and plain ways to talk to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from simulator import Simulator
from tests.controlplane.client import Client

Start = Callable[..., Simulator]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start simulators that end with the test and whose clock has met no error."""
    with ExitStack() as stack:

        def begin(*args: Any, **options: Any) -> Simulator:
            simulator = stack.enter_context(Simulator(*args, **{"story": False, **options}))
            stack.callback(lambda: _no_errors(simulator))
            return simulator

        yield begin


def _no_errors(simulator: Simulator) -> None:
    assert simulator.clock.errors == []


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Simulator, Client]]:
    """East, frozen; for tests that only read or that clean up."""
    with Simulator("east", story=False, bookmark_seconds=0.3) as simulator:
        client = client_of(simulator, tmp_path_factory.mktemp("demo"))
        yield simulator, client
        client.close()
        _no_errors(simulator)


def client_of(simulator: Simulator, folder: Path, *, token: str | None = None) -> Client:
    """Return a plain client of a simulator."""
    authority = folder / "ca.crt"
    authority.write_text(simulator.authority)
    return Client(simulator.url, ca=authority, token=token or simulator.token)


class Wire:
    """One raw connection, for faults that a client library would hide."""

    def __init__(self, simulator: Simulator, *, timeout: float = 5) -> None:
        fragments = urlsplit(simulator.url)
        assert fragments.hostname is not None
        context = simulator.client_context()
        self.connection = HTTPSConnection(
            fragments.hostname, fragments.port, context=context, timeout=timeout
        )
        self._headers = {"Authorization": f"Bearer {simulator.token}"}

    def get(self, target: str, **headers: str) -> HTTPResponse:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        self.connection.request("GET", target, headers=self._headers | named)
        return self.connection.getresponse()

    def json(self, target: str) -> Any:
        return json.loads(self.get(target).read())

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def wire(demo: tuple[Simulator, Client]) -> Iterator[Wire]:
    """A raw connection to the frozen demo; all faults are gone afterwards."""
    result = Wire(demo[0])
    yield result
    demo[0].faults.clear()
    result.close()
