"""A minimum of 0 is not set, because Go clients write 0 for an unset number."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gangboard.decode.scheduling_policy import SchedulingPolicy, read_scheduling_policy
from gangboard.domain.api_resource import Resource
from gangboard.plugins import registry
from gangboard.polling.cluster_cache import resources
from tests.decode.reading import model, with_identity

BY_KEY = {resource.key: resource for resource in resources()}
GANG = {"schedulingPolicy": {"gang": {"minCount": 0}}}
TASK = {"name": "worker", "replicas": 4}
POD: dict[str, Any] = {"spec": {"containers": []}}


def built(key: str, spec: dict[str, Any]) -> Any:
    resource: Resource = BY_KEY[key]
    return model(resource, with_identity({"spec": spec}), resource.versions[0])


# The user's request, with 0 as the minimum, and without it.
SPECS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "podgroups.scheduling.k8s.io",
        {"schedulingPolicy": {"gang": {"minCount": 0}}},
        {"schedulingPolicy": {"gang": {}}},
    ),
    (
        "compositepodgroups.scheduling.k8s.io",
        {"schedulingPolicy": {"gang": {"minGroupCount": 0}}},
        {"schedulingPolicy": {"gang": {}}},
    ),
    (
        "workloads.scheduling.k8s.io",
        {"podGroupTemplates": [{"name": "a", **GANG}]},
        {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {}}}]},
    ),
    (
        "jobs.batch",
        {"parallelism": 4, "scheduling": GANG},
        {"parallelism": 4, "scheduling": {"schedulingPolicy": {"gang": {}}}},
    ),
    ("podgroups.scheduling.x-k8s.io", {"minMember": 0}, {}),
    ("podgroups.scheduling.run.ai", {"minMember": 0}, {}),
    (
        "podgroups.scheduling.run.ai",
        {
            "minSubGroup": 0,
            "subGroups": [{"name": "a", "minMember": 2}, {"name": "b", "minMember": 3}],
        },
        {"subGroups": [{"name": "a", "minMember": 2}, {"name": "b", "minMember": 3}]},
    ),
    ("podgroups.scheduling.volcano.sh", {"minMember": 0}, {}),
    (
        "jobs.batch.volcano.sh",
        {"minAvailable": 0, "tasks": [TASK]},
        {"tasks": [TASK]},
    ),
    ("podcliques.grove.io", {"replicas": 4, "minAvailable": 0}, {"replicas": 4}),
    (
        "podcliquesets.grove.io",
        {"template": {"cliques": [{"name": "a", "spec": {"replicas": 4, "minAvailable": 0}}]}},
        {"template": {"cliques": [{"name": "a", "spec": {"replicas": 4}}]}},
    ),
    (
        "pytorchjobs.kubeflow.org",
        {
            "runPolicy": {"schedulingPolicy": {"minAvailable": 0, "queue": "q"}},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": POD}},
        },
        {
            "runPolicy": {"schedulingPolicy": {"queue": "q"}},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 4, "template": POD}},
        },
    ),
    (
        "jobsets.jobset.x-k8s.io",
        {
            "scheduling": GANG,
            "replicatedJobs": [
                {"name": "w", "replicas": 3, "template": {"spec": {"parallelism": 3}}}
            ],
        },
        {
            "scheduling": {"schedulingPolicy": {"gang": {}}},
            "replicatedJobs": [
                {"name": "w", "replicas": 3, "template": {"spec": {"parallelism": 3}}}
            ],
        },
    ),
]


@pytest.mark.parametrize(("key", "zero", "unset"), SPECS, ids=[spec[0] for spec in SPECS])
def test_zero_reads_as_not_set(key: str, zero: dict[str, Any], unset: dict[str, Any]) -> None:
    assert built(key, zero) == built(key, unset)


def test_jobset_without_a_minimum_needs_all_pods() -> None:
    request = built(*SPECS[-1][:2]).gang_request
    assert (request.quorum, request.derived) == (9, True)


def test_minimums_of_kai_subgroups() -> None:
    assert built(*SPECS[6][:2]).quorum == 5


def test_positive_minimum_counts() -> None:
    assert read_scheduling_policy({"gang": msgspec.Raw(b'{"minCount": 3}')}) == SchedulingPolicy(
        "gang", 3
    )


def test_every_grouping_api_is_tested() -> None:
    """A placed PodGang has 0 on purpose: Grove lowers its `minReplicas`.

    A task of a Volcano Job behaves likewise (`tests/owners/test_volcano_job.py`): its field is a pointer in Go.

    """
    walked = {key for key, _, _ in SPECS} | {"podgangs.scheduler.grove.io"}
    assert {
        resource.key for api in registry.grouping_apis() for resource in api.resources
    } <= walked
