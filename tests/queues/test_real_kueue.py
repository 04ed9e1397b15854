"""What a real Kueue says, read by our decoders and judged by our rules. All of it goes on at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from gangboard.diagnosis.assemble import assemble
from gangboard.diagnosis.engine import assess
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import Verdict
from gangboard.owners.jobset import OWNER
from gangboard.queues.kueue import QUEUE
from tests.controlplane.clearing import clear_nodes, delete_namespace
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JOBSET, JobOptions, jobset, namespace
from tests.controlplane.queues import (
    KUEUE,
    cluster_queue,
    in_queue,
    local_queue,
    resource_flavor,
    set_active,
    wait_kueue_workload,
)
from tests.decode.reading import model

WORKLOADS, *_ = QUEUE.resources
PRIORITY = "kueue.x-k8s.io/priority-class"
CHECK = "kueue-test-provisioning"


@dataclass
class Place:
    """A namespace with a queue of its own, in which one thing happens."""

    client: Client
    name: str

    @property
    def cluster_queue(self) -> str:
        """Name of the ClusterQueue."""
        return f"{self.name}-queue"

    def queue(self, cpu: str = "3", *, flavor: str = "default", **spec: Any) -> None:
        """Make ClusterQueue and LocalQueue `queue`."""
        made = cluster_queue(self.cluster_queue, {"cpu": cpu}, flavor=flavor, spec=spec)
        self.client.create_all(
            [made, local_queue("queue", self.name, cluster_queue=self.cluster_queue)]
        )

    def run(self, name: str = "run", priority: str = "", **options: Any) -> None:
        """Make a JobSet of two pods of one cpu in the queue."""
        entry = cast("JobOptions", {"pods": 2, **options})
        labelled = in_queue("queue") | ({PRIORITY: priority} if priority else {})
        self.client.create(jobset(name, self.name, labels=labelled, jobs={"w": entry}))

    def owner(self, name: str = "run") -> Json:
        """Return the JobSet."""
        return self.client.get(JOBSET, "JobSet", name, self.name)

    def wait_entry(self, name: str, kind: str, status: str = "True") -> Json:
        """Return the Workload of a JobSet once a condition of it has that status."""

        def is_so(found: Json) -> bool:
            conditions = found.get("status", {}).get("conditions", [])
            return any((one["type"], one["status"]) == (kind, status) for one in conditions)

        return wait_kueue_workload(self.client, self.owner(name), until=is_so, timeout=180)

    def verdict(self, name: str = "run", *others: str) -> Verdict:
        """Judge the JobSet and its Workloads as they are now; `others` are known to gangboard."""
        owner = model(OWNER.resource, self.owner(name))
        listed = self.client.list(KUEUE, "Workload", self.name)
        entries = [model(WORKLOADS, one) for one in listed]
        own = [one for one in entries if one.owner_uid == owner.meta.ref.uid]
        known = [self.owner(other)["metadata"] for other in others]
        takers = {
            one["uid"]: ObjectRef("jobset.x-k8s.io", "JobSet", self.name, one["name"], one["uid"])
            for one in known
        }
        facts = assemble(
            owner,
            own,
            now=datetime.now(UTC),
            queue_visibility="served",
            queue_systems=(QUEUE.label,),
            takers=takers,
        )
        return assess(facts)


@dataclass(frozen=True)
class Situation:
    """What is brought about, and what a person should then read of JobSet `run`."""

    make: Callable[[Place], None]
    code: str
    health: str
    message: str
    twin: str = ""
    """A JobSet beside it that is not in this situation, and so must not be said to be."""
    known: tuple[str, ...] = ()


def _waits(place: Place) -> None:
    place.queue()
    place.run("first")
    place.wait_entry("first", "Admitted")
    place.run()


def _too_large(place: Place) -> None:
    place.queue()
    place.run("small", pods=3)
    place.run(pods=20)


def _not_covered(place: Place) -> None:
    place.queue()
    place.run("twin")
    place.run(pods=1, gpu=1)


def _other_nodes(place: Place) -> None:
    flavor = f"{place.name}-flavor"
    place.client.create(resource_flavor(flavor, node_labels={"gpu": "h100"}))
    place.queue(flavor=flavor)
    place.run("twin", node_selector={"gpu": "h100"})
    place.run(node_selector={"gpu": "a100"})


def _tainted(place: Place) -> None:
    flavor = resource_flavor(f"{place.name}-flavor")
    flavor["spec"]["nodeTaints"] = [{"key": "team", "value": "x", "effect": "NoSchedule"}]
    place.client.create(flavor)
    place.queue(flavor=f"{place.name}-flavor")
    place.run("twin", tolerations=[{"key": "team", "operator": "Exists"}])
    place.run()


def _no_local_queue(place: Place) -> None:
    place.run()


def _no_cluster_queue(place: Place) -> None:
    place.client.create(local_queue("queue", place.name, cluster_queue="nowhere"))
    place.run()


def _stopped(place: Place) -> None:
    """Held and emptied: what ran is taken back."""
    place.queue()
    place.run()
    place.wait_entry("run", "Admitted")
    stop = {"spec": {"stopPolicy": "HoldAndDrain"}}
    place.client.patch(KUEUE, "ClusterQueue", place.cluster_queue, stop)


def _inactive(place: Place) -> None:
    place.queue(flavor="kueue-test-no-flavor")
    place.run()


def _other_namespace(place: Place) -> None:
    place.queue(namespaceSelector={"matchLabels": {"team": "another"}})
    place.run()


def _check(place: Place) -> None:
    place.queue("9", admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    place.run()


def _preempted(place: Place) -> None:
    place.queue(preemption={"withinClusterQueue": "LowerPriority"})
    place.run(priority="kueue-test-low")
    place.wait_entry("run", "Admitted")
    place.run("urgent", priority="kueue-test-high")
    place.wait_entry("urgent", "Admitted")


def _gated(place: Place) -> None:
    place.queue("9")
    made = jobset("run", place.name, labels=in_queue("queue"), jobs={"w": JobOptions(pods=2)})
    gate = {"kueue.x-k8s.io/admission-gated-by": "example.com/approval"}
    made["metadata"].setdefault("annotations", {}).update(gate)
    place.client.create(made)


def _first_in_line(place: Place) -> None:
    """`StrictFIFO`: who is behind another that waits is not even looked at.

    By its priority: Kueue tells the age of Workloads by whole seconds, and both may be made in one.
    """
    place.queue(queueingStrategy="StrictFIFO")
    place.run("running")
    place.wait_entry("running", "Admitted")
    place.run("before", "kueue-test-high")
    place.wait_entry("before", "QuotaReserved", "False")
    place.run(pods=1)


def _deactivated(place: Place) -> None:
    place.queue()
    place.run()
    set_active(place.client, place.wait_entry("run", "Admitted"), False)
    place.wait_entry("run", "Evicted")


CANNOT = "Queue queue cannot admit it as things are: "
SITUATIONS: dict[str, Situation] = {
    "quota": Situation(
        _waits, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 1 more cpu of flavor default must become free.",
        twin="first",
    ),
    "too-large": Situation(
        _too_large, "exceeds-quota", "blocked",
        f"{CANNOT}20 cpu of flavor default are asked for, and at most 3 can be had.",
        twin="small",
    ),
    "not-covered": Situation(
        _not_covered, "no-matching-flavor", "blocked",
        f"{CANNOT}no flavor of the queue has nvidia.com/gpu.", twin="twin",
    ),
    "other-nodes": Situation(
        _other_nodes, "no-matching-flavor", "blocked",
        f"{CANNOT}flavor kq-other-nodes-flavor is for other nodes than node selector and "
        "affinity ask for.", twin="twin",
    ),
    "tainted": Situation(
        _tainted, "no-matching-flavor", "blocked",
        f"{CANNOT}taint team=x:NoSchedule of flavor kq-tainted-flavor is not tolerated.",
        twin="twin",
    ),
    "no-local-queue": Situation(
        _no_local_queue, "queue-missing", "blocked",
        f"{CANNOT}LocalQueue queue does not exist in this namespace.",
    ),
    "no-cluster-queue": Situation(
        _no_cluster_queue, "queue-missing", "blocked", f"{CANNOT}ClusterQueue nowhere does not exist.",
    ),
    "stopped": Situation(
        _stopped, "queue-stopped", "blocked", f"{CANNOT}ClusterQueue kq-stopped-queue is stopped.",
    ),
    "inactive": Situation(
        _inactive, "queue-stopped", "blocked", f"{CANNOT}ClusterQueue kq-inactive-queue is inactive.",
    ),
    "other-namespace": Situation(
        _other_namespace, "queue-misconfigured", "blocked",
        f"{CANNOT}the ClusterQueue takes nothing from this namespace.",
    ),
    "check": Situation(
        _check, "admission-check", "waiting",
        f"Queue queue has not admitted it yet: admission check {CHECK} has not passed yet.",
    ),
    "preempted": Situation(
        _preempted, "preempted", "waiting",
        "Queue queue took it back for kq-preempted/urgent: 1 more cpu of flavor default must become "
        "free.", twin="urgent", known=("urgent",),
    ),
    "gated": Situation(
        _gated, "queue-evaluating", "waiting",
        "Queue queue has not admitted it yet: admission is gated by example.com/approval.",
    ),
    "strict": Situation(
        _first_in_line, "queue-evaluating", "waiting", "Queue queue has not admitted it yet.",
        twin="running",
    ),
    "deactivated": Situation(
        _deactivated, "deactivated", "suspended",
        "Workload {entry} is deactivated (spec.active is false), so queue queue does not admit it.",
    ),
}  # fmt: skip


def _share(client: Client) -> None:
    """Make what all of them use."""
    check = {"controllerName": "example.com/nobody"}
    priorities = {"kueue-test-low": 10, "kueue-test-high": 1000}
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
              "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}  # fmt: skip
    client.patch_status(KUEUE, "AdmissionCheck", CHECK, {"conditions": [active]})


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    client = controlplane_kueue.client
    clear_nodes(client)
    make_nodes(client, [node("n0", cpu="64")])
    _share(client)
    found = {name: Place(client, f"kq-{name}") for name in SITUATIONS}
    try:
        for name, place in found.items():
            client.create(namespace(place.name))
            SITUATIONS[name].make(place)
        yield found
    finally:
        for place in found.values():
            delete_namespace(client, place.name)
            client.delete(KUEUE, "ClusterQueue", place.cluster_queue)
        clear_nodes(client)


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_person_reads(places: dict[str, Place], name: str) -> None:
    situation, place = SITUATIONS[name], places[name]

    def told() -> tuple[str, str, str]:
        finding = place.verdict("run", *situation.known).finding
        return finding.code, finding.health.value, finding.message

    def expected() -> tuple[str, str, str]:
        entry = ""
        if "{entry}" in situation.message:
            entry = wait_kueue_workload(place.client, place.owner(), until=bool)["metadata"]["name"]
        return situation.code, situation.health, situation.message.replace("{entry}", entry)

    wait(lambda: told() == expected(), what=str(expected()), seen=told, timeout=60)
    if situation.twin:
        place.wait_entry(situation.twin, "Admitted")
        assert place.verdict(situation.twin).finding.code != situation.code
