"""Clusters that are unreachable, slow, lying, forbidden or odd.

Each causes one clear sentence, keeps the last good data, deletes no row, and delays no other
cluster.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.list_pager import pages
from gangboard.polling import poll, reflector
from gangboard.store.clusters import replace_credentials
from gangboard.store.models import Gang, ResourceState
from simulator import Simulator
from simulator.faults import Fault
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
PODS = "pods"


def _all_kept(watching: Watching, before: int) -> None:
    assert watching.objects(PODS) == before > 0
    assert Gang.objects.filter(gone_at=None).exists()


def _fault_while_listing(
    watching: Watching, add: Callable[[], Fault], *, failing: Collection[str] = (PODS,)
) -> ResourceState:
    """Poll without and then with the fault. Return the state of the pods. No object may be lost."""
    assert watching.once().ok
    before = watching.objects(PODS)
    fault = add()
    ResourceState.objects.filter(cluster=watching.cluster).update(resource_version="")
    watching.forget()
    watching.settle(failing=failing, impatient=True)
    assert fault.hits
    _all_kept(watching, before)
    return watching.state(PODS)


def test_a_forbidden_resource_is_reported_and_makes_gangs_unknown(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    before = watching.objects(PODS)
    watching.simulator.faults.forbidden(resource=PODS)
    watching.once()
    state = watching.state(PODS)
    assert state.state == "forbidden"
    assert "pods" in state.sentence
    _all_kept(watching, before)
    codes = set(Gang.objects.filter(gone_at=None).values_list("code", "health"))
    assert codes == {("not-observed", "unknown")}
    watching.simulator.faults.clear()
    watching.once()
    assert not Gang.objects.filter(code="not-observed", gone_at=None).exists()


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("html", "HTML"),
        ("not_json", "JSON"),
        ("truncated", ""),
        ("reset", ""),
        ("drip", "0.7 s"),
        ("hang", "0.7 s"),
        ("lying_continue", "continue token"),
    ],
)
def test_a_broken_response_is_reported_and_data_is_kept(
    watch: Watch, fault: str, sentence: str
) -> None:
    watching = watch()
    add = getattr(watching.simulator.faults, fault)
    state = _fault_while_listing(watching, lambda: add(resource=PODS, verb="list"))
    assert state.state == "failing"
    assert state.sentence
    assert sentence in state.sentence


def test_a_server_error_is_reported_with_its_code(watch: Watch) -> None:
    watching = watch()
    state = _fault_while_listing(
        watching, lambda: watching.simulator.faults.status(500, resource=PODS, verb="list")
    )
    assert "500" in state.sentence


def test_a_throttled_poll_waits(watch: Watch) -> None:
    watching = watch()
    _fault_while_listing(
        watching,
        lambda: watching.simulator.faults.throttled(1, resource=PODS, verb="list", count=1),
    )
    watching.windows_until(lambda: watching.state(PODS).state == "ok")


def test_a_410_during_a_list_restarts_the_list(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        reflector, "pages", lambda *given, **options: pages(*given, limit=5, **options)
    )
    watching = watch()
    faults = watching.simulator.faults
    state = _fault_while_listing(
        watching, lambda: faults.gone_mid_list(resource=PODS, count=1), failing=()
    )
    assert state.state == "ok"


def test_a_410_in_a_watch_relists_that_resource(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    before = watching.objects(PODS)
    watching.simulator.objects.delete("v1", "Pod", *_first_pod(watching.simulator))
    watching.simulator.compact()
    watching.settle()
    assert watching.objects(PODS) == before - 1
    assert watching.state(PODS).state == "ok"


def _first_pod(simulator: Simulator) -> tuple[str, str]:
    meta = simulator.objects.list("v1", "Pod")[0]["metadata"]
    return meta["name"], meta["namespace"]


def test_half_a_line_in_a_watch_is_reported_and_the_watch_continues(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    before = watching.objects(PODS)
    fault = watching.simulator.faults.half_line(resource=PODS, count=1)
    name, namespace = _first_pod(watching.simulator)

    def touch(pod: dict[str, object]) -> None:
        pod["metadata"]["labels"]["x"] = "y"  # type: ignore[index]

    watching.simulator.objects.update("v1", "Pod", name, touch, namespace)
    watching.windows_until(lambda: fault.hits == 1)
    watching.settle()
    _all_kept(watching, before)
    assert watching.state(PODS).state == "ok"


def test_a_pod_without_status_and_a_huge_annotation_and_unknown_words_are_read(
    watch: Watch,
) -> None:
    watching = watch()
    names = [pod["metadata"]["name"] for pod in watching.simulator.objects.list("v1", "Pod")]
    watching.simulator.faults.pod_without_status(name=names[0])
    watching.simulator.faults.huge_annotation(name=names[1])
    watching.simulator.faults.unknown_enum(name=names[2])
    report = watching.once()
    assert report.ok
    assert watching.objects(PODS) == len(names)
    assert watching.state(PODS).state == "ok"


def test_an_unreadable_object_is_named_and_the_others_are_stored(watch: Watch) -> None:
    watching = watch()
    pod = watching.simulator.objects.list("v1", "Pod")[0]
    pod["metadata"]["name"] = "odd-pod"
    del pod["metadata"]["uid"]
    pod["spec"]["priority"] = "very high"
    watching.simulator.objects.put(pod)
    before = len(watching.simulator.objects.list("v1", "Pod"))
    report = watching.once()
    assert report.ok
    assert report.problems == 1
    assert watching.objects(PODS) == before - 1
    state = watching.state(PODS)
    assert state.problems_count == 1
    assert state.problems[0]["name"] == "odd-pod"


def test_an_unreachable_cluster_is_reported_and_keeps_its_data(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    before = watching.objects(PODS)
    last_contact = watching.fresh().contact_at
    watching.simulator.stop()
    report = watching.once()
    assert not report.ok
    cluster = watching.fresh()
    assert cluster.problem == "unreachable"
    assert "127.0.0.1" in cluster.sentence
    assert cluster.contact_at == last_contact
    _all_kept(watching, before)


def test_a_black_hole_delays_no_other_cluster(
    watch: Watch, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that accepts connections and never answers costs its own poll the deadline for connecting (here 0.5 s), and no other poll."""
    good = watch("good")
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen()
        bad = watch("bad")
        document = {
            **_document(bad),
            "server": f"https://127.0.0.1:{hole.getsockname()[1]}",
        }
        replace_credentials(name="bad", document=document, server=document["server"])
        started = time.monotonic()
        with monkeypatch.context() as patch:
            patch.setattr(poll, "Connection", partial(Connection, connect_deadline=0.5))
            assert not bad.once().ok
        assert time.monotonic() - started < 20, "an answer is waited for 30 s"
    assert good.once().ok
    assert bad.fresh().problem == "timeout"


def _document(watching: Watching) -> dict[str, str]:
    document: dict[str, str] = read_kubeconfig(watching.simulator.kubeconfig_text()).to_document()
    return document


def test_a_wrong_token_is_reported(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    watching.simulator.faults.unauthorized()
    report = watching.once()
    assert not report.ok
    assert watching.fresh().problem == "unauthorized"


def test_a_short_failure_keeps_the_verdicts_and_a_long_one_makes_them_unknown(
    watch: Watch,
) -> None:
    watching = watch()
    assert watching.once().ok
    watching.simulator.faults.status(500, resource=PODS)
    watching.settle(failing=[PODS])
    assert not Gang.objects.filter(code="not-observed", gone_at=None).exists()
    long_ago = timezone.now() - timedelta(seconds=121)
    ResourceState.objects.filter(cluster=watching.cluster, resource=PODS).update(
        contact_at=long_ago
    )
    watching.forget()
    watching.settle(failing=[PODS])
    assert not Gang.objects.exclude(code="not-observed").filter(gone_at=None).exists()
    assert Gang.objects.filter(last_health="running").exists()
