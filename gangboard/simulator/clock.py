"""When things happen: one thread that runs what is due, in order."""

from __future__ import annotations

import heapq
import itertools
import sys
import threading
import time
import traceback
from collections.abc import Callable

Task = Callable[[], None]


class Clock:
    """Runs tasks one after the other, so controllers and story never meet each other halfway."""

    def __init__(self, speed: float = 1.0) -> None:
        """`speed` divides the delays of `later`, not those of `soon`."""
        self.speed = speed
        self.errors: list[BaseException] = []
        """What tasks have raised; a test looks here when nothing happens any more."""
        self._due: list[tuple[float, int, Task]] = []
        self._count = itertools.count()
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="simulator-clock", daemon=True)

    def start(self) -> None:
        """Begin to run tasks."""
        self._thread.start()

    def stop(self) -> None:
        """Forget what is still to come and wait for what is running."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(5)

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
                while not self._stopped and not (self._due and self._due[0][0] <= time.monotonic()):
                    wait = self._due[0][0] - time.monotonic() if self._due else None
                    self._changed.wait(wait)
                if self._stopped:
                    return
                _, _, task = heapq.heappop(self._due)
            try:
                task()
            except Exception as error:  # noqa: BLE001 - one bad task must not stop the demo's time
                self.errors.append(error)
                traceback.print_exc(file=sys.stderr)
