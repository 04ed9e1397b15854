"""A gang of each scheduler with groups of its own, as that leaves one that runs, for planes where it does not run.

The schedulers themselves run in `tests/groups/test_real_*.py`; objects and status are as seen there (Volcano 1.14,
KAI 0.12, scheduler-plugins 0.35) and in `real-owners-2.md` §3. A pod gets its node by the request that they send.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane import yunikorn
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.gang_schedulers import (
    COSCHEDULING,
    KAI,
    VOLCANO,
    crds,
    kai_queue,
    member,
    podgroup,
    vcjob,
    volcano_queue,
)
from tests.controlplane.grove import reference
from tests.controlplane.objects import job, pod

_VCJOB = "batch.volcano.sh/v1alpha1"
_SERVED = {
    "jobs.batch.volcano.sh",
    "podgroups.scheduling.volcano.sh",
    "queues.scheduling.volcano.sh",
    "podgroups.scheduling.run.ai",
    "queues.scheduling.run.ai",
}
VOLCANO_PODGROUPS = "podgroups.scheduling.volcano.sh"


def definitions() -> list[Json]:
    """Return the upstream CRDs of these objects. The CRD of coscheduling is also Trainer's."""
    return [crd for crd in crds(("volcano", "kai")) if crd["metadata"]["name"] in _SERVED]


def volcano_job(client: Client, name: str, namespace: str, on: Mapping[str, str]) -> None:
    """Make a Job of Volcano with a driver and a worker, its PodGroup and its pods (job_controller_actions.go)."""
    client.create_all([volcano_queue("default")])
    client.patch_status(VOLCANO, "Queue", "default", {"state": "Open", "allocated": {}})
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    pods = {"containers": [container], "nodeSelector": dict(on), "replicas": 1}
    created = client.create(vcjob(name, namespace, {"driver": pods, "worker": pods}))
    status = {"state": {"phase": "Running"}, "minAvailable": 2, "running": 2}
    client.patch_status(_VCJOB, "Job", name, status, namespace)
    uid = created["metadata"]["uid"]
    group = podgroup(VOLCANO, f"{name}-{uid}", namespace, 2, queue="default")
    group["metadata"]["ownerReferences"] = [reference(created)]
    scheduled = {
        "type": "Scheduled",
        "status": "True",
        "reason": "tasks in gang are ready to be scheduled",
        "transitionID": uid,
        "lastTransitionTime": created["metadata"]["creationTimestamp"],
    }
    client.create(
        {**group, "status": {"phase": "Running", "running": 2, "conditions": [scheduled]}}
    )
    for task in ("driver", "worker"):
        value = member(VOLCANO, f"{name}-{uid}")
        labels = {"volcano.sh/job-name": name, "volcano.sh/task-spec": task}
        obj = pod(f"{name}-{task}-0", namespace, labels=labels, node_selector=on, **value)
        obj["metadata"]["ownerReferences"] = [reference(created)]
        _placed(client, obj, on)


def coscheduling_group(client: Client, name: str, namespace: str, on: Mapping[str, str]) -> None:
    """Make a PodGroup of two and its pods (podgroup_controller.go of v0.35.4-devel)."""
    client.create(podgroup(COSCHEDULING, name, namespace, 2))
    status = {"phase": "Running", "running": 2}
    client.patch_status(COSCHEDULING, "PodGroup", name, status, namespace)
    _members(client, name, namespace, on, member(COSCHEDULING, name))


def kai_group(client: Client, name: str, namespace: str, on: Mapping[str, str]) -> None:
    """Make a PodGroup of two in a queue, and its pods: one that fits has no condition (real-owners-2.md §3.3)."""
    client.create_all([kai_queue("kai-root"), kai_queue("kai-mixed", "kai-root")])
    client.create(podgroup(KAI, name, namespace, 2, queue="kai-mixed"))
    value = {**member(KAI, name), "labels": {"kai.scheduler/queue": "kai-mixed"}}
    _members(client, name, namespace, on, value)


def yunikorn_job(client: Client, name: str, namespace: str, on: Mapping[str, str]) -> None:
    """Make a Job of two pods that is an application of YuniKorn."""
    value: dict[str, Any] = {**yunikorn.member(name), "node_selector": on}
    client.create(job(name, namespace, parallelism=2, **value))

    def created_objects() -> list[Json]:
        result = client.list("v1", "Pod", namespace, labels=f"job-name={name}")
        return result if len(result) == 2 else []

    for item in wait(created_objects, what=f"pods of {name}"):
        bind(client, item, _node(on))


def _members(
    client: Client, name: str, namespace: str, on: Mapping[str, str], value: dict[str, Any]
) -> None:
    for index in range(2):
        _placed(client, pod(f"{name}-{index}", namespace, node_selector=on, **value), on)


def _placed(client: Client, obj: Json, on: Mapping[str, str]) -> None:
    bind(client, client.create(obj), _node(on))


def bind(client: Client, pod: Json, node: str) -> None:
    """Give a pod a node."""
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": namespace},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    client.request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", body)


def _node(on: Mapping[str, str]) -> str:
    """Return the node, which is called as its pool."""
    (name,) = on.values()
    return name
