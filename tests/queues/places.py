"""Where the situations of a real Kueue are brought about: JobSets in queues, judged by our decoders and rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.domain.api_resource import Resource
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.objects import ObjectRef
from gangboard.domain.quota import Queue, QueueTree
from gangboard.domain.verdict import Verdict
from gangboard.facts.cluster_view import CAPACITY_NOT_READ
from gangboard.owners.job import Job
from gangboard.owners.jobset import JobSet
from gangboard.placement.usage import Usage
from gangboard.polling.watch_history import SuspendHistory
from gangboard.queues.kueue import Kueue
from gangboard.queues.kueue.flavors import FLAVORS
from tests import situations
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.conditions import status_of
from tests.controlplane.nodes import node
from tests.controlplane.objects import JOBSET, JobOptions, jobset
from tests.controlplane.queues import (
    KUEUE,
    cluster_queue,
    cohort,
    in_queue,
    local_queue,
    resource_flavor,
    wait_kueue_workload,
)
from tests.decode.reading import model
from tests.gangs import assemble
from tests.kinds import registered

JOB = registered(Job)
OWNER = registered(JobSet)

WORKLOADS, *_ = Kueue.resources
QUEUES = [resource for resource in Kueue.resources if resource.model is Queue]
CLUSTER_SCOPED = ("ClusterQueue", "Cohort", "ResourceFlavor")
CHECK = "kueue-test-provisioning"
LOW, HIGH = "kueue-test-low", "kueue-test-high"
TAS_ONLY = [{"key": "tas", "value": "yes", "effect": "NoSchedule"}]
_RACKS = {"t0": "r0", "t1": "r0", "t2": "r1", "t3": "r1"}
NODES = [
    node("n0", cpu="200"),
    node("h0", cpu="200", labels={"gpu": "h100"}),
    *(
        node(name, cpu="2", labels={"tas": "yes", "rack": rack}, taints=TAS_ONLY)
        for name, rack in _RACKS.items()
    ),
]
"""In all situations the queues are full, not the nodes."""


@dataclass
class Place(situations.Place):
    """A namespace with queues of its own."""

    made: list[tuple[str, str, str]] = field(default_factory=list)
    """(API version, kind, name) of the cluster-wide objects."""
    sees_nodes: bool = False
    """True if verdicts count the free capacity of nodes."""
    later: timedelta = timedelta()
    """How much later than now, or than `judged_at`, it is judged."""
    judged_at: datetime | None = None
    """The time for which it is judged, however long other tests took meanwhile; None: now."""

    def nodes(self, cpu: str) -> list[Json]:
        """Return none: see `NODES`."""
        return []

    @property
    def cluster_queue(self) -> str:
        """Name of the ClusterQueue of `queue`."""
        return f"{self.name}-queue"

    def make(self, *objects: Json) -> None:
        """Make objects outside of the namespace, which go when the place is left."""
        self.client.create_all(objects)
        self.made += [(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in objects]

    def leave(self) -> None:
        """Delete the cluster-wide objects. Each is removed after its last user."""
        for version, kind, name in self.made:
            self.client.delete(version, kind, name)

    def queue(
        self, cpu: str = "3", name: str = "queue", *, flavor: str = "default", **spec: Any
    ) -> None:
        """Make a LocalQueue of that name, and its ClusterQueue."""
        full = f"{self.name}-{name}"
        self.make(cluster_queue(full, {"cpu": cpu}, flavor=flavor, spec=spec))
        self.client.create(local_queue(name, self.name, cluster_queue=full))

    def flavor(self, **spec: Any) -> str:
        """Make a ResourceFlavor of this place; return its name."""
        created = resource_flavor(f"{self.name}-flavor")
        self.make(created | {"spec": spec})
        return f"{self.name}-flavor"

    def cohort(self, name: str, *, parent: str = "") -> None:
        """Make a Cohort, below another one if that is given; both names are without the place's."""
        self.make(cohort(f"{self.name}-{name}", parent=parent and f"{self.name}-{parent}"))

    def stop(self, policy: str, name: str = "queue", kind: str = "ClusterQueue") -> None:
        """Set the stopPolicy of a LocalQueue or of its ClusterQueue."""
        of_cluster = kind == "ClusterQueue"
        nodes = (f"{self.name}-{name}", None) if of_cluster else (name, self.name)
        self.client.patch(KUEUE, kind, nodes[0], {"spec": {"stopPolicy": policy}}, nodes[1])

    def jobset(self, name: str = "run", queue: str = "queue", **options: Any) -> Json:
        """Return a JobSet of two pods of one cpu in a queue."""
        entry = cast("JobOptions", {"pods": 2, **options})
        return jobset(name, self.name, labels=in_queue(queue), jobs={"w": entry})

    def run(
        self, name: str = "run", priority: str = "", queue: str = "queue", **options: Any
    ) -> None:
        """Make such a JobSet, of a priority that may be given."""
        created = self.jobset(name, queue, **options)
        if priority:
            created["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
        self.client.create(created)

    def run_admitted(self, name: str, priority: str = "", **options: Any) -> None:
        """Create such a JobSet, and wait until Kueue has admitted it, so that later objects come after it."""
        self.run(name, priority, **options)
        self.wait_entry(name, "Admitted")

    def owner(self, name: str = "run") -> Json:
        """Return the JobSet, or the Job, of that name."""
        result = self.client.find(JOBSET, "JobSet", name, self.name)
        return result or self.client.get("batch/v1", "Job", name, self.name)

    def wait_entry(self, name: str, condition: str, status: str = "True") -> Json:
        """Return the Workload of a JobSet once a condition of it has that status."""
        return wait_kueue_workload(
            self.client,
            self.owner(name),
            until=lambda result: status_of(result, condition) == status,
            timeout=180,
        )

    def entry(self, name: str = "run") -> Json:
        """Return the Workload of a JobSet."""
        return wait_kueue_workload(self.client, self.owner(name), until=bool)

    def filled(self, message: str) -> str:
        """Put the name of the Workload of `run` in, and the minutes of `spec.active` and `spec.stopPolicy`.

        A minute is that in which a client last set the field, of `queue` or its ClusterQueue for the latter.
        """
        entry = self.entry()
        queues = (
            self.client.find(KUEUE, "ClusterQueue", self.cluster_queue),
            self.client.find(KUEUE, "LocalQueue", "queue", self.name),
        )
        words = {
            "{entry}": entry["metadata"]["name"],
            "{deactivated}": _written("f:active", entry),
            "{stopped}": _written("f:stopPolicy", *queues),
        }
        for word, text in words.items():
            message = message.replace(word, text)
        return message

    def read(self, resource: Resource, version: str) -> list[Any]:
        """Return the models of all objects of a resource in the namespace, or of all cluster-scoped ones."""
        nodes = "" if resource.kind in CLUSTER_SCOPED else self.name
        return [model(resource, item) for item in self.client.list(version, resource.kind, nodes)]

    def told(self, name: str = "run") -> Json:
        """Return the finding about a JobSet, or about a Job."""
        finding = self.verdict(name).finding
        return {
            "code": finding.code,
            "health": finding.health.value,
            "message": finding.message,
        }

    def verdict(self, name: str = "run", *, history: SuspendHistory | None = None) -> Verdict:
        """Judge the JobSet, or the Job, and all about it as it is now."""
        result = self.owner(name)
        owner = model((JOB if result["kind"] == "Job" else OWNER).resource, result)
        uid = owner.meta.ref.uid
        jobs = [item for item in self.read(JOB.resource, "batch/v1") if _is_of(item, uid)]
        uids = {uid, *(job.meta.ref.uid for job in jobs)}
        pods = [item for item in self.read(POD, "v1") if any(_is_of(item, job) for job in uids)]
        entries = [item for item in self.read(WORKLOADS, KUEUE) if item.owner_uid in uids]
        facts = assemble(
            owner,
            [*jobs, *pods, *entries],
            queues=self.queues(),
            suspensions=history.of(uids) if history is not None else {},
            now=(self.judged_at or datetime.now(UTC)) + self.later,
            queue_visibility="served",
            queue_systems=(Kueue.label,),
            preemptors=self._jobsets(),
            room=self._room() if self.sees_nodes else CAPACITY_NOT_READ,
        )
        return assess(facts)

    def queues(self) -> QueueTree:
        """Return its queues, with the flavors of the cluster."""
        result = QueueTree(obj for kind in QUEUES for obj in self.read(kind, KUEUE))
        for obj in self.read(FLAVORS, KUEUE):
            result.flavors[obj.meta.ref.group, obj.meta.ref.name] = obj
        return result

    def _room(self) -> ClusterCapacity:
        """Return all nodes with their usage."""
        usage = Usage()
        for item in self.client.list("v1", "Node"):
            usage.put_node(model(NODE, item))
        for item in self.client.list("v1", "Pod"):
            usage.put_pod(model(POD, item))
        return usage.capacity()

    def pods(self, name: str = "run") -> list[Json]:
        """Return the pods of a JobSet that are not on their way out, the oldest first."""
        labels = f"jobset.sigs.k8s.io/jobset-name={name}"
        result = self.client.list("v1", "Pod", self.name, labels=labels)
        return sorted(
            (obj for obj in result if "deletionTimestamp" not in obj["metadata"]),
            key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]),
        )

    def _jobsets(self) -> dict[str, ObjectRef]:
        """Return all that may have taken the room of others, by uid."""
        listed = [obj["metadata"] for obj in self.client.list(JOBSET, "JobSet", self.name)]
        group = JOBSET.partition("/")[0]
        return {
            item["uid"]: ObjectRef(group, "JobSet", self.name, item["name"], item["uid"])
            for item in listed
        }


def _written(field: str, *objects: Json | None) -> str:
    """Return the minute in which a client last wrote a field of the spec of these objects. Empty if none did."""
    times = [
        datetime.fromisoformat(managed_field["time"])
        for obj in objects
        if obj is not None
        for managed_field in obj["metadata"]["managedFields"]
        if field in managed_field["fieldsV1"].get("f:spec", {})
    ]
    return f"{max(times):%Y-%m-%d %H:%M}" if times else ""


def _is_of(item: Any, uid: str) -> bool:
    """Whether that object controls it."""
    controller = item.meta.controller
    return controller is not None and controller.uid == uid


def share(client: Client) -> None:
    """Make what all places use: a flavor, a check that is active, two priorities."""
    check = {"controllerName": "example.com/nobody"}
    priorities = {LOW: 10, HIGH: 1000}
    client.create_all(
        [
            resource_flavor(),
            {
                "apiVersion": KUEUE,
                "kind": "AdmissionCheck",
                "metadata": {"name": CHECK},
                "spec": check,
            },
            *(
                {
                    "apiVersion": KUEUE,
                    "kind": "WorkloadPriorityClass",
                    "metadata": {"name": name},
                    "value": value,
                    "description": "",
                }
                for name, value in priorities.items()
            ),
        ]
    )
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "",
              "lastTransitionTime": now()}  # fmt: skip
    client.patch_status(KUEUE, "AdmissionCheck", CHECK, {"conditions": [active]})


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def wait_gone(place: Place, name: str) -> None:
    """Wait until a ClusterQueue is gone."""
    wait(
        lambda: place.client.find(KUEUE, "ClusterQueue", name) is None,
        what=f"Kueue to let go of {name}",
        timeout=60,
    )
