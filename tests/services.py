"""Real Redis and PostgreSQL from Debian's packages on free ports, for as long as a test session."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from tests import migrated
from tests.controlplane.supervisor import Started, Supervisor

READY_SECONDS = 30.0


def free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def missing(what: str) -> None:
    """Skip a test for want of a program; in CI fail it."""
    sentence = f"{what} is not installed: run make packages as root"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def _wait_for_port(port: int, process: Started, log: Path) -> None:
    give_up_at = time.monotonic() + READY_SECONDS
    while time.monotonic() < give_up_at:
        if process.poll() is not None:
            break
        with socket.socket() as client:
            client.settimeout(0.2)
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"not ready: {log.read_text(errors='replace')[-2000:]}")


@contextmanager
def _running(guard: Supervisor, argv: list[str], port: int, ending: int) -> Iterator[Started]:
    """Run a server in the folder of a guard until the end of the block, and end it by a signal."""
    log = guard.folder / "log"
    process = guard.start("server", argv, os.environ, log, cwd=guard.folder)
    _wait_for_port(port, process, log)
    yield process
    process.send_signal(ending)
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)


@contextmanager
def running_server(argv: list[str], port: int) -> Iterator[Started]:
    """Run a server that listens on a port, until the end of the block."""
    with (
        closing(Supervisor(None)) as guard,
        _running(guard, argv, port, signal.SIGTERM) as process,
    ):
        yield process


@contextmanager
def running_redis(port: int) -> Iterator[Started]:
    """Run a real Redis that is empty and thrown away, on a port of one's own choice."""
    server = shutil.which("redis-server")
    if server is None:
        missing("redis-server")
        raise AssertionError("unreachable")
    argv = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    with running_server(argv, port) as process:
        yield process


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Address of a real Redis that is empty and thrown away."""
    port = free_port()
    with running_redis(port):
        yield f"redis://127.0.0.1:{port}/0"


def _postgres_folder() -> Path | None:
    result = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if result:
        return result[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).parent if initdb else None


@pytest.fixture(scope="session")
def _postgres_port() -> Iterator[int]:
    """Port of a real PostgreSQL that is thrown away."""
    binaries = _postgres_folder()
    if binaries is None:
        missing("PostgreSQL")
        return
    with closing(Supervisor(None)) as guard:
        port = free_port()
        argv = _new_postgres(binaries, guard.folder, port)
        with _running(guard, argv, port, signal.SIGINT):
            yield port


@pytest.fixture(scope="session")
def _postgres_template(_postgres_port: int) -> str:
    """Name of a migrated database to copy, because a copy takes a twentieth of the time of migrations."""
    url = _new_database(_postgres_port)
    migrated.migrate(url)
    return url.rpartition("/")[2]


@pytest.fixture
def postgres_url(_postgres_port: int, _postgres_template: str) -> str:
    """Address of a migrated database in a real PostgreSQL. No test meets what another has left."""
    return _new_database(_postgres_port, _postgres_template)


@pytest.fixture(scope="module")
def postgres_database(_postgres_port: int, _postgres_template: str) -> str:
    """Address of a migrated database in a real PostgreSQL, for all tests of a module."""
    return _new_database(_postgres_port, _postgres_template)


@pytest.fixture(scope="module")
def empty_postgres_database(_postgres_port: int) -> str:
    """Address of a database without tables in a real PostgreSQL, for all tests of a module."""
    return _new_database(_postgres_port)


def _new_database(port: int, template: str = "template1") -> str:
    name = f"gangboard_{next(_numbers)}"
    _make_database(port, name, template)
    return f"postgresql://gangboard@127.0.0.1:{port}/{name}"


_numbers = itertools.count(1)


def _new_postgres(binaries: Path, folder: Path, port: int) -> list[str]:
    """Make the files of a server in a folder; return the command that runs it."""
    # PostgreSQL refuses to run as root: as root it is started as Debian's user for it.
    become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    prefix = become if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres")
    data = str(folder / "data")
    subprocess.run(
        [*prefix, str(binaries / "initdb"), "-D", data, "-U", "gangboard", "-A", "trust", "-N"],
        check=True,
        capture_output=True,
        cwd=folder,
    )
    options = ["-p", str(port), "-k", str(folder), "-c", "listen_addresses=127.0.0.1"]
    options += ["-c", "fsync=off", "-c", "full_page_writes=off"]
    return [*prefix, str(binaries / "postgres"), "-D", data, *options]


def _make_database(port: int, name: str, template: str) -> None:
    """A port that is open is not yet a server that is ready: try for a while."""

    give_up_at = time.monotonic() + READY_SECONDS
    while True:
        try:
            with psycopg.connect(
                host="127.0.0.1",
                port=port,
                user="gangboard",
                dbname="postgres",
                autocommit=True,
                connect_timeout=3,
            ) as connection:
                create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
                connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
                return
        except psycopg.OperationalError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)
