"""Discovery of API servers that are slow, silent or throttled."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.discovery import Discovery, discover
from gangboard.kube.errors import KubeError
from gangboard.polling import cache_warm_up, discovery_schedule, poll, poll_window
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.poll_window import PollWindow
from gangboard.store.cluster_leases import ClusterLease, acquire_lease, renew_lease
from gangboard.store.models import WatchedObject
from tests.polling.conftest import HOLDER, Watching, eventually

Watch = Callable[..., Watching]
PODS = "pods"
PATIENCE = 60.0
"""Seconds within which even a slow machine reaches the awaited state."""


def _hold(
    watching: Watching,
    seconds: float,
    *,
    deadline: float = PATIENCE,
    until: Callable[[ClusterCache], bool] = lambda _: False,
) -> None:
    """Hold the cluster for a window with this deadline for each request, or until that is true."""
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    cache = poll._cache_for(held)
    assert cache is not None
    credentials = read_kubeconfig(watching.simulator.kubeconfig_text())
    cache.close()
    cache.connection = Connection(credentials, connect_deadline=PATIENCE, total_deadline=deadline)
    stopping = threading.Event()
    held_window = PollWindow(cache, seconds=seconds, repair_interval=900, stopping=stopping)

    def condition() -> None:
        while not stopping.wait(0.01):
            if until(cache):
                stopping.set()

    looking = threading.Thread(target=condition, daemon=True)
    looking.start()
    try:
        held_window.run()
    finally:
        stopping.set()
        looking.join()


def _hold_until(watching: Watching, condition: Callable[[], bool], *, deadline: float) -> None:
    """Hold the cluster for one short window after the other until that is true. Raises AssertionError."""
    give_up_at = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up_at, "did not come true"
        _hold(watching, 0.5, deadline=deadline)


def _has_problem(watching: Watching, problem: str) -> Callable[[], bool]:
    return lambda: watching.fresh().problem == problem


def _has_listed(resource: str) -> Callable[[ClusterCache], bool]:
    return lambda cache: bool(cache.watched[resource].resource_version)


class _Gate:
    """Discovery waits until the gate is open, then runs as usual."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened = threading.Event()

        def ask_when_open(*arguments: Any, **options: Any) -> Discovery:
            assert self.opened.wait(PATIENCE), "the gate was not opened"
            return discover(*arguments, **options)

        monkeypatch.setattr(poll_window, "discover", ask_when_open)


def test_a_server_that_hangs_keeps_its_worker_and_is_named(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Discovery continues until the lease was renewed, and then until its deadline."""
    watching = watch()
    monkeypatch.setattr(poll_window, "CONTACT_EVERY", 0.2)
    monkeypatch.setattr(discovery_schedule, "UNKNOWN_PAUSE", 0.0)
    gate = _Gate(monkeypatch)

    def renew_and_open(lease: ClusterLease) -> None:
        renew_lease(lease)
        assert acquire_lease(watching.cluster.pk, "another") is None
        gate.opened.set()

    monkeypatch.setattr(poll_window, "renew_lease", renew_and_open)
    watching.simulator.faults.hang(path="/version")
    _hold(watching, 2 * PATIENCE, deadline=1.5)
    assert watching.fresh().problem == "timeout"
    assert "did not complete GET /version within 1.5 s" in watching.fresh().sentence


def test_a_discovery_that_outlasts_its_window_is_taken_by_the_next(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    monkeypatch.setattr(discovery_schedule, "UNKNOWN_PAUSE", 0.0)
    gate = _Gate(monkeypatch)
    fault = watching.simulator.faults.hang(path="/version")
    _hold(watching, 0.5, deadline=1.0)
    assert watching.fresh().problem == ""
    gate.opened.set()
    _hold(watching, PATIENCE, deadline=PATIENCE)
    assert watching.fresh().problem == "timeout"
    assert fault.hits == 1


def test_a_slow_schema_delays_no_list(watch: Watch) -> None:
    """It would delay them for as long as this window lasts."""
    watching = watch()
    fault = watching.simulator.faults.hang(path="/openapi/v3")
    _hold(watching, PATIENCE, until=lambda cache: fault.hits > 0 and _has_listed(PODS)(cache))
    assert watching.objects(PODS) > 0
    assert watching.state(PODS).state == "ok"


def test_a_slow_discovery_does_not_stop_the_watches_of_a_known_cluster(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery_schedule, "INTERVAL", 0.0)
    monkeypatch.setattr(poll_window, "REFRESH_SECONDS", 0.2)
    watching = watch()
    watching.settle()
    before = watching.objects(PODS)
    fault = watching.simulator.faults.hang(path="/version")
    pod = watching.simulator.objects.list("v1", "Pod")[0]["metadata"]
    silenced = threading.Event()

    def is_seen_gone(cache: ClusterCache) -> bool:
        if fault.hits and not silenced.is_set():
            watching.simulator.objects.delete("v1", "Pod", pod["name"], pod["namespace"])
            silenced.set()
        return silenced.is_set() and pod["uid"] not in cache.versions[PODS]

    _hold(watching, PATIENCE / 2, until=is_seen_gone)
    assert watching.objects(PODS) < before
    assert watching.fresh().problem == ""


def test_a_known_cluster_that_falls_silent_is_named(watch: Watch) -> None:
    watching = watch()
    watching.settle()
    watching.simulator.faults.hang()
    _hold_until(watching, _has_problem(watching, "timeout"), deadline=1.5)
    assert "GET /version" in watching.fresh().sentence
    # The problem stays until a response arrives, not only for one window.
    _hold(watching, 0.7, deadline=1.5)
    assert watching.fresh().problem == "timeout"
    watching.simulator.faults.clear()
    _hold_until(watching, _has_problem(watching, ""), deadline=PATIENCE)


def test_an_incomplete_first_discovery_is_repeated_soon(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery_schedule, "FIRST_PAUSE", 0.3)
    watching = watch()
    watching.simulator.faults.status(500, path="/api", verb="discovery", count=1)
    _hold(watching, PATIENCE, until=lambda cache: cache.discovery is not None)
    assert watching.state(PODS).state == "failing"
    _hold_until(watching, lambda: watching.state(PODS).state == "ok", deadline=PATIENCE)
    assert watching.objects(PODS) > 0
    # The whole answer serves for five minutes.
    fault = watching.simulator.faults.status(500, verb="discovery", count=1)
    _hold(watching, 0.5)
    assert fault.hits == 0


def test_known_resources_stay_while_a_part_of_discovery_fails(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.settle()
    before = watching.objects(PODS)
    watching.forget()
    fault = watching.simulator.faults.status(500, path="/api", verb="discovery", count=1)
    monkeypatch.setattr(poll_window, "REFRESH_SECONDS", PATIENCE)
    _hold(watching, 1.0)
    assert fault.hits == 1
    assert watching.objects(PODS) == before > 0
    assert watching.state(PODS).state == "ok"


def _pauses(
    schedule: discovery_schedule.DiscoverySchedule, error: KubeError, times: int
) -> list[int]:
    """Let a part of discovery fail this many times. Return the seconds until the next request."""
    failed = Discovery("", {}, {"v1": error})
    pauses = []
    for _ in range(times):
        schedule.make_due()
        assert schedule.start(lambda: failed)
        eventually(lambda: not schedule.is_running)
        assert schedule.take_result(is_known=True)
        pauses.append(round(schedule.next_at - time.monotonic()))
    return pauses


def test_a_part_that_keeps_failing_is_requested_less_and_less() -> None:
    forbidden = KubeError("forbidden", "no")
    assert _pauses(discovery_schedule.DiscoverySchedule(), forbidden, 8) == [
        5,
        10,
        20,
        40,
        80,
        160,
        300,
        300,
    ]


def test_make_due_respects_retry_after() -> None:
    schedule = discovery_schedule.DiscoverySchedule()
    assert _pauses(schedule, KubeError("server-error", "busy", retry_after=40), 1) == [40]
    schedule.make_due()
    assert not schedule.start(lambda: Discovery("", {}, {}))


def test_throttled_discovery_waits_for_retry_after(watch: Watch) -> None:
    watching = watch()
    fault = watching.simulator.faults.throttled(2, path="/version", count=2)
    started_at = time.monotonic()
    _hold_until(watching, _has_problem(watching, "throttled"), deadline=PATIENCE)

    def is_asked_again() -> bool:
        assert watching.fresh().problem == "throttled"
        return fault.hits == 2

    _hold_until(watching, is_asked_again, deadline=PATIENCE)
    assert time.monotonic() - started_at > 2.0


def test_a_stopping_worker_does_not_wait_for_discovery(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer comes when the window is over, or never, and the window lasts long."""
    monkeypatch.setattr(settings, "POLL_WINDOW", 2 * PATIENCE)
    watching = watch()
    _Gate(monkeypatch)
    stopping = threading.Event()
    threading.Timer(0.5, stopping.set).start()
    started_at = time.monotonic()
    assert poll.poll_window(watching.cluster.pk, HOLDER, stopping)
    assert time.monotonic() - started_at < PATIENCE / 2


def test_poll_once_reports_a_cluster_that_has_not_answered(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.simulator.faults.hang(path="/version")
    monkeypatch.setattr(poll, "ONCE_SECONDS", 0.7)
    report = watching.once()
    assert not report.ok
    assert "did not say in time what it serves" in watching.fresh().sentence


def test_the_lease_is_kept_while_the_caches_are_filled(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each portion of rows, for a renewal is due at once here."""
    watching = watch()
    assert watching.once().ok
    monkeypatch.setattr(cache_warm_up, "RENEW_INTERVAL", 0.0)
    monkeypatch.setattr(cache_warm_up, "BATCH_SIZE", 20)
    rows = WatchedObject.objects.filter(cluster=watching.cluster).count()
    assert rows > 60
    renewed: list[ClusterLease] = []

    def renew_and_count(lease: ClusterLease) -> None:
        renew_lease(lease)
        renewed.append(lease)

    monkeypatch.setattr(cache_warm_up, "renew_lease", renew_and_count)
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    assert poll._cache_for(held) is not None
    assert len(renewed) == math.ceil(rows / 20)
    assert acquire_lease(watching.cluster.pk, "another") is None
