"""Killing a test also kills all processes it started, and removes its folders.

A gangboard is a tree of processes, started like the one here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.installation import ROOT
from tests.live.poll_worker import wait_until

SERVER = """
import sys, time
from pathlib import Path
from tests.services import free_port, running_redis
with running_redis(free_port()) as process:
    print(Path(f"/proc/{process.pid}/cwd").resolve(), flush=True)
    time.sleep(600)
"""
DEEP = """
import os, subprocess, sys, time
from tests.controlplane.supervisor import Supervisor
# A process that has moved to a session of its own, below one that does not look after it.
below = "import subprocess, sys; subprocess.run(sys.argv[1:])"
deep = "import os, time; os.setsid(); time.sleep(600)"
supervisor = Supervisor(None)
argv = [sys.executable, "-c", below, sys.executable, "-c", deep]
supervisor.start("tree", argv, os.environ, supervisor.folder / "log", cwd=supervisor.folder)
time.sleep(2)
print(supervisor.folder, flush=True)
time.sleep(600)
"""
END_SECONDS = 60.0


@pytest.mark.parametrize(
    ("script", "processes"),
    [
        pytest.param(SERVER, 1, id="redis", marks=pytest.mark.services),
        pytest.param(DEEP, 2, id="tree"),
    ],
)
def test_a_killed_test_leaves_no_process_or_folder(script: str, processes: int) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    try:
        with parent.stdout:
            folder = parent.stdout.readline().strip()
        assert folder
        assert Path(folder).is_dir()
        before = _processes_of(folder)
        assert len(before) >= processes, before
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not Path(folder).exists(), END_SECONDS, f"{folder} to be gone")
    wait_until(lambda: not _processes_of(folder), END_SECONDS, f"the processes of {folder} to end")


def _processes_of(folder: str) -> list[str]:
    """Return the command lines of processes whose working directory or environment names the
    folder."""
    processes = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is not ours
            line = (process / "cmdline").read_bytes()
            text = folder.encode() in line + (process / "environ").read_bytes()
            if text or os.readlink(process / "cwd") == folder:
                processes.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return processes
