"""An ASGI application that another thread loads, so that the web server listens meanwhile."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from gangboard.serving.refusals import Receive, Send

Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class DeferredApplication:
    """Lets requests wait until the real application is loaded.

    The web server opens its port when the module of its application is imported, which takes seconds.
    A proxy in front would answer 502 in that time. A failure of `load` is printed and ends the process.
    """

    def __init__(self, load: Callable[[], Application]) -> None:
        self._load = load
        self._loaded: Future[Application] = Future()
        # From now on a request that is cancelled while it waits cannot cancel this for the others.
        self._loaded.set_running_or_notify_cancel()
        threading.Thread(target=self._run, name="load", daemon=True).start()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, after the load if that is not over."""
        application = await asyncio.wrap_future(self._loaded)
        await application(scope, receive, send)

    def _run(self) -> None:
        try:
            self._loaded.set_result(self._load())
        except SystemExit:  # with a sentence that is printed already
            os._exit(1)
        except BaseException:  # noqa: BLE001  # the edge of this process
            traceback.print_exc()
            os._exit(1)
