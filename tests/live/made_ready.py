"""pytest fixture: a hundred pages that are made ready in the background, until their turn to be measured comes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.controlplane.supervisor import Supervisor
from tests.installation import ROOT
from tests.live.figures import tell
from tests.live.hundred_pages import BEGIN

MOST_SECONDS = 900


class HundredPages:
    """A running `tests.live.hundred_pages`."""

    def __init__(self, folder: Path, guard: Supervisor) -> None:
        """Start the process, which writes its files into `folder`."""
        self._folder = folder
        self._figures, self._log = folder / "figures", folder / "log"
        argv = [sys.executable, "-m", "tests.live.hundred_pages", str(folder)]
        self._process = guard.start(
            "pages", argv, os.environ, self._log, out=self._figures, cwd=ROOT
        )

    def measure(self) -> None:
        """Let it begin, and tell the figures. Raises AssertionError with all that was missed."""
        (self._folder / BEGIN).touch()
        try:
            outcome = f"exit code {self._process.wait(MOST_SECONDS)}"
        except subprocess.TimeoutExpired:
            outcome = f"no end after {MOST_SECONDS} s"
        figures = self._figures.read_text()
        for line in figures.splitlines():
            tell(line)
        assert outcome == "exit code 0", f"{outcome}\n{figures}\n{self._log.read_text()[-6000:]}"


@pytest.fixture(scope="session")
def hundred_pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HundredPages]:
    """The application loads itself from the first request on."""
    folder = tmp_path_factory.mktemp("hundred-pages")
    with closing(Supervisor(folder)) as guard:
        yield HundredPages(folder, guard)
