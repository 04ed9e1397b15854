"""A hundred open pages: each change reaches each of them soon, in a few kilobytes."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.controlplane.supervisor import Supervisor
from tests.installation import ROOT
from tests.live.figures import tell

pytestmark = pytest.mark.slow

MOST_SECONDS = 900


def test_every_change_reaches_a_hundred_pages(tmp_path: Path) -> None:
    figures, log = tmp_path / "figures", tmp_path / "log"
    argv = [sys.executable, "-m", "tests.live.hundred_pages", str(tmp_path)]
    with closing(Supervisor(tmp_path)) as guard:
        process = guard.start("pages", argv, os.environ, log, out=figures, cwd=ROOT)
        try:
            end = f"exit code {process.wait(MOST_SECONDS)}"
        except subprocess.TimeoutExpired:
            end = f"no end after {MOST_SECONDS} s"
    for line in figures.read_text().splitlines():
        tell(line)
    assert end == "exit code 0", f"{end}\n{figures.read_text()}\n{log.read_text()[-6000:]}"
