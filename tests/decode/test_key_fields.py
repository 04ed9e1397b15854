"""Objects of an unknown API version that can be decoded as the newest known one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gangboard.decode.list_watch_decoder import build_model
from gangboard.domain.api_resource import Resource
from gangboard.plugins import registry

RESOURCES = {resource.key: resource for resource in registry.resources()}
GROUPS, WORKLOADS = "podgroups.scheduling.k8s.io", "workloads.scheduling.k8s.io"
BASIC: dict[str, Any] = {"schedulingPolicy": {"basic": {}}}
GANG: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": 3}}}
RENAMED: dict[str, Any] = {"schedulingPolicy": {"gang": {"minimum": 3}}}

COMPOSITES = "compositepodgroups.scheduling.k8s.io"
JOBSETS, LWS = "jobsets.jobset.x-k8s.io", "leaderworkersets.leaderworkerset.x-k8s.io"
KAI, ROLES = "podgroups.scheduling.run.ai", "disaggregatedsets.disaggregatedset.x-k8s.io"
RUNTIME: dict[str, Any] = {"template": {"spec": {"replicatedJobs": [{"name": "node"}]}}}
CASES: list[tuple[str, dict[str, Any] | None, bool]] = [
    (GROUPS, BASIC, True),
    (GROUPS, GANG, True),
    (GROUPS, {"schedulingPolicy": {"gang": {"minCount": 0}}}, True),
    (GROUPS, RENAMED, False),
    (GROUPS, {"schedulingPolicy": {"gang": None}}, False),
    (GROUPS, {"policy": {"basic": {}}}, False),
    (GROUPS, None, False),
    (WORKLOADS, {"podGroupTemplates": [{"name": "x", **BASIC}, {"name": "y", **GANG}]}, True),
    (WORKLOADS, {"podGroupTemplates": [{"name": "x", **BASIC}, {"name": "y", **RENAMED}]}, False),
    (WORKLOADS, {"podGroupTemplates": []}, False),
    (WORKLOADS, {"compositePodGroupTemplates": [{"name": "x", **BASIC}]}, True),
    (WORKLOADS, {"templates": [{"name": "x", **GANG}]}, False),
    ("trainjobs.trainer.kubeflow.org", {"runtimeRef": {"name": "torch"}}, True),
    ("trainjobs.trainer.kubeflow.org", {"runtimeRef": {"name": ""}}, False),
    ("mpijobs.kubeflow.org", {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}, True),
    ("mpijobs.kubeflow.org", {"roles": {"Worker": {"replicas": 2}}}, False),
    (COMPOSITES, BASIC, True),
    (COMPOSITES, {"schedulingPolicy": {"gang": {"minGroupCount": 2}}}, True),
    (COMPOSITES, RENAMED, False),
    (JOBSETS, {"replicatedJobs": [{"name": "w", "template": {"spec": {}}}]}, True),
    (JOBSETS, {"replicatedJobs": [{"name": "w", "jobTemplate": {"spec": {}}}]}, False),
    (LWS, {"leaderWorkerTemplate": {"workerTemplate": {"spec": {}}}}, True),
    (LWS, {"template": {"spec": {}}}, False),
    ("rayclusters.ray.io", {"headGroupSpec": {"template": {}}}, True),
    ("rayclusters.ray.io", {"head": {"template": {}}}, False),
    ("rayjobs.ray.io", {"rayClusterSpec": {"headGroupSpec": {"template": {}}}}, True),
    ("rayjobs.ray.io", {"clusterSelector": {"ray.io/cluster": "a"}}, True),
    ("rayjobs.ray.io", {"rayClusterSpec": {"head": {"template": {}}}}, False),
    ("rayservices.ray.io", {"rayClusterConfig": {"headGroupSpec": {"template": {}}}}, True),
    ("rayservices.ray.io", {"rayClusterSpec": {"headGroupSpec": {"template": {}}}}, False),
    ("jobs.batch.volcano.sh", {"tasks": [{"template": {"spec": {}}}]}, True),
    ("jobs.batch.volcano.sh", {"tasks": [{"template": {}}, {"podTemplate": {}}]}, False),
    ("podgroups.scheduling.volcano.sh", {"minMember": 3, "queue": "a"}, True),
    ("podgroups.scheduling.volcano.sh", {"minCount": 3, "queue": "a"}, False),
    ("podgroups.scheduling.x-k8s.io", {"minMember": 3}, True),
    ("podgroups.scheduling.x-k8s.io", {"minCount": 3}, False),
    (KAI, {"minMember": 3, "queue": "a"}, True),
    (KAI, {"minSubGroup": 1, "subGroups": [{"name": "a", "size": 2}]}, False),
    (KAI, {"subGroups": [{"name": "a", "minMember": 2}, {"name": "b", "minSubGroup": 1}]}, True),
    (KAI, {"subGroups": [{"name": "a", "minMember": 2}, {"name": "b", "size": 1}]}, False),
    (KAI, {"minCount": 3, "queue": "a"}, False),
    ("queues.scheduling.run.ai", {"resources": {"gpu": {"quota": 4, "limit": -1}}}, True),
    ("queues.scheduling.run.ai", {"resources": {"gpu": {"deserved": 4, "limit": -1}}}, False),
    ("podgangs.scheduler.grove.io", {"podgroups": [{"name": "a", "minReplicas": 0}]}, True),
    ("podgangs.scheduler.grove.io", {"podgroups": [{"name": "a", "minCount": 2}]}, False),
    ("podcliquesets.grove.io", {"template": {"cliques": [{"spec": {"minAvailable": 1}}]}}, True),
    ("podcliquesets.grove.io", {"template": {"cliques": [{"spec": {"replicas": 1}}]}}, False),
    (
        "podcliquesets.grove.io",
        {"template": {"parts": [], "podCliqueScalingGroups": [{"cliqueNames": ["a"]}]}},
        False,
    ),
    ("podcliques.grove.io", {"replicas": 2, "minAvailable": 2}, True),
    ("podcliques.grove.io", {"replicas": 2, "minCount": 2}, False),
    ("podcliquescalinggroups.grove.io", {"cliqueNames": ["a"], "replicas": 2}, True),
    ("podcliquescalinggroups.grove.io", {"cliques": ["a"], "replicas": 2}, False),
    ("miniclusters.flux-framework.org", {"size": 4}, True),
    ("miniclusters.flux-framework.org", {"nodes": 4, "minSize": 2}, False),
    (ROLES, {"roles": [{"spec": {"leaderWorkerTemplate": {"workerTemplate": {}}}}]}, True),
    (ROLES, {"roles": [{"spec": {"template": {"workerTemplate": {}}}}]}, False),
    ("trainingruntimes.trainer.kubeflow.org", RUNTIME, True),
    ("clustertrainingruntimes.trainer.kubeflow.org", RUNTIME, True),
    ("trainingruntimes.trainer.kubeflow.org", {"template": {"spec": {"jobs": []}}}, False),
    ("workloads.kueue.x-k8s.io", {"queueName": "a"}, True),
    ("workloads.kueue.x-k8s.io", {"queue": "a"}, False),
]


def _is_read(key: str, spec: dict[str, Any] | None, version: str = "v9") -> bool:
    resource: Resource = RESOURCES[key]
    wire: Any = resource.wire
    metadata = {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1"}
    body = msgspec.json.encode({"metadata": metadata, "spec": spec})
    model, problem = build_model(resource, msgspec.json.decode(body, type=wire), version)
    assert (model is None) == (problem is not None)
    return problem is None


@pytest.mark.parametrize(("key", "spec", "is_read"), CASES)
def test_unknown_version_with_key_fields_is_decoded(
    key: str, spec: dict[str, Any] | None, is_read: bool
) -> None:
    assert _is_read(key, spec) is is_read
    assert _is_read(key, spec, RESOURCES[key].versions[0])


@pytest.mark.parametrize("key", [key for key, item in RESOURCES.items() if item.fields])
def test_unknown_version_without_key_fields_is_rejected(key: str) -> None:
    assert not _is_read(key, {})
    assert _is_read(key, {}, RESOURCES[key].versions[0])


@pytest.mark.parametrize("word", ["jax", "mpi", "paddle", "pytorch", "tf", "xgb"])
def test_the_kinds_of_kubeflow_name_their_replicas_differently(word: str) -> None:
    assert _is_read("mpijobs.kubeflow.org", {f"{word}ReplicaSpecs": {"Worker": {}}})


BUILT_IN = {"cronjobs.batch", "deployments.apps", "jobs.batch", "statefulsets.apps"}
"""The API server itself serves them, as v1 for good."""
NOT_TELLING = {"queues.scheduling.volcano.sh"}
"""A queue may lack all decoded fields, so renamed fields would go unnoticed."""
_KUEUE = "kueue.x-k8s.io"


def test_every_api_of_another_project_has_key_fields() -> None:
    without = {key for key, resource in RESOURCES.items() if not resource.fields}
    assert {key for key in without if not key.endswith(_KUEUE)} == BUILT_IN | NOT_TELLING


@pytest.mark.parametrize("key", ["queues.scheduling.volcano.sh", "jobs.batch"])
def test_resource_without_key_fields_rejects_unknown_versions(key: str) -> None:
    assert RESOURCES[key].readable_version(["v9", "v8"]) == ""


def test_known_version_is_preferred_to_that_of_the_server() -> None:
    groups = RESOURCES[GROUPS]
    assert groups.readable_version(["v9", "v1alpha3", "v1beta1"]) == "v1beta1"
    assert groups.readable_version(["v9", "v8"]) == "v9"
    assert groups.readable_version([]) == ""
