"""Kubernetes objects as plain dicts, short to write in a scenario.

Everything that describes pods is given by the same words everywhere (`PodOptions`), so a pod, a Job
and one Job of a JobSet are written alike:

    pod("p", cpu="2")
    job("train", parallelism=6, gpu=4, gang=6)
    jobset("run", jobs={"driver": {}, "workers": {"replicas": 2, "pods": 4, "gpu": 8}})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypedDict, Unpack

from tests.controlplane.client import Json

ANNOTATIONS = "test.gangboard.dev/"
JOBSET = "jobset.x-k8s.io/v1alpha2"
NeverReady = Literal[
    "pending", "image-pull", "container-config", "crash-loop", "init-crash-loop", "unready"
]


class PodOptions(TypedDict, total=False):
    """Fields of a pod, in any builder.

    `never_ready` to `hands_off` are the script for the fake kubelet, see kwok.yaml.
    `pod_group` is the PodGroup its schedulingGroup names (on 1.35: a (Workload, group) pair),
    `gates` are scheduling gates, `resources` further requests, `spec` goes over the pod spec as is.

    """

    image: str
    cpu: str
    memory: str
    gpu: int
    resources: Mapping[str, str]
    never_ready: NeverReady
    start_after: str
    complete_after: str
    fail_after: str
    linger: str
    restarts: int
    hands_off: bool
    restart_policy: Literal["Always", "OnFailure", "Never"]
    init: bool
    grace: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    node_selector: Mapping[str, str]
    tolerations: list[Json]
    affinity: Json
    gates: list[str]
    scheduler: str
    priority_class: str
    pod_group: str | tuple[str, str]
    spec: Json


class JobOptions(PodOptions, total=False):
    """One entry of `jobset(jobs=...)`: `replicas` Jobs of `pods` pods each.

    `depends_on` maps other entries to "Ready" or "Complete"; `suspend` is that of the Job itself.
    """

    replicas: int
    pods: int
    depends_on: Mapping[str, str]
    backoff_limit: int
    suspend: bool
    job: Json


def namespace(name: str) -> Json:
    """Return a Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def pod(name: str, namespace: str = "default", **options: Unpack[PodOptions]) -> Json:
    """Return a bare Pod."""
    template = pod_template(options)
    metadata = {"name": name, "namespace": namespace, **template["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def job(
    name: str,
    namespace: str = "default",
    *,
    parallelism: int = 1,
    completions: int | None = None,
    indexed: bool = True,
    suspend: bool = False,
    gang: int | Literal["all", "basic"] | None = None,
    topology: str | None = None,
    backoff_limit: int = 6,
    ttl: int | None = None,
    job_labels: Mapping[str, str] | None = None,
    job_spec: Json | None = None,
    **options: Unpack[PodOptions],
) -> Json:
    """Return a Job.

    `gang` and `topology` (a node label) are 1.37's `spec.scheduling`: a number is the quorum, "all"
    leaves it to the controller, "basic" asks for no gang. 1.36 ignores them: it makes every
    indexed Job with completions equal to parallelism > 1 a gang by itself.
    """
    spec: Json = {
        "parallelism": parallelism,
        "completions": parallelism if completions is None else completions,
        "completionMode": "Indexed" if indexed else "NonIndexed",
        "backoffLimit": backoff_limit,
        "suspend": suspend,
        "template": pod_template(options),
    }
    scheduling: Json = {}
    if gang is not None:
        counts = {"minCount": gang} if isinstance(gang, int) else {}
        scheduling["schedulingPolicy"] = {"basic": {}} if gang == "basic" else {"gang": counts}
    if topology is not None:
        scheduling["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if scheduling:
        spec["scheduling"] = scheduling
    if ttl is not None:
        spec["ttlSecondsAfterFinished"] = ttl
    metadata = {"name": name, "namespace": namespace, "labels": dict(job_labels or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec | (job_spec or {}),
    }


def jobset(
    name: str,
    namespace: str = "default",
    *,
    jobs: Mapping[str, JobOptions],
    suspend: bool = False,
    max_restarts: int | None = None,
    success: Literal["All", "Any"] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    jobset_spec: Json | None = None,
) -> Json:
    """Return a JobSet. `max_restarts=None` means no failure policy: the first failed Job ends it."""
    spec: Json = {
        "suspend": suspend,
        "replicatedJobs": [_replicated_job(key, entry) for key, entry in jobs.items()],
    }
    if max_restarts is not None:
        spec["failurePolicy"] = {"maxRestarts": max_restarts}
    if success is not None:
        spec["successPolicy"] = {"operator": success, "targetReplicatedJobs": []}
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
    }
    spec |= jobset_spec or {}
    return {"apiVersion": JOBSET, "kind": "JobSet", "metadata": metadata, "spec": spec}


def _replicated_job(name: str, entry: JobOptions) -> Json:
    pods = entry.get("pods", 1)
    created: Json = {
        "name": name,
        "replicas": entry.get("replicas", 1),
        "template": {
            "spec": {
                "parallelism": pods,
                "completions": pods,
                "backoffLimit": entry.get("backoff_limit", 0),
                "suspend": entry.get("suspend", False),
                "template": pod_template(entry),
                **entry.get("job", {}),
            }
        },
    }
    if entry.get("depends_on"):
        created["dependsOn"] = [
            {"name": other, "status": status} for other, status in entry["depends_on"].items()
        ]
    return created


def pod_template(options: PodOptions) -> Json:
    """Return {"metadata": ..., "spec": ...} of a pod."""
    requests = {"cpu": options.get("cpu", "1"), **options.get("resources", {})}
    if "memory" in options:
        requests["memory"] = options["memory"]
    resources: Json = {"requests": requests}
    if options.get("gpu"):
        # Extended resources need both and both equal.
        requests["nvidia.com/gpu"] = str(options["gpu"])
        resources["limits"] = {"nvidia.com/gpu": str(options["gpu"])}
    image = options.get("image", "registry.example/train:1")
    spec: Json = {
        "restartPolicy": options.get("restart_policy", "Never"),
        "terminationGracePeriodSeconds": options.get("grace", 30),
        "containers": [{"name": "main", "image": image, "resources": resources}],
    }
    if options.get("init"):
        spec["initContainers"] = [{"name": "setup", "image": image}]
    for key, field in (
        ("node_selector", "nodeSelector"),
        ("tolerations", "tolerations"),
        ("affinity", "affinity"),
        ("scheduler", "schedulerName"),
        ("priority_class", "priorityClassName"),
    ):
        if key in options:
            spec[field] = options[key]  # type: ignore[literal-required]
    if "gates" in options:
        spec["schedulingGates"] = [{"name": gate} for gate in options["gates"]]
    if "pod_group" in options:
        spec |= _membership(options["pod_group"])
    metadata: Json = {"labels": dict(options.get("labels", {})), "annotations": _script(options)}
    return {"metadata": metadata, "spec": spec | options.get("spec", {})}


def _membership(group: str | tuple[str, str]) -> Json:
    if isinstance(group, str):
        return {"schedulingGroup": {"podGroupName": group}}
    return {"workloadRef": {"name": group[0], "podGroup": group[1]}}


def _script(options: PodOptions) -> dict[str, str]:
    script = dict(options.get("annotations", {}))
    for key in ("never_ready", "start_after", "complete_after", "fail_after", "linger", "restarts"):
        if key in options:
            value = options[key]
            script[ANNOTATIONS + key.replace("_", "-")] = str(value)
    if options.get("hands_off"):
        script[f"{ANNOTATIONS}hands-off"] = "true"
    return script


def podgroup(
    name: str,
    namespace: str = "default",
    *,
    version: str = "v1beta1",
    gang: int | None = None,
    workload: tuple[str, str] | None = None,
    topology: str | None = None,
    together: bool = False,
    priority_class: str | None = None,
) -> Json:
    """Return a PodGroup of `scheduling.k8s.io/<version>`; `gang=None` makes it a basic one.

    `workload` is (Workload, template in it); `together` disrupts all of its pods or none.
    """
    old = version == "v1alpha2"
    spec: Json = {"schedulingPolicy": _policy(gang)}
    if workload is not None:
        owner, template = workload
        spec |= (
            {
                "podGroupTemplateRef": {
                    "workload": {"workloadName": owner, "podGroupTemplateName": template}
                }
            }
            if old
            else {"workloadRef": {"workloadName": owner, "templateName": template}}
        )
    if topology is not None:
        spec["schedulingConstraints"] = {"topology": [{"key": topology}]}
    if together:
        spec["disruptionMode"] = "PodGroup" if old else {"all": {}}
    if priority_class is not None:
        spec["priorityClassName"] = priority_class
    return _scheduling("PodGroup", version, name, namespace, spec)


def workload(
    name: str,
    namespace: str = "default",
    *,
    templates: Mapping[str, int | None],
    version: str = "v1beta1",
    controller: tuple[str, str, str] | None = None,
) -> Json:
    """Return a Workload. `templates` maps names to quorums (None: basic).

    `controller` is the (API group, kind, name) of its owner.

    """
    if version == "v1alpha1":
        entries = [{"name": key, "policy": _policy(gang)} for key, gang in templates.items()]
        spec: Json = {"podGroups": entries}
    else:
        spec = {
            "podGroupTemplates": [
                {"name": key, "schedulingPolicy": _policy(gang)} for key, gang in templates.items()
            ]
        }
    if controller is not None:
        spec["controllerRef"] = dict(zip(("apiGroup", "kind", "name"), controller, strict=True))
    return _scheduling("Workload", version, name, namespace, spec)


def compositepodgroup(
    name: str, namespace: str = "default", *, workload: tuple[str, str], groups: int | None = None
) -> Json:
    """Return a CompositePodGroup (1.37, v1alpha3 only) that wants `groups` groups or none at all."""
    policy = {"basic": {}} if groups is None else {"gang": {"minGroupCount": groups}}
    reference = {"workloadName": workload[0], "templateName": workload[1]}
    spec = {"workloadRef": reference, "schedulingPolicy": policy}
    return _scheduling("CompositePodGroup", "v1alpha3", name, namespace, spec)


def _policy(gang: int | None) -> Json:
    return {"basic": {}} if gang is None else {"gang": {"minCount": gang}}


def _scheduling(kind: str, version: str, name: str, namespace: str, spec: Json) -> Json:
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def quota(name: str, namespace: str = "default", **hard: str) -> Json:
    """Return a ResourceQuota: `quota("q", pods="2")`.

    It forbids Secrets, which no test needs. A refused Secret shows `Client.create_all` that the quota
    is in force.

    """
    metadata = {"name": name, "namespace": namespace}
    spec = {"hard": hard | {"count/secrets": "0"}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def priority_class(name: str, value: int, **fields: Any) -> Json:
    """Return a PriorityClass; `fields` are further ones, such as `preemptionPolicy`."""
    metadata = {"name": name}
    version = "scheduling.k8s.io/v1"
    created = {"apiVersion": version, "kind": "PriorityClass", "metadata": metadata, "value": value}
    return {**created, **fields}
