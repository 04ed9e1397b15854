"""Manifests as people write them (pod templates, Jobs, JobSets, nodes), with the server's defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

GPU = "nvidia.com/gpu"
RACK = "topology.kubernetes.io/rack"
JOBSET_VERSION = "jobset.x-k8s.io/v1alpha2"


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The template of a pod. `pool` is the value of the node label `pool`, empty for any node."""

    gpus: int = 0
    cpu: str = "4"
    memory: str = "16Gi"
    pool: str = ""
    image: str = "registry.example/ml/train:26.10"
    gates: tuple[str, ...] = ()
    scheduler: str = "default-scheduler"
    priority: tuple[str, int] = ("", 0)
    """Name and value of its PriorityClass."""
    group: str = ""
    """PodGroup that the template names."""
    grace: int = 30
    init: bool = False
    restart_policy: str = "Never"
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, str], ...] = ()
    anti_affinity: bool = False
    """At most one pod of its Job per node."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifest(self) -> Json:
        """Return the pod template."""
        requests = {"cpu": self.cpu, "memory": self.memory}
        resources: Json = {"requests": requests}
        if self.gpus:
            # Extended resources need requests and limits of the same value.
            requests[GPU] = str(self.gpus)
            resources["limits"] = {GPU: str(self.gpus)}
        spec: Json = {
            "containers": [_container("main", self.image, resources)],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": self.restart_policy,
            "schedulerName": self.scheduler,
            "securityContext": {},
            "terminationGracePeriodSeconds": self.grace,
        }
        if self.init:
            spec["initContainers"] = [_container("fetch-weights", self.image, {})]
        selector = {**({"pool": self.pool} if self.pool else {}), **self.selector}
        if selector:
            spec["nodeSelector"] = selector
        if self.tolerations:
            spec["tolerations"] = [dict(item) for item in self.tolerations]
        if self.gates:
            spec["schedulingGates"] = [{"name": gate} for gate in self.gates]
        if self.priority[0]:
            spec["priorityClassName"] = self.priority[0]
        if self.group:
            spec["schedulingGroup"] = {"podGroupName": self.group}
        return {"metadata": {"labels": dict(self.labels)} if self.labels else {}, "spec": spec}


def _container(name: str, image: str, resources: Json) -> Json:
    return {
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "name": name,
        "resources": resources,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


def job_spec(
    template: PodTemplate,
    pods: int,
    *,
    backoff_limit: int = 6,
    suspend: bool = False,
    quorum: int | None = None,
    basic: bool = False,
    topology: str = "",
) -> Json:
    """Return the spec of an indexed Job. `quorum` or `basic` set `spec.scheduling` of 1.37."""
    spec: Json = {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "backoffLimit": backoff_limit,
        "suspend": suspend,
        "podReplacementPolicy": "TerminatingOrFailed",
        "template": template.manifest(),
    }
    scheduling: Json = {}
    if quorum is not None:
        scheduling["schedulingPolicy"] = {"gang": {"minCount": quorum}}
    elif basic:
        scheduling["schedulingPolicy"] = {"basic": {}}
    if topology:
        scheduling["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if scheduling:
        spec["scheduling"] = scheduling
    return spec


def job(name: str, namespace: str, spec: Json, *, labels: Mapping[str, str] | None = None) -> Json:
    """Return a Job."""
    meta: Json = {"name": name, "namespace": namespace}
    if labels:
        meta["labels"] = dict(labels)
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def replicated_job(
    name: str,
    template: PodTemplate,
    *,
    replicas: int = 1,
    pods: int = 1,
    backoff_limit: int = 0,
    depends_on: Mapping[str, str] | None = None,
) -> Json:
    """Return one entry of a JobSet: `replicas` Jobs of `pods` pods each."""
    spec = job_spec(template, pods, backoff_limit=backoff_limit)
    del spec["podReplacementPolicy"]
    entry: Json = {
        "groupName": "default",
        "name": name,
        "replicas": replicas,
        "template": {"metadata": {}, "spec": spec},
    }
    if depends_on:
        entry["dependsOn"] = [
            {"name": dependency, "status": status} for dependency, status in depends_on.items()
        ]
    return entry


def jobset(
    name: str,
    namespace: str,
    entries: Sequence[Json],
    *,
    suspend: bool = False,
    max_restarts: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Json:
    """Return a JobSet."""
    meta: Json = {"name": name, "namespace": namespace}
    if labels:
        meta["labels"] = dict(labels)
    if annotations:
        meta["annotations"] = dict(annotations)
    spec: Json = {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "replicatedJobs": list(entries),
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "successPolicy": {"operator": "All"},
        "suspend": suspend,
    }
    if max_restarts is not None:
        spec["failurePolicy"] = {"maxRestarts": max_restarts, "restartStrategy": "Recreate"}
    return {"apiVersion": JOBSET_VERSION, "kind": "JobSet", "metadata": meta, "spec": spec}


def bare_pod(name: str, namespace: str, template: PodTemplate) -> Json:
    """Return a pod without a controller."""
    spec = template.manifest()["spec"]
    finish_pod_spec(spec, template.priority[1])
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def finish_pod_spec(spec: Json, priority: int) -> None:
    """Set the fields that admission adds to the spec of every pod."""
    spec["enableServiceLinks"] = True
    spec["preemptionPolicy"] = "PreemptLowerPriority"
    spec["priority"] = priority
    spec["tolerations"] = [
        *spec.get("tolerations", []),
        *(
            {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ),
    ]


def pod_group(
    name: str,
    namespace: str,
    version: str,
    *,
    quorum: int | None,
    workload: tuple[str, str] | None = None,
    parent: str = "",
    priority: int = 0,
    topology: str = "",
) -> Json:
    """Return a PodGroup, a basic one without a quorum. `workload` is (Workload, template in it)."""
    old = version == "v1alpha2"
    spec: Json = {
        "disruptionMode": "Pod" if old else {"single": {}},
        "priority": priority,
        "schedulingPolicy": policy(quorum),
    }
    if parent:
        spec["parentCompositePodGroupName"] = parent
    if topology:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if old:
        spec["podGroupTemplateRef"] = None
    if workload is not None:
        owner, template = workload
        if old:
            reference = {"workloadName": owner, "podGroupTemplateName": template}
            spec["podGroupTemplateRef"] = {"workload": reference}
        else:
            spec["workloadRef"] = {"workloadName": owner, "templateName": template}
    meta = {
        "name": name,
        "namespace": namespace,
        "finalizers": ["scheduling.k8s.io/podgroup-protection"],
    }
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": spec,
        "status": {},
    }


def policy(quorum: int | None) -> Json:
    """Return a scheduling policy; `basic` without a quorum."""
    return {"basic": {}} if quorum is None else {"gang": {"minCount": quorum}}


def owner_reference(owner: Json, *, controller: bool = True) -> Json:
    """Return an owner reference to an object that carries its apiVersion, kind and uid."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    return (
        {**reference, "blockOwnerDeletion": True, "controller": True} if controller else reference
    )
