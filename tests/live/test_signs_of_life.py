"""Each process is stopped alone: the banner names only that process, and the pages stay in
service."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import urllib3

from simulator import Simulator
from tests.controlplane.client import PATIENCE
from tests.installation import Installation
from tests.live.poll_worker import Database, wait_until

pytestmark = pytest.mark.slow

NOTICE_SECONDS = 10.0
MISSED_SECONDS = 60.0
"""After 15 s without a sign of life it is missed; a busy machine needs some more to say so."""
PROCESSES = {
    "poll": ("worker --queues poll", "Poll worker is down"),
    "act": ("worker --queues act", "Act worker is down"),
    "beat": ("gangboard.celery beat", "Beat process is down"),
}
"""Process → words of its command line, the banner."""


class Site:
    """A gangboard with one simulated cluster."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.database = Database(installation.folder / "gangboard.sqlite3")
        self._pool = urllib3.PoolManager(retries=False)

    def readiness(self) -> int:
        """Return the status of the probe."""
        return self._pool.request("GET", f"{self.installation.url}/readyz", timeout=60).status

    def is_well(self) -> bool:
        """Return whether a page shows no problem."""
        return not self.banners()

    def banners(self) -> list[str]:
        """Return the banners of a page."""
        page = self.installation.page("/clusters/")
        paragraphs = re.findall(r'<p class="banner[^>]*>(.*?)</p>', page, re.S)
        return [" ".join(re.sub(r"<[^>]*>|■", "", paragraph).split()) for paragraph in paragraphs]

    @contextmanager
    def stopped(self, command: str) -> Iterator[None]:
        """Stop a process for a while, not in the middle of a write: SQLite would lock us all out."""
        (pid,) = self.installation.children(command)
        for _ in range(20):
            os.kill(pid, signal.SIGSTOP)
            if not self.database.is_locked():
                break
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.2)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with ExitStack() as stack:
        simulator = stack.enter_context(Simulator("empty", story=False, name="one"))
        kubeconfig = tmp_path_factory.mktemp("signs") / "one"
        kubeconfig.write_text(simulator.kubeconfig_text())
        yield Site(stack.enter_context(Installation({"one": kubeconfig})))


@pytest.mark.parametrize("process", PROCESSES)
def test_the_banner_names_only_the_stopped_process(site: Site, process: str) -> None:
    command, banner = PROCESSES[process]
    wait_until(site.is_well, PATIENCE, "every process to live")
    with site.stopped(command):
        wait_until(lambda: not site.is_well(), MISSED_SECONDS, f"{process} to be missed")
        time.sleep(NOTICE_SECONDS / 2)  # the others must not follow it
        banners = site.banners()
        assert len(banners) == 1
        assert banners[0].startswith(f"{banner} (last sign ")
        assert site.readiness() == 200
    wait_until(site.is_well, PATIENCE, "it to be seen again")
