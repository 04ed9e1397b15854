"""A minimal Kueue: one resource, one flavor per gang, and quotas that a cohort shares.

Its output follows v0.19.2: `QuotaReserved=False/Pending` with the missing amount in its text, usage with the
borrowed part, and the owner's `spec.suspend` by the field manager `kueue`. An admitted Workload stays
admitted until it is deactivated.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from simulator.child_objects import PRIORITIES
from simulator.fleet_spec import Fleet, QueueSpec
from simulator.job_status import has_condition, plain_condition, set_condition
from simulator.manifests import GPU
from simulator.resources import (
    CLUSTER_QUEUES,
    JOBS,
    JOBSETS,
    KUEUE_WORKLOADS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    Resource,
)
from simulator.world import World, key_of, typed

Json = dict[str, Any]

MANAGER = "kueue"
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_DELAY = 0.1
_POD_SET = "couldn't assign flavors to pod set "


class KueueController:
    """The queues of a fleet, and the Workloads of JobSets and Jobs in a queue."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._fleet = fleet
        self._is_settling = False

    # Building

    def build(self) -> None:
        """Create flavors, queues and a Workload for each JobSet and Job in a queue. Running ones are admitted."""
        for flavor in dict.fromkeys(name for queue in self._fleet.queues for name in queue.gpus):
            nodes = {"nodeLabels": {"pool": flavor}}
            self._create(RESOURCE_FLAVORS, {"metadata": {"name": flavor}, "spec": nodes})
        for queue in self._fleet.queues:
            flavors = [
                {"name": name, "resources": [{"name": GPU, "nominalQuota": str(gpus)}]}
                for name, gpus in queue.gpus.items()
            ]
            group = {"coveredResources": [GPU], "flavors": flavors}
            spec = {"cohortName": queue.cohort, "resourceGroups": [group],
                    "queueingStrategy": "BestEffortFIFO", "namespaceSelector": {},
                    "stopPolicy": queue.stop_policy}  # fmt: skip
            self._create(CLUSTER_QUEUES, {"metadata": {"name": queue.name}, "spec": spec})
            for namespace in queue.namespaces:
                meta = {"name": queue.name, "namespace": namespace}
                local = {"clusterQueue": queue.name, "stopPolicy": "None"}
                self._create(LOCAL_QUEUES, {"metadata": meta, "spec": local})
        for resource in (JOBSETS, JOBS):
            for owner in self._all(resource):
                if QUEUE_LABEL in owner["metadata"].get("labels", {}):
                    self._make_workload(resource, owner)
        self._report()

    def _create(self, resource: Resource, obj: Json) -> Json:
        return typed(resource, self._world.writer.create(resource, obj, manager=MANAGER))

    def _make_workload(self, resource: Resource, owner: Json) -> None:
        meta = owner["metadata"]
        pod_sets = _pod_sets_of(resource, owner)
        spec = pod_sets[0]["template"]["spec"]
        reference = {"apiVersion": owner["apiVersion"], "kind": resource.kind, "name": meta["name"],
                     "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}  # fmt: skip
        workload = {
            "metadata": {
                "name": f"{resource.kind.lower()}-{meta['name']}-{meta['uid'][:5]}",
                "namespace": meta["namespace"],
                "creationTimestamp": meta["creationTimestamp"],
                "labels": {"kueue.x-k8s.io/job-uid": meta["uid"]},
                "ownerReferences": [reference],
            },
            "spec": {
                "active": True,
                "queueName": meta["labels"][QUEUE_LABEL],
                "priority": PRIORITIES.get(spec.get("priorityClassName", ""), 0),
                "podSets": pod_sets,
            },
        }
        created = self._create(KUEUE_WORKLOADS, workload)
        if not owner["spec"].get("suspend"):
            self._admit(created, when=meta["creationTimestamp"])

    # Reconciling

    def reconcile(self, resource: Resource, _record: object, _obj: Json) -> None:
        """Reconcile all Workloads shortly after one has changed."""
        if resource == KUEUE_WORKLOADS and not self._is_settling:
            self._is_settling = True
            self._world.clock.soon(self._reconcile_all, _DELAY)

    def _reconcile_all(self) -> None:
        self._is_settling = False
        with self._world.store.lock:
            for workload in self._all(KUEUE_WORKLOADS):
                if not workload["spec"]["active"] and not _has_condition(workload, "Evicted"):
                    self._deactivate(workload)
                elif workload["spec"]["active"] and _has_condition(workload, "Evicted"):
                    self._requeue(workload)
            for workload in self._waiting_workloads():
                if (
                    self._queue_of(workload).stop_policy == "None"
                    and self._missing_devices(workload) <= 0
                ):
                    self._admit(workload, when=self._world.timestamp())
            self._report()

    def _deactivate(self, workload: Json) -> None:
        now = self._world.timestamp()
        status = workload.get("status", {})
        text = "The workload is deactivated"
        conditions = list(status.get("conditions", []))
        for kind, value, reason in (
            ("Evicted", "True", "Deactivated"),
            ("QuotaReserved", "False", "Pending"),
            ("Admitted", "False", "NoReservation"),
        ):
            set_condition(conditions, plain_condition(kind, value, reason, text, now))
        status = {**status, "conditions": conditions}
        status.pop("admission", None)
        self._set(workload, status)
        self._suspend(workload, suspended=True)

    def _requeue(self, workload: Json) -> None:
        now, status = self._world.timestamp(), workload["status"]
        conditions = list(status["conditions"])
        text = "The workload was reactivated"
        set_condition(conditions, plain_condition("Evicted", "False", "Reactivated", text, now))
        set_condition(conditions, plain_condition("Requeued", "True", "Reactivated", text, now))
        self._set(workload, {**status, "conditions": conditions})

    def _admit(self, workload: Json, *, when: str) -> None:
        queue = self._queue_of(workload)
        status = workload.get("status", {})
        conditions = [c for c in status.get("conditions", []) if c["type"] == "Evicted"]
        for kind, text in (
            ("QuotaReserved", f"Quota reserved in ClusterQueue {queue.name}"),
            ("Admitted", "The workload is admitted"),
        ):
            conditions.append(plain_condition(kind, "True", kind, text, when))
        assignments = [
            {"name": pod_set["name"], "count": pod_set["count"], "flavors": {GPU: flavor},
             "resourceUsage": {GPU: str(gpus)}}
            for pod_set, flavor, gpus in _pod_sets(workload)
        ]  # fmt: skip
        admission = {"clusterQueue": queue.name, "podSetAssignments": assignments}
        self._set(workload, {"conditions": conditions, "admission": admission})
        self._suspend(workload, suspended=False)

    def _suspend(self, workload: Json, *, suspended: bool) -> None:
        owner = workload["metadata"]["ownerReferences"][0]
        resource = JOBS if owner["kind"] == JOBS.kind else JOBSETS
        key = (workload["metadata"]["namespace"], owner["name"])
        stored = self._world.find(resource, key)
        if stored is None or bool(stored["spec"].get("suspend")) == suspended:
            return

        def put(obj: Json) -> Json:
            obj["spec"]["suspend"] = suspended
            return obj

        self._world.release_from_script(resource, key)
        self._world.change(resource, stored, put, MANAGER)

    # Reporting

    def _report(self) -> None:
        """Write why Workloads wait, and the counts of the queues."""
        for workload in self._waiting_workloads():
            text = self._pending_reason(workload)
            now = workload["metadata"]["creationTimestamp"]
            status = workload.get("status", {})
            conditions = [
                c for c in status.get("conditions", []) if c["type"] in ("Evicted", "Requeued")
            ]
            conditions.append(plain_condition("QuotaReserved", "False", "Pending", text, now))
            requests = [
                {"name": entry["name"], "resources": {GPU: str(gpus)}}
                for entry, _, gpus in _pod_sets(workload)
            ]
            self._set(workload, {"conditions": conditions, "resourceRequests": requests})
        for obj in self._all(CLUSTER_QUEUES):
            self._set_numbers(
                CLUSTER_QUEUES, obj, self._workloads_of_queue(obj["metadata"]["name"])
            )
        for obj in self._all(LOCAL_QUEUES):
            mine = [
                entry for entry in self._workloads_of_queue(obj["spec"]["clusterQueue"])
                if entry["metadata"]["namespace"] == obj["metadata"]["namespace"]
            ]  # fmt: skip
            self._set_numbers(LOCAL_QUEUES, obj, mine)

    def _pending_reason(self, workload: Json) -> str:
        queue = self._queue_of(workload)
        if queue.stop_policy != "None":
            return f"ClusterQueue {queue.name} is inactive"
        name = next((pod_set["name"] for pod_set, _, gpus in _pod_sets(workload) if gpus), "")
        ((flavor, need),) = self._needs(workload).items()
        most = sum(pod_set.gpus.get(flavor, 0) for pod_set in self._sharing(queue))
        if need > most:
            return (
                f"{_POD_SET}{name}: insufficient quota for {GPU} in flavor {flavor}, previously considered "
                f"podsets requests (0) + current podset request ({need}) > maximum capacity ({most})"
            )
        return (
            f"{_POD_SET}{name}: insufficient unused quota for {GPU} in flavor {flavor}, "
            f"{self._missing_devices(workload)} more needed"
        )

    def _set_numbers(self, resource: Resource, obj: Json, workloads: list[Json]) -> None:
        admitted = [workload for workload in workloads if _has_condition(workload, "Admitted")]
        waiting = [
            workload
            for workload in workloads
            if workload["spec"]["active"] and not _has_condition(workload, "Admitted")
        ]
        used: Counter[str] = Counter()
        for workload in admitted:
            used.update(self._needs(workload))
        quotas = self._queue_spec(obj["spec"].get("clusterQueue", obj["metadata"]["name"])).gpus
        rows = []
        for flavor, nominal in quotas.items():
            amounts = {"name": GPU, "total": str(used[flavor])}
            if resource == CLUSTER_QUEUES:
                amounts["borrowed"] = str(max(0, used[flavor] - nominal))
            rows.append({"name": flavor, "resources": [amounts]})
        stopped = self._queue_spec(
            obj["spec"].get("clusterQueue", obj["metadata"]["name"])
        ).stop_policy
        active = stopped == "None"
        condition = plain_condition(
            "Active", "True" if active else "False", "Ready" if active else "Stopped",
            "Can admit new workloads" if active else "Can't admit new workloads: is stopped.",
            obj["metadata"]["creationTimestamp"],
        )  # fmt: skip
        self._world.set_status(
            resource,
            obj,
            {
                "conditions": [condition],
                "flavorsReservation": rows,
                "flavorsUsage": rows,
                "pendingWorkloads": len(waiting),
                "reservingWorkloads": len(admitted),
                "admittedWorkloads": len(admitted),
            },
            MANAGER,
        )

    # Lookups

    def _all(self, resource: Resource) -> list[Json]:
        keys = sorted(self._world.store.table(resource).objects)
        return [obj for key in keys if (obj := self._world.find(resource, key)) is not None]

    def _waiting_workloads(self) -> list[Json]:
        """Return the waiting Workloads in order of admission."""
        waiting = [
            workload for workload in self._all(KUEUE_WORKLOADS)
            if workload["spec"]["active"] and not _has_condition(workload, "Admitted")
        ]  # fmt: skip
        return sorted(
            waiting,
            key=lambda workload: (
                -workload["spec"]["priority"],
                workload["metadata"]["creationTimestamp"],
            ),
        )

    def _workloads_of_queue(self, name: str) -> list[Json]:
        return [
            workload
            for workload in self._all(KUEUE_WORKLOADS)
            if self._queue_of(workload).name == name
        ]

    def _queue_of(self, workload: Json) -> QueueSpec:
        return self._queue_spec(workload["spec"]["queueName"])

    def _queue_spec(self, name: str) -> QueueSpec:
        return next(queue for queue in self._fleet.queues if queue.name == name)

    def _sharing(self, queue: QueueSpec) -> list[QueueSpec]:
        return [candidate for candidate in self._fleet.queues if candidate.cohort == queue.cohort]

    def _needs(self, workload: Json) -> dict[str, int]:
        """Return flavor → devices."""
        needs: Counter[str] = Counter()
        for _, flavor, gpus in _pod_sets(workload):
            if gpus:
                needs[flavor] += gpus
        return dict(needs)

    def _missing_devices(self, workload: Json) -> int:
        """Return how many devices must become free before the Workload fits into the quota of its cohort."""
        sharing = self._sharing(self._queue_of(workload))
        names = {sibling.name for sibling in sharing}
        used: Counter[str] = Counter()
        for admitted in self._all(KUEUE_WORKLOADS):
            if _has_condition(admitted, "Admitted") and self._queue_of(admitted).name in names:
                used.update(self._needs(admitted))
        return max(
            need + used[flavor] - sum(sibling.gpus.get(flavor, 0) for sibling in sharing)
            for flavor, need in self._needs(workload).items()
        ) if self._needs(workload) else 0  # fmt: skip

    def _set(self, workload: Json, status: Json) -> None:
        stored = self._world.find(KUEUE_WORKLOADS, key_of(workload))
        if stored is not None and stored.get("status") != status:
            self._world.set_status(KUEUE_WORKLOADS, stored, status, MANAGER)


def _has_condition(workload: Json, kind: str) -> bool:
    return has_condition(workload, kind)


def _pod_sets_of(resource: Resource, owner: Json) -> list[Json]:
    """Return the pod sets of a JobSet, or the only one of a Job."""
    if resource == JOBS:
        spec = owner["spec"]
        return [{"name": "main", "count": spec["parallelism"], "template": spec["template"]}]
    return [
        {"name": entry["name"], "count": entry["replicas"] * entry["template"]["spec"]["parallelism"],
         "template": entry["template"]["spec"]["template"]}
        for entry in owner["spec"]["replicatedJobs"]
    ]  # fmt: skip


def _pod_sets(workload: Json) -> list[tuple[Json, str, int]]:
    """Return each pod set with its flavor, which is the selected pool, and its devices."""
    result = []
    for pod_set in workload["spec"]["podSets"]:
        spec = pod_set["template"]["spec"]
        requests = spec["containers"][0]["resources"].get("requests", {})
        flavor = spec.get("nodeSelector", {}).get("pool", "")
        result.append((pod_set, flavor, int(requests.get(GPU, 0)) * pod_set["count"]))
    return result
