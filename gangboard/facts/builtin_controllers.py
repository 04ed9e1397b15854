"""Controllers of kube-controller-manager that make pods, known even if their objects are not read."""

from __future__ import annotations

from gangboard.domain.objects import Controller

_STATEFUL = ("apps", "StatefulSet")
_REPLICATING = frozenset({("apps", "ReplicaSet"), _STATEFUL, ("", "ReplicationController")})


def recreates_same_pod(controller: Controller | None) -> bool:
    """Return whether this controller re-creates a pod under the same name."""
    return controller is not None and (controller.group, controller.kind) == _STATEFUL


def reports_failed_creation(controller: Controller) -> bool:
    """Return whether the controller reports `FailedCreate` on its own object.

    Source: controller_utils.go, stateful_pod_control.go, job_controller.go.
    """
    return controller.is_job or (controller.group, controller.kind) in _REPLICATING


def makes_independent_pods(controller: Controller | None) -> bool:
    """Return whether the controller's pods are independent of each other and hence no gang."""
    return controller is not None and (controller.group, controller.kind) in _REPLICATING
