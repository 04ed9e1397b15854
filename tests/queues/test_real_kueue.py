"""What a real Kueue says, read by our decoders and judged by our rules. All of it goes on at once."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

import pytest

from gangboard.decode.pods import POD
from gangboard.diagnosis.assemble import assemble
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.registry import queue_resources
from gangboard.domain.objects import ObjectRef
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Queue, QueueName, QueueTree
from gangboard.domain.registry import Resource
from gangboard.domain.verdict import Verdict
from gangboard.owners.job import OWNER as JOB
from gangboard.owners.jobset import OWNER
from gangboard.polling.suspend_history import SuspendHistory
from gangboard.queues.kueue import QUEUE
from gangboard.readmodels.queue_lines import QueuesOfCluster
from tests.controlplane.clearing import clear_nodes, delete_namespaces
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JOBSET, JobOptions, jobset, namespace
from tests.controlplane.queues import (
    KUEUE,
    cluster_queue,
    cohort,
    in_queue,
    local_queue,
    resource_flavor,
    set_active,
    wait_kueue_workload,
)
from tests.decode.reading import model

WORKLOADS, *_ = QUEUE.resources
QUEUES = queue_resources(Queue)
CLUSTER_SCOPED = ("ClusterQueue", "Cohort")
PRIORITY = "kueue.x-k8s.io/priority-class"
TAS_ONLY = [{"key": "tas", "value": "yes", "effect": "NoSchedule"}]
CHECK = "kueue-test-provisioning"


def _is_of(one: Any, uid: str) -> bool:
    """Whether that object controls it."""
    controller = one.meta.controller
    return controller is not None and controller.uid == uid


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

    def run(
        self, name: str = "run", priority: str = "", queue: str = "queue", **options: Any
    ) -> None:
        """Make a JobSet of two pods of one cpu in the queue."""
        entry = cast("JobOptions", {"pods": 2, **options})
        labelled = in_queue(queue) | ({PRIORITY: priority} if priority else {})
        self.client.create(jobset(name, self.name, labels=labelled, jobs={"w": entry}))

    def owner(self, name: str = "run") -> Json:
        """Return the JobSet."""
        return self.client.get(JOBSET, "JobSet", name, self.name)

    def wait_code(self, name: str, code: str) -> None:
        """Wait until that is said of a JobSet."""

        def seen() -> str:
            return self.verdict(name).finding.code

        wait(lambda: seen() == code, what=f"{name}: {code}", seen=seen, timeout=60)

    def wait_entry(self, name: str, kind: str, status: str = "True") -> Json:
        """Return the Workload of a JobSet once a condition of it has that status."""

        def is_so(found: Json) -> bool:
            conditions = found.get("status", {}).get("conditions", [])
            return any((one["type"], one["status"]) == (kind, status) for one in conditions)

        return wait_kueue_workload(self.client, self.owner(name), until=is_so, timeout=180)

    def read(self, resource: Resource, version: str) -> list[Any]:
        """Return the models of all objects of a resource in the namespace, or of all cluster-scoped ones."""
        where = "" if resource.kind in CLUSTER_SCOPED else self.name
        return [model(resource, one) for one in self.client.list(version, resource.kind, where)]

    def verdict(
        self, name: str = "run", *others: str, history: SuspendHistory | None = None
    ) -> Verdict:
        """Judge the JobSet and all about it as it is now; `others` are known to gangboard."""
        owner = model(OWNER.resource, self.owner(name))
        uid = owner.meta.ref.uid
        jobs = [one for one in self.read(JOB.resource, "batch/v1") if _is_of(one, uid)]
        uids = {uid, *(one.meta.ref.uid for one in jobs)}
        pods = [one for one in self.read(POD, "v1") if any(_is_of(one, job) for job in uids)]
        entries = [one for one in self.read(WORKLOADS, KUEUE) if one.owner_uid in uids]
        known = [self.owner(other)["metadata"] for other in others]
        takers = {
            one["uid"]: ObjectRef("jobset.x-k8s.io", "JobSet", self.name, one["name"], one["uid"])
            for one in known
        }
        facts = assemble(
            owner,
            [*jobs, *pods, *entries],
            queues=QueueTree(one for kind in QUEUES for one in self.read(kind, KUEUE)),
            suspensions=history.of(uids) if history is not None else {},
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


def _circle(place: Place) -> None:
    """Kueue itself says of the ClusterQueue that it is active, and of its Workloads that it is not."""
    a, b = f"{place.name}-a", f"{place.name}-b"
    place.client.create_all([cohort(a, parent=b), cohort(b, parent=a)])
    place.queue(cohortName=a)
    place.run()


def _local_stopped(place: Place) -> None:
    place.queue("9")
    place.run("running")
    place.wait_entry("running", "Admitted")
    stop = {"spec": {"stopPolicy": "Hold"}}
    place.client.patch(KUEUE, "LocalQueue", "queue", stop, place.name)
    place.run()


def _held(place: Place) -> None:
    """Held and not emptied: what runs goes on."""
    place.queue("9")
    place.run("running")
    place.wait_entry("running", "Admitted")
    stop = {"spec": {"stopPolicy": "Hold"}}
    place.client.patch(KUEUE, "ClusterQueue", place.cluster_queue, stop)
    place.run()


def _no_check(place: Place) -> None:
    checks = {"admissionChecks": [{"name": "kueue-test-no-check"}]}
    place.queue(admissionChecksStrategy=checks)
    place.run()


def _topology(place: Place) -> None:
    """Two racks of two nodes with 2 cpu each: 4 pods fit into one, 5 do not."""
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    racks = {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": place.name}}
    flavor = resource_flavor(f"{place.name}-flavor", node_labels={"tas": "yes"})
    tolerated = [{"key": "tas", "operator": "Exists"}]
    flavor["spec"] |= {"topologyName": place.name, "nodeTaints": TAS_ONLY, "tolerations": tolerated}
    place.client.create_all([{**racks, "spec": {"levels": levels}}, flavor])
    place.queue("64", flavor=f"{place.name}-flavor")
    for name, pods in (("fits", 4), ("run", 5)):
        made = jobset(name, place.name, labels=in_queue("queue"), jobs={"w": JobOptions(pods=pods)})
        (entry,) = made["spec"]["replicatedJobs"]
        template = entry["template"]["spec"]["template"].setdefault("metadata", {})
        template["annotations"] = {"kueue.x-k8s.io/podset-required-topology": "rack"}
        place.client.create(made)
        if name == "fits":
            place.wait_entry(name, "Admitted")


def _second_queue(place: Place, **spec: Any) -> None:
    """Two ClusterQueues of a cohort with 2 cpu each; LocalQueue `other` leads to the second."""
    spec = {"cohortName": place.name, **spec}
    place.queue("2", **spec)
    other = f"{place.name}-other"
    place.client.create_all(
        [
            cluster_queue(other, {"cpu": "2"}, spec=spec),
            local_queue("other", place.name, cluster_queue=other),
        ]
    )


def _borrowed(place: Place) -> None:
    """Whoever came first has borrowed all that the queue of `run` has."""
    _second_queue(place)
    place.run("first", pods=4, queue="other")
    place.wait_entry("first", "Admitted")
    place.run()


def _reclaimed(place: Place) -> None:
    """The queue of `owner` takes back what `run` has borrowed."""
    _second_queue(place, preemption={"reclaimWithinCohort": "Any"})
    place.run("run", pods=4, queue="other")
    place.wait_entry("run", "Admitted")
    place.run("owner")
    place.wait_entry("owner", "Admitted")


def _back(place: Place) -> None:
    """Switched off and on again."""
    _deactivated(place)
    entry = wait_kueue_workload(place.client, place.owner(), until=bool)
    set_active(place.client, entry, True)


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
        _inactive, "queue-stopped", "blocked",
        f"{CANNOT}ClusterQueue kq-inactive-queue is inactive: ResourceFlavor kueue-test-no-flavor does "
        "not exist.",
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
        _gated, "admission-gated", "waiting",
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
    "local-stopped": Situation(
        _local_stopped, "queue-stopped", "blocked", f"{CANNOT}LocalQueue queue is stopped.",
        twin="running",
    ),
    "held": Situation(
        _held, "queue-stopped", "blocked", f"{CANNOT}ClusterQueue kq-held-queue is stopped.",
        twin="running",
    ),
    "no-check": Situation(
        _no_check, "queue-stopped", "blocked",
        f"{CANNOT}ClusterQueue kq-no-check-queue is inactive: AdmissionCheck kueue-test-no-check does not "
        "exist.",
    ),
    "topology": Situation(
        _topology, "topology-does-not-fit", "waiting",
        "Queue queue has not admitted it yet: topology kq-topology has room for only 4 of 5 pods now.",
        twin="fits",
    ),
    "borrowed": Situation(
        _borrowed, "waiting-for-quota", "waiting",
        "Queue queue has not admitted it yet: 2 more cpu of flavor default must become free.",
        twin="first",
    ),
    "reclaimed": Situation(
        _reclaimed, "preempted", "waiting",
        "Queue other took it back for kq-reclaimed/owner: 2 more cpu of flavor default must become free.",
        twin="owner", known=("owner",),
    ),
    "back": Situation(_back, "running", "running", "All 2 pods are ready."),
}  # fmt: skip

CIRCLE = Situation(
    _circle, "queue-stopped", "blocked",
    f"{CANNOT}ClusterQueue kq-circle-queue is inactive: Cohort kq-circle-a and Cohort kq-circle-b are "
    "above each other.",
)  # fmt: skip

OTHERS = ("jobs", "late", "circle")
"""Places of tests that begin when all situations have been told."""


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
    racks = [("t0", "r0"), ("t1", "r0"), ("t2", "r1"), ("t3", "r1")]
    make_nodes(
        client,
        [
            node("n0", cpu="64"),
            *(
                node(name, cpu="2", labels={"tas": "yes", "rack": rack}, taints=TAS_ONLY)
                for name, rack in racks
            ),
        ],
    )
    _share(client)
    found = {name: Place(client, f"kq-{name}") for name in (*SITUATIONS, *OTHERS)}
    try:
        for place in found.values():
            client.create(namespace(place.name))
        # Each has queues of its own, and waits most of the time.
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: SITUATIONS[name].make(found[name]), SITUATIONS))
        yield found
    finally:
        delete_namespaces(client, [place.name for place in found.values()])
        for place in found.values():
            for name in (place.cluster_queue, f"{place.name}-other"):
                client.delete(KUEUE, "ClusterQueue", name)
            for name in (f"{place.name}-a", f"{place.name}-b"):
                client.delete(KUEUE, "Cohort", name)
        client.delete(KUEUE, "Topology", "kq-topology")
        clear_nodes(client)


def _wait_told(place: Place, situation: Situation) -> None:
    def told() -> tuple[str, str, str]:
        finding = place.verdict("run", *situation.known).finding
        return finding.code, finding.health.value, finding.message

    def expected() -> tuple[str, str, str]:
        entry = ""
        if "{entry}" in situation.message:
            entry = wait_kueue_workload(place.client, place.owner(), until=bool)["metadata"]["name"]
        return situation.code, situation.health, situation.message.replace("{entry}", entry)

    wait(lambda: told() == expected(), what=str(expected()), seen=told, timeout=60)


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_person_reads(places: dict[str, Place], name: str) -> None:
    situation, place = SITUATIONS[name], places[name]
    _wait_told(place, situation)
    if situation.twin:
        place.wait_entry(situation.twin, "Admitted")
        assert place.verdict(situation.twin).finding.code != situation.code


def test_the_line_and_who_has_quota_add_up_to_what_kueue_counts(places: dict[str, Place]) -> None:
    """Of every queue of every situation: who waits, and of each resource in each flavor what is reserved."""

    def differing() -> dict[str, object]:
        found = _queues(places)
        return {
            queue.meta.ref.name: (queue, _sums(found, queue))
            for queue in found.tree
            if queue.level == "queue" and queue.meta.ref.name.startswith("kq-")
            if _counted(queue) != _sums(found, queue)
        }

    wait(lambda: not differing(), what="the same numbers", seen=differing, timeout=30)
    found = _queues(places)
    borrower = found.tree.entrance("kueue.x-k8s.io", "", "kq-borrowed-other")
    assert borrower is not None
    assert [(one.nominal, one.reserved, one.borrowed) for one in borrower.quotas] == [
        (Decimal(2), Decimal(4), Decimal(2))
    ]
    names = {queue.meta.ref.name for queue in found.sharing(borrower)}
    assert names == {"kq-borrowed-queue", "kq-borrowed-other"}


def _queues(places: dict[str, Place]) -> QueuesOfCluster:
    found = QueuesOfCluster()
    first = next(iter(places.values()))
    for kind in QUEUES:
        if kind.kind in CLUSTER_SCOPED:
            for queue in first.read(kind, KUEUE):
                found.tree.put(queue)
    for place in places.values():
        for kind in QUEUES:
            if kind.kind not in CLUSTER_SCOPED:
                for queue in place.read(kind, KUEUE):
                    found.tree.put(queue)
        for entry in place.read(WORKLOADS, KUEUE):
            found.add(entry)
    return found


Numbers = tuple[int | None, dict[tuple[str, str], Decimal]]
"""Who waits; (flavor, resource) → reserved."""


def _counted(queue: Queue) -> Numbers:
    """As Kueue says."""
    reserved = {(one.flavor, one.resource): one.reserved for one in queue.quotas if one.reserved}
    return queue.pending, reserved


def _sums(found: QueuesOfCluster, queue: Queue) -> Numbers:
    """As the entries say. Kueue counts nobody as waiting who is gated, or whose LocalQueue is stopped
    (observed); who waits for a ClusterQueue that is stopped does wait in it."""
    reserved: dict[tuple[str, str], Decimal] = {}
    for entry in found.holders(queue.name):
        for flavor, resource, amount in entry.holds:
            reserved[flavor, resource] = reserved.get((flavor, resource), Decimal(0)) + amount
    return sum(map(_is_counted, found.line(queue.name))), reserved


def _is_counted(entry: QueueEntry) -> bool:
    message = entry.message
    if message is None:
        return True
    of_alias = message.about is not None and message.about.kind == "LocalQueue"
    return message.code != "admission-gated" and not of_alias


def test_the_first_in_line_is_the_first_that_kueue_admits(places: dict[str, Place]) -> None:
    """In `strict` one of high priority stands before an older one: once there is room, it goes first."""
    place = places["strict"]
    line = _queues(places).line(
        QueueName("kueue.x-k8s.io", "ClusterQueue", "", place.cluster_queue)
    )
    owners = {
        one["metadata"]["uid"]: one["metadata"]["name"]
        for one in place.client.list(JOBSET, "JobSet", place.name)
    }
    assert [owners[one.owner_uid] for one in line] == ["before", "run"]
    place.client.delete(JOBSET, "JobSet", "running", place.name)
    place.wait_entry("before", "Admitted")


def test_pods_are_where_they_were_assigned(places: dict[str, Place]) -> None:
    """Near miss of `topology-drift`: the real assignment, read and compared with the real nodes."""
    place = places["topology"]
    place.wait_code("fits", "running")
    entry = place.wait_entry("fits", "Admitted")
    (assigned,) = model(WORKLOADS, entry).assigned
    assert sum(assigned.nodes.values()) == 4
    pods = [
        one for one in place.read(POD, "v1") if one.labels.get(assigned.label) == assigned.value
    ]
    assert (
        Counter(one.node for one in pods if one.meta.ref.name.startswith("fits")) == assigned.nodes
    )


def test_jobs_with_workloads_of_their_own_under_a_jobset(places: dict[str, Place]) -> None:
    """Kueue suspends the Job that it has not admitted, JobSet resumes it; of two that fit both run."""
    place = places["jobs"]
    place.queue("3")
    for name in ("fits", "run"):
        made = jobset(
            name, place.name, jobs={"w": JobOptions(pods=1 if name == "fits" else 2, replicas=2)}
        )
        (entry,) = made["spec"]["replicatedJobs"]
        entry["template"].setdefault("metadata", {})["labels"] = in_queue("queue")
        place.client.create(made)
        if name == "fits":
            place.wait_code("fits", "running")
            assert {job.queue_standing for job in place.verdict("fits").jobs} == {"admitted"}
            place.client.delete(JOBSET, "JobSet", "fits", place.name)
    try:
        verdict = _watched(place)
    finally:
        # They go on for ever, at ten changes a second.
        place.client.delete(JOBSET, "JobSet", "run", place.name)
    assert verdict.finding.code == "controller-conflict", verdict.finding
    told = r"kueue suspends Job run-w-\d and jobset resumes it: \d+ changes "
    assert re.match(told, verdict.finding.message), verdict.finding.message
    assert _standings(verdict) == ["admitted", "waits"]


def _standings(verdict: Verdict) -> list[str]:
    return sorted(job.queue_standing for job in verdict.jobs)


def _watched(place: Place) -> Verdict:
    """Return what is said of `run` after its Jobs have been watched for a while.

    Not from the start: until one of them is admitted, Kueue and JobSet fight over both.
    """
    wait(
        lambda: _standings(place.verdict()) == ["admitted", "waits"],
        what="one Job that is admitted",
        seen=lambda: _standings(place.verdict()),
        timeout=60,
    )
    history = SuspendHistory()
    give_up_at = time.monotonic() + 60
    verdict = place.verdict()
    while verdict.finding.code != "controller-conflict" and time.monotonic() < give_up_at:
        for _ in range(20):
            for job in place.read(JOB.resource, "batch/v1"):
                history.put(job, datetime.now(UTC))
        verdict = place.verdict(history=history)
    return verdict


def test_a_circle_of_cohorts(places: dict[str, Place]) -> None:
    """Kueue v0.19.2 panics where a namespace changes while a ClusterQueue is in a circle (observed)."""
    place = places["circle"]
    wait(
        lambda: not _leaving(place.client),
        what="no namespace that is still on its way out",
        seen=lambda: _leaving(place.client),
        timeout=60,
    )
    _circle(place)
    try:
        _wait_told(place, CIRCLE)
    finally:
        place.client.patch(KUEUE, "Cohort", f"{place.name}-a", {"spec": {"parentName": None}})
        place.client.delete(KUEUE, "ClusterQueue", place.cluster_queue)
        wait(
            lambda: place.client.find(KUEUE, "ClusterQueue", place.cluster_queue) is None,
            what="Kueue to let go of the queue in the circle",
            timeout=60,
        )


def _leaving(client: Client) -> list[str]:
    found = client.list("v1", "Namespace")
    return [one["metadata"]["name"] for one in found if "deletionTimestamp" in one["metadata"]]


def test_taken_back_since_its_pods_were_late(
    controlplane_kueue: ControlPlane, places: dict[str, Place]
) -> None:
    """Kueue waits 10 s for pods that no node suits; the twin's pods are ready in time.

    At the second or third try on a slow machine: so no more than 20 s lie between the first two.
    """
    place = places["late"]
    patience = {"timeout": "10s", "requeuingStrategy": {"backoffBaseSeconds": 20}}
    with controlplane_kueue.kueue_configured(waitForPodsReady=patience):
        place.queue("9")
        place.run("ready")
        place.run(node_selector={"gpu": "none"})
        place.wait_code("run", "requeued")
        message = place.verdict().finding.message
        told = (
            r"Queue queue took it back: the pods were not ready in time; the next try is at "
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
        )
        assert re.match(told, message), message
        place.wait_code("ready", "running")
