"""Real Redis and PostgreSQL from Debian's packages on free ports, for as long as a test session."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

READY_SECONDS = 30.0


def free_port() -> int:
    """Return a loopback port that is free now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _missing(what: str) -> None:
    sentence = f"{what} is not installed: run make packages as root"
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def _wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
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


def _stop(process: subprocess.Popen[bytes], with_signal: int = signal.SIGTERM) -> None:
    process.send_signal(with_signal)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


@contextmanager
def running_redis(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a real Redis that is empty and thrown away, on a port of one's own choice."""
    server = shutil.which("redis-server")
    if server is None:
        _missing("redis-server")
        raise AssertionError("unreachable")
    folder = Path(tempfile.mkdtemp(prefix="gangboard-redis-"))
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=output,
            stderr=output,
        )
    try:
        _wait_for_port(port, process, log)
        yield process
    finally:
        _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """Address of a real Redis that is empty and thrown away."""
    port = free_port()
    with running_redis(port):
        yield f"redis://127.0.0.1:{port}/0"


def _postgres_folder() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).parent if initdb else None


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a real, empty PostgreSQL database that is thrown away."""
    binaries = _postgres_folder()
    if binaries is None:
        _missing("PostgreSQL")
        return
    folder = Path(tempfile.mkdtemp(prefix="gangboard-postgres-"))
    # PostgreSQL refuses to run as root: as root it is started as Debian's user for it.
    become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    prefix = become if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres")
    port = free_port()
    data, log = folder / "data", folder / "log"
    subprocess.run(
        [*prefix, binaries / "initdb", "-D", data, "-U", "gangboard", "-A", "trust", "-N"],
        check=True,
        capture_output=True,
        cwd=folder,
    )
    options = ["-p", str(port), "-k", str(folder), "-c", "listen_addresses=127.0.0.1"]
    options += ["-c", "fsync=off", "-c", "full_page_writes=off"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*prefix, binaries / "postgres", "-D", data, *options],
            stdout=output,
            stderr=output,
            cwd=folder,
        )
    try:
        _wait_for_port(port, process, log)
        _make_database(port)
        yield f"postgresql://gangboard@127.0.0.1:{port}/gangboard"
    finally:
        _stop(process, signal.SIGINT)
        shutil.rmtree(folder, ignore_errors=True)


def _make_database(port: int) -> None:
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
                connection.execute("CREATE DATABASE gangboard")
                return
        except psycopg.OperationalError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.1)
