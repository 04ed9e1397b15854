"""A reader that may look at everything but PodGroups."""

from __future__ import annotations

from pathlib import Path

from tests.controlplane.cluster import ControlPlane

_SEEN = {
    "": ["pods", "nodes"],
    "events.k8s.io": ["events"],
    "batch": ["jobs"],
    "jobset.x-k8s.io": ["jobsets"],
    "scheduling.k8s.io": ["workloads", "compositepodgroups"],
}


def limited_kubeconfig(plane: ControlPlane) -> Path:
    """Make the reader and return its kubeconfig."""
    name, namespace = "limited-reader", "default"
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
                    {"apiGroups": [group], "resources": plurals, "verbs": ["get", "list", "watch"]}
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
