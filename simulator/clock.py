"""Clocks of the simulator: a thread that runs due tasks in order, or a clock that a test advances."""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Task = Callable[[], None]


class Clock:
    """Runs tasks one after the other, so that controllers and story never overlap."""

    def __init__(self, speed: float = 1.0) -> None:
        """`speed` divides the delays of `later`, not those of `soon`."""
        self.speed = speed
        self.errors: list[BaseException] = []
        """Exceptions of tasks. A test looks here if the simulator stops working."""
        self._due: list[tuple[float, int, Task]] = []
        self._count = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._is_running_task = False
        self._thread = threading.Thread(target=self._run, name="simulator-clock", daemon=True)

    def now(self) -> datetime:
        """Return the time for object fields."""
        return datetime.now(UTC)

    def start(self) -> None:
        """Start to run tasks."""
        self._thread.start()

    def stop(self) -> None:
        """Drop pending tasks and wait for the running one."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(5)

    @property
    def is_idle(self) -> bool:
        """Whether no task is due, now or later. Then only a request changes the cluster."""
        with self._changed:
            return not self._due and not self._is_running_task

    def later(self, seconds: float, task: Task) -> None:
        """Run a task after simulated seconds."""
        self.soon(task, seconds / self.speed)

    def soon(self, task: Task, seconds: float = 0.0) -> None:
        """Run a task after real seconds."""
        with self._changed:
            if not self._stopped:
                heapq.heappush(self._due, (time.monotonic() + seconds, next(self._count), task))
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_running_task = False
                while not self._stopped and not (self._due and self._due[0][0] <= time.monotonic()):
                    wait = self._due[0][0] - time.monotonic() if self._due else None
                    self._changed.wait(wait)
                if self._stopped:
                    return
                _, _, task = heapq.heappop(self._due)
                self._is_running_task = True
            try:
                task()
            except Exception as error:  # noqa: BLE001  # One failing task must not stop the demo's clock.
                self.errors.append(error)
                traceback.print_exc(file=sys.stderr)


class SteppedClock(Clock):
    """A clock that only a test advances. Tasks run in the caller of `advance`.

    It has no thread, and the same calls give the same order. Exceptions of tasks propagate from `advance`.
    """

    def __init__(self, start: datetime) -> None:
        super().__init__()
        self._started_at = start
        self.seconds = 0.0
        """Seconds since the start of the clock."""

    def now(self) -> datetime:
        """Return the time for object fields."""
        return self._started_at + timedelta(seconds=self.seconds)

    def start(self) -> None:
        """Do nothing, because only `advance` moves the time."""

    def soon(self, task: Task, seconds: float = 0.0) -> None:
        """Run a task after seconds of this clock."""
        heapq.heappush(self._due, (self.seconds + seconds, next(self._count), task))

    @property
    def next_at(self) -> float | None:
        """Return when the next task is due, in seconds since the start of the clock; None without a task."""
        return self._due[0][0] if self._due else None

    def advance(self, seconds: float) -> None:
        """Advance the time, and run each task at its time."""
        until = self.seconds + seconds
        while self._due and self._due[0][0] <= until:
            due_at, _, task = heapq.heappop(self._due)
            self.seconds = max(self.seconds, due_at)
            task()
        self.seconds = until
