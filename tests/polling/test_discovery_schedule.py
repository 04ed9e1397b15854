"""API servers that are slow, silent or throttled when asked what they serve."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.discovery import Discovery
from gangboard.kube.errors import KubeError
from gangboard.polling import cluster_cache, discovery_schedule, poll, window
from gangboard.polling.store_writer import StoreWriter
from gangboard.polling.window import Window
from gangboard.store import cluster_leases
from gangboard.store.cluster_leases import acquire_lease
from tests.polling.conftest import HOLDER, Watching, eventually

Watch = Callable[..., Watching]
PODS = "pods"


def _hold(watching: Watching, seconds: float, *, deadline: float) -> Window:
    """Hold the cluster for a window with this deadline for each request."""
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    found = poll._cache_of(held)
    assert found is not None
    credentials = read_kubeconfig(watching.simulator.kubeconfig_text())
    found.connection.close()
    found.connection = Connection(credentials, total_deadline=deadline)
    held_window = Window(found, seconds=seconds, repair_interval=900)
    held_window.run()
    return held_window


def _let_others_try(monkeypatch: pytest.MonkeyPatch, watching: Watching) -> None:
    """Shorten the lease, and let another worker try to take the cluster right before a write."""
    monkeypatch.setattr(cluster_leases, "LEASES", replace(cluster_leases.LEASES, seconds=1.0))
    monkeypatch.setattr(window, "CONTACT_EVERY", 0.2)
    monkeypatch.setattr(cluster_cache, "RENEW_EVERY", 0.2)
    write = StoreWriter.write_contact

    def then_write(writer: StoreWriter, *given: Any, **options: Any) -> None:
        assert acquire_lease(watching.cluster.pk, "another") is None
        write(writer, *given, **options)

    monkeypatch.setattr(StoreWriter, "write_contact", then_write)


def test_a_server_that_hangs_keeps_its_worker_and_is_named(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    _let_others_try(monkeypatch, watching)
    watching.simulator.faults.hang(path="/version")
    _hold(watching, 4.0, deadline=2.5)
    assert watching.fresh().problem == "timeout"
    assert "did not complete GET /version within 2.5 s" in watching.fresh().sentence


def test_a_question_that_outlasts_the_window_is_waited_for_in_the_next(watch: Watch) -> None:
    watching = watch()
    fault = watching.simulator.faults.hang(path="/version")
    _hold(watching, 0.5, deadline=1.5)
    assert watching.fresh().problem == ""
    time.sleep(1.2)
    _hold(watching, 0.5, deadline=1.5)
    assert watching.fresh().problem == "timeout"
    assert fault.hits == 1


def test_a_schema_that_does_not_come_delays_no_list(watch: Watch) -> None:
    watching = watch()
    watching.simulator.faults.hang(path="/openapi/v3")
    _hold(watching, 2.0, deadline=6.0)
    assert watching.objects(PODS) > 0
    assert watching.state(PODS).state == "ok"


def test_a_slow_question_does_not_blind_a_cluster_that_is_known(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery_schedule, "INTERVAL", 0.0)
    monkeypatch.setattr(window, "REFRESH_SECONDS", 0.2)
    watching = watch()
    _hold(watching, 1.5, deadline=4.0)
    before = watching.objects(PODS)
    watching.simulator.faults.hang(path="/version")
    pod = watching.simulator.objects.list("v1", "Pod")[0]["metadata"]
    threading.Timer(
        0.8,
        watching.simulator.objects.delete,
        ("v1", "Pod", pod["name"], pod["namespace"]),
    ).start()
    _hold(watching, 2.0, deadline=4.0)
    assert watching.objects(PODS) < before
    assert watching.fresh().problem == ""


def test_a_known_cluster_that_falls_silent_is_named(watch: Watch) -> None:
    watching = watch()
    _hold(watching, 1.5, deadline=1.5)
    watching.simulator.faults.hang()
    give_up_at = time.monotonic() + 15
    while not watching.fresh().problem and time.monotonic() < give_up_at:
        _hold(watching, 0.7, deadline=1.5)
    assert watching.fresh().problem == "timeout"
    assert "GET /version" in watching.fresh().sentence
    # It is said until something answers, not from one window to the next.
    _hold(watching, 0.7, deadline=1.5)
    assert watching.fresh().problem == "timeout"
    watching.simulator.faults.clear()
    _hold(watching, 1.5, deadline=1.5)
    assert watching.fresh().problem == ""


def test_what_a_first_answer_left_open_is_asked_again_soon(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery_schedule, "FIRST_PAUSE", 0.3)
    watching = watch()
    watching.simulator.faults.status(500, path="/api", verb="discovery", count=1)
    _hold(watching, 1.0, deadline=5.0)
    assert watching.state(PODS).state == "failing"
    _hold(watching, 1.5, deadline=5.0)
    assert watching.state(PODS).state == "ok"
    assert watching.objects(PODS) > 0
    # The whole answer serves for five minutes.
    again = watching.simulator.faults.status(500, verb="discovery", count=1)
    _hold(watching, 0.5, deadline=5.0)
    assert again.hits == 0


def test_what_was_known_stays_while_a_part_fails(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    _hold(watching, 1.5, deadline=5.0)
    before = watching.objects(PODS)
    watching.forget()
    watching.simulator.faults.status(500, path="/api", verb="discovery", count=1)
    _hold(watching, 3.0, deadline=5.0)
    assert watching.objects(PODS) == before > 0
    assert watching.state(PODS).state == "ok"


def _pauses(one: discovery_schedule.DiscoverySchedule, error: KubeError, times: int) -> list[int]:
    """Let a part of the answer fail so many times; return the seconds until it is asked again."""
    found = Discovery("", {}, {"v1": error})
    pauses = []
    for _ in range(times):
        one.hasten()
        assert one.begin(lambda: found)
        eventually(lambda: not one.is_under_way)
        assert one.take(is_known=True)
        pauses.append(round(one.next_at - time.monotonic()))
    return pauses


def test_a_part_that_fails_on_and_on_is_asked_for_ever_more_rarely() -> None:
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


def test_what_hastens_a_question_does_not_overrule_the_server() -> None:
    one = discovery_schedule.DiscoverySchedule()
    assert _pauses(one, KubeError("server-error", "busy", retry_after=40), 1) == [40]
    one.hasten()
    assert not one.begin(lambda: Discovery("", {}, {}))


def test_throttled_discovery_asks_again_when_it_was_told_to(watch: Watch) -> None:
    watching = watch()
    fault = watching.simulator.faults.throttled(4, path="/version", count=2)
    _hold(watching, 0.5, deadline=5.0)
    assert watching.fresh().problem == "throttled"
    began = time.monotonic()
    while fault.hits < 2 and time.monotonic() - began < 8:
        _hold(watching, 0.5, deadline=5.0)
        assert watching.fresh().problem == "throttled"
    assert 3.0 < time.monotonic() - began < 6


def test_a_worker_that_is_told_to_stop_does_not_wait_for_an_answer(watch: Watch) -> None:
    watching = watch()
    watching.simulator.faults.hang(path="/version")
    stopping = threading.Event()
    threading.Timer(0.5, stopping.set).start()
    began = time.monotonic()
    assert poll.poll_window(watching.cluster.pk, HOLDER, stopping)
    assert time.monotonic() - began < 3


def test_poll_once_never_calls_a_cluster_good_that_has_not_answered(
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
    watching = watch()
    assert watching.once().ok
    _let_others_try(monkeypatch, watching)
    monkeypatch.setattr(cluster_cache, "PORTION", 20)
    remember = cluster_cache.ClusterCache.remember

    def slowly(one: cluster_cache.ClusterCache, model: Any) -> set[str]:
        time.sleep(0.01)
        return remember(one, model)

    monkeypatch.setattr(cluster_cache.ClusterCache, "remember", slowly)
    held = acquire_lease(watching.cluster.pk, HOLDER)
    assert held is not None
    assert poll._cache_of(held) is not None
    assert acquire_lease(watching.cluster.pk, "another") is None
