"""Kombu's file transport with two fixes.

- A message gets its final name only when it is complete. Kombu creates the file under its final name and then writes
  it. Another process or thread can take it in between. It then reads nothing, and the worker ends with a JSON error.
- After a signal to end, a worker stops reading at once. Celery checks for the signal only between two reads of two
  seconds each, and reads once more afterwards.
"""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from celery.signals import worker_shutting_down
from kombu.transport import filesystem
from kombu.utils.json import dumps as untyped_dumps

dumps: Callable[[Any], str] = untyped_dumps

LOOK_SECONDS = 0.2
"""Seconds between two checks for a signal to end."""
_stopping = threading.Event()


class Channel(filesystem.Channel):
    """Writes messages atomically."""

    def _put(  # type: ignore[override]  # Kombu names it differently in base class and subclass
        self, queue: Any, payload: Any, **_: Any
    ) -> None:
        folder = Path(self.data_folder_out)
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        # No queue reads files with this ending.
        draft = folder / f"{name}.draft"
        draft.write_text(dumps(payload), encoding="utf-8")
        draft.rename(folder / name)


class Transport(filesystem.Transport):
    """The transport with this channel. A worker reads from it until it gets a signal to end."""

    Channel = Channel

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver one message. Raises TimeoutError after `timeout` seconds, or after a signal to end."""
        give_up_at = math.inf if timeout is None else time.monotonic() + timeout
        while not _stopping.is_set():
            seconds = min(LOOK_SECONDS, max(give_up_at - time.monotonic(), 0.0))
            try:
                super().drain_events(connection, timeout=seconds)  # type: ignore[no-untyped-call]
                return
            except TimeoutError:
                if time.monotonic() >= give_up_at:
                    raise
        raise TimeoutError


@worker_shutting_down.connect
def stop_reading(**_: object) -> None:
    """Let this worker read no more messages. Others, or its next run, read them."""
    _stopping.set()
