"""An application that loads while the web server is listening."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from gangboard.serving.application import DeferredApplication

SECONDS = 10.0
FAILS = """
import time
from gangboard.serving.application import DeferredApplication
def load():
    raise ERROR
DeferredApplication(load)
time.sleep(60)
"""


async def _receive() -> dict[str, Any]:
    raise AssertionError("nothing is received")


async def _ask(application: DeferredApplication, path: str) -> dict[str, Any]:
    """Return the response of the application to a request."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await application({"path": path}, _receive, send)
    (message,) = sent
    return message


def test_requests_wait_until_the_application_is_loaded() -> None:
    may_end = threading.Event()

    async def real(scope: dict[str, Any], _: object, send: Any) -> None:
        await send({"path": scope["path"]})

    def load() -> Any:
        assert may_end.wait(SECONDS)
        return real

    async def play() -> list[object]:
        application = DeferredApplication(load)
        requests = [
            asyncio.create_task(_ask(application, path)) for path in ("/", "/given-up", "/2")
        ]
        await asyncio.sleep(0)
        # Its reader has gone. The others go on waiting.
        requests[1].cancel()
        await asyncio.sleep(0)
        assert [request.done() for request in requests] == [False, True, False]
        may_end.set()
        answers = await asyncio.gather(*requests, return_exceptions=True)
        return [*answers, await _ask(application, "/later")]

    first, given_up, *responses = asyncio.run(asyncio.wait_for(play(), SECONDS))
    assert [first, *responses] == [{"path": "/"}, {"path": "/2"}, {"path": "/later"}]
    assert isinstance(given_up, asyncio.CancelledError)


@pytest.mark.parametrize(
    ("error", "printed"),
    [("ValueError('defect')", "ValueError: defect\n"), ("SystemExit('said before')", "")],
)
def test_a_failed_load_ends_the_process(error: str, printed: str) -> None:
    script = [sys.executable, "-c", FAILS.replace("ERROR", error)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines(keepends=True)[-1:] == ([printed] if printed else [])
