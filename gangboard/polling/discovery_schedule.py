"""When a cluster is asked what it serves; the question runs in a thread, beside the work of a window."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from gangboard.kube.discovery import Discovery
from gangboard.kube.errors import KubeError

INTERVAL = 300.0
"""Seconds after which a cluster that told all of what it serves is asked again."""
UNKNOWN_PAUSE = 2.0
"""Seconds between two questions while nothing is known of what a cluster serves."""
FIRST_PAUSE = 5.0
"""Seconds after which what an answer left open is asked again; doubled up to `INTERVAL`."""

T = TypeVar("T")


def run_in_thread(name: str, ask: Callable[[], T]) -> Future[T]:
    """Call `ask` in a thread of its own, which must not touch the database; return its future.

    The thread ends with the deadlines of its requests, or with the process.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # noqa: BLE001  # a thread's edge: `result` raises it
            answer.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return answer


@dataclass(slots=True)
class DiscoverySchedule:
    """When one cluster is asked what it serves, and the question that is under way."""

    error: KubeError | None = None
    """Why the last question got no answer; None after one that did."""
    _question: Future[tuple[Discovery, datetime]] | None = None
    _due_at: float = 0.0
    _not_before: float = 0.0
    _failures: int = 0

    @property
    def next_at(self) -> float:
        """The moment of `time.monotonic()` from which on a question is due."""
        return max(self._due_at, self._not_before)

    @property
    def is_under_way(self) -> bool:
        """Whether a question waits for its answer."""
        return self._question is not None and not self._question.done()

    def start(self, question: Callable[[], Discovery]) -> bool:
        """Ask where that is due; return whether a question was begun."""
        if self._question is not None or time.monotonic() < self.next_at:
            return False
        self._question = run_in_thread("discover", lambda: (question(), datetime.now(UTC)))
        return True

    def take_result(self, *, is_known: bool) -> tuple[Discovery, datetime] | None:
        """Return an answer that has come, and when; None where none has: `error` may say why.

        `is_known`: an older answer serves meanwhile. Raises what was a defect of the question.
        """
        if self._question is None or not self._question.done():
            return None
        question, self._question = self._question, None
        try:
            answer = question.result()
        except KubeError as error:
            self.error = error
            self._plan((error,), is_known=is_known)
            return None
        self.error = None
        self._plan(answer[0].failed.values(), is_known=True)
        return answer

    def make_due(self) -> None:
        """Let the next question be due now, unless the server has asked us to wait."""
        self._due_at = 0.0

    def _plan(self, errors: Collection[KubeError], *, is_known: bool) -> None:
        """Ask again in five minutes; soon, and then ever later, for what could not be told."""
        self._failures = self._failures + 1 if errors else 0
        pause = UNKNOWN_PAUSE
        if not errors:
            pause = INTERVAL
        elif is_known:
            pause = min(INTERVAL, FIRST_PAUSE * 2 ** min(self._failures - 1, 10))
        now = time.monotonic()
        self._due_at = now + pause
        self._not_before = now + max((error.retry_after or 0.0 for error in errors), default=0.0)
