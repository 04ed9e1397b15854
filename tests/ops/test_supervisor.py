"""The supervisor restarts dead children, reports that, and leaves no processes behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gangboard.ops.supervisor import Child, Supervisor

SOON = 60.0
"""Seconds that a slow machine may need for one step. All children run for ten minutes."""

# Writes its own id and that of a child of its own, then sleeps: a tree to be ended as a whole.
TREE = """
import os, subprocess, sys, time
below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()} {below.pid}\\n")
time.sleep(600)
"""
DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + TREE
LISTENS = (
    "import signal, sys\n"
    "signal.signal(signal.SIGTERM, lambda *_: (below.kill(), below.wait(), sys.exit()))\n" + TREE
)

# A supervisor in a process of its own, to be killed or signalled.
OWNER = """
import sys
from gangboard.ops.supervisor import Child, Supervisor
with Supervisor(lambda sentence: None, grace=1.0) as supervisor:
    supervisor.start(Child("tree", (sys.executable, "-c", sys.argv[1], sys.argv[2])))
    supervisor.run()
"""


def eventually(check: Callable[[], bool], seconds: float = SOON) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.05)
    return False


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie has ended. A container may lack a process that reaps it.
    return stat.rpartition(")")[2].split()[0] != "Z"


def trees(file: Path) -> list[list[int]]:
    """Process ids of each tree that was started, in order."""
    if not file.exists():
        return []
    return [[int(pid) for pid in line.split()] for line in file.read_text().splitlines()]


@pytest.fixture(autouse=True)
def _signal_handlers_as_before() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "pids"
    yield path
    for tree in trees(path):
        for pid in tree:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)


def test_a_killed_child_is_restarted_and_its_children_end(file: Path) -> None:
    log_lines: list[str] = []
    with Supervisor(log_lines.append, first_pause=0.2) as supervisor:
        supervisor.start(Child("tree", (sys.executable, "-c", TREE, str(file))))
        assert supervisor.wait(lambda: len(trees(file)) == 1, SOON)
        parent, below = trees(file)[0]
        os.kill(parent, signal.SIGKILL)
        assert supervisor.wait(lambda: len(trees(file)) == 2, SOON)
        assert eventually(lambda: not alive(below))
        assert all(alive(pid) for pid in trees(file)[1])
    assert log_lines == [
        "tree was ended by SIGKILL; it is started again in 0.2 s",
        "tree was started again",
    ]
    assert eventually(lambda: not any(alive(pid) for tree in trees(file) for pid in tree))


def test_a_child_that_fails_at_once_is_restarted_with_backoff() -> None:
    log_lines: list[str] = []
    with Supervisor(log_lines.append, first_pause=0.1) as supervisor:
        supervisor.start(Child("broken", (sys.executable, "-c", "raise SystemExit(3)")))
        assert supervisor.wait(lambda: len(log_lines) >= 5, SOON)
    assert [sentence for sentence in log_lines if "ended" in sentence] == [
        "broken ended with exit code 3; it is started again in 0.1 s",
        "broken ended with exit code 3; it is started again in 0.2 s",
        "broken ended with exit code 3; it is started again in 0.4 s",
    ]


def test_an_unresponsive_child_is_killed_after_the_grace_period(file: Path) -> None:
    with Supervisor(lambda _: None, grace=0.5) as supervisor:
        supervisor.start(Child("deaf", (sys.executable, "-c", DEAF, str(file))))
        assert supervisor.wait(lambda: len(trees(file)) == 1, SOON)
        started = time.monotonic()
    assert time.monotonic() - started < SOON
    assert eventually(lambda: not any(alive(pid) for pid in trees(file)[0]))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda n: n.name
)
def test_all_children_end_with_the_supervisor(file: Path, number: signal.Signals) -> None:
    # After SIGKILL the kernel signals the child, which must end its own children.
    script = LISTENS if number == signal.SIGKILL else TREE
    owner = subprocess.Popen([sys.executable, "-c", OWNER, script, str(file)])
    try:
        assert eventually(lambda: len(trees(file)) == 1)
        owner.send_signal(number)
        owner.wait(SOON)
        assert eventually(lambda: not any(alive(pid) for pid in trees(file)[0]))
    finally:
        owner.kill()
        owner.wait()


def test_a_wait_returns_false_at_its_timeout() -> None:
    with Supervisor(lambda _: None) as supervisor:
        assert not supervisor.wait(lambda: False, 0.2)
        assert not supervisor.is_stopping


def test_a_child_gets_its_own_environment_and_folder(tmp_path: Path) -> None:
    script = (
        "import os; open('seen', 'w').write(os.environ['GREETING']); import time; time.sleep(600)"
    )
    with Supervisor(lambda _: None) as supervisor:
        supervisor.start(
            Child("one", (sys.executable, "-c", script), {"GREETING": "hello"}, tmp_path)
        )
        assert supervisor.wait(lambda: (tmp_path / "seen").exists(), SOON)
    assert (tmp_path / "seen").read_text() == "hello"
