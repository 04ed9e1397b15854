"""A bounded number of slots, for which senders wait in turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque


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
