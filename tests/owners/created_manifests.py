"""A manifest of each kind whose controller runs on the test control plane, with the pods that it gets.

The numbers and labels are those of the papers on observed controllers and of their sources. The control plane confirms
them (`tests/controlplane/test_creates.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.controlplane.kubeflow import kubeflow_job, replicas
from tests.controlplane.leaderworkersets import disaggregatedset, leaderworkerset
from tests.controlplane.objects import job, jobset, pod_template
from tests.controlplane.rays import cluster_spec, ray_pods, raycluster, rayjob, rayservice
from tests.controlplane.trainjobs import runtime, trainjob
from tests.decode.reading import Json

PLACE = "default"
_FOREVER = pod_template({"cpu": "1", "restart_policy": "Always", "labels": {"app": "run"}})
_REPLICAS = {
    "replicas": 3,
    "selector": {"matchLabels": {"app": "run"}},
    "template": _FOREVER,
}
_RAY = cluster_spec(ray_pods(on={}), ray_pods("2", on={}), workers=2)


@dataclass(frozen=True)
class Created:
    """A manifest, and the pods that controllers create from it."""

    manifest: Json
    pods: dict[str, int]
    """Name or beginning of a name → number of such pods."""
    before: tuple[Json, ...] = ()
    """Objects that must exist before, such as a runtime."""
    marks: dict[str, str] = field(default_factory=dict)
    """Labels of all pods."""


def _object(api_version: str, kind: str, spec: Json) -> Json:
    metadata = {"name": "run", "namespace": PLACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _torch(kind: str, **roles: Json) -> Created:
    labels = {"training.kubeflow.org/job-name": "run"}
    pods = {f"run-{role.lower()}-": spec["replicas"] for role, spec in roles.items()}
    return Created(kubeflow_job(kind, "run", PLACE, roles), pods, marks=labels)


CREATED: dict[str, Created] = {
    "Job": Created(job("run", PLACE, parallelism=3, gang="all", cpu="2"), {"run-": 3}),
    "JobSet": Created(
        jobset(
            "run", PLACE, jobs={"driver": {}, "workers": {"replicas": 2, "pods": 2, "cpu": "2"}}
        ),
        {"run-driver-0-0-": 1, "run-workers-0-": 2, "run-workers-1-": 2},
        marks={"jobset.sigs.k8s.io/jobset-name": "run"},
    ),
    "TrainJob": Created(
        trainjob(
            "run",
            PLACE,
            "plain",
            nodes=3,
            trainer={"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "2"}}},
        ),
        {"run-node-0-": 3},
        before=(runtime("plain", node={"cpu": "1", "node_selector": {"pool": "a"}}),),
        marks={"jobset.sigs.k8s.io/jobset-name": "run"},
    ),
    "LeaderWorkerSet": Created(
        leaderworkerset("run", PLACE, replicas=2, size=3),
        {"run-0": 3, "run-1": 3},
        marks={"leaderworkerset.sigs.k8s.io/name": "run"},
    ),
    "DisaggregatedSet": Created(
        disaggregatedset(
            "run",
            PLACE,
            {
                role: leaderworkerset("x", PLACE, replicas=2, size=2)["spec"]
                for role in ("prefill", "decode")
            },
        ),
        {"run-": 8},
        marks={"disaggregatedset.x-k8s.io/name": "run"},
    ),
    "StatefulSet": Created(
        _object(
            "apps/v1",
            "StatefulSet",
            {**_REPLICAS, "serviceName": "run", "podManagementPolicy": "Parallel"},
        ),
        {"run-0": 1, "run-1": 1, "run-2": 1},
    ),
    "Deployment": Created(_object("apps/v1", "Deployment", _REPLICAS), {"run-": 3}),
    "PyTorchJob": _torch("PyTorchJob", Master=replicas(), Worker=replicas(2)),
    "TFJob": _torch("TFJob", Chief=replicas(), PS=replicas(), Worker=replicas(2)),
    "XGBoostJob": _torch("XGBoostJob", Master=replicas(), Worker=replicas(2)),
    "PaddleJob": _torch("PaddleJob", Worker=replicas(2)),
    "JAXJob": _torch("JAXJob", Worker=replicas(2)),
    "MPIJob": Created(
        kubeflow_job("MPIJob", "run", PLACE, {"Launcher": replicas(), "Worker": replicas(2)}),
        {"run-launcher-": 1, "run-worker-": 2},
        marks={"training.kubeflow.org/job-name": "run"},
    ),
    "RayCluster": Created(
        raycluster("run", PLACE, _RAY),
        {"run-head-": 1, "run-gpu-worker-": 2},
        marks={"ray.io/cluster": "run"},
    ),
    "RayJob": Created(
        rayjob("run", PLACE, _RAY, ray_pods(on={}, restart_policy="Never")), {"run-": 3}
    ),
    "RayService": Created(rayservice("run", PLACE, _RAY), {"run-": 3}),
    "CronJob": Created(
        _object(
            "batch/v1",
            "CronJob",
            {"schedule": "0 3 * * *", "jobTemplate": {"spec": job("x", PLACE)["spec"]}},
        ),
        {"run-": 1},
    ),
}
