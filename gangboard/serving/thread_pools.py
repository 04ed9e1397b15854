"""Thread pools for requests, one for each group of requests that must not wait for another group."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import TypeVar

from gangboard.serving.response import RefusedError

T = TypeVar("T")


class ThreadPool:
    """Threads, and a limit for the requests that use them or wait for them."""

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        max_requests: int,
        answer_seconds: float | None = None,
        queue_seconds: float | None = None,
    ) -> None:
        """`max_requests`: running and waiting requests. `answer_seconds`: until a response. `queue_seconds`: until a
        thread is free, by default the same as `answer_seconds`.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._turns = FairQueue(threads)
        self._max_requests = max_requests
        self._answer_seconds = answer_seconds
        self._queue_seconds = answer_seconds if queue_seconds is None else queue_seconds
        self._requests = 0

    @property
    def requests(self) -> int:
        """The number of requests that run or wait."""
        return self._requests

    async def run(self, work: Callable[[], T], sender: int = 0) -> T:
        """Run `work` in a thread. Raises RefusedError if the pool is full, or if there is no result in time.

        Senders take turns. Late work continues, and its thread is free when it ends.
        """
        if self._requests >= self._max_requests:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests at once.")
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        self._requests += 1
        try:
            async with asyncio.timeout(self._queue_seconds):
                await self._turns.take(sender)
        except BaseException as error:
            self._requests -= 1
            if isinstance(error, TimeoutError):
                raise _late_error(self._queue_seconds) from None
            raise
        running = loop.run_in_executor(self._threads, work)
        running.add_done_callback(self._finish)
        if self._answer_seconds is None:
            return await running
        try:
            async with asyncio.timeout_at(started_at + self._answer_seconds):
                # Shielded, because the request counts until its thread is free.
                return await asyncio.shield(running)
        except TimeoutError:
            raise _late_error(self._answer_seconds) from None

    def _finish(self, running: asyncio.Future[T]) -> None:
        self._requests -= 1
        self._turns.release()
        if not running.cancelled():
            # The request was already refused as late, so the exception must not be logged as unretrieved.
            running.exception()


def _late_error(seconds: float | None) -> RefusedError:
    sentence = f"There was no answer within {seconds:g} seconds."
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, sentence)


class FairQueue:
    """Gives slots to senders in turn, and to each sender in the order of its requests.

    A sender with 300 requests delays another sender's only request by one slot, not by 300. All calls are on one
    event loop.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._waiting: OrderedDict[int, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, sender: int) -> None:
        """Wait for a slot. `release` returns it."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # the slot was assigned at the moment of the cancellation
            raise

    def release(self) -> None:
        """Give a slot to the next sender."""
        while self._waiting:
            sender, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[sender] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
