"""Pods that the operators of kubeflow.org create from a manifest, and what they and their webhooks refuse.

Neither operator shows whether it has a gang scheduler, so no PodGroup is foreseen. Source: pkg/controller.v1 of
training-operator 1.9.3 and mpi_job_controller.go of mpi-operator 0.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.text import names
from gangboard.owners.kubeflow.wire import (
    JOB_NAME,
    JOB_ROLE,
    LABEL,
    LAUNCHER,
    OPERATOR,
    REPLICA_TYPE,
    WORKER,
    role_name,
)
from gangboard.plugins.child_manifests import (
    child,
    is_true,
    items,
    name_of,
    number,
    pod_from,
    section,
    size,
    template_with,
    text,
)
from gangboard.plugins.manifest_faults import dns_label_fault, negative_fault, pod_template_faults

_INDEX = f"{LABEL}/replica-index"
_MASTERS = ("Master", "Chief")
_WAIT_FOR_WORKERS = "WaitForWorkersReady"
_MPI_OPERATOR = "mpi-operator"
_INIT_CONTAINER = {
    "name": "init-pytorch",
    "resources": {
        "limits": {"cpu": "100m", "memory": "20Mi"},
        "requests": {"cpu": "50m", "memory": "10Mi"},
    },
}
"""Container in which a worker of a PyTorchJob waits for the master (pkg/config/config.go)."""


def replica_specs(manifest: Manifest) -> dict[str, Manifest]:
    """Return role → replica spec of a job of any kind."""
    spec = section(manifest, "spec")
    field = next((key for key in spec if str(key).endswith("ReplicaSpecs")), "")
    return {role_name(str(name)): section(spec, field, name) for name in section(spec, field)}


def operator_pods(manifest: Manifest, operator: str) -> Iterator[dict[str, Any]]:
    """Yield the pods of a job of the training operator. `operator` is the value of their operator label."""
    if is_true(manifest, "spec", "runPolicy", "suspend"):
        return
    specs = replica_specs(manifest)
    for role, replicas in specs.items():
        for index in range(size(replicas, "replicas")):
            yield _operator_pod(manifest, specs, role, index, operator)


def _operator_pod(
    manifest: Manifest, specs: Mapping[str, Manifest], role: str, index: int, operator: str
) -> dict[str, Any]:
    name, type_ = name_of(manifest), role.lower()
    labels = {
        JOB_NAME: name,
        OPERATOR: operator,
        REPLICA_TYPE: type_,
        _INDEX: str(index),
        **({JOB_ROLE: "master"} if _is_master(manifest, specs, role, index) else {}),
    }
    template = section(specs[role], "template")
    fields: dict[str, Any] = {}
    if text(manifest, "kind") == "PyTorchJob" and role == WORKER and "Master" in specs:
        fields["initContainers"] = [*items(template, "spec", "initContainers"), _INIT_CONTAINER]
    return pod_from(template, f"{name}-{type_}-{index}", labels=labels, spec=fields)


def _is_master(manifest: Manifest, specs: Mapping[str, Manifest], role: str, index: int) -> bool:
    """Return whether the operator marks a pod as the master (IsMasterRole of each kind)."""
    match text(manifest, "kind"):
        case "JAXJob":
            return index == 0
        case "PyTorchJob" | "TFJob":
            masters = [name for name in _MASTERS if name in specs]
            return role in masters if masters else role == WORKER and index == 0
    return role == "Master"


def mpi_objects(manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
    """Yield the worker pods of an MPIJob and its launcher Job, which may wait for the workers.

    A suspended MPIJob has only the launcher Job, suspended.
    """
    spec, name, specs = section(manifest, "spec"), name_of(manifest), replica_specs(manifest)
    suspended = is_true(spec, "runPolicy", "suspend")
    workers = specs.get(WORKER, {})
    if not suspended:
        for index in range(size(workers, "replicas", default=0)):
            pod_name = f"{name}-worker-{index}"
            yield pod_from(
                section(workers, "template"),
                pod_name,
                labels={**_mpi_labels(name, "worker"), _INDEX: _worker_index(spec, index)},
                spec={"hostname": pod_name},
            )
    waits = text(spec, "launcherCreationPolicy") == _WAIT_FOR_WORKERS
    if waits and not suspended and not context.dependencies_met:
        return
    template = template_with(
        section(specs.get(LAUNCHER, {}), "template"),
        labels=_launcher_labels(spec, name),
        spec={"restartPolicy": _restart_policy(specs.get(LAUNCHER, {}))},
    )
    yield child(
        "batch/v1",
        "Job",
        f"{name}-launcher",
        {"template": template, **({"suspend": True} if suspended else {})},
        labels={"app": name},
    )


def _mpi_labels(name: str, role: str) -> dict[str, str]:
    return {JOB_NAME: name, JOB_ROLE: role, OPERATOR: _MPI_OPERATOR}


def _launcher_labels(spec: Manifest, name: str) -> dict[str, str]:
    index = {_INDEX: "0"} if is_true(spec, "runLauncherAsWorker") else {}
    return {**_mpi_labels(name, "launcher"), **index}


def _worker_index(spec: Manifest, index: int) -> str:
    """Return the index of a worker, of which the launcher takes the first if it works itself."""
    return str(index + 1 if is_true(spec, "runLauncherAsWorker") else index)


def _restart_policy(replicas: Manifest) -> str:
    """Return the restart policy of the launcher's pod. The Job fails it for `Never` (setRestartPolicy)."""
    return "Never" if text(replicas, "restartPolicy") == "Never" else "OnFailure"


# Faults


def operator_faults(
    manifest: Manifest, roles: tuple[str, ...], container: str
) -> Iterator[ManifestFault]:
    """Yield what the webhooks of the training operator refuse (pkg/webhooks/<framework>).

    `roles` are the roles that the kind knows, and `container` the name that one container must have.
    """
    spec = section(manifest, "spec")
    field = next((str(key) for key in spec if str(key).endswith("ReplicaSpecs")), "")
    yield from dns_label_fault(
        "metadata.name", name_of(manifest), "Its name", starts_with_letter=True
    )
    specs = replica_specs(manifest)
    if not specs:
        yield ManifestFault("spec", "It has no replica specs.")
    for role, replicas in specs.items():
        place = f"spec.{field}[{role}]"
        if role not in roles:
            yield ManifestFault(place, f"It has no role {role}. It has {names(roles)}.")
        count = number(replicas, "replicas")
        if role == "Master" and text(manifest, "kind") == "PyTorchJob" and (count or 1) != 1:
            yield ManifestFault(f"{place}.replicas", f"replicas is {count}, and it must be 1.")
        elif count is not None and count < 1:
            yield ManifestFault(
                f"{place}.replicas", f"replicas is {count}, and it must be 1 or more."
            )
        template = section(replicas, "template")
        yield from pod_template_faults(template, f"{place}.template")
        containers = items(template, "spec", "containers")
        if containers and not any(text(item, "name") == container for item in containers):
            yield ManifestFault(
                f"{place}.template.spec.containers",
                f"One container must have the name {container}.",
            )


def mpi_faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what the MPI operator refuses with an event (validation.go). It has no webhook."""
    specs, field = replica_specs(manifest), "spec.mpiReplicaSpecs"
    count = size(specs.get(WORKER, {}), "replicas", default=0)
    hostname = f"{name_of(manifest)}-worker-{max(0, count - 1)}"
    yield from dns_label_fault("metadata.name", hostname, "The name of its last worker")
    if LAUNCHER not in specs:
        yield ManifestFault(f"{field}[{LAUNCHER}]", f"It has no {LAUNCHER}.")
    elif size(specs[LAUNCHER], "replicas") != 1:
        yield ManifestFault(f"{field}[{LAUNCHER}].replicas", "replicas must be 1.")
    if WORKER in specs and count < 1:
        yield ManifestFault(
            f"{field}[{WORKER}].replicas", f"replicas is {count}, and it must be 1 or more."
        )
    for role, replicas in specs.items():
        yield from pod_template_faults(section(replicas, "template"), f"{field}[{role}].template")
    yield from negative_fault(
        section(manifest, "spec", "runPolicy"), "backoffLimit", "spec.runPolicy.backoffLimit"
    )
