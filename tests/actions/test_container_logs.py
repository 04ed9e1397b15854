"""Logs of containers on the page and in the API, from a simulated cluster."""

from __future__ import annotations

import itertools
import time
import tracemalloc
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gangboard.actions import container_logs
from gangboard.store import authentication
from gangboard.store.models import AuditEntry, Cluster, Gang, Grant
from simulator.resources import PODS
from tests.actions.site import JOBSET, NAMESPACE, Site

MIB = 1024 * 1024
LOGS_PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
def gang(site: Site, settings: Any) -> Gang:
    """The JobSet of the site, in an installation that shows logs."""
    settings.LOGS = True
    return Gang.objects.select_related("cluster").get(name=JOBSET)


@pytest.fixture
def reader(gang: Gang) -> Client:
    return client_of("logs", cluster=gang.cluster)


@pytest.fixture
def pod(site: Site, gang: Gang) -> str:
    name: str = site.pods()[0]["metadata"]["name"]
    return name


def client_of(*roles: str, cluster: Cluster | None, namespace: str = NAMESPACE) -> Client:
    user = User.objects.create_user("-".join(roles) or "stranger")
    for role in roles:
        Grant.objects.create(user=user, role=role, cluster=cluster, namespace=namespace)
    client = Client()
    client.force_login(user)
    return client


def write(site: Site, pod: str, lines: Iterable[bytes], *, previous: bool = False) -> None:
    site.simulator.api.logs.write(NAMESPACE, pod, "main", lambda: lines, previous=previous)


def without_node(pod: dict[str, Any]) -> dict[str, Any]:
    del pod["spec"]["nodeName"]
    return {**pod, "status": {"phase": "Pending"}}


def get(client: Client, gang: Gang, **query: Any) -> Any:
    return client.get(f"/api/v1/gangs/{gang.pk}/logs/", query)


def page(client: Client, gang: Gang, query: str = "") -> str:
    answer = client.get(f"/gangs/{gang.pk}/logs/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


# Who may


def test_the_last_lines_of_a_container(site: Site, gang: Gang, reader: Client, pod: str) -> None:
    write(site, pod, [b"line %d\n" % number for number in range(1, 301)])
    answer = get(reader, gang, pod=pod)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    lines = answer.content.decode().splitlines()
    assert (len(lines), lines[0], lines[-1]) == (200, "line 101", "line 300")
    assert get(reader, gang, pod=pod, tail=1, container="main").content == b"line 300\n"


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_no_other_role_reads_logs(gang: Gang, pod: str, role: str) -> None:
    client = client_of(role, cluster=None, namespace="")
    answer = get(client, gang, pod=pod)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "role logs" in answer.json()["detail"]
    assert client.get(f"/gangs/{gang.pk}/logs/").status_code == 403
    assert f"/gangs/{gang.pk}/logs/" not in client.get(f"/gangs/{gang.pk}/?open=*").content.decode()
    assert not AuditEntry.objects.filter(event="logs-read").exists()


def test_the_role_in_another_namespace_does_not_help(gang: Gang, pod: str) -> None:
    client = client_of("logs", cluster=gang.cluster, namespace="vision")
    assert get(client, gang, pod=pod).status_code == 404
    viewer = User.objects.get(username="logs")
    Grant.objects.create(user=viewer, role="viewer", cluster=gang.cluster, namespace=NAMESPACE)
    assert get(client, gang, pod=pod).status_code == 403


def test_without_the_setting_nobody_reads_logs(
    gang: Gang, reader: Client, pod: str, settings: Any
) -> None:
    settings.LOGS = False
    answer = get(reader, gang, pod=pod)
    assert answer.status_code == 403
    assert "GANGBOARD_LOGS is off" in answer.json()["detail"]
    assert reader.get(f"/gangs/{gang.pk}/logs/").status_code == 403
    assert "/logs/" not in reader.get(f"/gangs/{gang.pk}/?open=*").content.decode()


def test_a_read_only_token_reads_logs(site: Site, gang: Gang, reader: Client, pod: str) -> None:
    write(site, pod, [b"hello\n"])
    token = authentication.issue_token(user=User.objects.get(username="logs"), may_act=False)
    program = Client(headers={"Authorization": f"Bearer {token}"})
    assert get(program, gang, pod=pod).content == b"hello\n"


def test_only_pods_of_the_gang(gang: Gang, reader: Client, site: Site) -> None:
    (other, *_) = (item["metadata"]["name"] for item in site.pods("alone"))
    assert get(reader, gang, pod=other).status_code == 404
    sent = [request.path for request in site.wire.seen if request.path.endswith("/log")]
    assert sent == []
    assert other not in page(reader, gang, f"?pod={other}")


def test_the_audit_has_who_and_which_pod_and_no_content(
    site: Site, gang: Gang, reader: Client, pod: str
) -> None:
    write(site, pod, [b"a-secret-of-the-log\n"])
    for _ in range(3):
        get(reader, gang, pod=pod)
        page(reader, gang, f"?pod={pod}")
    (entry,) = AuditEntry.objects.filter(event="logs-read")
    assert (entry.actor_name, entry.object_name) == ("logs", f"Pod/{pod}")
    assert (entry.namespace, entry.cluster_name) == (NAMESPACE, gang.cluster.name)
    assert "a-secret" not in f"{entry.sentence}{entry.details}"
    later = timezone.now() + container_logs.AUDIT_PAUSE + timedelta(seconds=1)
    viewer = site.viewer
    container_logs.record_reads(viewer, gang.cluster, NAMESPACE, [pod], now=later)
    assert AuditEntry.objects.filter(event="logs-read").count() == 2


def test_a_failed_read_is_not_recorded(site: Site, gang: Gang, reader: Client, pod: str) -> None:
    site.simulator.faults.forbidden(path=LOGS_PATH, verb="get")
    assert get(reader, gang, pod=pod).status_code == 502
    assert not AuditEntry.objects.filter(event="logs-read").exists()


# What is shown


def test_control_characters_and_markup_are_shown_as_text(
    site: Site, gang: Gang, reader: Client, pod: str
) -> None:
    write(
        site,
        pod,
        [
            b"\x1b[31mred\x1b[0m <script>alert(1)</script>\n",
            b"bell\x07 escape\x1b]0;title\n",
            b"10%\r20%\r\n",
            b"\xff\xfe not UTF-8 \xe2\x80\xae reversed\n",
        ],
    )
    text = get(reader, gang, pod=pod).content.decode()
    expected = [
        "red <script>alert(1)</script>",
        "bell␇ escape␛]0;title",
        "10%",
        "20%",
        "�� not UTF-8 ‹U+202E› reversed",
    ]
    assert text.splitlines() == expected
    html = page(reader, gang, f"?pod={pod}")
    assert "red &lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script>alert" not in html


def test_several_pods_side_by_side(site: Site, gang: Gang, reader: Client) -> None:
    names = [
        item["metadata"]["name"]
        for job in ("train-workers-0", "train-workers-1")
        for item in site.pods(job)
    ]
    for name in names:
        write(site, name, [f"I am {name}\n".encode()])
    html = page(reader, gang, "?" + "&".join(f"pod={name}" for name in names))
    assert [f"I am {name}" in html for name in names] == [True] * 4
    shown = page(reader, gang).count('log-pane"')
    assert shown == 3


def test_the_previous_run(site: Site, gang: Gang, reader: Client, pod: str) -> None:
    answer = get(reader, gang, pod=pod, previous=True)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "previous terminated container" in answer.json()["detail"]
    html = page(reader, gang, f"?pod={pod}&previous=1")
    assert "previous terminated container" in html


def test_a_pod_without_a_node_has_no_log(site: Site, gang: Gang, reader: Client, pod: str) -> None:
    site.simulator.writer.change(PODS, (NAMESPACE, pod), without_node, manager="test")
    site.poll()
    answer = get(reader, gang, pod=pod)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    sentence = f"Pod {pod} has no node yet, so there is no log."
    assert answer.json()["detail"] == sentence
    assert sentence in page(reader, gang, f"?pod={pod}")
    assert not AuditEntry.objects.filter(event="logs-read").exists()


def test_a_forbidden_cluster_names_the_command(
    site: Site, gang: Gang, reader: Client, pod: str
) -> None:
    site.simulator.faults.forbidden(path=LOGS_PATH, verb="get")
    answer = get(reader, gang, pod=pod)
    assert (answer.status_code, answer.json()["code"]) == (502, "cluster-failed")
    command = f"manage.py print_rbac --cluster {gang.cluster.name} | kubectl"
    assert "pods/log" in answer.json()["detail"]
    assert command in answer.json()["detail"]
    assert command in page(reader, gang, f"?pod={pod}")


def test_a_deleted_pod_has_no_log(site: Site, gang: Gang, reader: Client, pod: str) -> None:
    site.simulator.writer.remove(PODS, (NAMESPACE, pod))
    answer = get(reader, gang, pod=pod)
    assert (answer.status_code, answer.json()["detail"]) == (404, f"Pod {pod} no longer exists.")


@pytest.mark.parametrize("query", [{}, {"tail": 0}, {"tail": 2001}, {"tail": "x"}, {"follow": 1}])
def test_invalid_queries(gang: Gang, reader: Client, pod: str, query: dict[str, Any]) -> None:
    named = query if query == {} else {"pod": pod, **query}
    assert get(reader, gang, **named).status_code == 400


# Following


def test_a_page_follows_for_a_bounded_time(gang: Gang, reader: Client, pod: str) -> None:
    first = page(reader, gang, f"?pod={pod}&follow=60")
    assert 'hx-trigger="every 5s"' in first
    assert f"?pod={pod}&amp;follow=59" in first
    last = page(reader, gang, f"?pod={pod}&follow=1")
    assert 'hx-trigger="every' not in last
    assert "Stopped to follow" in last
    # Nobody can ask for more.
    assert "follow=59" in page(reader, gang, f"?pod={pod}&follow=999")
    assert 'hx-trigger="every' not in page(reader, gang, f"?pod={pod}")


# Bounds


LINE = b"x" * 1023 + b"\n"


def flood(site: Site, pod: str) -> None:
    """Give a pod a log of 200 MB."""
    write(site, pod, lines=_Flood())


class _Flood:
    """200 MiB in lines, made as they are read."""

    def __iter__(self) -> Any:
        return itertools.repeat(LINE, 200 * 1024)


@pytest.mark.parametrize("ignores_limits", [False, True])
def test_200_mb_of_log_harm_nothing(
    site: Site, gang: Gang, reader: Client, pod: str, ignores_limits: bool
) -> None:
    flood(site, pod)
    site.simulator.api.logs.ignores_limits = ignores_limits
    get(reader, gang, pod=pod, tail=1)
    tracemalloc.start()
    started = time.monotonic()
    answer = get(reader, gang, pod=pod, tail=2000)
    seconds = time.monotonic() - started
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.status_code == 200
    text = answer.content.decode()
    assert len(answer.content) <= MIB + 200
    assert text.startswith("[gangboard: Earlier lines are missing")
    assert ("Later lines are missing" in text) is ignores_limits
    # The simulator runs in this process, and holds 2,000 lines and some pieces.
    assert peak < 24 * MIB
    assert seconds < 60
    html = page(reader, gang, f"?pod={pod}")
    assert len(html) < MIB


def test_a_cluster_that_hangs_is_given_up(
    site: Site, gang: Gang, reader: Client, pod: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangboard.kube.pod_logs.DEADLINE", 0.5)
    site.simulator.faults.hang(path=LOGS_PATH, verb="get")
    started = time.monotonic()
    answer = get(reader, gang, pod=pod)
    assert (answer.status_code, answer.json()["code"]) == (502, "cluster-failed")
    assert "within 0.5 s" in answer.json()["detail"]
    assert "within 0.5 s" in page(reader, gang, f"?pod={pod}")
    assert time.monotonic() - started < 30


def test_too_many_readers_wait_for_each_other(
    gang: Gang, reader: Client, pod: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_logs, "QUEUE_SECONDS", 0.01)
    turns = container_logs._turns
    taken = [turns.acquire(blocking=False) for _ in range(container_logs.MOST_READERS)]
    try:
        answer = get(reader, gang, pod=pod)
        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
        assert "Too many logs are being read" in page(reader, gang)
    finally:
        for _ in filter(None, taken):
            turns.release()
    assert get(reader, gang, pod=pod).status_code == 200
