"""The ASGI application around a WSGI application, and a placeholder while it loads."""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from typing import Any

from gangboard.serving.request import (
    LARGEST_BODY,
    DisconnectedError,
    environ_of,
    read_body,
    sender_of,
)
from gangboard.serving.response import (
    Headers,
    Receive,
    RefusedError,
    Send,
    SlowReaderError,
    Wsgi,
    WsgiResponder,
    refusal_messages,
)
from gangboard.serving.thread_pools import ThreadPool

_UNREADABLE = RefusedError(
    HTTPStatus.BAD_REQUEST, "The body of the request cannot be read to its end."
)


class Application:
    """Reads each request to its end, then answers it in a thread of its pool."""

    def __init__(
        self,
        wsgi: Wsgi,
        *,
        default_pool: ThreadPool,
        pools: Mapping[str, ThreadPool],
        headers: Mapping[str, str],
        on_first_request: Callable[[], object],
        largest_bodies: Mapping[str, int] | None = None,
    ) -> None:
        """`pools`: the thread pool for each path. A path that ends with a slash stands for all paths below it, and the
        longest match counts. Other paths use `default_pool`.

        `headers`: of requests that are refused here. `on_first_request` is called once, when the server's sockets are
        open. `largest_bodies`: maximum bytes of a body for a path and all paths that begin with it, if it is not
        LARGEST_BODY.
        """
        self._wsgi = wsgi
        self._default_pool = default_pool
        self._pools = pools
        self._largest_bodies = largest_bodies or {}
        prefixes = (path for path in pools if path.endswith("/"))
        self._prefixes = tuple(sorted(prefixes, key=len, reverse=True))
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
            # granian reports an unreadable chunk as a disconnect, and sends its own 500 without a response from here.
            for message in refusal_messages(scope["path"], _UNREADABLE, self._headers):
                await send(message)
        except SlowReaderError:
            # An end would make the response look complete. It stays open until its reader disconnects.
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        largest = self._largest_body_of(scope["path"])
        body = await read_body(scope["headers"], receive, largest=largest)
        responder = WsgiResponder(self._wsgi, environ_of(scope, body), send)
        for message in await self._pool_of(scope["path"]).run(responder.run, sender_of(scope)):
            await send(message)

    def _largest_body_of(self, path: str) -> int:
        limits = (most for prefix, most in self._largest_bodies.items() if path.startswith(prefix))
        return next(limits, LARGEST_BODY)

    def _pool_of(self, path: str) -> ThreadPool:
        for prefix in self._prefixes:
            if path.startswith(prefix):
                return self._pools[prefix]
        return self._pools.get(path, self._default_pool)


AsgiApplication = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class DeferredApplication:
    """Lets requests wait until the real application is loaded.

    The web server opens its port when it imports the module of its application, which takes seconds. A proxy in front
    would answer 502 in that time. If `load` fails, the error is printed and the process ends.
    """

    def __init__(self, load: Callable[[], AsgiApplication]) -> None:
        self._load = load
        self._loaded: Future[AsgiApplication] = Future()
        # A cancelled request must not cancel this future for the others.
        self._loaded.set_running_or_notify_cancel()
        threading.Thread(target=self._load_application, name="load", daemon=True).start()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, once the application is loaded."""
        application = await asyncio.wrap_future(self._loaded)
        await application(scope, receive, send)

    def _load_application(self) -> None:
        try:
            self._loaded.set_result(self._load())
        except SystemExit:  # its sentence is already printed
            os._exit(1)
        except BaseException:  # noqa: BLE001  # the edge of this process
            traceback.print_exc()
            os._exit(1)
