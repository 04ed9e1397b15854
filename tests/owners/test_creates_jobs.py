"""`creates` of Jobs and JobSets against the objects of real controllers, and cases that no capture has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gangboard.domain.pod_constraints import PodConstraints
from tests.decode.reading import Json, captures
from tests.owners.expansion import (
    compared,
    context,
    expand,
    objects_in,
    owner_traits,
    posted,
    read_pod,
)

JOBS, JOBSETS = "/apis/batch/v1/jobs", "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
PODGROUPS = "podgroups.scheduling.k8s.io"
SERVED = {"1.36": (f"{PODGROUPS}/v1alpha2",), "1.37": (f"{PODGROUPS}/v1beta1",), "plain": ()}
"""Profile of a real control plane → the version of core PodGroups that it serves."""
FRESH = (
    "running", "unschedulable", "partly-placed", "no-matching-node", "fragmented", "suspended", "basic-running",
    "starting", "unready", "image-pull", "depends-on", "shared-group", "topology-does-not-fit", "at-quorum",
    "nodes-cordoned", "scheduler-of-nobody",
)  # fmt: skip
"""States in which the objects are those of the first attempt, and no pod is missing."""


def fresh(kind: str) -> list[Any]:
    return [
        pytest.param(file, id=f"{file.parent.name}/{file.stem}")
        for file in captures(f"{kind}-*")
        if file.stem.removeprefix(f"{kind}-") in FRESH
    ]


def served(file: Path) -> tuple[str, ...]:
    return SERVED[file.parent.name]


def group_policies(objects: list[Json]) -> Counter[str]:
    return Counter(
        repr(sorted(obj["spec"]["schedulingPolicy"].items()))
        + repr(obj["spec"].get("schedulingConstraints"))
        for obj in objects
    )


@pytest.mark.parametrize("file", fresh("job"))
def test_pods_of_a_job_are_those_of_its_controller(file: Path) -> None:
    real = [read_pod(obj) for obj in objects_in(file, "/api/v1/pods")]
    (job,) = objects_in(file, JOBS)
    given = context(*served(file))
    made = expand(posted(job), given)
    expected = owner_traits(real)
    if file.parent.name == "1.37" and "scheduling" not in job["spec"]:
        # The controller makes a basic group, which has no effect on the placement.
        expected = Counter(
            {text.replace('"grouped": true', '"grouped": false'): n for text, n in expected.items()}
        )
    else:
        (version,) = [key.split("/")[1] for key in served(file)] or [""]
        path = f"/apis/scheduling.k8s.io/{version}/podgroups"
        assert group_policies(made.of("PodGroup")) == group_policies(objects_in(file, path))
    assert owner_traits(made.pods) == expected


@pytest.mark.parametrize("file", fresh("jobset"))
def test_jobs_and_pods_of_a_jobset_are_those_of_its_controller(file: Path) -> None:
    (jobset,) = objects_in(file, JOBSETS)
    jobs = objects_in(file, JOBS)
    made = expand(posted(jobset), context(*served(file)))
    assert {job["metadata"]["name"] for job in made.of("Job")} == {
        job["metadata"]["name"] for job in jobs
    }
    labels = {job["metadata"]["name"]: compared(job["metadata"]["labels"]) for job in jobs}
    assert {
        job["metadata"]["name"]: compared(job["metadata"]["labels"]) for job in made.of("Job")
    } == labels
    real = [read_pod(obj) for obj in objects_in(file, "/api/v1/pods")]
    assert owner_traits(made.pods) == owner_traits(real)


def job(**spec: Any) -> Json:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "resources": {}}]}
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team-a"},
        "spec": {"template": template, **spec},
    }


def test_a_job_with_another_manager_creates_nothing() -> None:
    made = expand(job(managedBy="kueue.x-k8s.io/multikueue", parallelism=2))
    assert made.pods == []
    own = expand(job(managedBy="kubernetes.io/job-controller", parallelism=2))
    assert len(own.pods) == 2


@pytest.mark.parametrize(
    ("spec", "pods"),
    [
        ({}, 1),
        ({"parallelism": 3}, 3),
        ({"parallelism": 3, "completions": 2}, 2),
        ({"parallelism": 0}, 0),
        ({"completions": 5}, 1),
        ({"parallelism": "3"}, 1),
    ],
)
def test_the_number_of_pods(spec: Json, pods: int) -> None:
    assert len(expand(job(**spec)).pods) == pods


def test_a_suspended_job_gets_its_group_and_no_pods() -> None:
    scheduling: Json = {"schedulingPolicy": {"gang": {}}}
    made = expand(job(parallelism=4, suspend=True, scheduling=scheduling), context(*SERVED["1.37"]))
    assert made.pods == []
    (group,) = made.of("PodGroup")
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}


def test_no_group_where_the_cluster_serves_none() -> None:
    scheduling: Json = {"schedulingPolicy": {"gang": {}}}
    made = expand(job(parallelism=4, scheduling=scheduling))
    assert made.of("PodGroup") == []
    assert {pod.group_name for pod in made.pods} == {""}


def jobset(*roles: Json, **fields: Any) -> Json:
    metadata = fields.pop("metadata", {})
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "run", "namespace": "team-a", **metadata},
        "spec": {"replicatedJobs": list(roles), **fields},
    }


def role(name: str, replicas: int = 1, pods: int = 1, **fields: Any) -> Json:
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": job(parallelism=pods, completions=pods)["spec"]},
        **fields,
    }


def test_dependants_come_only_once_the_context_says_that_they_are_created() -> None:
    manifest = jobset(
        role("driver"), role("workers", 2, 2, dependsOn=[{"name": "driver", "status": "Ready"}])
    )
    assert len(expand(manifest).pods) == 1
    assert len(expand(manifest, context(dependencies_met=True)).pods) == 5


def test_the_startup_order_holds_while_the_jobset_runs() -> None:
    in_order = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
    manifest = jobset(role("driver"), role("workers", 2, 2), **in_order)
    assert len(expand(manifest).of("Job")) == 1
    assert len(expand(manifest, context(dependencies_met=True)).of("Job")) == 3
    suspended = jobset(role("driver"), role("workers", 2, 2), suspend=True, **in_order)
    assert len(expand(suspended).of("Job")) == 3


def test_exclusive_placement_gives_each_job_a_domain() -> None:
    topology = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}
    made = expand(jobset(role("workers", 2, 2), metadata={"annotations": topology}))
    needs = {pod.meta.controller.name: pod.needs for pod in made.pods if pod.meta.controller}
    assert set(needs) == {"run-workers-0", "run-workers-1"}
    first, second = needs["run-workers-0"], needs["run-workers-1"]
    assert first.pod_affinity is not None
    assert first.pod_affinity.topology_key == "rack"
    assert first.pod_affinity != second.pod_affinity
    assert [term.topology_key for term in first.anti_affinity] == ["rack"]


def test_exclusive_placement_by_labelled_nodes() -> None:
    marks = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "rack",
        "alpha.jobset.sigs.k8s.io/node-selector": "true",
    }
    (pod,) = expand(jobset(role("workers"), metadata={"annotations": marks})).pods
    key = "alpha.jobset.sigs.k8s.io/namespaced-job"
    assert pod.needs.node_selector == ((key, "team-a_run-workers-0"),)
    assert "alpha.jobset.sigs.k8s.io/no-schedule" in {
        toleration.key for toleration in pod.needs.tolerations
    }
    assert pod.needs.anti_affinity == PodConstraints().anti_affinity


@pytest.mark.parametrize(
    ("scheduling", "groups"),
    [
        ({}, {"run-all": 5}),
        ({"schedulingPolicy": {"gang": {"minCount": 3}}}, {"run-all": 3}),
        (
            {"replicatedJobs": [{"targetReplicatedJobs": ["workers"]}]},
            {"run-part-0": 4},
        ),
        (
            {"replicatedJobs": [{"targetReplicatedJobs": ["workers"], "job": {}}]},
            {"run-workers-0": 2, "run-workers-1": 2},
        ),
    ],
)
def test_groups_of_a_jobset(scheduling: Json, groups: dict[str, int]) -> None:
    manifest = jobset(role("driver"), role("workers", 2, 2), scheduling=scheduling)
    made = expand(manifest, context(*SERVED["1.37"]))
    assert {
        obj["metadata"]["name"]: obj["spec"]["schedulingPolicy"]["gang"]["minCount"]
        for obj in made.of("PodGroup")
    } == groups
    named = Counter(pod.group_name for pod in made.pods)
    assert {name for name in named if name} == set(groups)
    assert expand(manifest).of("PodGroup") == []


def test_roles_that_start_in_turn_are_gangs_of_their_own() -> None:
    after = role("workers", 2, 2, dependsOn=[{"name": "driver", "status": "Ready"}])
    manifest = jobset(role("driver"), after, scheduling={"schedulingPolicy": {"gang": {}}})
    made = expand(manifest, context(*SERVED["1.37"], dependencies_met=True))
    assert Counter(pod.group_name for pod in made.pods) == {"run-driver": 1, "run-workers": 4}


def test_malformed_parts_count_as_missing() -> None:
    broken = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "run", "labels": ["no map"]},
        "spec": {"replicatedJobs": ["no map", {"name": 3, "template": {"spec": "no map"}}]},
    }
    made = expand(broken)
    assert len(made.of("Job")) == 1
