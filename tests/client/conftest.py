"""The client against the real API, served over HTTP from the rows of a test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.db import connections
from gangboard_client import clock
from gangboard_client.cli import main
from gangboard_client.news import News

from tests.api.conftest import World, runs, token_of, world
from tests.client.recipes import Ran

__all__ = ["runs", "world"]


Run = Callable[..., Ran]


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(application: Callable[..., Any]) -> Iterator[str]:
    """Serve an application by the database connection of this test; yield its address."""
    shared = connections["default"]
    server = make_server("127.0.0.1", 0, application, handler_class=_Quiet)

    def serve() -> None:
        connections["default"] = shared
        server.serve_forever(poll_interval=0.01)

    shared.inc_thread_sharing()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
        shared.dec_thread_sharing()


@pytest.fixture
def live(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the API; its address. The client does not wait by `events/` here: no watch could see this database."""
    monkeypatch.setattr(News, "begin", lambda _: None)
    with serving(WSGIHandler()) as address:
        yield address


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of settings, and an environment without any."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("GANGBOARD_SERVER", "GANGBOARD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "gangboard"


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command: run("list", "-o", "json") → Ran."""

    def command(*argv: str) -> Ran:
        capsys.readouterr()
        code = main(argv)
        message = capsys.readouterr()
        return Ran(code, message.out, message.err)

    return command


@pytest.fixture
def as_persona(live: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command with the token of a persona: as_persona("reader", "list") → Ran."""
    monkeypatch.setenv("GANGBOARD_SERVER", live)

    def command(persona: str, *argv: str) -> Ran:
        may_act = persona in ("admin", "operator")
        monkeypatch.setenv("GANGBOARD_TOKEN", token_of(persona, may_act=may_act))
        return run(*argv)

    return command


@dataclass
class FakeClock:
    """A clock that only `sleep` advances. Scheduled events run in the first sleeps."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)
    then: list[Callable[[], object]] = field(default_factory=list)

    def monotonic(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move on, and let the next thing happen."""
        self.slept.append(seconds)
        self.now += seconds
        if self.then:
            self.then.pop(0)()


@pytest.fixture
def fake_clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of the client."""
    result = FakeClock()
    monkeypatch.setattr(clock, "monotonic", result.monotonic)
    monkeypatch.setattr(clock, "sleep", result.sleep)
    return result
