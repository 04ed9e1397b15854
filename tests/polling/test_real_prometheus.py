"""Use, idle gangs and stragglers through a real Prometheus that scrapes an exporter of the tests."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import urllib3

from gangboard import settings as product
from gangboard.polling import use_tracker
from gangboard.polling.use_readings import read_cluster_use
from gangboard.prometheus_sources import PrometheusSource
from gangboard.store.models import UseSource
from tests.actions.site import Site
from tests.polling.fake_prometheus import Answer, answering
from tests.polling.test_use_readings import NAMESPACE, pods_of, shown, site
from tests.services import READY_SECONDS, free_port, missing, running_server

pytestmark = pytest.mark.services

__all__ = ["site"]
METRIC = "DCGM_FI_DEV_GPU_UTIL"
TOLD_SECONDS = 60.0
"""From the moment at which a condition has lasted long enough until it is told."""
AFTER = 4.0
"""Seconds that a condition must last in this test."""


class Exporter:
    """Two accelerators of each pod, as dcgm-exporter names them."""

    def __init__(self) -> None:
        self.values: dict[str, float] = {}

    def respond(self, _target: str, _headers: Mapping[str, str]) -> Answer:
        lines = [f"# TYPE {METRIC} gauge"]
        for pod, value in self.values.items():
            for gpu, share in ((0, value - 1), (1, value + 1)):
                labels = f'gpu="{gpu}",namespace="{NAMESPACE}",pod="{pod}",container="main"'
                lines.append(f"{METRIC}{{{labels}}} {max(0.0, share if value else 0.0)}")
        return 200, ("\n".join(lines) + "\n").encode()


@pytest.fixture
def exporter() -> Iterator[tuple[Exporter, str]]:
    metrics = Exporter()
    with answering(metrics.respond) as url:
        yield metrics, url


@pytest.fixture
def prometheus(
    exporter: tuple[Exporter, str], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Exporter]:
    """A Prometheus that scrapes every second. The labels of its target clash, as in a cluster."""
    server = shutil.which("prometheus")
    if server is None:
        missing("prometheus")
        return
    metrics, url = exporter
    port = free_port()
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        "scrape_configs:\n"
        "- job_name: dcgm\n"
        "  static_configs:\n"
        f"  - targets: ['{url.removeprefix('http://')}']\n"
        "    labels: {namespace: monitoring, pod: dcgm-exporter-x}\n"
    )
    argv = [
        server,
        f"--config.file={config}",
        f"--storage.tsdb.path={tmp_path / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    monkeypatch.setattr(use_tracker, "OBSERVE_SECONDS", 0.0)
    settings.PROMETHEUS_SOURCES = {"east": PrometheusSource(url=f"http://127.0.0.1:{port}")}
    settings.PROMETHEUS_QUERY = product.PROMETHEUS_QUERY
    settings.PROMETHEUS_INTERVAL = 1.0
    settings.IDLE_AFTER = settings.STRAGGLER_AFTER = AFTER
    with running_server(argv, port):
        give_up_at = time.monotonic() + READY_SECONDS
        while urllib3.request("GET", f"http://127.0.0.1:{port}/-/ready").status != 200:
            assert time.monotonic() < give_up_at, "the server has not become ready"
            time.sleep(0.1)
        yield metrics


def wait_for(site: Site, is_told: Callable[[dict[str, Any]], bool]) -> tuple[dict[str, Any], float]:
    """Read and poll until the API shows it. Return the gang, and the seconds that it took."""
    started = time.monotonic()
    while time.monotonic() - started < TOLD_SECONDS + AFTER:
        read_cluster_use(site.cluster.pk)
        site.poll()
        gang = shown(site)
        if is_told(gang):
            return gang, time.monotonic() - started
        time.sleep(0.2)
    raise AssertionError(f"not told: {shown(site)['use']}, {UseSource.objects.values()}")


def codes(gang: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in gang["findings"]]


def test_use_idle_and_straggler_come_from_a_real_prometheus(
    site: Site, prometheus: Exporter
) -> None:
    pods = pods_of("train")
    prometheus.values = dict.fromkeys(pods, 90.0)
    gang, _ = wait_for(site, lambda gang: bool(gang["use"] and gang["use"]["pods"] == len(pods)))
    assert (gang["use"]["percent"], codes(gang)) == (90.0, ["running"])
    prometheus.values[pods[1]] = 10.0
    gang, seconds = wait_for(site, lambda gang: "straggler" in codes(gang))
    assert AFTER <= seconds < AFTER + TOLD_SECONDS
    assert pods[1] in gang["findings"][1]["message"]
    prometheus.values = dict.fromkeys(pods, 0.0)
    gang, seconds = wait_for(site, lambda gang: "idle-accelerators" in codes(gang))
    assert AFTER <= seconds < AFTER + TOLD_SECONDS
    assert (gang["code"], gang["use"]["percent"]) == ("running", 0.0)


def test_a_wrong_query_is_said_with_the_words_of_prometheus(
    site: Site, prometheus: Exporter, settings: Any
) -> None:
    settings.PROMETHEUS_QUERY = "avg by (pod"
    read_cluster_use(site.cluster.pk)
    assert "parse error" in UseSource.objects.get().sentence
    settings.PROMETHEUS_QUERY = "1"
    time.sleep(1.1)
    read_cluster_use(site.cluster.pk)
    assert "instant vector" in UseSource.objects.get().sentence


def test_a_prometheus_that_is_reachable_but_empty(site: Site, prometheus: Exporter) -> None:
    assert read_cluster_use(site.cluster.pk)
    use = shown(site)["use"]
    assert use["percent"] is None
