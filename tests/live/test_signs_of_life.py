"""Processes stop one after the other: the banners name only these, and the pages stay in service."""

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

MISSED_SECONDS = 60.0
"""After 15 s without a sign of life it is missed; a busy machine needs some more to say so."""
BETWEEN_SECONDS = 10.0
"""Seconds between two processes that stop. A sign of life comes every 3 s, so each banner is alone for 7 s."""
POLL, ACT, BEAT = "worker --queues poll", "worker --queues act", "gangboard.celery beat"
"""Words of the command line of each process."""


class Site:
    """A gangboard with one simulated cluster."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.database = Database(installation.folder / "gangboard.sqlite3")
        self._pool = urllib3.PoolManager(retries=False)
        self._cookie = installation.session_cookie()

    def readiness(self) -> int:
        """Return the status of the probe."""
        return self._pool.request("GET", f"{self.installation.url}/readyz", timeout=60).status

    def banners(self) -> list[str]:
        """Return the banners of a page."""
        page = self.installation.page("/clusters/", self._cookie)
        paragraphs = re.findall(r'<p class="banner[^>]*>(.*?)</p>', page, re.S)
        return [" ".join(re.sub(r"<[^>]*>|■", "", paragraph).split()) for paragraph in paragraphs]

    def check_banners(self, *beginnings: str) -> None:
        """Wait for a banner with the last of these beginnings. Then all are there, and no other one."""
        wait_until(
            lambda: any(banner.startswith(beginnings[-1]) for banner in self.banners()),
            MISSED_SECONDS,
            beginnings[-1],
        )
        banners = self.banners()
        assert len(banners) == len(beginnings), banners
        for banner, beginning in zip(banners, beginnings, strict=True):
            assert banner.startswith(f"{beginning} (last sign "), banners
        assert self.readiness() == 200

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


def test_banners_name_only_the_stopped_processes(site: Site) -> None:
    wait_until(lambda: not site.banners(), PATIENCE, "every process to live")
    with ExitStack() as stack:
        stack.enter_context(site.stopped(POLL))
        time.sleep(BETWEEN_SECONDS)
        stack.enter_context(site.stopped(ACT))
        stopped_at = time.monotonic()
        site.check_banners("Poll worker is down")
        time.sleep(max(stopped_at + BETWEEN_SECONDS - time.monotonic(), 0.0))
        stack.enter_context(site.stopped(BEAT))
        site.check_banners("Poll worker is down", "Act worker is down")
        site.check_banners("The poll and act workers and the beat process are down")
    wait_until(lambda: not site.banners(), PATIENCE, "all to be seen again")
