"""Next steps that are not arithmetic, taken on real control planes: afterwards the pods run."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gangboard.domain.advice import AdviceKind, ChangeMethod
from gangboard.placement.advice.change_methods import (
    V1_36,
    V1_37,
    ChangedObject,
    Minor,
    change_method,
)
from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.nodes import node
from tests.controlplane.objects import job, pod, podgroup, workload

pytestmark = pytest.mark.controlplane
V1_35 = (1, 35)
VERSIONS = {V1_35: "v1alpha1", V1_36: "v1alpha2", V1_37: "v1beta1"}


@dataclass(frozen=True)
class Cluster:
    client: Client
    namespace: str
    minor: Minor

    @property
    def version(self) -> str:
        return VERSIONS[self.minor]

    @property
    def api(self) -> str:
        return f"scheduling.k8s.io/{self.version}"

    def group(self, quorum: int) -> None:
        objects = podgroup("ring", self.namespace, version=self.version, gang=quorum)
        self.client.create(objects)

    def patch(self, api: str, kind: str, name: str, spec: Json) -> None:
        self.client.patch(api, kind, name, {"spec": spec}, self.namespace)

    def wait_pods(self, number: int, phase: str) -> None:
        wait(
            lambda: (
                [pod["status"]["phase"] for pod in self.client.list("v1", "Pod", self.namespace)]
                == [phase] * number
            ),
            what=f"{number} pods {phase}",
        )


@pytest.fixture(params=[V1_37, V1_36, V1_35], ids=["1.37", "1.36", "1.35"])
def cluster(request: pytest.FixtureRequest, namespace: Namespaces, no_nodes: Fleets) -> Cluster:
    plane = request.getfixturevalue(f"controlplane_{request.param[0]}{request.param[1]}")
    client = no_nodes(plane)
    client.create(node("steps-0", cpu="64"))
    return Cluster(client, namespace(plane), request.param)


def test_a_group_that_was_missing_takes_its_pods(cluster: Cluster) -> None:
    """`podgroup-missing`; on 1.35 first with a Workload that has another entry."""
    name = ("plan", "all") if cluster.minor == V1_35 else "ring"
    cluster.client.create(job("train", cluster.namespace, parallelism=2, pod_group=name))
    cluster.wait_pods(2, "Pending")
    if cluster.minor != V1_35:
        cluster.group(2)
        return cluster.wait_pods(2, "Running")
    for entry in ("other", "all"):
        cluster.client.delete(cluster.api, "Workload", "plan", cluster.namespace)
        cluster.client.create(
            workload("plan", cluster.namespace, templates={entry: 2}, version=cluster.version)
        )
    return cluster.wait_pods(2, "Running")


def test_a_terminating_group_is_recreated_while_its_job_is_suspended(cluster: Cluster) -> None:
    """`podgroup-terminating`."""
    if cluster.minor == V1_35:
        return  # it has no such objects
    cluster.group(3)
    cluster.client.create(job("train", cluster.namespace, parallelism=2, pod_group="ring"))
    cluster.wait_pods(2, "Pending")
    cluster.client.delete(cluster.api, "PodGroup", "ring", cluster.namespace)
    assert cluster.client.find(cluster.api, "PodGroup", "ring", cluster.namespace) is not None
    cluster.patch("batch/v1", "Job", "train", {"suspend": True})
    cluster.client.wait_gone(cluster.api, "PodGroup", "ring", cluster.namespace)
    cluster.group(2)
    cluster.patch("batch/v1", "Job", "train", {"suspend": False})
    cluster.wait_pods(2, "Running")


def test_a_job_requests_the_pods_missing_to_the_quorum(cluster: Cluster) -> None:
    """`below-quorum`: of a group that was brought along."""
    if cluster.minor == V1_35:
        return
    cluster.group(4)
    cluster.client.create(job("train", cluster.namespace, parallelism=2, pod_group="ring"))
    cluster.wait_pods(2, "Pending")
    if (
        change_method(AdviceKind.SIZE, ChangedObject.GANG_JOB, cluster.minor)
        is ChangeMethod.RECREATE
    ):
        with pytest.raises(ApiError, match="cannot change parallelism"):
            cluster.patch("batch/v1", "Job", "train", {"parallelism": 4, "completions": 4})
        return
    cluster.patch("batch/v1", "Job", "train", {"parallelism": 4, "completions": 4})
    cluster.wait_pods(4, "Running")


def test_a_lower_quorum_admits_the_existing_pods(cluster: Cluster) -> None:
    """`below-quorum`: bare pods without a Job."""
    if (
        change_method(AdviceKind.QUORUM, ChangedObject.POD_GROUP, cluster.minor)
        is ChangeMethod.RECREATE
    ):
        return
    cluster.group(4)
    for index in range(2):
        cluster.client.create(pod(f"m-{index}", cluster.namespace, pod_group="ring"))
    cluster.wait_pods(2, "Pending")
    policy = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    cluster.patch(cluster.api, "PodGroup", "ring", policy)
    cluster.wait_pods(2, "Running")


def test_a_group_of_the_job_controller_comes_with_a_new_job_only(cluster: Cluster) -> None:
    """`podgroup-terminating`: why its Job is made anew there."""
    if cluster.minor != V1_37:
        return
    nowhere = {"test.gangboard.dev/pool": "there-is-none"}
    cluster.client.create(
        job("train", cluster.namespace, parallelism=2, gang=2, node_selector=nowhere)
    )
    cluster.wait_pods(2, "Pending")
    (group,) = cluster.client.list(cluster.api, "PodGroup", cluster.namespace)
    name = group["metadata"]["name"]
    cluster.client.delete(cluster.api, "PodGroup", name, cluster.namespace)
    cluster.patch("batch/v1", "Job", "train", {"suspend": True})
    cluster.client.wait_gone(cluster.api, "PodGroup", name, cluster.namespace)
    cluster.patch("batch/v1", "Job", "train", {"suspend": False})
    cluster.wait_pods(2, "Pending")
    pods = cluster.client.list("v1", "Pod", cluster.namespace)
    assert [pod["spec"].get("schedulingGroup") for pod in pods] == [None, None]


def test_a_raised_quota_of_workloads_lets_the_job_begin(cluster: Cluster) -> None:
    """`group-creation-failed`: the Job controller tries again."""
    if cluster.minor != V1_37:
        return
    quota = {"count/workloads.scheduling.k8s.io": "0"}
    cluster.client.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "w", "namespace": cluster.namespace},
            "spec": {"hard": quota},
        }
    )
    cluster.client.wait_for(
        "v1", "ResourceQuota", "w", cluster.namespace, until=lambda result: result.get("status")
    )
    cluster.client.create(job("train", cluster.namespace, parallelism=2, gang=2))
    wait(
        lambda: [
            event
            for event in cluster.client.list("v1", "Event", cluster.namespace)
            if event["reason"] == "FailedWorkloadCreate"
        ],
        what="the refusal of its Workload",
    )
    cluster.patch("v1", "ResourceQuota", "w", {"hard": dict.fromkeys(quota, "1")})
    cluster.wait_pods(2, "Running")
