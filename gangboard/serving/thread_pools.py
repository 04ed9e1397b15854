"""Thread pools for requests, one for each group that must not wait for another."""

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
    """Some threads, and a bound on the requests that wait for one of them."""

    def __init__(
        self,
        name: str,
        *,
        threads: int,
        most: int,
        seconds: float | None = None,
        patience: float | None = None,
    ) -> None:
        """`most`: requests that are here at once, waiting ones included.

        `seconds`: until an answer; `patience`: until a thread is free.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._turns = Turns(threads)
        self._most = most
        self._seconds = seconds
        self._patience = seconds if patience is None else patience
        self._here = 0

    @property
    def here(self) -> int:
        """How many requests are in a thread or wait for one."""
        return self._here

    async def run(self, work: Callable[[], T], sender: int = 0) -> T:
        """Do it in a thread. Raises RefusedError where there is no room, or no result in time.

        Senders take turns. Work that is late goes on, and its thread is not free until it ends.
        """
        if self._here >= self._most:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "Too many requests at once.")
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._here += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._turns.take(sender)
        except BaseException as error:
            self._here -= 1
            if isinstance(error, TimeoutError):
                raise _late(self._patience) from None
            raise
        running = loop.run_in_executor(self._threads, work)
        running.add_done_callback(self._left)
        if self._seconds is None:
            return await running
        try:
            async with asyncio.timeout_at(began + self._seconds):
                # Shielded: it counts as here until its thread is free.
                return await asyncio.shield(running)
        except TimeoutError:
            raise _late(self._seconds) from None

    def _left(self, running: asyncio.Future[T]) -> None:
        self._here -= 1
        self._turns.release()
        if not running.cancelled():
            # Somebody who is late is waited for by nobody: the log need not tell it twice.
            running.exception()


def _late(seconds: float | None) -> RefusedError:
    sentence = f"There was no answer within {seconds:g} seconds."
    return RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, sentence)


class Turns:
    """Gives slots to senders in turn, and to each of them in the order of its requests.

    A sender with 300 requests delays another sender's only request by one slot, not by 300. All calls
    are on one event loop.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._waiting: OrderedDict[int, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, sender: int) -> None:
        """Wait for a slot; `release` gives it back."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # the slot came together with the cancellation
            raise

    def release(self) -> None:
        """Give a slot to the sender whose turn it is."""
        while self._waiting:
            sender, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[sender] = turns
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
