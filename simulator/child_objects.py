"""Objects that controllers create: child Jobs of a JobSet, pods of a Job, Workload and PodGroup of a Job."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

from simulator.manifests import (
    JOBSET_VERSION,
    finish_pod_spec,
    owner_reference,
    pod_group,
    policy,
)

Json = dict[str, Any]

_PREFIX = "jobset.sigs.k8s.io/"
PRIORITIES = {"": 0, "low": -100, "research": 100, "production": 1000, "urgent": 5000}
"""PriorityClasses of the simulated clusters and their values."""


def child_jobs(jobset: Json) -> list[tuple[Json, Json]]:
    """Return (entry, Job) for every desired Job of a JobSet, in the order of its spec."""
    entries = jobset["spec"]["replicatedJobs"]
    total = sum(entry["replicas"] for entry in entries)
    jobs: list[tuple[Json, Json]] = []
    for entry in entries:
        for index in range(entry["replicas"]):
            jobs.append((entry, _child_job(jobset, entry, index, len(jobs), total)))
    return jobs


def _child_job(jobset: Json, entry: Json, index: int, position: int, total: int) -> Json:
    meta = jobset["metadata"]
    name = f"{meta['name']}-{entry['name']}-{index}"
    attempt = jobset.get("status", {}).get("restarts", 0)
    marks = {
        _PREFIX + "global-replicas": str(total),
        _PREFIX + "group-name": entry.get("groupName", "default"),
        _PREFIX + "group-replicas": str(total),
        _PREFIX + "job-global-index": str(position),
        _PREFIX + "job-group-index": str(position),
        _PREFIX + "job-index": str(index),
        _PREFIX + "job-key": _job_key(meta["namespace"], name),
        _PREFIX + "jobset-name": meta["name"],
        _PREFIX + "jobset-uid": meta["uid"],
        _PREFIX + "replicatedjob-name": entry["name"],
        _PREFIX + "replicatedjob-replicas": str(entry["replicas"]),
        _PREFIX + "restart-attempt": str(attempt),
    }
    spec = copy.deepcopy(entry["template"]["spec"])
    spec["podReplacementPolicy"] = "TerminatingOrFailed"
    spec["suspend"] = bool(jobset["spec"].get("suspend")) or bool(spec.get("suspend"))
    spec["template"]["metadata"] = {"annotations": dict(marks), "labels": dict(marks)}
    spec["template"]["spec"]["subdomain"] = meta["name"]
    owner = {"apiVersion": JOBSET_VERSION, "kind": "JobSet", "metadata": meta}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "labels": dict(marks),
            "annotations": dict(marks),
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": spec,
    }


def _job_key(namespace: str, name: str) -> str:
    digest = hashlib.sha1(f"{namespace}/{name}".encode(), usedforsecurity=False)
    return digest.hexdigest()


def pod_of(job: Json, index: int, suffix: str) -> Json:
    """Return a new pod of a Job, before scheduler and kubelet have changed it."""
    template = job["spec"]["template"]
    spec = copy.deepcopy(template["spec"])
    meta = copy.deepcopy(template.get("metadata", {}))
    name = f"{job['metadata']['name']}-{index}"
    finish_pod_spec(spec, PRIORITIES.get(spec.get("priorityClassName", ""), 0))
    spec["hostname"] = name
    completion = "batch.kubernetes.io/job-completion-index"
    labels = {**meta.get("labels", {}), completion: str(index)}
    if _PREFIX + "jobset-name" in labels:
        labels[_PREFIX + "priority"] = str(spec["priority"])
    field_path = f"metadata.labels['{completion}']"
    reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": field_path}}
    for container in spec["containers"]:
        container["env"] = [{"name": "JOB_COMPLETION_INDEX", "valueFrom": reference}]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": job["metadata"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {**meta.get("annotations", {}), completion: str(index)},
            "finalizers": ["batch.kubernetes.io/job-tracking"],
            "generateName": f"{name}-",
            "labels": labels,
            "name": f"{name}-{suffix}",
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": spec,
    }


def wants_group(job: Json, version: str | None) -> bool:
    """Return whether the Job controller of this version creates a Workload and a PodGroup for a Job."""
    spec = job["spec"]
    if version is None or "schedulingGroup" in spec["template"]["spec"]:
        return False
    if version == "v1alpha2":
        full = spec["parallelism"] > 1 and spec.get("completions") == spec["parallelism"]
        return bool(full) and spec.get("completionMode") == "Indexed"
    return not any(ref.get("controller") for ref in job["metadata"].get("ownerReferences", []))


def group_of(job: Json, version: str, workload_uid: str) -> tuple[Json, Json]:
    """Return the Workload and the PodGroup that the Job controller creates for a Job."""
    meta, spec = job["metadata"], job["spec"]
    quorum = spec["parallelism"] if version == "v1alpha2" else None
    scheduling = spec.get("scheduling", {})
    if "gang" in scheduling.get("schedulingPolicy", {}):
        quorum = scheduling["schedulingPolicy"]["gang"].get("minCount", spec["parallelism"])
    topology = scheduling.get("schedulingConstraints", {}).get("topology", [])
    name = f"{meta['name']}-{_hash(meta['uid'])}"
    template = f"{meta['name']}-pgt-0"
    owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta}
    workload: Json = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": meta["namespace"],
            "ownerReferences": [owner_reference(owner)],
            "uid": workload_uid,
        },
        "spec": {
            "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": meta["name"]},
            "podGroupTemplates": [
                {
                    "name": template,
                    "schedulingConstraints": scheduling.get("schedulingConstraints"),
                    "schedulingPolicy": policy(quorum),
                }
            ],
        },
    }
    group = pod_group(
        f"{name}-{template}-{_hash(name)}",
        meta["namespace"],
        version,
        quorum=quorum,
        workload=(name, template),
        priority=PRIORITIES.get(spec["template"]["spec"].get("priorityClassName", ""), 0),
        topology=topology[0]["key"] if topology else "",
    )
    references = [owner_reference(owner), owner_reference(workload, controller=False)]
    group["metadata"]["ownerReferences"] = references
    return workload, group


def _hash(text: str) -> str:
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).digest()
    number = int.from_bytes(digest[:4], "big")
    # The alphabet of Kubernetes' safe encoding, without vowels, so that it forms no words.
    return "".join("bcdfghjklmnpqrstvwxz2456789"[int(digit)] for digit in str(number))
