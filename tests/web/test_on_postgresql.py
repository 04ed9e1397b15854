"""One web process on a real PostgreSQL that is full, locked, shut or of the wrong kind."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import urllib3
from psycopg import sql

from gangboard.serving.web_server import WEB_SERVER
from tests.commands import Commands
from tests.controlplane.supervisor import Supervisor
from tests.live.open_page import read_question
from tests.services import free_port
from tests.sign_in import sign_in

pytestmark = pytest.mark.services

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
CONNECTIONS = 16
"""Limit of one web process with default settings."""
SOON = 4.5
"""Seconds until a failing database is reported, from 3 s of waiting on a busy machine."""
PROBE = 3.5


class Web:
    """A web process on a database of its own, an admin's cookie and a token."""

    def __init__(self, url: str, folder: Path) -> None:
        self.database = url
        self.log = folder / "web.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ,
            "DATABASE_URL": url,
            "GANGBOARD_STATE": str(folder / "state"),
            "GANGBOARD_URL": self.url,
            "DJANGO_SETTINGS_MODULE": "gangboard.settings",
        }
        self.cookie = self.token = ""

    def ask(self, path: str, *, timeout: float = 60.0) -> urllib3.BaseHTTPResponse:
        """Ask as the admin, on a connection of its own; the API by token."""
        api = path.startswith("/api/")
        headers = {"Authorization": f"Bearer {self.token}"} if api else {"Cookie": self.cookie}
        with urllib3.PoolManager(retries=False, headers=headers) as pool:
            return pool.request("GET", self.url + path, redirect=False, timeout=timeout)

    def burst(self, path: str, number: int) -> Counter[int]:
        """Ask `number` times at once; return how often each status came."""
        together = threading.Barrier(number)

        def ask(_: int) -> int:
            together.wait(30)
            return self.ask(path).status

        with ThreadPoolExecutor(number) as threads:
            return Counter(threads.map(ask, range(number)))

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Let the database take no connection, and end those that it has."""
        name = self.database.rpartition("/")[2]
        server = self.database.rpartition("/")[0] + "/postgres"
        allow = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        with closing(psycopg.connect(server, autocommit=True)) as admin:
            admin.execute(allow.format(sql.Identifier(name), sql.SQL("false")))
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )
            try:
                yield
            finally:
                admin.execute(allow.format(sql.Identifier(name), sql.SQL("true")))

    def most_connections(self, until: threading.Event) -> int:
        """Return the largest number of connections of the database while it is watched."""
        name, most = self.database.rpartition("/")[2], 0
        server = self.database.rpartition("/")[0] + "/postgres"
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        with closing(psycopg.connect(server, autocommit=True)) as admin:
            while not until.wait(0.05):
                row = admin.execute(count, [name]).fetchone()
                most = max(most, row[0] if row else 0)
        return most


@pytest.fixture(scope="module")
def web(postgres_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("web")
    web = Web(postgres_database, folder)
    commands = Commands(web.environment, START_SECONDS)
    with closing(Supervisor(folder)) as guard, closing(commands):
        guard.start(
            "web",
            [
                *(sys.executable, "-m", "granian", *WEB_SERVER),
                *("--host", "127.0.0.1", "--port", str(web.port)),
                *("--workers-kill-timeout", "1"),
            ],
            web.environment,
            web.log,
            cwd=ROOT,
        )
        link = commands.run("create_user", "ada", "--role", "admin").split()[-1]
        web.token = commands.run("create_token", "ada").splitlines()[-1]
        _wait(web)
        web.cookie = sign_in(link)
        yield web


def _wait(web: Web) -> None:
    give_up_at = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up_at:
        try:
            if web.ask("/readyz", timeout=5).status == 200:
                return
        except urllib3.exceptions.HTTPError:
            pass
        time.sleep(0.1)
    raise AssertionError(web.log.read_text()[-3000:])


def test_a_burst_is_answered_with_few_connections(web: Web) -> None:
    """Number of pages. The tier `production` has a burst of 300 API calls."""
    over = threading.Event()
    with ThreadPoolExecutor(1) as watching:
        most = watching.submit(web.most_connections, over)
        try:
            statuses = web.burst("/clusters/", 150)
        finally:
            over.set()
    assert set(statuses) <= {200, 429, 503}, statuses
    assert statuses[200] >= 75, statuses
    assert 1 <= most.result() <= CONNECTIONS


def test_a_locked_table_is_reported_soon(web: Web) -> None:
    with closing(psycopg.connect(web.database)) as locking:
        locking.execute("LOCK TABLE store_cluster IN ACCESS EXCLUSIVE MODE")
        with ThreadPoolExecutor(3) as threads:
            started = time.monotonic()
            paths = ("/", "/api/v1/clusters/", "/readyz")
            requested = {path: threads.submit(web.ask, path) for path in paths}
            page, call = requested["/"].result(), requested["/api/v1/clusters/"].result()
            assert time.monotonic() - started < SOON
            assert requested["/readyz"].result().status == 503
    assert (page.status, page.headers["Retry-After"]) == (503, "2")
    assert (call.status, call.headers["Content-Type"]) == (503, "application/problem+json")
    assert web.ask("/").status == 200


def test_a_lost_database_is_reported_soon_and_recovers_at_once(web: Web) -> None:
    with web.shut(), ThreadPoolExecutor(4) as threads:
        started = time.monotonic()
        paths = ("/", "/api/v1/gangs/", "/live/board/", "/readyz")
        answers = dict(zip(paths, threads.map(web.ask, paths), strict=True))
        assert time.monotonic() - started < 2 * SOON
        assert {path: answer.status for path, answer in answers.items()} == dict.fromkeys(
            paths, 503
        )
        assert answers["/"].headers["Retry-After"] == "2"
        assert "default-src 'self'" in answers["/"].headers["Content-Security-Policy"]
        assert answers["/api/v1/gangs/"].json()["status"] == 503
    back = time.monotonic()
    while web.ask("/readyz").status != 200:
        assert time.monotonic() - back < 2 * PROBE
        time.sleep(0.1)
    assert (web.ask("/").status, web.ask("/api/v1/gangs/").status) == (200, 200)
    assert "Traceback" not in web.log.read_text()


def test_a_database_of_another_encoding_is_refused_at_migrate_and_by_workers(web: Web) -> None:
    server = web.database.rpartition("/")[0]
    with closing(psycopg.connect(f"{server}/postgres", autocommit=True)) as admin:
        admin.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")
    environment = {**web.environment, "DATABASE_URL": f"{server}/ascii"}
    worker = ["celery", "-A", "gangboard.celery", "worker", "--queues", "act"]
    for argv in (["manage.py", "migrate", "--no-input"], ["-m", *worker]):
        ended = subprocess.run(
            [sys.executable, *argv],
            cwd=ROOT,
            env={**environment, "CELERY_SKIP_CHECKS": "1"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 1, ended
        assert ended.stderr.splitlines()[-1].partition(": ")[2] == (
            "The database ascii has the encoding SQL_ASCII, and gangboard needs UTF8. Create it anew with: CREATE DATABASE ascii ENCODING 'UTF8' TEMPLATE template0. Then run this again."
        )
        assert "Traceback" not in ended.stderr


def test_waiting_pages_hold_no_connection(web: Web) -> None:
    """Twenty wait, more than the process has connections, and another page is answered."""
    address, version = read_question(web.ask("/").data.decode())
    with ExitStack() as opened:
        waiting = []
        for number in range(20):
            client = socket.create_connection(("127.0.0.1", web.port), timeout=5)
            waiting.append(opened.enter_context(closing(client)))
            client.sendall(
                f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {web.cookie}\r\n"
                f"X-Live-Version: {version}\r\nX-Tab: {number}\r\n\r\n".encode()
            )
        time.sleep(1)
        assert web.ask("/clusters/").status == 200
        assert select.select(waiting, [], [], 0)[0] == [], "they wait"
