"""Redis goes away around a click: the answer does not wait for it, and the action ends all the same.

Redis only wakes workers. The order is the row in the database, and whatever Redis forgets, the
sweeper finds.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from simulator import Simulator
from tests.actions.conftest import FLEET
from tests.actions.site import BATCH, JOBSET, NAMESPACE
from tests.controlplane.client import PATIENCE
from tests.installation import Installation
from tests.live.figures import tell
from tests.live.poll_worker import wait_until
from tests.services import free_port, running_redis

pytestmark = [pytest.mark.slow, pytest.mark.services]

ANSWER_SECONDS = 20.0
"""A Redis that is away comes back after the answer only: who waits for it waits for ever."""
END_SECONDS = 180.0
AWAY_SECONDS = 1.0


class Site:
    """A gangboard with a Redis that can be stopped, frozen and restarted."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self._redis = ExitStack()
        self.port = free_port()
        self.start_redis()
        self.simulator = self._stack.enter_context(
            Simulator(fleet=FLEET, minor="1.37", story=False, speed=10.0)
        )
        reader, actor = folder / "reader", folder / "actor"
        reader.write_text(self.simulator.kubeconfig_text(read_only=True))
        actor.write_text(self.simulator.kubeconfig_text())
        self.installation = self._stack.enter_context(
            Installation(
                {"east": reader},
                actors={"east": actor},
                environment={"REDIS_URL": f"redis://127.0.0.1:{self.port}/0"},
            )
        )
        gangs = self.installation.gangs
        wait_until(lambda: any(gang["name"] == JOBSET for gang in gangs()), PATIENCE, "the gang")

    def start_redis(self) -> None:
        """Run an empty Redis on the same port."""
        self.redis = self._redis.enter_context(running_redis(self.port))

    def kill_redis(self) -> None:
        """Kill it at once. Its data is lost."""
        self.redis.send_signal(signal.SIGKILL)
        self._redis.close()

    def close(self) -> None:
        self._stack.close()
        self._redis.close()

    def click(self, job: str) -> tuple[str, float]:
        """Ask for the suspension of a Job; return the action and the seconds that the answer took."""
        manifest = self.simulator.objects.get(BATCH, "Job", job, NAMESPACE)
        assert manifest is not None
        target = {
            "cluster": "east",
            "api_group": "batch",
            "kind": "Job",
            "namespace": NAMESPACE,
            "name": job,
            "uid": manifest["metadata"]["uid"],
            "generation": manifest["metadata"]["generation"],
        }
        body = {"verb": "suspend", "target": target, "reason": "Redis goes away"}
        started_at = time.monotonic()
        status, answer = self.installation.post("actions/", body, key=f"click-{job}")
        seconds = time.monotonic() - started_at
        assert status == 202, answer
        return answer["id"], seconds

    def end_of(self, action: str) -> dict[str, Any]:
        """Wait for the end of an action."""

        def ended() -> bool:
            return bool(self.installation.get(f"actions/{action}/")["finished_at"])

        wait_until(ended, END_SECONDS, f"the end of action {action}")
        return self.installation.get(f"actions/{action}/")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    test_site = Site(tmp_path)
    yield test_site
    test_site.close()


def test_gangboard_survives_the_loss_of_redis(site: Site) -> None:
    # Gone before the click.
    site.kill_redis()
    action, seconds = site.click("train-workers-0")
    time.sleep(AWAY_SECONDS)
    site.start_redis()
    _judge(site, "gone before the click", action, seconds)

    # It accepts connections and sends no response.
    site.redis.send_signal(signal.SIGSTOP)
    action, seconds = site.click("train-workers-1")
    time.sleep(AWAY_SECONDS)
    site.redis.send_signal(signal.SIGCONT)
    _judge(site, "frozen before the click", action, seconds)

    # Everything in it is lost right after the click.
    action, seconds = site.click("train-driver-0")
    site.kill_redis()
    time.sleep(AWAY_SECONDS)
    site.start_redis()
    _judge(site, "gone after the click", action, seconds)


def _judge(site: Site, what: str, action: str, answered: float) -> None:
    started_at = time.monotonic()
    ended = site.end_of(action)
    waited = time.monotonic() - started_at
    assert ended["state"] == "verified", ended["message"]
    assert [step["result"] != "" for step in ended["steps"]] == [True] * 3
    assert answered < ANSWER_SECONDS
    tell(f"Redis {what}: answered after {answered:.2f} s, ended {waited:.1f} s after it was back")
