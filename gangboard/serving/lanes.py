"""Threads for requests, apart by what must not wait for what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar

from gangboard.serving.refusals import Refused

T = TypeVar("T")


class Lane:
    """Some threads, and a bound on the requests that wait for one of them."""

    def __init__(self, name: str, *, threads: int, most: int, seconds: float | None = None) -> None:
        """`most`: requests that are here at once, waiting ones included; `seconds`: until an answer."""
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._most = most
        self._seconds = seconds
        self._here = 0

    @property
    def here(self) -> int:
        """How many requests are in a thread or wait for one."""
        return self._here

    async def run(self, work: Callable[[], T]) -> T:
        """Do it in a thread. Raises Refused where there is no room, or no result in time.

        What is late goes on in its thread, which is so long not free for others.
        """
        if self._here >= self._most:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests at once.")
        self._here += 1
        running = asyncio.get_running_loop().run_in_executor(self._threads, work)
        running.add_done_callback(self._left)
        if self._seconds is None:
            return await running
        try:
            async with asyncio.timeout(self._seconds):
                # Shielded: it counts as here until its thread is free.
                return await asyncio.shield(running)
        except TimeoutError:
            sentence = f"There was no answer within {self._seconds:g} seconds."
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, sentence) from None

    def _left(self, running: asyncio.Future[T]) -> None:
        self._here -= 1
        if not running.cancelled():
            # Somebody who is late is waited for by nobody: the log need not tell it twice.
            running.exception()
