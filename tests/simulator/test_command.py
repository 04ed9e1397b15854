"""`python -m simulator`: the kubeconfig that it writes, and when it ends."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.controlplane.client import Client, wait

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "simulator", "--no-story"]


@contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert " serves https://127.0.0.1:" in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _client(document: dict[str, Any], folder: Path) -> Client:
    cluster = document["clusters"][0]["cluster"]
    authority = folder / "ca.crt"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    token = document["users"][0]["user"]["token"]
    return Client(cluster["server"], ca=authority, token=token)


def test_the_command_serves_until_stopped(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "kubeconfig"
    arguments = ("--name", "sim-west", "--fleet", "west", "--no-hold", "--kubeconfig", str(path))
    with _running(*arguments) as process:
        assert path.stat().st_mode & 0o777 == 0o600
        document = json.loads(path.read_text())
        assert document["current-context"] == "sim-west"
        client = _client(document, tmp_path)
        assert client.request("GET", "/version")["gitVersion"] == "v1.36.3"
        assert client.list("jobset.x-k8s.io/v1alpha2", "JobSet", "team-ads")
        client.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_the_command_ends_with_its_parent(tmp_path: Path) -> None:
    path, number = tmp_path / "kubeconfig", tmp_path / "pid"
    command = [*COMMAND, "--fleet", "empty", "--kubeconfig", str(path)]
    script = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen({command!r}, stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        f"open({str(number)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        wait(lambda: number.exists() and number.read_text(), what="the simulator to start")
    finally:
        parent.kill()
        parent.wait()
    child = int(number.read_text())
    wait(lambda: not _is_alive(child), timeout=60, what="the simulator to end")


def _is_alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # An unreaped zombie has also ended.
    return status.rpartition(")")[2].split()[0] != "Z"


def test_two_simulators_are_independent(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with (
        _running("--kubeconfig", str(paths[0]), "--fleet", "empty"),
        _running("--kubeconfig", str(paths[1]), "--fleet", "empty"),
    ):
        first, second = (json.loads(path.read_text()) for path in paths)
    assert first["clusters"] != second["clusters"]
    assert first["users"] != second["users"]
