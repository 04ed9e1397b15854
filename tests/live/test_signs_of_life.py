"""Each process is stopped alone: the banner and the probe blame it and nobody else."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import urllib3

from gangboard.simulator import Simulator
from tests.controlplane.client import PATIENCE
from tests.installation import Installation
from tests.live.poll_worker import Database, wait_until

pytestmark = pytest.mark.slow

NOTICE_SECONDS = 10.0
MISSED_SECONDS = 60.0
"""After 15 s without a sign of life it is missed; a busy machine needs some more to say so."""
PROCESSES = {
    "poll": ("worker --queues poll", "No poll worker is alive", 503),
    "act": ("worker --queues act", "No act worker is alive", 200),
    "beat": ("gangboard.celery beat", "The beat process is not alive", 503),
}
"""Check of the probe → words of its command line, the banner, what the probe answers."""


class Site:
    """A gangboard with one simulated cluster."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.database = Database(installation.folder / "gangboard.sqlite3")
        self._pool = urllib3.PoolManager(retries=False)

    def checks(self) -> tuple[int, dict[str, bool]]:
        """Return status and checks of the probe."""
        answer = self._pool.request("GET", f"{self.installation.url}/readyz", timeout=60)
        return answer.status, answer.json()["checks"]

    def is_well(self) -> bool:
        """Whether neither the probe nor a page, which knows of more processes, finds anything wrong."""
        return all(self.checks()[1].values()) and not self.banners()

    def banners(self) -> list[str]:
        """Return the banners of a page."""
        page = self.installation.page("/clusters/")
        found = re.findall(r'<p class="banner[^>]*>(.*?)</p>', page, re.S)
        return [" ".join(re.sub(r"<[^>]*>|■", "", one).split()) for one in found]

    @contextmanager
    def stopped(self, words: str) -> Iterator[None]:
        """Stop a process for a while, not in the middle of a write: SQLite would lock us all out."""
        (pid,) = self.installation.children(words)
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
def test_a_process_that_is_stopped_alone_is_blamed_alone(site: Site, process: str) -> None:
    words, banner, status = PROCESSES[process]
    wait_until(site.is_well, PATIENCE, "every process to live")
    with site.stopped(words):
        wait_until(lambda: not site.checks()[1][process], MISSED_SECONDS, f"{process} to be missed")
        time.sleep(NOTICE_SECONDS / 2)  # the others must not follow it
        assert site.checks() == (status, {**dict.fromkeys(site.checks()[1], True), process: False})
        found = site.banners()
        assert len(found) == 1
        assert found[0].startswith(f"{banner} (last sign ")
    wait_until(site.is_well, PATIENCE, "it to be seen again")
