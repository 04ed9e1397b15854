"""Objects that KubeRay creates from a RayCluster, RayJob or RayService, and what it refuses.

A flag of the operator selects its gang scheduler, and no object shows it. So no PodGroup is foreseen. Source:
raycluster_controller.go, rayjob_controller.go, common/pod.go, utils/util.go and utils/validation.go of 1.6.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gangboard.domain.forecast import (
    CreationContext,
    CreationUnknownError,
    Manifest,
    ManifestFault,
)
from gangboard.owners.ray.wire import CLUSTER, CLUSTER_LABEL, GROUP, GROUP_LABEL, HEAD, ORIGIN_LABEL
from gangboard.plugins.child_manifests import (
    child,
    has_section,
    is_true,
    items,
    name_of,
    number,
    pod_from,
    section,
    size,
    string_map,
    text,
)
from gangboard.plugins.manifest_faults import dns_label_fault, pod_template_faults

_NODE_TYPE = "ray.io/node-type"
_REPLICA_INDEX = "ray.io/worker-group-replica-index"
_ORIGIN_KIND = "ray.io/originated-from-crd"
_LONGEST_CLUSTER_NAME, _LONGEST_ORIGIN_NAME = 53, 47
"""Limits of KubeRay for a RayCluster, and for a RayJob or RayService (MaxRayClusterNameLength in constant.go)."""
_SUFFIX = "check"
"""Stands for the random suffix of a RayCluster's name."""


def _container(name: str, cpu: str, memory: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": name, "resources": {"limits": amounts, "requests": amounts}}


_WAIT = _container("wait-gcs-ready", "200m", "256Mi")
_AUTOSCALER = _container("autoscaler", "500m", "512Mi")
_SUBMITTER = {
    "name": "ray-job-submitter",
    "resources": {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "500m", "memory": "200Mi"},
    },
}


# RayClusters


def cluster_pods(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the head and the workers of a RayCluster."""
    spec, name = section(manifest, "spec"), name_of(manifest)
    if is_true(spec, "suspend"):
        return
    head = section(spec, "headGroupSpec")
    autoscaled = is_true(spec, "enableInTreeAutoscaling")
    template = section(head, "template")
    containers = items(template, "spec", "containers")
    fields = {"containers": [*containers, _autoscaler(spec)]} if autoscaled else {}
    yield pod_from(
        template,
        generate_name=f"{name[:50]}-head-",
        labels={**string_map(head, "labels"), **_labels(name, "head", HEAD)},
        spec=fields,
    )
    for group in items(spec, "workerGroupSpecs"):
        template = section(group, "template")
        prefix = f"{name}-{text(group, 'groupName')}"
        waits = [*items(template, "spec", "initContainers"), _WAIT]
        hosts = max(1, size(group, "numOfHosts"))
        for index in range(_replicas(group) * hosts):
            yield pod_from(
                template,
                generate_name=f"{prefix[:50].lower()}-worker-",
                labels={
                    **string_map(group, "labels"),
                    **_labels(name, "worker", text(group, "groupName")),
                    _REPLICA_INDEX: str(index // hosts),
                },
                spec={"initContainers": waits},
            )


def _autoscaler(spec: Manifest) -> dict[str, Any]:
    resources = section(spec, "autoscalerOptions", "resources")
    return {**_AUTOSCALER, **({"resources": resources} if resources else {})}


def _replicas(group: Manifest) -> int:
    """Return the replicas that KubeRay creates (GetWorkerGroupDesiredReplicas)."""
    if is_true(group, "suspend"):
        return 0
    desired = max(size(group, "replicas", default=0), size(group, "minReplicas", default=0))
    most = number(group, "maxReplicas")
    return desired if most is None else min(desired, max(0, most))


def _labels(cluster: str, node_type: str, group: str) -> dict[str, str]:
    """Return the labels of a pod (labelPod)."""
    return {
        "ray.io/is-ray-node": "yes",
        CLUSTER_LABEL: cluster,
        _NODE_TYPE: node_type,
        GROUP_LABEL: group,
        "ray.io/identifier": f"{cluster}-{node_type}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }


# RayJobs and RayServices


def job_objects(manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
    """Yield the RayCluster of a RayJob, and its submitter Job if that is created.

    The Job waits for the RayCluster. Raises CreationUnknownError for a RayJob on a foreign RayCluster.
    """
    spec = section(manifest, "spec")
    if is_true(spec, "suspend"):
        return
    if section(spec, "clusterSelector"):
        raise CreationUnknownError(
            f"It runs on an existing {CLUSTER} (clusterSelector) and creates no workers."
        )
    cluster = section(spec, "rayClusterSpec")
    yield _cluster(manifest, cluster)
    submits = text(spec, "submissionMode") in ("", "K8sJobMode")
    if submits and context.dependencies_met:
        yield _submitter(manifest)


def service_objects(manifest: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the RayCluster of a RayService."""
    spec = section(manifest, "spec")
    if not is_true(spec, "suspend"):
        yield _cluster(manifest, section(spec, "rayClusterConfig"))


def _origin(manifest: Manifest) -> dict[str, str]:
    return {ORIGIN_LABEL: name_of(manifest), _ORIGIN_KIND: text(manifest, "kind")}


def _cluster(manifest: Manifest, spec: Manifest) -> dict[str, Any]:
    labels = {**string_map(manifest, "metadata", "labels"), **_origin(manifest)}
    name = f"{name_of(manifest)}-{_SUFFIX}"
    return child(f"{GROUP}/v1", CLUSTER, name, spec, labels=labels)


def _submitter(manifest: Manifest) -> dict[str, Any]:
    """Return the Job that submits the work (createNewK8sJob)."""
    template = section(manifest, "spec", "submitterPodTemplate") or {
        "spec": {"containers": [_SUBMITTER], "restartPolicy": "Never"}
    }
    return child(
        "batch/v1", "Job", name_of(manifest), {"template": template}, labels=_origin(manifest)
    )


# Faults


def cluster_faults(spec: Manifest, field: str) -> Iterator[ManifestFault]:
    """Yield what KubeRay refuses in a RayCluster spec at a field (ValidateRayClusterSpec)."""
    head = section(spec, "headGroupSpec", "template")
    yield from pod_template_faults(head, f"{field}.headGroupSpec.template")
    seen: set[str] = set()
    for index, group in enumerate(items(spec, "workerGroupSpecs")):
        place, name = f"{field}.workerGroupSpecs[{index}]", text(group, "groupName")
        yield from pod_template_faults(section(group, "template"), f"{place}.template")
        if not name or name in seen:
            yield ManifestFault(
                f"{place}.groupName",
                f"Two worker groups have the name {name}." if name else "It has no name.",
            )
        seen.add(name)
        least, most = size(group, "minReplicas", default=0), number(group, "maxReplicas")
        if most is not None and least > most:
            yield ManifestFault(
                f"{place}.minReplicas",
                f"minReplicas is {least}, and it must not be above maxReplicas, which is {most}.",
            )


def name_faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield faults of the name, which is shorter than that of other kinds (ValidateRayClusterMetadata and others)."""
    name, kind = name_of(manifest), text(manifest, "kind")
    longest = _LONGEST_CLUSTER_NAME if kind == CLUSTER else _LONGEST_ORIGIN_NAME
    if len(name) > longest:
        yield ManifestFault(
            "metadata.name", f"Its name has {len(name)} characters, and {longest} are allowed."
        )
    else:
        yield from dns_label_fault("metadata.name", name, "Its name", starts_with_letter=True)


def job_faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what KubeRay refuses in a RayJob (ValidateRayJobSpec)."""
    spec = section(manifest, "spec")
    yield from name_faults(manifest)
    selects = bool(section(spec, "clusterSelector"))
    if is_true(spec, "suspend") and not is_true(spec, "shutdownAfterJobFinishes"):
        yield ManifestFault(
            "spec.suspend", "Only a RayJob with shutdownAfterJobFinishes true can be suspended."
        )
    if is_true(spec, "suspend") and selects:
        yield ManifestFault("spec.suspend", "A RayJob with clusterSelector cannot be suspended.")
    if has_section(spec, "rayClusterSpec"):
        yield from cluster_faults(section(spec, "rayClusterSpec"), "spec.rayClusterSpec")
    elif not selects:
        yield ManifestFault(
            "spec.rayClusterSpec", "It has neither rayClusterSpec nor clusterSelector."
        )


def service_faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what KubeRay refuses in a RayService."""
    yield from name_faults(manifest)
    config = section(manifest, "spec", "rayClusterConfig")
    yield from cluster_faults(config, "spec.rayClusterConfig")
