"""Jobs of kubeflow.org to create on a control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import PodOptions, pod_template

TRAINING, MPI = "kubeflow.org/v1", "kubeflow.org/v2beta1"
_KINDS = {
    "JAXJob": (TRAINING, "jaxReplicaSpecs", "jax"),
    "MPIJob": (MPI, "mpiReplicaSpecs", "mpi"),
    "PaddleJob": (TRAINING, "paddleReplicaSpecs", "paddle"),
    "PyTorchJob": (TRAINING, "pytorchReplicaSpecs", "pytorch"),
    "TFJob": (TRAINING, "tfReplicaSpecs", "tensorflow"),
    "XGBoostJob": (TRAINING, "xgbReplicaSpecs", "xgboost"),
}
"""Kind → its API version, the field of its replica specs, and the container that its operator looks at."""


def version_of(kind: str) -> str:
    """Return the API version in which the control plane serves a kind."""
    return _KINDS[kind][0]


def roles_field(kind: str) -> str:
    """Return the field of its spec in which a kind has its roles."""
    return _KINDS[kind][1]


def container_of(kind: str) -> str:
    """Return the container of its pods that its operator looks at."""
    return _KINDS[kind][2]


def replicas(number: int = 1, *, restart: str = "Never", **pods: Any) -> Json:
    """Return a replica spec; `pods` are `PodOptions`."""
    return {"replicas": number, "restartPolicy": restart, "pods": pods}


def kubeflow_job(
    kind: str,
    name: str,
    namespace: str,
    roles: Mapping[str, Json],
    *,
    where: Mapping[str, str] | None = None,
    suspend: bool | None = None,
    labels: Mapping[str, str] | None = None,
    policy: Json | None = None,
    **spec: Any,
) -> Json:
    """Return a job of a kind with these roles (`replicas`); `where` is the node selector of all its pods."""
    version, field, container = _KINDS[kind]
    specs = {}
    for role, of_role in roles.items():
        options: PodOptions = {**of_role["pods"], "node_selector": dict(where or {})}  # type: ignore[typeddict-item]
        template = pod_template(options)
        template["spec"].pop("restartPolicy", None)
        template["spec"]["containers"][0]["name"] = container
        stored = {key: value for key, value in of_role.items() if key != "pods"}
        specs[role] = {**stored, "template": template}
    run_policy = {**(policy or {}), **({} if suspend is None else {"suspend": suspend})}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {field: specs, **({"runPolicy": run_policy} if run_policy else {}), **spec},
    }
