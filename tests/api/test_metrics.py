"""`/metrics`: true, bounded, closed by default, and the same whichever process answers."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import DjangoAssertNumQueries, Settings

from gangboard import __version__
from gangboard.pages.metrics import views
from gangboard.store.models import Action, Cluster, Heartbeat, TrendPoint
from tests.factories import (
    make_cluster,
    make_gang,
    make_heartbeats,
    make_history,
    make_resource,
)
from tests.recorded_actions import make_action
from tests.separate_process import run_python
from tests.stored_jobsets import HOLDS

pytestmark = pytest.mark.django_db

PAPER = Path(project.BASE_DIR, "docs", "metrics.md")
TOKEN = "8f3c" * 12
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
ALLOWED_LABELS = {
    *("cluster", "health", "code", "problem", "identity", "resource", "state", "in_force", "verb"),
    *("process", "queue", "method", "view", "status", "le", "generation", "version", "result"),
    *("implementation", "major", "minor", "patchlevel"),
}


@pytest.fixture(autouse=True)
def token(settings: Settings) -> Iterator[None]:
    """Let TOKEN in, and forget the figures of other tests."""
    settings.METRICS_TOKEN, settings.METRICS_NETWORKS = TOKEN, ()
    cache.clear()
    yield
    cache.clear()


def scrape() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return the samples by name and labels."""
    answer = Client().get("/metrics", headers=AUTHORIZED)
    assert answer.status_code == HTTPStatus.OK
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    result = {}
    for family in text_string_to_metric_families(answer.content.decode()):
        assert family.documentation, family.name
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in result
            result[key] = sample.value
    return result


def series(name: str) -> dict[tuple[str, ...], float]:
    """Return the samples of one metric by the values of its labels, in the order of their names."""
    return {
        tuple(value for _, value in labels): number
        for (result, labels), number in scrape().items()
        if result == f"gangboard_{name}"
    }


# --- who may


def test_metrics_are_closed_by_default(settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    answer = Client().get("/metrics", headers={"Authorization": "Bearer "})
    assert answer.status_code == HTTPStatus.FORBIDDEN
    assert answer.content.decode() == f"{views.CLOSED}\n"
    assert "GANGBOARD_METRICS_TOKEN" in views.CLOSED
    assert "GANGBOARD_METRICS_NETWORKS" in views.CLOSED


@pytest.mark.parametrize(
    "sent",
    [
        *("", "Bearer", "Bearer ", "Bearer ümlaut", TOKEN),
        *(f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"),
    ],
)
def test_a_wrong_token_is_refused(sent: str) -> None:
    answer = Client().get("/metrics", HTTP_AUTHORIZATION=sent)
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer["WWW-Authenticate"] == "Bearer"
    assert TOKEN not in answer.content.decode()


def test_a_signed_in_user_needs_the_token(admin_client: Client) -> None:
    assert admin_client.get("/metrics").status_code == HTTPStatus.UNAUTHORIZED


def test_only_get_requests_are_answered() -> None:
    assert Client().post("/metrics", headers=AUTHORIZED).status_code == 405
    assert Client().head("/metrics", headers=AUTHORIZED).status_code == HTTPStatus.OK


@pytest.mark.parametrize(
    ("peer", "forwarded", "status"),
    [
        ("10.1.2.3", "", 200),
        ("::ffff:10.1.2.3", "", 200),
        ("10.2.0.1", "", 403),
        ("", "", 403),
        # Anybody can write the header; it counts where a proxy of ours has written it.
        ("203.0.113.7", "10.1.2.3", 403),
        ("172.30.77.2", "10.1.2.3", 200),
        ("172.30.77.2", "10.1.2.3, 203.0.113.7", 403),
        ("172.30.77.2", "", 403),
    ],
)
def test_only_configured_networks_are_answered(
    settings: Settings, peer: str, forwarded: str, status: int
) -> None:
    settings.METRICS_TOKEN = ""
    settings.METRICS_NETWORKS = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))
    settings.TRUSTED_PROXIES = (ip_network("172.30.77.0/24"),)
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    answer = Client(REMOTE_ADDR=peer).get("/metrics", headers=headers)
    assert answer.status_code == status


def test_token_and_network_must_both_match(settings: Settings) -> None:
    settings.METRICS_NETWORKS = (ip_network("10.1.0.0/16"),)
    inside, outside = Client(REMOTE_ADDR="10.1.2.3"), Client(REMOTE_ADDR="10.2.2.3")
    assert inside.get("/metrics").status_code == HTTPStatus.UNAUTHORIZED
    assert outside.get("/metrics", headers=AUTHORIZED).status_code == HTTPStatus.FORBIDDEN
    assert inside.get("/metrics", headers=AUTHORIZED).status_code == HTTPStatus.OK


def test_a_scraper_behind_the_proxy_that_ends_tls_is_not_sent_to_https(
    settings: Settings,
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/metrics", headers=AUTHORIZED).status_code == HTTPStatus.OK


# --- what is said


def test_a_silent_cluster_has_its_own_series() -> None:
    now = timezone.now()
    up = make_cluster("east", now=now)
    make_resource(up, "pods", objects_count=12, problems_count=1)
    make_resource(up, "nodes", state="forbidden")
    since = now - timedelta(hours=2)
    make_gang(up, health="blocked", code="exceeds-capacity", since=since, accelerators=64.0)
    silent_at = now - timedelta(minutes=5)
    silent = make_cluster("west", now=now, contact_at=silent_at, problem="timeout")
    make_gang(silent, health="running", code="running", accelerators=8.0)
    make_cluster("north", now=now, contact_at=None, listed_at=None)
    assert series("cluster_up") == {("east",): 1, ("west",): 0, ("north",): 0}
    assert series("cluster_listed") == {("east",): 1, ("west",): 1, ("north",): 0}
    assert series("cluster_problem") == {("west", "timeout"): 1, ("north", "not-asked"): 1}
    assert series("cluster_last_contact_timestamp_seconds") == {
        ("east",): pytest.approx(now.timestamp() - 2),
        ("west",): pytest.approx(silent_at.timestamp()),
    }
    # By the names of the labels: cluster, code, health.
    assert series("gangs") == {
        ("east", "exceeds-capacity", "blocked"): 1,
        ("west", "not-observed", "unknown"): 1,
    }
    assert series("gang_accelerators") == {
        ("east", "exceeds-capacity", "blocked"): 64,
        ("west", "not-observed", "unknown"): 8,
    }
    assert series("gang_oldest_since_timestamp_seconds") == {
        ("east", "exceeds-capacity", "blocked"): pytest.approx(since.timestamp())
    }
    assert series("resource_readable") == {
        ("east", "pods", "ok"): 1,
        ("east", "nodes", "forbidden"): 0,
    }
    assert series("resource_objects") == {("east", "pods"): 12}
    assert series("resource_undecodable_objects") == {("east", "pods"): 1}
    assert series("database_up") == {(): 1}


def test_heartbeats_are_metrics() -> None:
    now = timezone.now()
    make_heartbeats(now=now, slots=8)
    assert series("process_up") == {
        ("poll",): 1,
        ("act",): 1,
        ("prove",): 1,
        ("notify",): 1,
        ("beat",): 1,
    }
    assert series("orders_arrive") == {("poll",): 1, ("act",): 1}
    assert series("poll_slots") == {(): 8}
    long_ago = now - timedelta(minutes=10)
    Heartbeat.objects.filter(kind__in=("act", "poll-orders")).update(beat_at=long_ago)
    cache.clear()
    assert series("process_up") == {
        ("poll",): 1,
        ("act",): 0,
        ("prove",): 1,
        ("notify",): 1,
        ("beat",): 1,
    }
    # Task delivery to a dead worker is unknown.
    assert series("orders_arrive") == {("poll",): 0}


def test_the_web_process_exports_its_own_metrics() -> None:
    result = scrape()
    assert result["gangboard_build_info", (("version", __version__),)] == 1
    assert result["process_resident_memory_bytes", ()] > 0
    # The process began before now and after the machine.
    assert 0 < result["process_start_time_seconds", ()] <= time.time()


def requests_counted(view: str, method: str, status: str) -> float:
    labels = (("method", method), ("status", status), ("view", view))
    return scrape().get(("gangboard_http_request_duration_seconds_count", labels), 0.0)


@pytest.mark.parametrize(
    ("method", "path", "counted"),
    [
        ("GET", "/healthz", ("healthz", "GET", "2xx")),
        ("GET", "/api/v1/gangs/some-name/", ("api-gang", "GET", "4xx")),
        ("GET", "/no/such/page", ("none", "GET", "4xx")),
        ("BREW", "/healthz", ("healthz", "other", "4xx")),
    ],
)
def test_requests_are_counted_by_their_view(
    method: str, path: str, counted: tuple[str, str, str]
) -> None:
    before = requests_counted(*counted)
    Client().generic(method, path)
    assert requests_counted(*counted) == before + 1


def test_a_failing_database_exports_no_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster("east", now=timezone.now())

    def fail(**_: Any) -> None:
        raise OperationalError("no connection to postgresql://ann:sesame@db")

    monkeypatch.setattr("gangboard.pages.metrics.views.read_metrics", fail)
    result = scrape()
    assert result["gangboard_database_up", ()] == 0
    ours = {name for name, _ in result if name.startswith("gangboard_")}
    assert {name for name in ours if not name.startswith("gangboard_http_")} == {
        "gangboard_database_up",
        "gangboard_build_info",
    }


# --- omitted values


def test_labels_are_bounded_and_contain_no_names_or_secrets() -> None:
    now = timezone.now()
    cluster = make_cluster(
        "east",
        now=now,
        server="https://secret-host.example:6443",
        problem="failing",
        sentence="the token sesame was refused",
    )
    make_resource(cluster, "pods", sentence="sesame")
    make_gang(cluster, "secret-run", namespace="secret-team", queue="secret-queue")
    Client().get("/gangs/secret-gang/?q=sesame")
    text = Client().get("/metrics", headers=AUTHORIZED).content.decode()
    assert TOKEN not in text
    assert "secret" not in text
    assert "sesame" not in text
    labels = {name for _, labels in scrape() for name, _ in labels}
    assert labels <= ALLOWED_LABELS


def test_the_docs_list_every_metric_with_its_labels(settings: Settings) -> None:
    settings.METRICS_NAMESPACES = 1
    now = timezone.now()
    cluster = make_cluster("east", now=now, credentials_expire_at=now, problem="timeout")
    make_resource(cluster, HOLDS)
    make_gang(cluster)
    TrendPoint.objects.create(cluster=cluster, at=now, is_lasting=False, free=8)
    make_action(cluster, state="sent", requested_at=now, expires_at=now, finished_at=None)
    Client().get("/healthz")
    make_heartbeats(now=now)
    rows = re.findall(r"^\| `(gangboard_\w+)` \| (.*?) ?\|", PAPER.read_text(), re.MULTILINE)
    documented = {name: set(labels.split(", ")) - {""} for name, labels in rows}
    exported: dict[str, set[str]] = {}
    for name, labels in scrape():
        if name.startswith("gangboard_") and not name.endswith(("_bucket", "_sum", "_gsum")):
            exported[name.removesuffix("_gcount").removesuffix("_count")] = {
                label for label, _ in labels
            }
    assert exported == documented


def test_figures_are_cached_for_seconds(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    make_cluster("east", now=timezone.now())
    with django_assert_num_queries(11):
        scrape()
    with django_assert_num_queries(0):
        scrape()


# --- actions, accelerators, waits, namespaces


def test_ended_actions_are_a_counter_from_0() -> None:
    now = timezone.now()
    cluster = make_cluster("east", now=now)
    assert set(series("actions_finished_total").values()) == {0}
    for state in ("verified", "verified", "reverted", "expired"):
        make_action(cluster, state=state)
    make_action(cluster, state="sent", finished_at=None)
    cache.clear()
    result = {
        labels: number for labels, number in series("actions_finished_total").items() if number
    }
    # Labels in order: cluster, result, verb. A reverted action was also applied.
    assert result == {
        ("east", "applied", "suspend"): 3,
        ("east", "reverted", "suspend"): 1,
        ("east", "expired", "suspend"): 1,
    }
    # The counter does not fall when a verified action is undone.
    Action.objects.filter(state="verified").update(state="reverted")
    cache.clear()
    counted = series("actions_finished_total")
    assert counted["east", "applied", "suspend"] == 3
    assert counted["east", "reverted", "suspend"] == 3


def test_accelerators_are_those_of_the_newest_minute() -> None:
    now = timezone.now()
    east, west = make_cluster("east", now=now), make_cluster("west", now=now)
    long_silent = now - timedelta(minutes=9)
    silent = make_cluster("north", now=now, contact_at=long_silent)

    def point(cluster: Cluster, minutes: float, **sums: float) -> None:
        index = now - timedelta(minutes=minutes)
        TrendPoint.objects.create(cluster=cluster, at=index, is_lasting=False, **sums)

    point(east, 3, used=8, held=0, free=56, away=0)
    point(east, 1, used=40, held=16, free=16, away=8)
    point(west, 6, used=1, held=0, free=0, away=0)
    point(silent, 1, used=1, held=0, free=0, away=0)
    assert series("accelerators") == {
        ("east", "used"): 24,
        ("east", "held"): 16,
        ("east", "free"): 16,
        ("east", "away"): 8,
    }
    # The last minute has no data, so earlier free accelerators are not exported.
    point(east, 0)
    cache.clear()
    assert series("accelerators") == {}


def test_waits_of_gangs_that_began_to_run_within_the_hour() -> None:
    now = timezone.now()
    cluster = make_cluster("east", now=now)

    def run_after(minutes: float, *, ago: float) -> None:
        born = now - timedelta(minutes=minutes + ago)
        gang = make_gang(cluster, f"after-{minutes}-{ago}", created_at=born)
        make_history(gang, born, ("room", minutes), ("runs", ago))

    run_after(0.5, ago=5)
    run_after(10, ago=50)
    run_after(10, ago=70)
    restarted = make_gang(cluster, "restarted", created_at=now - timedelta(hours=5))
    make_history(
        restarted, now - timedelta(hours=5), ("room", 60), ("runs", 220), ("room", 10), ("runs", 5)
    )
    buckets = series("start_wait_seconds_bucket")
    assert buckets["east", "30.0"] == 1
    assert buckets["east", "300.0"] == 1
    assert buckets["east", "900.0"] == 2
    assert buckets["east", "+Inf"] == 2
    assert series("start_wait_seconds_gcount") == {("east",): 2}
    assert series("start_wait_seconds_gsum") == {("east",): 630}


def test_namespaces_are_labels_up_to_the_setting(settings: Settings) -> None:
    now = timezone.now()
    cluster = make_cluster("east", now=now)
    for namespace, devices in (("ads", 64), ("chat", 8), ("maps", 16)):
        make_gang(cluster, namespace, namespace=namespace, accelerators=devices, health="blocked")
    make_gang(cluster, "more", namespace="ads", accelerators=8, health="running", code="running")
    assert series("namespace_gangs") == {}
    settings.METRICS_NAMESPACES = 2
    cache.clear()
    # By the names of the labels: cluster, health, namespace.
    assert series("namespace_accelerators") == {
        ("east", "blocked", "ads"): 64,
        ("east", "running", "ads"): 8,
        ("east", "blocked", "maps"): 16,
    }
    assert series("namespace_gangs") == dict.fromkeys(series("namespace_accelerators"), 1)


# --- several processes

WORKER = """
import django
django.setup()
from django.utils import timezone
from tests.factories import make_cluster, make_gang
make_gang(make_cluster("east", now=timezone.now()))
"""
WEB = """
import django
django.setup()
from django.conf import settings
from django.test import Client
settings.METRICS_TOKEN = "t"
text = Client().get("/metrics", headers={"host": "localhost", "Authorization": "Bearer t"}).content
print([line for line in text.decode().splitlines() if line.startswith("gangboard_gangs{")])
"""


def test_worker_metrics_are_exported_by_every_web_process_after_a_restart(tmp_path: Path) -> None:
    run_python("-c", WORKER, folder=tmp_path)
    reported = [run_python("-c", WEB, folder=tmp_path) for _ in range(2)]
    line = 'gangboard_gangs{cluster="east",code="insufficient-resources",health="waiting"} 1.0'
    assert reported == [str([line])] * 2


def test_a_removed_cluster_leaves_no_series() -> None:
    make_gang(make_cluster("east", now=timezone.now()))
    assert series("gangs")
    Cluster.objects.all().delete()
    cache.clear()
    assert series("gangs") == {}
    assert series("cluster_up") == {}
