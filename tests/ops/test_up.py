"""`manage.py up` for a user: one command, an address, a link, and no leftover processes."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.controlplane.supervisor import Supervisor
from tests.ops.kubeconfigs import write_kubeconfig
from tests.ops.test_supervisor import alive, eventually
from tests.sign_in import sign_in

pytestmark = pytest.mark.slow

START = 60.0
END = 10.0
"""A worker needs a moment to see that it should end; then it is killed."""


def descendants(pid: int) -> set[int]:
    """All processes below one, by /proc."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(stat.parent.name)] = int(fields[1])
    result, frontier = set(), {pid}
    while frontier:
        frontier = {child for child, parent in parents.items() if parent in frontier}
        result |= frontier
    return result


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def bare(folder: Path) -> dict[str, str]:
    """The environment of a fresh clone: no variables but the place of its state."""
    stored = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {**stored, "GANGBOARD_STATE": str(folder / "state")}


class Up:
    """A running `up`, its output in files."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.out, self.err = folder / "out", folder / "err"
        self.out.unlink(missing_ok=True)
        self.guard = Supervisor(folder)
        argv = [sys.executable, "manage.py", "up", "--port", "18000", *arguments]
        self.process = self.guard.start(
            "up", argv, bare(folder), self.err, out=self.out, cwd=settings.BASE_DIR
        )
        assert eventually(lambda: "/sign-in/link/" in self.out.read_text(), START), self.log()
        self.link = urlsplit(self.out.read_text().splitlines()[-1])

    def log(self) -> str:
        return self.out.read_text() + self.err.read_text()

    def get(self, path: str, cookie: str = "") -> tuple[int, dict[str, str], bytes]:
        assert self.link.hostname is not None
        requested = http.client.HTTPConnection(self.link.hostname, self.link.port, timeout=60)
        with closing(requested):
            requested.request("GET", path, headers={"Cookie": cookie} if cookie else {})
            answer = requested.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def answers(self, path: str = "/healthz") -> bool:
        try:
            return self.get(path)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def sign_in(self) -> str:
        return sign_in(self.link.geturl())

    def clusters(self, cookie: str) -> dict[str, dict[str, object]]:
        status, _, body = self.get("/api/v1/clusters/", cookie)
        assert status == 200
        return {cluster["name"]: cluster for cluster in json.loads(body)["results"]}

    def pid_of(self, words: str) -> int:
        return min(pid for pid in descendants(self.process.pid) if words in command_of(pid))


@pytest.fixture
def start_up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*arguments: str) -> Up:
        started.append(Up(tmp_path, *arguments))
        return started[-1]

    yield start
    for up in started:
        up.guard.close()


def test_up_works_from_a_fresh_folder_to_a_kubeconfig(
    start_up: Callable[..., Up], tmp_path: Path
) -> None:
    """Three starts in one folder: each takes seconds of all processors that there are."""
    first = start_up()
    cookie = _becomes_a_board_over_two_simulated_clusters(first)
    _keeps_others_from_the_folder(first)
    _starts_what_dies_again(first, cookie)
    _leaves_nothing_when_it_is_killed(first)
    second = start_up()
    assert set(second.clusters(second.sign_in())) == {"sim-east", "sim-west"}, "it takes over"
    _ends_with_all_its_processes(second, signal.SIGTERM)
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", context="arn:aws:cluster/Prod_1")
    third = start_up("--kubeconfig", str(kubeconfig))
    assert set(third.clusters(third.sign_in())) == {"prod-1"}
    assert not any("simulator" in command_of(p) for p in descendants(third.process.pid))
    _ends_with_all_its_processes(third, signal.SIGINT)


def _becomes_a_board_over_two_simulated_clusters(up: Up) -> str:
    lines = up.out.read_text().splitlines()
    assert lines[0] == f"gangboard is at http://{up.link.netloc}/ (Ctrl-C ends it)."
    assert up.link.hostname == "127.0.0.1"
    cookie = up.sign_in()
    assert up.get(up.link.path)[0] == 403
    assert set(up.clusters(cookie)) == {"sim-east", "sim-west"}
    assert eventually(lambda: up.answers("/readyz"), START), up.log()
    assert "Warning" not in up.err.read_text(), "of a library, for root"
    assert eventually(lambda: all(c["listed_at"] for c in up.clusters(cookie).values()), START)
    assert json.loads(up.get("/api/v1/gangs/", cookie)[2])["results"]
    return cookie


def _keeps_others_from_the_folder(up: Up) -> None:
    second = subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=settings.BASE_DIR,
        env=bare(up.out.parent),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert second.returncode == 1
    assert f"running from this folder already, at http://{up.link.netloc}/" in second.stderr


def _starts_what_dies_again(up: Up, cookie: str) -> None:
    os.kill(up.pid_of("granian"), signal.SIGKILL)
    assert eventually(lambda: "The web server was started again" in up.err.read_text())
    assert eventually(up.answers, START), up.log()
    before = up.clusters(cookie)["sim-east"]["server"]
    os.kill(up.pid_of("--fleet east"), signal.SIGKILL)
    # The new simulator listens elsewhere; the cluster follows it.
    assert eventually(lambda: up.clusters(cookie)["sim-east"]["server"] != before, START), up.log()


def _leaves_nothing_when_it_is_killed(up: Up) -> None:
    below = descendants(up.process.pid)
    assert len(below) >= 5
    up.process.send_signal(signal.SIGKILL)
    up.process.wait(END)
    assert eventually(lambda: not any(alive(pid) for pid in below), 20), [
        command_of(pid) for pid in below if alive(pid)
    ]


def _ends_with_all_its_processes(up: Up, how: signal.Signals) -> None:
    below = descendants(up.process.pid)
    up.process.send_signal(how)
    assert up.process.wait(END) == 0
    assert eventually(lambda: not any(alive(pid) for pid in below), 2)
    assert not up.answers()
