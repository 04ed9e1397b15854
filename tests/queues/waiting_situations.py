"""Situations in which Kueue may admit `run` later, and near misses of them."""

from __future__ import annotations

from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset
from tests.controlplane.queues import KUEUE, in_queue, set_active
from tests.queues.places import CHECK, HIGH, LOW, TAS_ONLY, Place, now
from tests.situations import Situation


def _quota(place: Place) -> None:
    """Another has two of three cpu. Twin: asks for one.

    In a queue of its own: once it is admitted 2 more are missing, which Kueue says of whom it looks at after that.
    """
    for queue in ("queue", "other"):
        place.queue(name=queue)
        place.run_admitted(f"{queue}-first", queue=queue)
    place.run()
    place.run("twin", pods=1, queue="other")


def _check(place: Place) -> None:
    """Twin: the check is ready."""
    place.queue("9", admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    place.run()
    place.run("twin")
    nodes = place.wait_entry("twin", "QuotaReserved")["metadata"]
    ready = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": now()}
    checks = {"admissionChecks": [ready]}
    place.client.patch_status(KUEUE, "Workload", nodes["name"], checks, place.name)


def _preempted(place: Place) -> None:
    """Twin: its queue does not preempt."""
    place.queue(preemption={"withinClusterQueue": "LowerPriority"})
    place.queue(name="other")
    place.run_admitted("run", LOW)
    place.run_admitted("twin", LOW, queue="other")
    place.run("in-vain", HIGH, queue="other")
    place.run_admitted("urgent", HIGH)


def _gated(place: Place) -> None:
    """Twin: no gate."""
    place.queue("9")
    created = place.jobset()
    gate = {"kueue.x-k8s.io/admission-gated-by": "example.com/approval"}
    created["metadata"].setdefault("annotations", {}).update(gate)
    place.client.create(created)
    place.run("twin")


def _strict(place: Place) -> None:
    """`StrictFIFO`: who is behind another that waits is not even looked at. Twin: `BestEffortFIFO`.

    By its priority: Kueue tells the age of Workloads by whole seconds, and both may be made in one.
    """
    for queue, strategy, last in (
        ("queue", "StrictFIFO", "run"),
        ("other", "BestEffortFIFO", "twin"),
    ):
        place.queue(name=queue, queueingStrategy=strategy)
        place.run_admitted(f"{queue}-running", queue=queue)
        place.run(f"{queue}-before", HIGH, queue=queue)
        place.wait_entry(f"{queue}-before", "QuotaReserved", "False")
        place.run(last, pods=1, queue=queue)


def _deactivated(place: Place) -> None:
    """Twin: switched on again."""
    place.queue("4")
    for name in ("run", "twin"):
        place.run(name)
        set_active(place.client, place.wait_entry(name, "Admitted"), False)
        place.wait_entry(name, "Evicted")
    set_active(place.client, place.entry("twin"), True)


def _gives_up(place: Place) -> None:
    """Kueue deactivates it after 2 s, and again when it is activated. Twin: may run for an hour."""
    place.queue("9")
    for name, seconds in (("run", "2"), ("twin", "3600")):
        created = place.jobset(name)
        created["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = seconds
        place.client.create(created)
    place.wait_entry("run", "Evicted")
    set_active(place.client, place.entry(), True)


def _topology(place: Place) -> None:
    """Two racks of two nodes with 2 cpu each: 5 pods do not fit into one. Twin: 4 do."""
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    racks = {"apiVersion": KUEUE, "kind": "Topology", "metadata": {"name": place.name}}
    place.make({**racks, "spec": {"levels": levels}})
    flavor = place.flavor(
        nodeLabels={"tas": "yes"},
        topologyName=place.name,
        nodeTaints=TAS_ONLY,
        tolerations=[{"key": "tas", "operator": "Exists"}],
    )
    place.queue("64", flavor=flavor)
    place.client.create(in_one_rack(place, "twin", 4))
    place.wait_entry("twin", "Admitted")
    place.client.create(in_one_rack(place, "run", 5))


def in_one_rack(place: Place, name: str, pods: int) -> Json:
    """Return a JobSet whose pods must be in one rack."""
    created = jobset(name, place.name, labels=in_queue("queue"), jobs={"w": JobOptions(pods=pods)})
    (entry,) = created["spec"]["replicatedJobs"]
    template = entry["template"]["spec"]["template"].setdefault("metadata", {})
    template["annotations"] = {"kueue.x-k8s.io/podset-required-topology": "rack"}
    return created


def _pair(place: Place, prefix: str = "", **spec: Any) -> None:
    """Two ClusterQueues of a cohort with 2 cpu each, `queue` and `other`."""
    spec = {"cohortName": f"{prefix}{place.name}", **spec}
    for name in ("queue", "other"):
        place.queue("2", f"{prefix}{name}", **spec)


def _borrowed(place: Place) -> None:
    """The first gang has borrowed the whole quota of `run`'s queue. Twin: it has borrowed none."""
    _pair(place)
    _pair(place, "twin-")
    place.run_admitted("first", pods=4, queue="other")
    place.run_admitted("modest", pods=2, queue="twin-other")
    place.run()
    place.run("twin", queue="twin-queue")


def _reclaimed(place: Place) -> None:
    """The queue of `owner` takes back what `run` has borrowed. Twin: the owner may not."""
    _pair(place, preemption={"reclaimWithinCohort": "Any"})
    _pair(place, "twin-")
    place.run_admitted("run", pods=4, queue="other")
    place.run_admitted("twin", pods=4, queue="twin-other")
    place.run("in-vain", queue="twin-queue")
    place.run_admitted("owner")


WAITS = "Queue queue has not admitted it yet: "
WAITING: dict[str, Situation[Place]] = {
    "quota": Situation(
        _quota, "waiting-for-quota", "waiting",
        f"{WAITS}1 more cpu of flavor default must become free.", twin="running",
    ),
    "check": Situation(
        _check, "admission-check", "waiting",
        f"{WAITS}admission check {CHECK} has not passed yet.", twin="running",
    ),
    "preempted": Situation(
        _preempted, "preempted", "waiting",
        "Queue queue evicted it for kq-preempted/urgent: 1 more cpu of flavor default must become "
        "free.", twin="running",
    ),
    "gated": Situation(
        _gated, "admission-gated", "waiting",
        f"{WAITS}admission is gated by example.com/approval.", twin="running",
    ),
    "strict": Situation(
        _strict, "queue-evaluating", "waiting", "Queue queue has not admitted it yet.",
        twin="running",
    ),
    "deactivated": Situation(
        _deactivated, "deactivated", "suspended",
        "Deactivated by gangboard-tests at {deactivated} UTC. Workload {entry} is deactivated, so queue "
        "queue does not admit it.",
        twin="running",
    ),
    "gives-up": Situation(
        _gives_up, "deactivated", "suspended",
        "Kueue deactivated Workload {entry}: “exceeding the maximum execution time”.",
        twin="running",
    ),
    "topology": Situation(
        _topology, "topology-does-not-fit", "waiting",
        f"{WAITS}topology kq-topology has room for only 4 of 5 pods now.", twin="running",
    ),
    "borrowed": Situation(
        _borrowed, "waiting-for-quota", "waiting",
        f"{WAITS}2 more cpu of flavor default must become free.", twin="running",
    ),
    "reclaimed": Situation(
        _reclaimed, "preempted", "waiting",
        "Queue other evicted it for kq-reclaimed/owner: 2 more cpu of flavor default must become free.",
        twin="running",
    ),
}  # fmt: skip
