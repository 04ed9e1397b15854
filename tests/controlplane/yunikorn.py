"""The configuration of YuniKorn's scheduler, and pods of its applications. `gang_schedulers` starts it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from tests.controlplane.client import Json

SCHEDULER, NAMESPACE = "yunikorn", "yunikorn"
ENVIRONMENT = {"NAMESPACE": NAMESPACE}
"""Where it reads its settings."""
OPEN, SMALL, TINY, ABSENT = "root.data", "root.small", "root.tiny", "root.absent"
"""Queues: without a limit, of 6 CPUs, of 2 CPUs, and one that does not exist."""
_DOMAIN = "yunikorn.apache.org/"
_LIMITS = {"data": None, "small": 6, "tiny": 2}
"""Queue below root → the CPUs that it may have."""


def settings() -> Json:
    """Return the ConfigMap with its queues. A pod has the queue that it names; without such a queue it has none."""
    queues = [
        {"name": name, **({"resources": {"max": {"vcore": limit}}} if limit else {})}
        for name, limit in _LIMITS.items()
    ]
    root = {"name": "root", "submitacl": "*", "queues": queues}
    rules = [{"name": "provided", "create": False}]
    partition = {"name": "default", "placementrules": rules, "queues": [root]}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": NAMESPACE},
        "data": {"queues.yaml": yaml.safe_dump({"partitions": [partition]})},
    }


def member(application: str, queue: str = OPEN) -> dict[str, Any]:
    """Return the arguments of `objects.pod` that put a pod into an application."""
    labels = {f"{_DOMAIN}app-id": application, f"{_DOMAIN}queue": queue}
    return {"labels": labels, "scheduler": SCHEDULER}


def gang_member(
    application: str,
    minimum: int,
    cpu: str,
    *,
    queue: str = OPEN,
    on: Mapping[str, str] = {},
    parameters: str = "",
) -> dict[str, Any]:
    """Return the arguments of `objects.pod` for a pod of a gang: a task group of that many pods and CPUs.

    `parameters` are `schedulingPolicyParameters`, such as `placeholderTimeoutInSeconds=5 gangSchedulingStyle=Soft`.

    """
    group = {
        "name": "workers",
        "minMember": minimum,
        "minResource": {"cpu": cpu},
        "nodeSelector": dict(on),
    }
    annotations = {
        f"{_DOMAIN}task-group-name": "workers",
        f"{_DOMAIN}task-groups": json.dumps([group]),
    }
    if parameters:
        annotations[f"{_DOMAIN}schedulingPolicyParameters"] = parameters
    return {**member(application, queue), "annotations": annotations}
