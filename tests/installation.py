"""A whole gangboard as an operator runs it: `manage.py up` with a state folder of its own.

Everything goes through the outside doors: management commands, pages and the REST API. A guard
process (see `tests.controlplane.guard`) ends it when this process is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import urllib3

from tests import migrated
from tests.commands import Commands
from tests.controlplane.supervisor import Started, Supervisor
from tests.services import free_port
from tests.sign_in import sign_in

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180.0
REQUEST_SECONDS = 60.0
"""In which a busy machine answers."""
STOP_SECONDS = 20.0
_BUSY = urllib3.Retry(
    5,
    connect=0,
    read=0,
    redirect=False,
    status_forcelist=[503],
    allowed_methods=None,
    raise_on_status=False,
)
"""A database that is busy turns a request back before anything is done; its answer says when to try again."""


class Installation:
    """Runs `manage.py up` with the given kubeconfigs. The context manager removes its processes and files."""

    def __init__(
        self,
        kubeconfigs: Mapping[str, Path],
        *,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        actors: Mapping[str, Path] | None = None,
    ) -> None:
        """`kubeconfigs` maps cluster names to files. An empty map means the simulated fleet.

        `actors` maps some cluster names to kubeconfigs of their second identity.
        """
        self._guard = Supervisor(None)
        self.folder = self._guard.folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "GANGBOARD_STATE": str(self.folder),
            "GANGBOARD_LOG_LEVEL": "WARNING",
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
            **(environment or {}),
        }
        self.log = self.folder / "log"
        self._output = self.folder / "output"
        self._arguments = tuple(arguments)
        self._kubeconfigs = dict(kubeconfigs)
        self._actors = dict(actors or {})
        self._process: Started | None = None
        # The server ends a connection that was idle for 10 s, perhaps while a request is on its way.
        second_retry = urllib3.Retry(1, connect=0, read=1, redirect=False, allowed_methods=["GET"])
        self._pool = urllib3.PoolManager(maxsize=8, retries=second_retry)
        self._commands = Commands(self.environment, START_SECONDS)
        self.token = ""

    def manage(self, *arguments: str) -> str:
        """Run a management command and return its output. Raises with its errors."""
        return self._commands.run(*arguments)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def _start(self) -> None:
        if "DATABASE_URL" in self.environment:
            self.manage("migrate", "--verbosity", "0")
        else:
            migrated.copy_to(self.folder / "gangboard.sqlite3")
        for name, kubeconfig in self._kubeconfigs.items():
            actor = self._actors.get(name)
            extra = ("--actor-kubeconfig", str(actor)) if actor is not None else ()
            self.manage("add_cluster", name, "--kubeconfig", str(kubeconfig), *extra)
        self._up()
        self.manage("create_user", "robot", "--role", "admin")
        self.token = self.manage("create_token", "robot", "--act").splitlines()[-1]

    def _up(self) -> None:
        up = [sys.executable, "manage.py", "up", "--port", str(self.port), *self._arguments]
        self._process = self.start("gangboard", up, self.log, out=self._output)
        self._wait_answering()

    def restart(self) -> None:
        """End `manage.py up` and its processes with SIGKILL, as a crash would, and start it again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(STOP_SECONDS)
        for words in ("celery", "granian"):
            self.kill(words)
        self._up()

    def kill(self, words: str) -> None:
        """End our processes whose command line contains the words with SIGKILL. `up` starts them again."""
        for pid in self.children(words):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(
        self, name: str, argv: Sequence[str], log: Path, *, out: Path | None = None
    ) -> Started:
        """Start a process of ours, which ends with this installation at the latest."""
        return self._guard.start(name, argv, self.environment, log, out=out, cwd=ROOT)

    def _wait_answering(self) -> None:
        give_up_at = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up_at:
            if self._process is not None and self._process.poll() is not None:
                break
            try:
                if (
                    self._pool.request("GET", f"{self.url}/healthz", timeout=REQUEST_SECONDS).status
                    == 200
                ):
                    return
            except urllib3.exceptions.HTTPError:
                pass
            time.sleep(0.1)
        output = self._output.read_text() + self.log.read_text()[-3000:]
        raise AssertionError(f"gangboard did not answer in {START_SECONDS:g} s: {output}")

    def sign_in_link(self) -> str:
        """Return the one-time sign-in link that `up` printed."""
        give_up_at = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up_at:
            *lines, _unfinished = self._output.read_text().split("\n")
            for line in reversed(lines):
                if "/sign-in/" in line:
                    return line.split()[-1]
            time.sleep(0.1)
        raise AssertionError(f"no sign-in link in: {self._output.read_text()}")

    def new_sign_in_link(self, user: str = "robot") -> str:
        """Return the path of a fresh one-time sign-in link."""
        link = self.manage("create_user", user, "--role", "admin").splitlines()[-1].split()[-1]
        return f"{self.url}/sign-in/{link.split('/sign-in/')[1]}"

    def get(self, path: str, **query: str) -> Json:
        """Ask the API (`gangs/`) and return the answer. Raises AssertionError unless it is 200."""
        answer = self._pool.request(
            "GET",
            f"{self.url}/api/v1/{path}",
            fields=query or None,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=REQUEST_SECONDS,
        )
        body: Json = json.loads(answer.data)
        assert answer.status == 200, body
        return body

    def post(self, path: str, body: Json, *, key: str = "", token: str = "") -> tuple[int, Json]:
        """Post to the API; return status and answer. `key` is the Idempotency-Key."""
        headers = {
            "Authorization": f"Bearer {token or self.token}",
            "Content-Type": "application/json",
            **({"Idempotency-Key": key} if key else {}),
        }
        answer = self._pool.request(
            "POST",
            f"{self.url}/api/v1/{path}",
            body=json.dumps(body).encode(),
            headers=headers,
            timeout=REQUEST_SECONDS,
            retries=_BUSY,
        )
        return answer.status, json.loads(answer.data)

    def session_cookie(self) -> str:
        """Sign in by a fresh one-time link and return the cookie header of the session."""
        return sign_in(self.new_sign_in_link())

    def page(self, path: str, cookie: str = "") -> str:
        """Return a page as a signed-in person with all rights gets it; `cookie` is that of a session."""
        answer = self._pool.request(
            "GET",
            self.url + path,
            headers={"Cookie": cookie or self.session_cookie()},
            timeout=REQUEST_SECONDS,
        )
        assert answer.status == 200, answer.status
        return answer.data.decode()

    def gangs(self, **query: str) -> list[Json]:
        """Return all gangs that match, over all pages of the answer."""
        result: list[Json] = []
        answer = self.get("gangs/", limit="500", **query)
        result += answer["results"]
        while answer["next"]:
            answer = self._next(answer["next"])
            result += answer["results"]
        return result

    def _next(self, url: str) -> Json:
        answer = self._pool.request(
            "GET", url, headers={"Authorization": f"Bearer {self.token}"}, timeout=REQUEST_SECONDS
        )
        body: Json = json.loads(answer.data)
        assert answer.status == 200, body
        return body

    def children(self, words: str) -> list[int]:
        """Return the pids of our processes whose command line contains the words."""
        assert self._process is not None
        result = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                environment = (entry / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if words in command and f"GANGBOARD_STATE={self.folder}\0" in environment:
                result.append(int(entry.name))
        return sorted(result)

    def stop(self) -> None:
        """End the installation like Ctrl-C, kill processes that do not end in time, and delete its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        self._process = None
        self._commands.close()
        self._guard.close()
        self._pool.clear()

    def __exit__(self, *_: object) -> None:
        self.stop()
