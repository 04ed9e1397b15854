"""The small process that owns the processes of a test, so that none outlives it.

`supervisor` runs it as a script, in a session of its own, with the standard library only. It reads
commands from standard input, one JSON object a line, and answers each with one line:

    {"do": "start", "name": N, "argv": [...], "env": {...}, "log": FILE}  -> {"pid": 1}
    {"do": "signal", "name": N, "signal": 19}                            -> {}
    {"do": "stop", "name": N}                                            -> {}
    {"do": "end"}                                                        -> (it ends everything)
    {"do": "status", "name": N}                            -> {"pid": 1, "exit": null | code}

`start` may also have "cwd", and "out", a file for standard output alone. Its first line is
{"folder": F}: the one it was given, or a temporary one that it has made. Any failure is answered as
{"error": text}. When standard input ends, when the process that started it is gone, or on SIGTERM,
SIGINT or SIGHUP it kills what it started with everything below, removes the folder if it made it,
and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# An API server with watches open would take a minute to say goodbye.
_STOP_SECONDS = 2.0


class _Over(Exception):  # noqa: N818 - the ordinary end, no error
    """Time to clean up and go."""


class _Guard:
    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._libc = ctypes.CDLL(None, use_errno=True)

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        name = command["name"]
        if command["do"] == "start":
            if name in self.processes and self.processes[name].poll() is None:
                raise RuntimeError(f"{name} runs already")
            return {"pid": self._start(name, command)}
        process = self.processes[name]
        if command["do"] == "status":
            return {"pid": process.pid, "exit": process.poll()}
        if command["do"] == "signal":
            process.send_signal(command["signal"])
        elif command["do"] == "stop":
            process.terminate()
            process.send_signal(signal.SIGCONT)  # a paused process does not hear SIGTERM
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        else:
            raise RuntimeError(f"no command {command['do']!r}")
        return {}

    def _start(self, name: str, command: dict[str, Any]) -> int:
        path = Path(command["log"])
        with path.open("ab") as log, Path(command.get("out", path)).open("ab") as out:
            process = subprocess.Popen(
                command["argv"],
                env=command["env"],
                cwd=command.get("cwd"),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=log,
                start_new_session=True,  # so that a signal can be sent to all that it starts
                preexec_fn=self._die_with_parent,
            )
        self.processes[name] = process
        return process.pid

    def _die_with_parent(self) -> None:
        # For the case that this guard itself is killed.
        self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def end_all(self) -> None:
        # From now on all their orphans become our children, at any depth below them.
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # Everything they know goes away with the folder: no reason to let them say goodbye.
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
        for process in self.processes.values():
            process.wait()
        with contextlib.suppress(ChildProcessError):  # there is none left
            while True:
                for child in _children():
                    os.kill(child, signal.SIGKILL)  # it stays ours until we have waited for it
                os.waitpid(-1, 0)


def _children() -> list[int]:
    """Return our children, by /proc."""
    result = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                result.append(int(stat.parent.name))
    return result


def _serve(guard: _Guard, parent: int) -> None:
    unread = b""
    while True:
        readable, _, _ = select.select([0], [], [], 1.0)
        if os.getppid() != parent:  # another process may still hold the other end of the pipe
            return
        if not readable:
            continue
        chunk = os.read(0, 65536)
        if not chunk:
            return
        *lines, unread = (unread + chunk).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if command["do"] == "end":
                return
            try:
                reply = guard.answer(command)
            except _Over:
                raise
            except Exception as error:  # noqa: BLE001 - the edge of this process: told to the caller
                reply = {"error": f"{type(error).__name__}: {error}"}
            os.write(1, json.dumps(reply).encode() + b"\n")


def _raise_over(_number: int, _frame: object) -> None:
    raise _Over


def main() -> None:
    """Arguments: the process id of the parent, and the folder to use, or none for a temporary one."""
    parent, value = int(sys.argv[1]), sys.argv[2]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _raise_over)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    guard = _Guard()
    folder = value or tempfile.mkdtemp(prefix="gangboard-test-")
    try:
        os.write(1, json.dumps({"folder": folder}).encode() + b"\n")
        _serve(guard, parent)
    except (_Over, BrokenPipeError):
        pass
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        guard.end_all()
        if not value:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
