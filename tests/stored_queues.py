"""Kueue's queues, entries and gangs, stored as the poll does: for read models, pages and API."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gangboard.domain.group import Group, Policy
from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount, Queue, QueueLevel, QueueState, Quota
from gangboard.plugins import registry
from gangboard.store.gangs import Detail
from gangboard.store.models import Cluster, Gang, ResourceState
from tests.domain_objects import a_jobset, ago, an_entry
from tests.factories import make_gang, make_resource, store_object

KUEUE = "kueue.x-k8s.io"
KEYS = {
    "ClusterQueue": f"clusterqueues.{KUEUE}",
    "LocalQueue": f"localqueues.{KUEUE}",
    "Cohort": f"cohorts.{KUEUE}",
    "Workload": f"workloads.{KUEUE}",
    "ResourceFlavor": f"resourceflavors.{KUEUE}",
    "AdmissionCheck": f"admissionchecks.{KUEUE}",
}
GPU = "nvidia.com/gpu"


def gpus(nominal: str, used: str = "0", borrowed: str = "0", **options: Any) -> Quota:
    """A quota of GPUs in flavor h100."""
    amounts = {"used": Decimal(used), "reserved": Decimal(used), "borrowed": Decimal(borrowed)}
    return Quota("h100", GPU, Decimal(nominal), **{**amounts, **options})


def store(cluster: Cluster, *objects: Any) -> None:
    """Store queues, flavors and entries."""
    for item in objects:
        store_object(cluster, KEYS[item.meta.ref.kind], item)


def serve(cluster: Cluster, **states: str) -> None:
    """Let the cluster serve Kueue, and no queues of schedulers; `states` are by kind."""
    for kind, key in KEYS.items():
        make_resource(cluster, key, state=states.get(kind, "ok"), needed=False)
    for resource in registry.queue_resources(Queue):
        if resource.group != KUEUE:
            make_resource(cluster, resource.key, state="not-served", needed=False)


def waits(name: str, namespace: str = "team-a", **fields: Any) -> QueueEntry:
    """An entry of JobSet `name` that stands in line for 3 GPUs."""
    owner = a_jobset(name, namespace=namespace)
    values = {
        "namespace": namespace,
        "in_line_since": ago(600),
        "asks": (FlavorAmount("", GPU, Decimal(3)),),
        **fields,
    }
    return an_entry(owner, **values)


def has(name: str, amount: str, namespace: str = "team-a", queue: str = "gpu") -> QueueEntry:
    """An entry of JobSet `name` that has so many GPUs of a queue."""
    held = (FlavorAmount("h100", GPU, Decimal(amount)), FlavorAmount("h100", "cpu", Decimal(9)))
    return waits(
        name, namespace, has_quota=True, admitted=True, admitted_by=queue, holds=held, asks=()
    )


def gang_of(cluster: Cluster, entry: QueueEntry) -> Gang:
    """The gang that an entry is about."""
    name = entry.owner_uid.removeprefix("uid-")
    return make_gang(cluster, name, uid=entry.owner_uid, namespace=entry.meta.ref.namespace)


KAI, VOLCANO = "scheduling.run.ai", "scheduling.volcano.sh"


def serve_scheduler(cluster: Cluster, system: str, *, groups: str = "ok") -> None:
    """Let the cluster serve queues and PodGroups of one scheduler beside Kueue; `groups` is the state of these."""
    serve(cluster)
    ResourceState.objects.filter(cluster=cluster, resource=f"queues.{system}").update(state="ok")
    make_resource(cluster, f"podgroups.{system}", state=groups)


def scheduler_queue(
    cluster: Cluster, system: str, name: str, *quotas: Quota, **fields: Any
) -> None:
    """Store a queue of a scheduler."""
    ref = ObjectRef(system, "Queue", "", name, f"queue-{name}")
    values = {"state": QueueState.ACTIVE, **fields}
    queue = Queue(Meta("v1", ref, "1", 1, ago(3600)), QueueLevel.QUEUE, quotas=quotas, **values)
    store_object(cluster, f"queues.{system}", queue)


def in_queue(
    cluster: Cluster, system: str, queue: str, name: str, *, age: int = 600, **columns: Any
) -> Gang:
    """Store a PodGroup in a queue of a scheduler, and the gang that is the PodGroup itself."""
    namespace, phase = columns.pop("namespace", "team-a"), columns.pop("phase", "")
    ref = ObjectRef(system, "PodGroup", namespace, name, f"group-{name}")
    group = Group(
        Meta("v1", ref, "1", 1, ago(age), owner_uids=columns.pop("owner_uids", ())),
        Policy.GANG,
        quorum=8,
        queue=queue,
        priority_class=columns.pop("priority_class", ""),
        detail={"phase": phase} if phase else {},
    )
    store_object(cluster, f"podgroups.{system}", group)
    values = {
        "api_group": system,
        "kind": "PodGroup",
        "namespace": namespace,
        "uid": ref.uid,
        "queue": queue,
        "scheduled": 0,
        "requests": {GPU: "8"},
        "detail": Detail(groups=(ref,)),
        **columns,
    }
    return make_gang(cluster, name, **values)
