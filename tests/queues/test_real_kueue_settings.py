"""A real Kueue with other settings: late pods, variants, gates on preemption."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gangboard.domain.queue import QueueEntry
from tests.controlplane.client import wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_node
from tests.controlplane.queues import KUEUE, cluster_queue, local_queue, resource_flavor
from tests.decode.reading import model
from tests.queues.places import HIGH, LOW, WORKLOADS, Place
from tests.queues.reported_situations import run_on_assigned_nodes
from tests.queues.waiting_situations import WAITS
from tests.situations import Situation, check

SETTINGS = {
    "waitForPodsReady": {"timeout": "10s", "requeuingStrategy": {"backoffBaseSeconds": 20}},
    "featureGates": {
        "VisibilityOnDemand": False,
        "ConcurrentAdmission": True,
        "MultiKueueOrchestratedPreemption": True,
        "TASFailedNodeReplacementFailFast": False,
    },
}
"""At the second or third try on a slow machine pods are late again: so no more than 20 s lie between the first two.

The gates of variants and of preemption are alpha in v0.19.2. The latter enables gates from any writer. Without the last
one, which is on by default, Kueue does not evict a gang at once for which it finds no other node.
"""


@pytest.fixture(scope="module")
def _settings(controlplane_kueue: ControlPlane) -> Iterator[None]:
    with controlplane_kueue.kueue_configured(**SETTINGS):
        yield


pytestmark = pytest.mark.usefixtures("_settings")


def test_taken_back_since_its_pods_were_late(places: dict[str, Place]) -> None:
    """Kueue waits 10 s for pods that no node suits; the twin's pods are ready in time."""
    place = places["late"]
    place.queue("9")
    place.run("twin")
    place.run(node_selector={"gpu": "none"})
    place.wait_told("requeued")
    message = place.verdict().finding.message
    verdicts = (
        r"Queue queue evicted it: the pods were not ready in time; the next attempt is at "
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    )
    assert re.match(verdicts, message), message
    place.wait_told("running", "twin")


def _preemption_gate(place: Place) -> None:
    """Both could have room by preempting another. Twin: no gate keeps it from that."""
    for queue in ("queue", "other"):
        place.queue("2", queue, preemption={"withinClusterQueue": "LowerPriority"})
        place.run_admitted(f"{queue}-low", LOW, queue=queue)
    place.stop("Hold", kind="LocalQueue")  # so that the gate exists before the first check
    place.run("run", HIGH)
    gates = {"spec": {"preemptionGates": [{"name": "example.com/approval"}]}}
    place.client.patch(KUEUE, "Workload", place.entry()["metadata"]["name"], gates, place.name)
    place.stop("None", kind="LocalQueue")
    place.run("twin", HIGH, queue="other")


def test_a_gate_keeps_it_from_preempting(places: dict[str, Place]) -> None:
    message = f"{WAITS}it would have to preempt others, and a gate prevents that."
    place = places["preemption-gate"]
    _preemption_gate(place)
    check(
        Situation(_preemption_gate, "waiting-for-quota", "waiting", message, twin="running"), place
    )


def _variants(place: Place) -> None:
    """Two flavors with room for one each: Kueue makes a Workload for each of them, below that of the JobSet."""
    flavors = [f"{place.name}-{name}" for name in ("a", "b")]
    place.make(*(resource_flavor(flavor) for flavor in flavors))
    full = cluster_queue(place.cluster_queue, {"cpu": "2"})
    group = full["spec"]["resourceGroups"][0]
    group["flavors"] = [{**group["flavors"][0], "name": flavor} for flavor in flavors]
    full["spec"]["concurrentAdmissionPolicy"] = {"migration": {"mode": "RetainFirstAdmission"}}
    place.make(full)
    place.client.create(local_queue("queue", place.name, cluster_queue=place.cluster_queue))
    for name in ("first", "twin"):
        place.run_admitted(name)
    place.run()


def test_variants_are_nobodys(places: dict[str, Place]) -> None:
    """Variants do not count for the JobSet, whether disabled or waiting."""
    place, message = places["variants"], "Queue queue has not admitted it yet."
    _variants(place)
    check(Situation(_variants, "queue-evaluating", "waiting", message, twin="running"), place)
    entries: list[QueueEntry] = place.read(WORKLOADS, KUEUE)
    variants = [entry for entry in entries if entry.is_variant]
    assert len(variants) == 6
    assert {variant.owner_uid for variant in variants} == {""}
    owners = {place.owner(name)["metadata"]["uid"] for name in ("first", "twin", "run")}
    assert {entry.owner_uid for entry in entries if not entry.is_variant} == owners


def test_a_failed_node_without_a_replacement(places: dict[str, Place]) -> None:
    """Near miss: the twin's nodes include a spare, which Kueue assigns at once."""
    place = places["failed-node"]
    run_on_assigned_nodes(place, run=2, twin=3)
    lost = {name: place.pods(name)[0]["spec"]["nodeName"] for name in ("run", "twin")}
    for node_name in lost.values():
        place.client.delete("v1", "Node", node_name)

    def beside(name: str) -> list[str]:
        findings = place.verdict(name).findings
        return [finding.message for finding in findings if finding.code == "node-replacement"]

    wait(lambda: beside("run"), what="the failed node", seen=place.entry, timeout=30)
    assert beside("run")[0].startswith(f"Node {lost['run']} failed.")
    wait(
        lambda: lost["twin"] not in assigned_nodes(place, "twin"),
        what="another node",
        seen=lambda: place.entry("twin"),
        timeout=30,
    )
    assert not beside("twin")
    assert beside("run")


def assigned_nodes(place: Place, name: str) -> set[str]:
    """Return the nodes that Kueue has assigned to a JobSet."""
    (assigned,) = model(WORKLOADS, place.entry(name)).assigned
    return set(assigned.nodes)


def test_given_up_after_the_last_try(
    places: dict[str, Place], controlplane_kueue: ControlPlane
) -> None:
    """No try is left. Its advice is followed: the cause is removed first. Near miss: the twin is in time."""
    place = places["late-for-good"]
    pods_ready = {"timeout": "20s", "requeuingStrategy": {"backoffLimitCount": 0}}
    with controlplane_kueue.kueue_configured(waitForPodsReady=pods_ready):
        place.queue("9")
        place.run("twin")
        place.run(node_selector={"late": place.name})
        place.wait_told("deactivated")
        finding = place.verdict().finding
        before = place.entry()["metadata"]
        assert finding.health == "suspended"
        assert finding.message == (
            f"Kueue deactivated Workload {before['name']}: “exceeding the maximum number of re-queuing retries”."
        )
        (advice,) = finding.advice_texts
        assert advice.startswith(
            f"Remove what kept its pods from being ready in time, then delete Workload {before['name']} so that "
        )
        make_node(place.client, place.name, labels={"late": place.name})
        place.client.delete(KUEUE, "Workload", before["name"], place.name)
        place.wait_told("running")
        assert place.entry()["metadata"]["uid"] != before["uid"]
        place.wait_told("running", "twin")
