"""Readers that may not look at everything: one not at PodGroups, one not at nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.controlplane.cluster import ControlPlane
from tests.scenarios.scenario import Played, Scenario

_SEEN = {
    "": ["pods", "nodes"],
    "events.k8s.io": ["events"],
    "batch": ["jobs"],
    "jobset.x-k8s.io": ["jobsets"],
    "scheduling.k8s.io": ["workloads", "podgroups", "compositepodgroups"],
}


def _unseen(name: str, gang: str, code: str, health: str, twin: str, **rest: Any) -> Scenario:
    """Return the verdict on a Job of another cluster for a viewer without nodes."""
    return Scenario(name, "Job", gang, code, health, lambda ns, nodes: [], twin=twin, **rest)


_TOLD = ("nodes", "forbidden", "Insufficient")
NODES_UNSEEN = (
    _unseen(
        "gpu-short", "run", "unschedulable", "waiting", "gpu-short",
        says=(*_TOLD, "nvidia.com/gpu"), members={"desired": 3, "scheduled": 0},
    ),
    _unseen(
        "cpu-fragmented", "run", "unschedulable", "waiting", "cpu-fragmented",
        says=(*_TOLD, "cpu"), members={"desired": 3, "scheduled": 0},
    ),
    # Findings without node facts are as usual, and running gangs run.
    _unseen(
        "partly-placed", "sweep", "partly-placed", "degraded", "gang-runs",
        says=("2 of 4",), members={"desired": 4, "scheduled": 2},
    ),
    _unseen(
        "gang-runs", "gang", "running", "running", "partly-placed", members={"ready": 3}
    ),
)  # fmt: skip

PLAYED: Played = {"unseen": NODES_UNSEEN}


def without_podgroups(plane: ControlPlane) -> Path:
    """Make a reader that may look at everything but PodGroups; return its kubeconfig."""
    return _limited_kubeconfig(plane, "no-podgroups", "podgroups")


def without_nodes(plane: ControlPlane) -> Path:
    """Make a reader that may look at everything but nodes; return its kubeconfig."""
    return _limited_kubeconfig(plane, "no-nodes", "nodes")


def _limited_kubeconfig(plane: ControlPlane, name: str, hidden: str) -> Path:
    namespace = "default"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    rbac = "rbac.authorization.k8s.io/v1"
    plane.client.create_all(
        [
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": namespace},
            },
            {
                "apiVersion": rbac,
                "kind": "ClusterRole",
                "metadata": {"name": name},
                "rules": [
                    {
                        "apiGroups": [group],
                        "resources": [plural for plural in plurals if plural != hidden],
                        "verbs": ["get", "list", "watch"],
                    }
                    for group, plurals in _SEEN.items()
                ],
            },
            {
                "apiVersion": rbac,
                "kind": "ClusterRoleBinding",
                "metadata": {"name": name},
                "roleRef": role,
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
            },
        ]
    )
    token = plane.service_account_token(namespace, name)
    return plane.kubeconfig_for(token, name=name)
