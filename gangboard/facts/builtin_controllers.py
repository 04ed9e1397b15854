"""Controllers of kube-controller-manager that make pods: what is known of them whether they are listed or not."""

from __future__ import annotations

from gangboard.domain.objects import Controller

_STATEFUL = ("apps", "StatefulSet")
_REPLICATING = frozenset({("apps", "ReplicaSet"), _STATEFUL, ("", "ReplicationController")})


def makes_same_pod_anew(controller: Controller | None) -> bool:
    """Whether a pod of this controller is made anew under its own name, wherever it ends."""
    return controller is not None and (controller.group, controller.kind) == _STATEFUL


def tells_what_it_cannot_make(controller: Controller) -> bool:
    """Whether it says `FailedCreate` of itself (controller_utils.go, stateful_pod_control.go, job_controller.go)."""
    return controller.is_job or (controller.group, controller.kind) in _REPLICATING


def makes_occupants(controller: Controller | None) -> bool:
    """Whether pods of this controller are of use one by one, so that they only take room and are no gang."""
    return controller is not None and (controller.group, controller.kind) in _REPLICATING
