"""Our end of the guard process: asks it to start, signal and stop, and ends it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_ANSWER_SECONDS = 30.0


class StartError(Exception):
    """A process failed to follow a command. The message ends with the tail of its log, if any."""


class Started:
    """A process started by a guard, with the methods of `subprocess.Popen`."""

    def __init__(self, supervisor: Supervisor, name: str, pid: int) -> None:
        """Made by `Supervisor.start`."""
        self.pid = pid
        self._supervisor = supervisor
        self._name = name

    def poll(self) -> int | None:
        """Return its exit code, None while it runs."""
        return self._supervisor.exit_code(self._name)

    def send_signal(self, number: int) -> None:
        """Send a signal. Do nothing if it has ended."""
        self._supervisor.signal(self._name, number)

    def wait(self, seconds: float) -> int:
        """Return its exit code. Raises `subprocess.TimeoutExpired`."""
        give_up_at = time.monotonic() + seconds
        while (code := self.poll()) is None:
            if time.monotonic() > give_up_at:
                raise subprocess.TimeoutExpired(self._name, seconds)
            time.sleep(0.02)
        return code


class Supervisor:
    """Owns one guard process (see `guard`). `folder` is where everything of it happens."""

    def __init__(self, directory: Path | None) -> None:
        """Start the guard. It keeps `directory` at the end; None means a temporary one."""
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
        script = Path(__file__).with_name("guard.py")
        value = str(directory.resolve()) if directory is not None else ""
        self._lock = threading.Lock()
        self._guard = subprocess.Popen(
            [sys.executable, "-I", str(script), str(os.getpid()), value],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # select must not miss a line that waits in a buffer
            start_new_session=True,  # Ctrl-C in the terminal is for us, and we tell the guard
        )
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        self._asks, self._answers = self._guard.stdin, self._guard.stdout
        try:
            self.folder = Path(self._answer()["folder"])
        except BaseException:
            self.close()
            raise

    def start(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        *,
        out: Path | None = None,
        cwd: Path | None = None,
    ) -> Started:
        """Start a process under a free name, appending its output to `log`.

        Its standard output goes to `out`, if given.

        """
        places = {"out": out, "cwd": cwd}
        value = {key: str(place) for key, place in places.items() if place is not None}
        command = {"argv": list(argv), "env": dict(env), "log": str(log), **value}
        return Started(self, name, self._ask(do="start", name=name, **command)["pid"])

    def stop(self, name: str) -> None:
        """End a process, with SIGKILL where SIGTERM takes too long, and wait for it."""
        self._ask(do="stop", name=name)

    def signal(self, name: str, number: int) -> None:
        """Send a signal."""
        self._ask(do="signal", name=name, signal=int(number))

    def exit_code(self, name: str) -> int | None:
        """Return None while it runs."""
        code: int | None = self._ask(do="status", name=name)["exit"]
        return code

    def process_id(self, name: str) -> int | None:
        """Return None when it has ended."""
        answer = self._ask(do="status", name=name)
        number: int | None = answer["pid"] if answer["exit"] is None else None
        return number

    def close(self) -> None:
        """End the guard and with it everything that it started. Safe to call twice."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            # The end of the pipe alone does not show it: a process that was forked meanwhile may hold it.
            self._asks.write(b'{"do": "end"}\n')
            self._asks.close()
        try:
            self._guard.wait(_ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self._guard.kill()  # its children die with it
            self._guard.wait()
        self._answers.close()

    def _ask(self, **command: object) -> dict[str, Any]:
        with self._lock:
            try:
                self._asks.write(json.dumps(command).encode() + b"\n")
            except (BrokenPipeError, ValueError):
                raise StartError("the guard process has ended") from None
            answer = self._answer()
        if "error" in answer:
            raise StartError(f"{command['do']} {command['name']}: {answer['error']}")
        return answer

    def _answer(self) -> dict[str, Any]:
        readable, _, _ = select.select([self._answers], [], [], _ANSWER_SECONDS)
        line = self._answers.readline() if readable else b""
        if not line:
            raise StartError("the guard process does not answer")
        decoded: dict[str, Any] = json.loads(line)
        return decoded
