"""A hundred open pages: each change reaches each of them soon, in a few kilobytes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.installation import ROOT
from tests.live.figures import tell

pytestmark = pytest.mark.slow

MOST_SECONDS = 300


def test_every_change_reaches_a_hundred_pages(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.live.hundred_pages", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    for line in done.stdout.splitlines():
        tell(line)
    assert done.returncode == 0, done.stderr[-3000:]
