"""From a Prometheus to the pages: use, idle gangs and stragglers of a simulated cluster."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gangboard.polling import use_readings, use_tracker
from gangboard.polling.use_readings import due_sources, read_cluster_use
from gangboard.prometheus_sources import PrometheusSource
from gangboard.readmodels.measured_use import FAILS, NO_VALUE, NOT_READ
from gangboard.store.models import Cluster, Gang, GangUse, Grant, UseSource
from simulator import Simulator
from simulator.fleet_spec import Fleet, NodePool, Role
from simulator.fleet_spec import Gang as FleetGang
from simulator.manifests import PodTemplate
from tests.actions.site import Site, make_site
from tests.polling.fake_prometheus import FakePrometheus, answering

NAMESPACE = "team-nlp"
GPU = PodTemplate(gpus=2, pool="h100")
FLEET = Fleet(
    "use",
    (NodePool("h100", 4, gpus=8, cpu="192", memory="2Ti"),),
    (
        FleetGang(
            NAMESPACE, "JobSet", "train", "running", roles=(Role("workers", GPU, jobs=2, pods=2),)
        ),
        FleetGang(
            NAMESPACE,
            "Job",
            "broken",
            "crash-loop",
            roles=(Role("", GPU, pods=2, states=("running", "crash-loop")),),
        ),
    ),
)


@pytest.fixture
def site(db: None) -> Iterator[Site]:
    with Simulator(FLEET, minor="1.37", story=False) as simulator:
        yield make_site(simulator, actor=False)


@pytest.fixture
def prometheus(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePrometheus]:
    """A Prometheus of cluster east, whose readings are always due. Findings need two minutes."""
    monkeypatch.setattr(use_tracker, "OBSERVE_SECONDS", 0.0)
    fake = FakePrometheus()
    with answering(fake.respond) as url:
        settings.PROMETHEUS_SOURCES = {"east": PrometheusSource(url=url)}
        settings.IDLE_AFTER = settings.STRAGGLER_AFTER = 120
        yield fake


def pods_of(name: str) -> list[str]:
    gang = Gang.objects.get(name=name)
    source = use_readings._members_of(bytes(gang.detail))
    return sorted(source)


def read(site: Site) -> bool:
    UseSource.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    return read_cluster_use(site.cluster.pk)


def pass_time(seconds: float) -> None:
    """Let time pass for all stored readings."""
    for row in GangUse.objects.all():
        shift = timedelta(seconds=seconds)
        row.read_at -= shift
        row.idle_since = row.idle_since and row.idle_since - shift
        if row.straggler is not None:
            since = datetime.fromisoformat(row.straggler["since"]) - shift
            row.straggler = {**row.straggler, "since": since.isoformat()}
        row.save()


def shown(site: Site, name: str = "train") -> dict[str, Any]:
    """Return the gang as the API shows it."""
    client = Client()
    client.force_login(site.user)
    gang: dict[str, Any] = client.get(f"/api/v1/gangs/{Gang.objects.get(name=name).pk}/").json()
    return gang


def codes(site: Site) -> list[str]:
    site.poll()
    return [finding["code"] for finding in shown(site)["findings"]]


def test_use_is_shown_on_gang_board_and_in_the_api(site: Site, prometheus: FakePrometheus) -> None:
    pods = pods_of("train")
    prometheus.values = {(NAMESPACE, pod): 80.0 + index for index, pod in enumerate(pods)}
    prometheus.values["elsewhere", pods[0]] = 3.0
    version = Cluster.objects.get(pk=site.cluster.pk).data_version
    assert read(site)
    assert Cluster.objects.get(pk=site.cluster.pk).data_version > version
    use = shown(site)["use"]
    assert (use["percent"], use["pods"], use["why"], use["idle_since"]) == (81.5, 4, None, None)
    assert (use["least"], use["least_pod"], use["most"], use["most_pod"]) == (
        80,
        pods[0],
        83,
        pods[3],
    )
    client = Client()
    client.force_login(site.user)
    page = client.get(f"/gangs/{Gang.objects.get(name='train').pk}/").content.decode()
    assert f"80 % ({pods[0]}) to 83 % ({pods[3]})" in page
    board = client.get("/?columns=use").content.decode()
    assert "82 %" in board
    assert "Accelerator use" in board


def test_an_equal_reading_wakes_no_page(site: Site, prometheus: FakePrometheus) -> None:
    prometheus.values = {(NAMESPACE, pod): 80.0 for pod in pods_of("train")}
    read(site)
    version = Cluster.objects.get(pk=site.cluster.pk).data_version
    prometheus.values = dict.fromkeys(prometheus.values, 80.3)
    read(site)
    assert Cluster.objects.get(pk=site.cluster.pk).data_version == version


def test_without_a_source_nothing_changes(
    site: Site, settings: Any, django_assert_num_queries: Any
) -> None:
    assert settings.PROMETHEUS_SOURCES == {}
    with django_assert_num_queries(0):
        assert due_sources() == []
    assert shown(site)["use"] is None
    client = Client()
    client.force_login(site.user)
    assert "Accelerator use" not in client.get("/").content.decode().partition("</table>")[2]
    page = client.get(f"/gangs/{Gang.objects.get(name='train').pk}/").content.decode()
    assert "Accelerator use" not in page


def test_idle_accelerators_are_told_beside_the_verdict_and_end(
    site: Site, prometheus: FakePrometheus
) -> None:
    pods = pods_of("train")
    prometheus.values = {(NAMESPACE, pod): 0.0 for pod in pods}
    read(site)
    assert codes(site) == ["running"]
    pass_time(80)
    read(site)
    pass_time(50)
    read(site)
    assert codes(site) == ["running", "idle-accelerators"]
    gang = shown(site)
    assert (gang["code"], gang["health"]) == ("running", "running")
    prometheus.values[NAMESPACE, pods[0]] = 50.0
    read(site)
    assert codes(site) == ["running"]


def test_a_straggler_is_told_beside_the_verdict(site: Site, prometheus: FakePrometheus) -> None:
    pods = pods_of("train")
    prometheus.values = {(NAMESPACE, pod): 95.0 for pod in pods}
    prometheus.values[NAMESPACE, pods[2]] = 10.0
    read(site)
    for _ in range(2):
        pass_time(70)
        read(site)
    assert codes(site) == ["running", "straggler"]
    message = shown(site)["findings"][1]["message"]
    assert pods[2] in message
    assert "10 %" in message
    assert "95 %" in message


def test_a_source_that_fails_makes_use_unknown_and_ends_findings(
    site: Site, prometheus: FakePrometheus
) -> None:
    prometheus.values = {(NAMESPACE, pod): 0.0 for pod in pods_of("train")}
    read(site)
    for _ in range(2):
        pass_time(70)
        read(site)
    assert codes(site) == ["running", "idle-accelerators"]
    prometheus.status = 503
    assert not read(site)
    assert shown(site)["use"]["percent"] == 0, "a reading of 90 s may be shown"
    pass_time(91)
    read(site)
    use = shown(site)["use"]
    assert use["percent"] is None
    assert "answered 503" in use["why"]
    Grant.objects.filter(user=site.user).update(namespace=NAMESPACE)
    assert shown(site)["use"]["why"] == FAILS, "the cause names a server"
    assert codes(site) == ["running"]
    # What was before the gap does not count.
    prometheus.status = 200
    read(site)
    assert codes(site) == ["running"]
    assert shown(site)["use"]["percent"] == 0


def test_pods_without_a_value_are_unknown_and_never_idle(
    site: Site, prometheus: FakePrometheus
) -> None:
    assert shown(site)["use"]["why"] == NOT_READ
    read(site)
    assert shown(site)["use"]["why"] == NO_VALUE
    # One of four pods has no value, so nobody knows whether the gang is idle.
    prometheus.values = {(NAMESPACE, pod): 0.0 for pod in pods_of("train")[1:]}
    read(site)
    use = shown(site)["use"]
    assert (use["percent"], use["pods"], use["idle_since"]) == (0, 3, None)


def test_the_clusters_page_says_whether_the_source_can_be_read(
    site: Site, prometheus: FakePrometheus
) -> None:
    client = Client()
    client.force_login(site.user)

    def state() -> str:
        assert "Accelerator use" in client.get("/clusters/").content.decode()
        cluster: dict[str, Any] = client.get("/api/v1/clusters/east/").json()
        return str(cluster["accelerator_use"])

    assert state() == NOT_READ
    prometheus.values = {(NAMESPACE, pod): 5.0 for pod in pods_of("train")}
    read(site)
    assert state() == "Its Prometheus has values of 4 pods."
    prometheus.status = 503
    read(site)
    assert "answered 503" in state()
    Grant.objects.filter(user=site.user).update(namespace=NAMESPACE)
    assert client.get("/api/v1/clusters/east/").json()["accelerator_use"] is None


def test_the_csv_file_has_the_use_and_leaves_unknown_use_empty(
    site: Site, prometheus: FakePrometheus
) -> None:
    client = Client()
    client.force_login(site.user)

    def exported() -> dict[str, str]:
        answer: Any = client.post("/export.csv")
        rows = csv.DictReader(io.StringIO(answer.getvalue().decode()))
        return {row["name"]: row["use_percent"] for row in rows}

    assert exported()["train"] == ""
    prometheus.values = {(NAMESPACE, pod): 0.0 for pod in pods_of("train")}
    read(site)
    assert exported()["train"] == "0"
    prometheus.values = {(NAMESPACE, pod): 87.5 for pod in pods_of("train")}
    read(site)
    use = exported()
    assert use.pop("train") == "87.5"
    assert set(use.values()) == {""}


def test_a_gang_that_is_not_whole_is_not_idle(site: Site, prometheus: FakePrometheus) -> None:
    prometheus.values = {(NAMESPACE, pod): 0.0 for pod in pods_of("broken")}
    read(site)
    row = GangUse.objects.select_related("gang").get(gang__name="broken")
    assert row.gang.health == "degraded"
    assert row.idle_since is None


def test_one_worker_reads_a_source_per_interval(site: Site, prometheus: FakePrometheus) -> None:
    assert due_sources() == [site.cluster.pk]
    assert read_cluster_use(site.cluster.pk)
    assert due_sources() == []
    assert not read_cluster_use(site.cluster.pk)
    assert len(prometheus.queries) == 1


def test_the_query_names_the_cluster(site: Site, prometheus: FakePrometheus, settings: Any) -> None:
    settings.PROMETHEUS_QUERY = 'gpu{cluster="$cluster"}'
    read(site)
    assert prometheus.queries == ['gpu{cluster="east"}']


def test_a_gang_without_values_leaves_no_reading(site: Site, prometheus: FakePrometheus) -> None:
    prometheus.values = {(NAMESPACE, pod): 5.0 for pod in pods_of("train")}
    read(site)
    pass_time(3700)
    prometheus.values = {}
    read(site)
    assert not GangUse.objects.exists()
