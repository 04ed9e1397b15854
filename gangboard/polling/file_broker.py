"""Kombu's file transport, except that a message gets its final name only when it is complete.

Kombu creates the file under its final name and then writes it. Another process or thread can take it in between. It
then reads nothing, and the worker ends with a JSON error.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps as untyped_dumps

dumps: Callable[[Any], str] = untyped_dumps


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
    """The transport with this channel."""

    Channel = Channel
