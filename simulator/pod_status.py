"""The status of a pod in each state of a fleet script, with the texts of real pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

PLACED = frozenset(
    {
        "running",
        "creating",
        "image-pull",
        "config-error",
        "crash-loop",
        "init-crash-loop",
        "unready",
        "succeeded",
        "failed",
        "evicted",
        "node-lost",
        "kept",
    }
)
"""States of a pod with a node."""

WORDS = PLACED | {"silent", "unschedulable", "gated"}
"""All states. The others are: never attempted, found unschedulable, and gated.

A `kept` pod was deleted after its node had become silent."""


def pod_status(state: str, pod: Json, since: str, message: str = "") -> Json:
    """Return the status. `since` is its start, and `message` the scheduler's text."""
    bare: Json = {"phase": "Pending", "qosClass": "Burstable"}
    if state == "silent":
        return bare
    if state in ("unschedulable", "gated"):
        reason = "Unschedulable" if state == "unschedulable" else "SchedulingGated"
        text = message or "Scheduling is blocked due to non-empty scheduling gates"
        unplaced = _condition("PodScheduled", "False", since, reason, text)
        if state == "unschedulable":
            unplaced = _observed(pod, unplaced)
        return {"conditions": [unplaced], **bare}
    return _PLACED_STATES[state](pod, since)


def scheduler_error(pod: Json, since: str, message: str) -> Json:
    """Return the status of a pod after an internal error of the scheduler."""
    failed = _condition("PodScheduled", "False", since, "SchedulerError", message)
    failed = _observed(pod, failed)
    return {"conditions": [failed], "phase": "Pending", "qosClass": "Burstable"}


def bound_status(since: str) -> Json:
    """Return the status directly after the binding, before the kubelet has written any."""
    scheduled = _condition("PodScheduled", "True", since)
    return {"conditions": [scheduled], "phase": "Pending", "qosClass": "Burstable"}


def _observed(pod: Json, condition: Json) -> Json:
    """Add the generation that the scheduler observed. Other components do not write it."""
    return {**condition, "observedGeneration": pod["metadata"].get("generation", 1)}


def _condition(kind: str, status: str, since: str, reason: str = "", message: str = "") -> Json:
    condition: Json = {"lastProbeTime": None, "lastTransitionTime": since}
    if message:
        condition["message"] = message
    if reason:
        condition["reason"] = reason
    return {**condition, "status": status, "type": kind}


def _names(pod: Json, field: str = "containers") -> list[str]:
    return [container["name"] for container in pod["spec"].get(field, [])]


def _conditions(pod: Json, since: str, ready: str, *, sandbox: str = "True") -> list[Json]:
    """Return the five conditions. `ready` is True, or the reason why the pod is not ready."""
    unready = f"containers with unready status: [{' '.join(_names(pod))}]"
    if ready == "True":
        pair = [_condition(kind, "True", since) for kind in ("Ready", "ContainersReady")]
    else:
        text = unready if ready == "ContainersNotReady" else ""
        pair = [
            _condition(kind, "False", since, ready, text) for kind in ("Ready", "ContainersReady")
        ]
    return [
        _condition("PodReadyToStartContainers", sandbox, since),
        _condition("Initialized", "True", since),
        *pair,
        _condition("PodScheduled", "True", since),
    ]


def _containers(
    pod: Json,
    state: Json,
    *,
    ready: bool = False,
    started: bool = False,
    restarts: int = 0,
    last: Json | None = None,
    field: str = "containers",
) -> list[Json]:
    return [
        {
            "image": container["image"],
            "imageID": "",
            "lastState": last or {},
            "name": container["name"],
            "ready": ready,
            "restartCount": restarts,
            "started": started,
            "state": state,
        }
        for container in pod["spec"].get(field, [])
    ]


def _status(phase: str, conditions: list[Json], containers: list[Json], since: str) -> Json:
    return {
        "conditions": conditions,
        "containerStatuses": containers,
        "phase": phase,
        "qosClass": "Burstable",
        "startTime": since,
    }


def _running(pod: Json, since: str) -> Json:
    state = {"running": {"startedAt": since}}
    containers = _containers(pod, state, ready=True, started=True)
    return _status("Running", _conditions(pod, since, "True"), containers, since)


def _unready(pod: Json, since: str) -> Json:
    containers = _containers(pod, {"running": {"startedAt": since}}, started=True)
    return _status("Running", _conditions(pod, since, "ContainersNotReady"), containers, since)


def _node_lost(pod: Json, since: str) -> Json:
    status = _running(pod, since)
    for condition in status["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = "False"
    return status


def _waiting(pod: Json, since: str, reason: str, message: str, sandbox: str = "True") -> Json:
    waiting = {"reason": reason, **({"message": message} if message else {})}
    conditions = _conditions(pod, since, "ContainersNotReady", sandbox=sandbox)
    return _status("Pending", conditions, _containers(pod, {"waiting": waiting}), since)


def _creating(pod: Json, since: str) -> Json:
    return _waiting(pod, since, "ContainerCreating", "", sandbox="False")


def _image_pull(pod: Json, since: str) -> Json:
    image = pod["spec"]["containers"][0]["image"]
    message = (
        f'Back-off pulling image "{image}": ErrImagePull: rpc error: code = NotFound desc = failed '
        f'to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: '
        "not found"
    )
    return _waiting(pod, since, "ImagePullBackOff", message)


def _config_error(pod: Json, since: str) -> Json:
    return _waiting(pod, since, "CreateContainerConfigError", 'secret "wandb-token" not found')


def _backoff(pod: Json, container: str) -> Json:
    meta = pod["metadata"]
    pod_text = f"{meta['name']}_{meta['namespace']}({meta.get('uid', '')})"
    message = f"back-off 5m0s restarting failed container={container} pod={pod_text}"
    return {"waiting": {"message": message, "reason": "CrashLoopBackOff"}}


def _ended(code: int, since: str, reason: str) -> Json:
    return {
        "terminated": {
            "exitCode": code,
            "finishedAt": since,
            "reason": reason,
            "startedAt": since,
        }
    }


def _crash_loop(pod: Json, since: str) -> Json:
    containers = _containers(
        pod, _backoff(pod, _names(pod)[0]), restarts=7, last=_ended(1, since, "Error")
    )
    return _status("Running", _conditions(pod, since, "ContainersNotReady"), containers, since)


def _init_crash_loop(pod: Json, since: str) -> Json:
    status = _waiting(pod, since, "PodInitializing", "")
    names = _names(pod, "initContainers")
    status["conditions"][1] = _condition(
        "Initialized",
        "False",
        since,
        "ContainersNotInitialized",
        f"containers with incomplete status: [{' '.join(names)}]",
    )
    status["initContainerStatuses"] = _containers(
        pod,
        _backoff(pod, names[0]),
        restarts=5,
        last=_ended(1, since, "Error"),
        field="initContainers",
    )
    return status


def _finished(pod: Json, since: str, phase: str, code: int) -> Json:
    container_reason, reason = (
        ("Completed", "PodCompleted") if code == 0 else ("Error", "PodFailed")
    )
    conditions = _conditions(pod, since, reason, sandbox="False")
    if code == 0:
        conditions[1]["reason"] = reason
    return _status(
        phase, conditions, _containers(pod, _ended(code, since, container_reason)), since
    )


def _succeeded(pod: Json, since: str) -> Json:
    return _finished(pod, since, "Succeeded", 0)


def _failed(pod: Json, since: str) -> Json:
    return _finished(pod, since, "Failed", 1)


def _evicted(pod: Json, since: str) -> Json:
    message = "The node was low on resource: ephemeral-storage."
    evicted = _failed(pod, since)
    return {**evicted, "reason": "Evicted", "message": message}


_PLACED_STATES: dict[str, Callable[[Json, str], Json]] = {
    "running": _running,
    "creating": _creating,
    "image-pull": _image_pull,
    "config-error": _config_error,
    "crash-loop": _crash_loop,
    "init-crash-loop": _init_crash_loop,
    "unready": _unready,
    "succeeded": _succeeded,
    "failed": _failed,
    "evicted": _evicted,
    "node-lost": _node_lost,
    "kept": _node_lost,
}
