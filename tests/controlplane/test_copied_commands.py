"""Commands to copy that change a field: a real API server takes each as it is, in a dry run, and sets the field.

Commands of groups of other schedulers are not here: their PodGroups have no webhook for `minMember`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gangboard.domain.objects import ObjectRef
from gangboard.facts.copied_commands import delete_pods, merge_patch, patch_command
from gangboard.plugins import registry
from gangboard.queues.kueue.queues import start_command
from tests.controlplane.client import Client, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.kubeflow import kubeflow_job, replicas, version_of
from tests.controlplane.leaderworkersets import LWS, leaderworkerset
from tests.controlplane.objects import job, pod, podgroup
from tests.controlplane.queues import KUEUE, cluster_queue, local_queue, resource_flavor

pytestmark = pytest.mark.controlplane
NOWHERE = {"test.gangboard.dev/pool": "there-is-none"}
CORE = "scheduling.k8s.io/v1beta1"
ROLLOUT = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 2}}


@pytest.fixture
def place(controlplane_kueue: ControlPlane, namespace: Namespaces) -> tuple[Client, str]:
    return controlplane_kueue.client, namespace(controlplane_kueue)


def set_numbers(
    version: str, kind: str, name: str, namespace: str, **numbers: int
) -> Sequence[str]:
    group = version.rpartition("/")[0]
    ref = ObjectRef(group, kind, namespace, name, "")
    paths = {key.replace("__", "."): number for key, number in numbers.items()}
    return patch_command(registry.kind_traits()[group, kind], ref, paths)


def taken(client: Client, version: str, command: Sequence[str]) -> Json:
    """Send the patch of a command as a dry run. Return the object that the API server would store."""
    assert command[:2] == ("kubectl", "patch"), command
    resource, name, *rest = command[2:]
    assert rest[-3:-1] == ["--type=merge", "-p"]
    namespace = rest[1] if rest[0] == "-n" else None
    plural, _, group = resource.partition(".")
    served = client.request("GET", f"/apis/{version}")["resources"]
    assert group == version.partition("/")[0]
    (kind,) = (entry["kind"] for entry in served if entry["name"] == plural)
    return client.patch(version, kind, name, json.loads(rest[-1]), namespace, dry_run=True)


def value_at(stored: Json, path: str) -> Any:
    value: Any = stored
    for key in path.split("."):
        value = value[key]
    return value


def test_the_quorum_of_a_group_and_of_a_job(place: tuple[Client, str]) -> None:
    client, where = place
    client.create(podgroup("ring", where, gang=4))
    client.create(job("train", where, parallelism=4, gang=4, node_selector=NOWHERE))
    minimum = "spec.schedulingPolicy.gang.minCount"
    of_group = set_numbers(CORE, "PodGroup", "ring", where, minCount=2)
    assert value_at(taken(client, CORE, of_group), minimum) == 2
    of_job = set_numbers("batch/v1", "Job", "train", where, minCount=3)
    path = minimum.replace("spec.", "spec.scheduling.")
    assert value_at(taken(client, "batch/v1", of_job), path) == 3


@pytest.mark.parametrize("completions", [2, 3])
def test_more_pods_of_a_job(place: tuple[Client, str], completions: int) -> None:
    """Completions that differ from the parallelism change to its new value as well."""
    client, where = place
    client.create(podgroup("ring", where, gang=4))
    created = job(
        "train",
        where,
        parallelism=2,
        completions=completions,
        pod_group="ring",
        node_selector=NOWHERE,
    )
    client.create(created)
    more = set_numbers("batch/v1", "Job", "train", where, parallelism=4, completions=4)
    stored = taken(client, "batch/v1", more)
    assert (stored["spec"]["parallelism"], stored["spec"]["completions"]) == (4, 4)


@pytest.mark.parametrize("kind", ["PyTorchJob", "MPIJob"])
def test_the_minimum_of_a_kubeflow_job(place: tuple[Client, str], kind: str) -> None:
    client, where = place
    roles = {"Launcher" if kind == "MPIJob" else "Master": replicas(1), "Worker": replicas(2)}
    policy = {"schedulingPolicy": {"minAvailable": 3}}
    client.create(kubeflow_job(kind, "run", where, roles, suspend=True, policy=policy))
    version = version_of(kind)
    lower = set_numbers(version, kind, "run", where, schedulingPolicy__minAvailable=2)
    assert (
        value_at(taken(client, version, lower), "spec.runPolicy.schedulingPolicy.minAvailable") == 2
    )


def test_pods_of_a_leaderworkerset_that_may_be_away(place: tuple[Client, str]) -> None:
    client, where = place
    client.create(leaderworkerset("llm", where, replicas=1, size=1, rolloutStrategy=ROLLOUT))
    command = set_numbers(LWS, "LeaderWorkerSet", "llm", where, maxUnavailable=1)
    path = "spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable"
    assert value_at(taken(client, LWS, command), path) == 1


def test_a_stopped_queue_and_a_deactivated_entry(place: tuple[Client, str]) -> None:
    client, where = place
    shared = f"{where}-stopped"
    client.create_all(
        [
            resource_flavor(),
            cluster_queue(shared, {"cpu": "1"}, spec={"stopPolicy": "Hold"}),
            local_queue("queue", where, cluster_queue=shared),
        ]
    )
    try:
        client.patch(KUEUE, "LocalQueue", "queue", {"spec": {"stopPolicy": "Hold"}}, where)
        for command in (
            start_command("ClusterQueue", "", shared),
            start_command("LocalQueue", where, "queue"),
        ):
            assert value_at(taken(client, KUEUE, command), "spec.stopPolicy") == "None"
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        pod_sets = [{"name": "main", "count": 1, "template": template}]
        client.create(
            {
                "apiVersion": KUEUE,
                "kind": "Workload",
                "metadata": {"name": "entry", "namespace": where},
                "spec": {"queueName": "queue", "active": False, "podSets": pod_sets},
            }
        )
        ref = ObjectRef("kueue.x-k8s.io", "Workload", where, "entry", "")
        resource = dict(registry.queue_traits()["kueue.x-k8s.io"].resources)["Workload"]
        command = merge_patch(resource, ref, {"spec.active": True})
        assert value_at(taken(client, KUEUE, command), "spec.active") is True
    finally:
        client.delete(KUEUE, "ClusterQueue", shared)


def test_the_resource_of_pods(place: tuple[Client, str]) -> None:
    """`kubectl delete pods -n NAMESPACE NAME` names the resource as the API server does."""
    client, where = place
    stored = client.create(pod("p", where, node_selector=NOWHERE))
    ref = ObjectRef("", "Pod", where, "p", stored["metadata"]["uid"])
    _, verb, resource, *_ = delete_pods([ref])
    served = client.request("GET", "/api/v1")["resources"]
    assert verb == "delete"
    assert any(entry["name"] == resource and entry["kind"] == "Pod" for entry in served)
