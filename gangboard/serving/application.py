"""The ASGI application around a WSGI one, and its load while the web server listens already."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any

from gangboard.serving.request import DisconnectedError, environ_of, read_body, sender_of
from gangboard.serving.response import (
    WsgiResponder,
    Headers,
    Receive,
    RefusedError,
    Send,
    SlowReaderError,
    Wsgi,
    refusal_messages,
)
from gangboard.serving.thread_pools import ThreadPool

_UNREADABLE = RefusedError(
    HTTPStatus.BAD_REQUEST, "The body of the request cannot be read to its end."
)


class Application:
    """Reads each request to its end, then has it answered in a thread of its lane."""

    def __init__(
        self,
        wsgi: Wsgi,
        *,
        pages: ThreadPool,
        lanes: Mapping[str, ThreadPool],
        headers: Mapping[str, str],
        on_first_request: Callable[[], object],
    ) -> None:
        """`lanes`: by path, or by its beginning where that ends with a slash; all others take `pages`.

        Of two beginnings the longer one counts.

        `headers`: of what is refused here.

        `on_first_request` is called once, at the first request: what the server has opened is open then.
        """
        self._wsgi = wsgi
        self._pages = pages
        self._lanes = lanes
        beginnings = (path for path in lanes if path.endswith("/"))
        self._beginnings = tuple(sorted(beginnings, key=len, reverse=True))
        self._headers: Headers = [
            (name.lower().encode(), value.encode()) for name, value in headers.items()
        ]
        self._at_first: Callable[[], object] | None = on_first_request

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"{scope['type']} is not spoken here")
        if self._at_first is not None:
            self._at_first()
            self._at_first = None
        try:
            await self._answer(scope, receive, send)
        except RefusedError as refused:
            for message in refusal_messages(scope["path"], refused, self._headers):
                await send(message)
        except DisconnectedError:
            # granian reports a chunk that it cannot read as a disconnect, and sends its own 500 if
            # nothing is answered.
            for message in refusal_messages(scope["path"], _UNREADABLE, self._headers):
                await send(message)
        except SlowReaderError:
            # To end it would say that this was all. It stays without an end until its reader goes.
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        body = await read_body(scope["headers"], receive)
        answering = WsgiResponder(self._wsgi, environ_of(scope, body), send)
        for message in await self._lane(scope["path"]).run(answering.run, sender_of(scope)):
            await send(message)

    def _lane(self, path: str) -> ThreadPool:
        for beginning in self._beginnings:
            if path.startswith(beginning):
                return self._lanes[beginning]
        return self._lanes.get(path, self._pages)


AsgiApplication = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class DeferredApplication:
    """Lets requests wait until the real application is loaded.

    The web server opens its port when the module of its application is imported, which takes seconds.
    A proxy in front would answer 502 in that time. A failure of `load` is printed and ends the process.
    """

    def __init__(self, load: Callable[[], AsgiApplication]) -> None:
        self._load = load
        self._loaded: Future[AsgiApplication] = Future()
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
