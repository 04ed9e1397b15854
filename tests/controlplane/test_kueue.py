"""The real Kueue: admits, evicts, and reverts changes made without it."""

from __future__ import annotations

import json
import time

import pytest
import yaml

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.fixtures import Fleets, Namespaces, Queues
from tests.controlplane.nodes import make_node
from tests.controlplane.objects import JOBSET, JobOptions, jobset
from tests.controlplane.queues import in_queue, set_active
from tests.controlplane.queues import wait_kueue_workload as wait_workload

pytestmark = pytest.mark.controlplane


def test_serves_both_versions_of_its_workload(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets, queues: Queues
) -> None:
    client, nodes = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    queue = queues(controlplane_kueue, nodes, {"cpu": "4"})
    owner = _create(client, nodes, queue)
    created = wait_workload(client, owner, until=bool)
    assert created["spec"]["podSets"][0]["name"] == "w"
    old = client.get("kueue.x-k8s.io/v1beta1", "Workload", created["metadata"]["name"], nodes)
    assert old["spec"]["queueName"] == created["spec"]["queueName"] == queue


def test_kueue_admits_a_jobset_and_evicts_a_deactivated_one(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets, queues: Queues
) -> None:
    client, nodes = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_node(client, "n0")
    queue = queues(controlplane_kueue, nodes, {"cpu": "4"})
    owner = _create(client, nodes, queue)
    _wait_running(client, nodes, 2)
    admitted = wait_workload(client, owner, until=lambda o: is_true(o, "Admitted"))
    set_active(client, admitted, False)
    wait(lambda: not client.list("v1", "Pod", nodes), what="no pods")
    # The quota goes by a later write than the eviction.
    evicted = wait_workload(
        client,
        owner,
        until=lambda o: is_true(o, "Evicted") and not is_true(o, "QuotaReserved"),
    )
    assert _reason(evicted, "Evicted") == "Deactivated"
    time.sleep(2.0)
    assert client.get(JOBSET, "JobSet", "run", nodes)["spec"]["suspend"] is True
    assert not client.list("v1", "Pod", nodes)
    set_active(client, evicted, True)
    _wait_running(client, nodes, 2)


def test_undoes_a_plain_suspend(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets, queues: Queues
) -> None:
    client, nodes = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_node(client, "n0")
    _create(client, nodes, queues(controlplane_kueue, nodes, {"cpu": "4"}))
    _wait_running(client, nodes, 2)
    patched = client.patch(JOBSET, "JobSet", "run", {"spec": {"suspend": True}}, nodes)
    generation = patched["metadata"]["generation"]
    undone = client.wait_for(
        JOBSET,
        "JobSet",
        "run",
        nodes,
        until=lambda o: o["metadata"]["generation"] > generation,
    )
    assert undone["spec"]["suspend"] is False


def test_kueue_queues_a_jobset_above_the_quota(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets, queues: Queues
) -> None:
    client, nodes = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_node(client, "n0")
    queue = queues(controlplane_kueue, nodes, {"cpu": "3"})
    _create(client, nodes, queue, "first")
    _wait_running(client, nodes, 2)
    second = _create(client, nodes, queue, "second")
    waiting = wait_workload(
        client, second, until=lambda o: _message(o, "QuotaReserved").startswith("couldn't assign")
    )
    assert _message(waiting, "QuotaReserved").endswith(
        "insufficient unused quota for cpu in flavor default, 1 more needed"
    )
    assert client.get(JOBSET, "JobSet", "second", nodes)["spec"]["suspend"] is True


def test_waits_for_pods_half_an_hour_by_default(controlplane_kueue: ControlPlane) -> None:
    """Holding one Job of an admitted JobSet makes Kueue evict all Jobs."""
    log = controlplane_kueue.log_of("kueue", lines=100_000)
    (loaded, *_) = [line for line in log.splitlines() if "Configuration loaded" in line]
    configuration = yaml.safe_load(json.loads(loaded)["config"])
    assert configuration["waitForPodsReady"]["timeout"] == "30m0s"
    assert configuration["waitForPodsReady"]["recoveryTimeout"] == "30m0s"


def test_pods_ready_timeout_where_it_is_configured(
    controlplane_kueue: ControlPlane, namespace: Namespaces, no_nodes: Fleets, queues: Queues
) -> None:
    client, nodes = no_nodes(controlplane_kueue), namespace(controlplane_kueue)
    make_node(client, "n0")
    queue = queues(controlplane_kueue, nodes, {"cpu": "4"})
    waits = {"timeout": "1s", "requeuingStrategy": {"backoffLimitCount": 1}}
    with controlplane_kueue.kueue_configured(waitForPodsReady=waits):
        late = _create(client, nodes, queue, "late", never_ready="pending")
        evicted = wait_workload(client, late, until=lambda o: is_true(o, "Evicted"))
        assert _reason(evicted, "Evicted") == "PodsReadyTimeout"
        assert _message(evicted, "Evicted") == f"Exceeded the PodsReady timeout {_key(evicted)}"
        client.delete(JOBSET, "JobSet", "late", nodes)
        client.wait_gone(JOBSET, "JobSet", "late", nodes)
    patient = _create(client, nodes, queue, "patient", never_ready="pending")
    wait_workload(client, patient, until=lambda o: is_true(o, "Admitted"))
    time.sleep(2.0)
    assert not is_true(wait_workload(client, patient, until=bool), "Evicted")


def _create(
    client: Client, namespace: str, queue: str, name: str = "run", **options: object
) -> Json:
    """Create a JobSet of two pods of 1 cpu in the queue."""
    entry = JobOptions(pods=2, **options)  # type: ignore[typeddict-item]
    return client.create(jobset(name, namespace, labels=in_queue(queue), jobs={"w": entry}))


def _wait_running(client: Client, namespace: str, count: int) -> None:
    def running() -> bool:
        pods = client.list("v1", "Pod", namespace)
        return sum(is_true(item, "Ready") for item in pods) == count

    wait(running, what=f"{count} ready pods")


def _condition(result: Json, kind: str) -> Json:
    conditions = result.get("status", {}).get("conditions") or []
    return next((item for item in conditions if item["type"] == kind), {})


def _reason(result: Json, kind: str) -> str:
    reason: str = _condition(result, kind).get("reason", "")
    return reason


def _message(result: Json, kind: str) -> str:
    message: str = _condition(result, kind).get("message", "")
    return message


def _key(result: Json) -> str:
    return f"{result['metadata']['namespace']}/{result['metadata']['name']}"
