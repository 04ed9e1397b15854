"""Controllers of kube-controller-manager that make pods, known even if their objects are not read."""

from __future__ import annotations

from gangboard.domain.objects import Controller

_STATEFUL = ("apps", "StatefulSet")
_REPLICATING = frozenset({("apps", "ReplicaSet"), _STATEFUL, ("", "ReplicationController")})


def makes_same_pod_anew(controller: Controller | None) -> bool:
    """Return whether this controller re-creates a pod under the same name."""
    return controller is not None and (controller.group, controller.kind) == _STATEFUL


def tells_what_it_cannot_make(controller: Controller) -> bool:
    """Return whether it reports `FailedCreate` about itself.

    Source: controller_utils.go, stateful_pod_control.go, job_controller.go.
    """
    return controller.is_job or (controller.group, controller.kind) in _REPLICATING


def makes_occupants(controller: Controller | None) -> bool:
    """Return whether the controller's pods are independent of each other and hence no gang."""
    return controller is not None and (controller.group, controller.kind) in _REPLICATING
