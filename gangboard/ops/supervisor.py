"""Supervisor of child processes for `manage.py up`: it keeps them running and ends all of them.

Each child leads a session of its own, so that its process group ends as a whole. Ctrl-C in the terminal
reaches only the supervisor, which then ends the children in order. If the supervisor itself is killed, the
kernel ends the children (Linux: PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
SETTLED = 30.0
"""Seconds after which a child has started well, so that its next restart pause is the first again."""
GRACE = 4.0
"""Seconds between SIGTERM and SIGKILL for the children."""
LOOK_INTERVAL = 0.1

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Child:
    """A process to keep running."""

    name: str
    """Its name in messages."""
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to our own environment."""
    folder: Path | None = None
    """Working directory; None for our own."""


@dataclass(slots=True)
class _Running:
    child: Child
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_again_at: float = 0.0
    pause: float = FIRST_PAUSE


class Supervisor:
    """Starts children, restarts dead ones, and ends all of them. Not thread-safe.

    `say` gets one sentence per death and restart.
    """

    def __init__(
        self,
        report_progress: Callable[[str], None],
        *,
        grace: float = GRACE,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._report_progress = report_progress
        self._grace = grace
        self._first_pause = first_pause
        self._children: list[_Running] = []
        self._is_stopping = False

    def __enter__(self) -> Supervisor:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._request_stop)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def is_stopping(self) -> bool:
        """Return whether a signal requested the end."""
        return self._is_stopping

    def start(self, child: Child) -> None:
        """Start a child and keep it running from now on."""
        running = _Running(child, pause=self._first_pause)
        self._children.append(running)
        self._start(running)

    def wait(self, until: Callable[[], bool], seconds: float = float("inf")) -> bool:
        """Supervise the children until `until` is true, a signal comes or the time is over.

        Return whether `until` became true.
        """
        deadline = time.monotonic() + seconds
        while not self._is_stopping:
            if until():
                return True
            if time.monotonic() > deadline:
                return False
            self._check_children()
            time.sleep(LOOK_INTERVAL)
        return False

    def run(self, chore: Callable[[], object] | None = None) -> None:
        """Supervise the children until a signal comes. `chore` is called in every round."""

        def never() -> bool:
            if chore is not None:
                chore()
            return False

        self.wait(never)

    def stop(self) -> None:
        """End all children with their process groups: SIGTERM first, SIGKILL after the grace."""
        started = [running.process for running in self._children if running.process is not None]
        for process in started:
            _signal_group(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + self._grace
        while time.monotonic() < deadline and not all(_has_ended(process) for process in started):
            time.sleep(0.05)
        for process in started:
            # Also if the child itself has ended, because its own children may live on.
            _signal_group(process.pid, signal.SIGKILL)
            process.wait()
        self._children.clear()

    def _request_stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  # a signal handler's
        self._is_stopping = True

    def _start(self, running: _Running) -> None:
        child = running.child
        running.process = subprocess.Popen(  # noqa: S603  # our own commands, no shell
            child.argv,
            env={**os.environ, **child.env},
            cwd=child.folder,
            stdin=subprocess.DEVNULL,
            # Standard output belongs to the command itself, whose last line is the sign-in link.
            stdout=2,
            start_new_session=True,
            preexec_fn=_die_with_parent(os.getpid()),  # Safe, because no threads run here.
        )
        running.started_at = time.monotonic()

    def _check_children(self) -> None:
        now = time.monotonic()
        for running in self._children:
            if running.process is None:
                if now >= running.start_again_at:
                    self._start(running)
                    self._report_progress(f"{running.child.name} was started again")
            elif _has_ended(running.process):
                self._handle_exit(running, now)

    def _handle_exit(self, running: _Running, now: float) -> None:
        process = running.process
        assert process is not None  # noqa: S101  # the caller has checked it
        # Before its process id is reused, so that no old process keeps a port or a lease.
        _signal_group(process.pid, signal.SIGKILL)
        code = process.wait()
        running.process = None
        if now - running.started_at >= SETTLED:
            running.pause = self._first_pause
        running.start_again_at = now + running.pause
        self._report_progress(
            f"{running.child.name} {_exit_text(code)}; it is started again in {running.pause:g} s"
        )
        running.pause = min(running.pause * 2, LONGEST_PAUSE)


def _die_with_parent(parent: int) -> Callable[[], None] | None:
    """Return a function that a child calls before exec, so that it ends when `parent` is killed."""
    if _libc is None:
        return None
    libc = _libc

    def ask_kernel() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # The parent was killed before this call.
            os._exit(1)

    return ask_kernel


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the child has ended. Its process id stays reserved."""
    if process.returncode is not None:
        return True
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for zombies.
        os.killpg(group, number)


def _exit_text(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with the current interpreter."""
    return (sys.executable, "-m", module, *arguments)
