"""Applications of YuniKorn, and somebody who plays its scheduler: no module of it can be had.

What it writes is read in k8shim and core of v1.9.0; each function names its file. Nobody else places pods of its name.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.controlplane.client import Client, Json

SCHEDULER, QUEUE = "yunikorn", "root.data"
_DOMAIN = "yunikorn.apache.org/"
_EVENTS = "events.k8s.io/v1"


def member(application: str) -> dict[str, Any]:
    """Return what makes a pod one of an application, in the words of `objects.pod` (pkg/common/utils/utils.go)."""
    labels = {f"{_DOMAIN}app-id": application, f"{_DOMAIN}queue": QUEUE}
    return {"labels": labels, "scheduler": SCHEDULER}


def bind(client: Client, pod: Json, node: str) -> None:
    """Give a pod a node (postTaskAllocated in pkg/cache/task.go)."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    client.request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", body)


def find_no_room(client: Client, pod: Json) -> None:
    """Say that it waits for room (inspectOutstandingRequests in the core's scheduler.go, context.go)."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "request is waiting for cluster resources become available",
    }
    status = {"conditions": [condition]}
    meta = pod["metadata"]
    client.patch_status("v1", "Pod", meta["name"], status, meta["namespace"], type="strategic")


def lack_quota(client: Client, pod: Json, asked: str, left: str) -> None:
    """Say that its queue has no room; amounts are thousandths of a CPU (SendRequestExceedsQueueHeadroom)."""
    _tell(
        client,
        pod,
        "Informational",
        f"Request '{pod['metadata']['uid']}' does not fit in queue '{QUEUE}' (requested "
        f"map[pods:1 vcore:{asked}], available map[vcore:{left}])",
    )


def reserve(client: Client, first: Json, application: str, *, cpu: str) -> Json:
    """Make a placeholder, as for a gang whose first pod this is, and return it (placeholder.go, application.go)."""
    note = f"Application {application} creating placeholders"
    _tell(client, first, "GangScheduling", note, "CreatingPlaceholders")
    meta = first["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    amounts = {"cpu": cpu}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.7",
        "resources": {"requests": amounts, "limits": amounts},
    }
    placeholder = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"tg-{application}-workers-a1b2c3d4e5",
            "namespace": meta["namespace"],
            "labels": member(application)["labels"],
            "annotations": {
                f"internal.{_DOMAIN}placeholder": "true",
                f"{_DOMAIN}task-group-name": "workers",
            },
            "ownerReferences": [{**owner, "controller": False, "blockOwnerDeletion": True}],
        },
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "schedulerName": SCHEDULER,
            "nodeSelector": first["spec"].get("nodeSelector", {}),
            "terminationGracePeriodSeconds": 0,
        },
    }
    return client.create(placeholder)


def give_up(client: Client, first: Json, application: str) -> None:
    """Say that a gang goes on without being one (onResuming in application.go)."""
    note = f"Application {application} resuming as non-gang application (SOFT)"
    _tell(client, first, "GangScheduling", note, "GangSchedulingFailed")


def _tell(client: Client, pod: Json, reason: str, note: str, action: str = "") -> None:
    """Write an event about a pod, as client-go's recorder of events.k8s.io does (PublishEvents in context.go)."""
    meta, now = pod["metadata"], datetime.now(UTC)
    client.create(
        {
            "apiVersion": _EVENTS,
            "kind": "Event",
            "metadata": {
                "name": f"{meta['name']}.{now.timestamp():.6f}",
                "namespace": meta["namespace"],
            },
            "eventTime": now.isoformat().replace("+00:00", "Z"),
            "reportingController": SCHEDULER,
            "reportingInstance": f"{SCHEDULER}-0",
            "action": action or reason,
            "reason": reason,
            "type": "Normal",
            "note": note,
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
        }
    )
