"""Defaults that the API server and admission add to new objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.child_objects import PRIORITIES
from simulator.manifests import finish_pod_spec
from simulator.pod_status import pod_status
from simulator.resources import Resource

Json = dict[str, Any]


def fill_in(resource: Resource, obj: Json) -> None:
    """Complete an object that has its uid and time already."""
    fill = _BY_PLURAL.get(resource.plural)
    if fill is not None and resource.group in ("", "batch", "jobset.x-k8s.io", "scheduling.k8s.io"):
        fill(obj)


def _job(job: Json) -> None:
    """Derive selector and labels of a Job from its uid."""
    meta, spec = job["metadata"], job.setdefault("spec", {})
    marks = {
        "batch.kubernetes.io/controller-uid": meta["uid"],
        "batch.kubernetes.io/job-name": meta["name"],
        "controller-uid": meta["uid"],
        "job-name": meta["name"],
    }
    for name, value in (
        ("parallelism", 1),
        ("backoffLimit", 6),
        ("completionMode", "NonIndexed"),
        ("suspend", False),
        ("podReplacementPolicy", "TerminatingOrFailed"),
        ("manualSelector", False),
    ):
        spec.setdefault(name, value)
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": meta["uid"]}}
    template = spec.setdefault("template", {})
    template_meta = template.setdefault("metadata", {})
    template_meta["labels"] = {**(template_meta.get("labels") or {}), **marks}
    _pod_spec(template.setdefault("spec", {}))
    # A Job without labels gets those of its template.
    if not meta.get("labels"):
        meta["labels"] = dict(template_meta["labels"])
    job.setdefault("status", {})


def _jobset(jobset: Json) -> None:
    spec = jobset.setdefault("spec", {})
    spec.setdefault("suspend", False)
    spec.setdefault("network", {"enableDNSHostnames": True, "publishNotReadyAddresses": True})
    spec.setdefault("startupPolicy", {"startupPolicyOrder": "AnyOrder"})
    spec.setdefault("successPolicy", {"operator": "All"})
    for entry in spec.setdefault("replicatedJobs", []):
        entry.setdefault("groupName", "default")
        entry.setdefault("replicas", 1)
        job = entry.setdefault("template", {}).setdefault("spec", {})
        job.setdefault("parallelism", 1)
        job.setdefault("completions", job["parallelism"])
        job.setdefault("completionMode", "Indexed")
        job.setdefault("backoffLimit", 6)


def _pod_spec(spec: Json) -> None:
    spec.setdefault("containers", [])
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    for container in spec["containers"]:
        container.setdefault("imagePullPolicy", "IfNotPresent")
        container.setdefault("resources", {})


def _pod(pod: Json) -> None:
    spec = pod["spec"]
    _pod_spec(spec)
    if "priority" not in spec:
        finish_pod_spec(spec, PRIORITIES.get(spec.get("priorityClassName", ""), 0))
    if not pod.get("status"):
        state = "gated" if spec.get("schedulingGates") else "silent"
        pod["status"] = pod_status(state, pod, pod["metadata"]["creationTimestamp"])


def _group(group: Json) -> None:
    spec = group.setdefault("spec", {})
    old = "podGroupTemplateRef" in spec
    spec.setdefault("disruptionMode", "Pod" if old else {"single": {}})
    spec.setdefault("priority", 0)
    group.setdefault("status", {})


def _pod_group(group: Json) -> None:
    _group(group)
    finalizers = group["metadata"].setdefault("finalizers", [])
    if not finalizers:
        finalizers.append("scheduling.k8s.io/podgroup-protection")


def _namespace(namespace: Json) -> None:
    meta = namespace["metadata"]
    meta.setdefault("labels", {})["kubernetes.io/metadata.name"] = meta["name"]
    namespace.setdefault("spec", {"finalizers": ["kubernetes"]})
    namespace.setdefault("status", {"phase": "Active"})


_BY_PLURAL: dict[str, Callable[[Json], None]] = {
    "jobs": _job,
    "jobsets": _jobset,
    "pods": _pod,
    "podgroups": _pod_group,
    "compositepodgroups": _group,
    "namespaces": _namespace,
}
