"""The status that a dispatcher copies from the cluster that runs an owner: how many of its parts are up there."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import Finding
from gangboard.plugins.registry import owner_kinds
from tests.decode.reading import model, with_identity
from tests.domain_objects import an_entry, facts_of

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
JOBS = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 1}}}]}
RAY = {"headGroupSpec": {}, "workerGroupSpecs": [{"groupName": "w", "replicas": 2}]}
REPLICAS = {"Launcher": {"replicas": 1}, "Master": {"replicas": 1}, "Worker": {"replicas": 2}}


def _replicas(*kinds: str) -> dict[str, Any]:
    return {kind: REPLICAS[kind] for kind in kinds}


def _jobs(ready: int) -> dict[str, Any]:
    counts = {"active": 2, "failed": 0, "succeeded": 0, "suspended": 0}
    return {"name": "w", "ready": ready, **counts}


Case = tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]
CASES: dict[str, Case] = {
    # kind: (spec, status of a whole run, status of an incomplete run, verdict on the latter)
    "Job": ({"parallelism": 2, "completions": 2}, {"active": 1, "ready": 1, "succeeded": 1},
            {"active": 2, "ready": 1}, "1 of 2 pods is ready"),
    "JobSet": (JOBS, {"replicatedJobsStatus": [_jobs(2)]}, {"replicatedJobsStatus": [_jobs(1)]},
               "1 of 2 Jobs is ready"),
    "TrainJob": ({"runtimeRef": {"name": "torch"}}, {"jobsStatus": [_jobs(2)]},
                 {"jobsStatus": [_jobs(0)]}, "0 of 2 Jobs are ready"),
    "RayCluster": (RAY, {"state": "ready", "desiredWorkerReplicas": 2, "readyWorkerReplicas": 2},
                   {"desiredWorkerReplicas": 2}, "0 of 2 workers are ready"),
    "RayJob": ({"rayClusterSpec": RAY},
               {"jobDeploymentStatus": "Running",
                "rayClusterStatus": {"desiredWorkerReplicas": 2, "readyWorkerReplicas": 2}},
               {"jobDeploymentStatus": "Running",
                "rayClusterStatus": {"desiredWorkerReplicas": 2, "readyWorkerReplicas": 1}},
               "1 of 2 workers is ready"),
    "PyTorchJob": ({"pytorchReplicaSpecs": _replicas("Master", "Worker")},
                   {"replicaStatuses": {"Master": {"active": 1}, "Worker": {"active": 1, "succeeded": 1}}},
                   {"replicaStatuses": {"Master": {}, "Worker": {"active": 2}}}, "2 of 3 pods are running"),
    "MPIJob": ({"mpiReplicaSpecs": _replicas("Launcher", "Worker")},
               {"replicaStatuses": {"Launcher": {"active": 1}, "Worker": {"active": 2}}},
               {"replicaStatuses": {"Worker": {"active": 1}}}, "1 of 3 pods is running"),
}  # fmt: skip


def finding_for(kind: str, status: dict[str, Any]) -> Finding:
    """Return the verdict on an owner with that status that another cluster runs."""
    (of_kind,) = [
        item
        for item in owner_kinds()
        if item.resource.kind == kind and item.resource.group != "batch.volcano.sh"
    ]
    spec = dict(CASES[kind][0])
    *above, field = of_kind.managed_by_field[1:]
    if above:
        spec[above[0]] = {field: MULTIKUEUE}
    else:
        spec[field] = MULTIKUEUE
    owner: Owner = model(
        of_kind.resource, with_identity({"spec": spec, "status": status}, "remote")
    )
    entry = an_entry(owner, admitted=True, cluster="worker1")
    return assess(facts_of(owner, entry)).finding


@pytest.mark.parametrize("kind", CASES)
def test_a_run_whole_on_its_worker_cluster_runs(kind: str) -> None:
    finding = finding_for(kind, CASES[kind][1])
    assert (finding.code, finding.health) == ("running", Health.RUNNING)
    assert finding.message.startswith("Runs in cluster worker1: ")


@pytest.mark.parametrize("kind", CASES)
def test_a_run_incomplete_on_its_worker_cluster_is_unknown(kind: str) -> None:
    finding = finding_for(kind, CASES[kind][2])
    assert (finding.code, finding.health) == ("not-observed", Health.UNKNOWN)
    assert finding.message == f"Runs in cluster worker1: {CASES[kind][3]}."


@pytest.mark.parametrize("kind", CASES)
def test_a_status_that_was_not_copied_yet_is_unknown(kind: str) -> None:
    finding = finding_for(kind, {})
    assert (finding.code, finding.message) == ("not-observed", "Runs in cluster worker1.")


def test_a_rayjob_that_does_not_run_yet() -> None:
    """Its RayCluster may be up without a submitted job."""
    status = dict(CASES["RayJob"][1], jobDeploymentStatus="Initializing")
    assert finding_for("RayJob", status).code == "not-observed"
