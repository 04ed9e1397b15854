"""Nodes: healthy, cordoned, tainted, or silent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.manifests import GPU

Json = dict[str, Any]

_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)


def node(
    name: str,
    since: str,
    *,
    gpus: int = 0,
    cpu: str = "96",
    memory: str = "1Ti",
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    cordoned: bool = False,
    lost_at: str = "",
) -> Json:
    """Return a node. A lost one has been silent since `lost_at`."""
    capacity = {"cpu": cpu, "memory": memory, "pods": "110"}
    if gpus:
        capacity[GPU] = str(gpus)
    spec: Json = {}
    listed: list[Json] = [dict(taint) for taint in taints]
    if cordoned:
        spec["unschedulable"] = True
        listed.append(_taint("unschedulable", since))
    if lost_at:
        listed.append(_taint("unreachable", lost_at))
    if listed:
        spec["taints"] = listed
    base = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**base, **(labels or {})},
            # The node controller gives each node this annotation.
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": spec,
        "status": {
            "addresses": [{"address": name, "type": "Hostname"}],
            "allocatable": dict(capacity),
            "capacity": dict(capacity),
            "conditions": [_node_condition(*row, since, lost_at) for row in _HEALTHY],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.37.0"},
            "phase": "Running",
        },
    }


def _node_condition(kind: str, status: str, reason: str, since: str, lost_at: str) -> Json:
    if lost_at:
        return {
            "lastHeartbeatTime": lost_at,
            "lastTransitionTime": lost_at,
            "message": "Kubelet stopped posting node status.",
            "reason": "NodeStatusUnknown",
            "status": "Unknown",
            "type": kind,
        }
    times = {"lastHeartbeatTime": since, "lastTransitionTime": since}
    return {**times, "reason": reason, "status": status, "type": kind}


def _taint(name: str, since: str) -> Json:
    return {"effect": "NoSchedule", "key": f"node.kubernetes.io/{name}", "timeAdded": since}
