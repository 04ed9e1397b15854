"""Management commands of one installation, one after the other in a process that goes on.

Starting Python and Django takes two seconds per command. The commands themselves run as in `manage.py`.
`python -m tests.commands` reads the arguments of each command as a line of JSON and answers with a line of exit
code and output. The process ends with its standard input.
"""

from __future__ import annotations

import io
import json
import select
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from django.core.management import execute_from_command_line

from gangboard.failures import exit_on_known_errors

_ROOT = Path(__file__).resolve().parent.parent


class Commands:
    """Our end of that process, for any number of threads; `close` it."""

    def __init__(self, environment: Mapping[str, str], seconds: float) -> None:
        """`seconds`: how long a command may take."""
        self._environment = environment
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def run(self, *arguments: str) -> str:
        """Run a command and return its output. Raises AssertionError with its errors."""
        with self._lock:
            answer = self._ask(arguments)
        code, printed, errors = json.loads(answer)
        if code:
            raise AssertionError(f"manage.py {' '.join(arguments)}: {printed}{errors}")
        return str(printed).strip()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _ask(self, arguments: tuple[str, ...]) -> str:
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(arguments) + "\n")
        process.stdin.flush()
        # Each request has one answer, so no rest stays in the buffer of `stdout`.
        ready, _, _ = select.select([process.stdout], [], [], self._seconds)
        answer = process.stdout.readline() if ready else ""
        if not answer:
            # One that comes later must not be taken for that of the next command.
            self._end()
            raise AssertionError(f"manage.py {' '.join(arguments)}: no answer")
        return answer

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.commands"],
            cwd=_ROOT,
            env=dict(self._environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def _run(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command and return its exit code and both outputs."""
    printed, errors = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(printed), redirect_stderr(errors):
        try:
            with exit_on_known_errors():
                execute_from_command_line(["manage.py", *arguments])
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        except Exception as error:  # noqa: BLE001  # as a traceback of manage.py: it is told
            code = 1
            errors.write(repr(error))
    return code, printed.getvalue(), errors.getvalue()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)
