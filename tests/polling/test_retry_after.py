"""A Retry-After of the server is respected, even by the next window."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gangboard.polling import poll
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
PODS = "pods"


def test_the_next_window_waits_for_retry_after(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    fault = watching.simulator.faults.throttled(3, resource=PODS, count=1)
    started_at = time.monotonic()
    watching.windows_until(lambda: fault.hits == 1)
    server_error = watching.simulator.faults.status(500, resource=PODS)
    while time.monotonic() < started_at + 1.5:
        watching.window(0.5)
    assert server_error.hits == 0
    state = watching.state(PODS)
    assert state.state == "failing"
    assert "429" in state.sentence
    watching.simulator.faults.clear()
    watching.windows_until(lambda: watching.state(PODS).state == "ok")


def test_a_throttled_cluster_keeps_its_problem(watch: Watch) -> None:
    """The absence of requests is no sign that the server answers again."""
    watching = watch()
    assert watching.once().ok
    watching.simulator.faults.throttled(30, verb="watch")
    watching.fail()
    assert watching.fresh().problem == "throttled"
    watching.window(0.5)
    assert watching.fresh().problem == "throttled"


def test_a_single_poll_waits_for_retry_after_and_then_reads(watch: Watch) -> None:
    watching = watch()
    watching.simulator.faults.throttled(1, resource=PODS, verb="list", count=1)
    report = watching.once()
    assert report.ok
    assert report.resources[PODS] == "ok"


def test_a_single_poll_gives_up_when_its_time_is_over(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll, "ONCE_SECONDS", 2.0)
    watching = watch()
    watching.simulator.faults.throttled(1, resource=PODS, verb="list")
    assert watching.once().resources[PODS] == "failing"
