"""Exclusive placement: each Job of a JobSet has a topology domain for itself."""

from __future__ import annotations

from typing import Any

from gangboard.domain.forecast import Manifest
from gangboard.owners.jobset.job_templates import ReplicatedJob
from gangboard.plugins.child_manifests import items, string_map

PREFIX = "jobset.sigs.k8s.io"
JOB_KEY = f"{PREFIX}/job-key"
EXCLUSIVE = f"alpha.{PREFIX}/exclusive-topology"
NODE_SELECTOR = f"alpha.{PREFIX}/node-selector"
_NAMESPACED_JOB, _NO_SCHEDULE = f"alpha.{PREFIX}/namespaced-job", f"alpha.{PREFIX}/no-schedule"


def exclusive_topology(manifest: Manifest, role: ReplicatedJob) -> dict[str, str]:
    """Return the annotations of exclusive placement, of the ReplicatedJob before those of the JobSet."""
    found: dict[str, str] = {}
    for marks in (
        string_map(manifest, "metadata", "annotations"),
        string_map(role.template, "metadata", "annotations"),
    ):
        if EXCLUSIVE in marks:
            found |= {key: marks[key] for key in (EXCLUSIVE, NODE_SELECTOR) if key in marks}
    return found


def selected_node(namespace: str, job: str, pod: Manifest) -> dict[str, Any]:
    """Return the node selector and tolerations of a Job whose nodes were labelled for it."""
    tolerations = items(pod, "tolerations")
    return {
        "nodeSelector": {**string_map(pod, "nodeSelector"), _NAMESPACED_JOB: f"{namespace}_{job}"},
        "tolerations": [
            *tolerations,
            {"key": _NO_SCHEDULE, "operator": "Exists", "effect": "NoSchedule"},
        ],
    }
