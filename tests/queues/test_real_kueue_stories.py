"""A real Kueue over time. The stories begin after all situations have their verdict."""

from __future__ import annotations

import re
import time
from collections import Counter
from datetime import UTC, datetime

from gangboard.decode.pods import POD
from gangboard.domain.verdict import Verdict
from gangboard.owners.job import Job
from gangboard.polling.watch_history import SuspendHistory
from tests.controlplane.client import Client, wait
from tests.controlplane.objects import JOBSET, JobOptions, job, jobset
from tests.controlplane.queues import KUEUE, in_queue, local_queue
from tests.decode.reading import model
from tests.kinds import registered
from tests.queues.blocked_situations import CANNOT
from tests.queues.places import WORKLOADS, Place, wait_gone
from tests.queues.waiting_situations import in_one_rack
from tests.situations import Situation, check

JOB = registered(Job)


def test_pods_are_where_they_were_assigned(places: dict[str, Place]) -> None:
    """Near miss of `topology-drift`: the real assignment, read and compared with the real nodes."""
    place = places["topology"]
    place.wait_told("running", "twin")
    entry = place.wait_entry("twin", "Admitted")
    (assigned,) = model(WORKLOADS, entry).assigned
    assert sum(assigned.nodes.values()) == 4
    pods = [
        item for item in place.read(POD, "v1") if item.labels.get(assigned.label) == assigned.value
    ]
    assert (
        Counter(pod.node for pod in pods if pod.meta.ref.name.startswith("twin")) == assigned.nodes
    )


def test_pods_on_a_node_that_kueue_has_replaced(places: dict[str, Place]) -> None:
    """A node is deleted: Kueue assigns another one at once, and the pods stay until they are collected."""
    place = places["drift"]
    shared = places["topology"].cluster_queue
    place.client.create(local_queue("queue", place.name, cluster_queue=shared))
    place.client.create(in_one_rack(place, "run", 2))
    place.wait_told("running")
    before = _assigned(place, "run")
    (node,) = before
    place.client.delete("v1", "Node", node)
    wait(lambda: _assigned(place, "run") != before, what="another node", seen=place.entry)
    message = f"It runs, but 2 pods are on {node}, where Kueue did not assign them."
    assert place.told()["message"] == message


def _assigned(place: Place, name: str) -> dict[str, int]:
    """Return the nodes that Kueue has assigned a JobSet of one part to, and how many pods to each."""
    result = model(WORKLOADS, place.wait_entry(name, "Admitted")).assigned
    return dict(result[0].nodes) if result else {}


def test_jobs_with_workloads_of_their_own_under_a_jobset(places: dict[str, Place]) -> None:
    """Kueue suspends the Job that it has not admitted, JobSet resumes it; of two that fit both run."""
    place = places["jobs"]
    place.queue("3")
    for name in ("fits", "run"):
        created = jobset(
            name, place.name, jobs={"w": JobOptions(pods=1 if name == "fits" else 2, replicas=2)}
        )
        (entry,) = created["spec"]["replicatedJobs"]
        entry["template"].setdefault("metadata", {})["labels"] = in_queue("queue")
        place.client.create(created)
        if name == "fits":
            place.wait_told("running", "fits")
            assert {item.queue_standing for item in place.verdict("fits").jobs} == {"admitted"}
            place.client.delete(JOBSET, "JobSet", "fits", place.name)
    try:
        verdict = _watched(place)
    finally:
        # They go on for ever, at ten changes a second.
        place.client.delete(JOBSET, "JobSet", "run", place.name)
    assert verdict.finding.code == "controller-conflict", verdict.finding
    pattern = r"kueue suspends Job run-w-\d and jobset resumes it: \d+ changes "
    assert re.match(pattern, verdict.finding.message), verdict.finding.message
    assert _standings(verdict) == ["admitted", "waits"]


def _standings(verdict: Verdict) -> list[str]:
    return sorted(item.queue_standing for item in verdict.jobs)


def _watched(place: Place) -> Verdict:
    """Return the verdict on `run` after watching its Jobs for a while.

    The watch starts after the first admission. Before, Kueue and JobSet fight over both.

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
            for item in place.read(JOB.resource, "batch/v1"):
                history.put(item, datetime.now(UTC))
        verdict = place.verdict(history=history)
    return verdict


def _grows(place: Place) -> None:
    """A Job that may grow while it runs (a Workload slice) finds no quota for that. Twin: does."""
    for queue, name, cpu in (("queue", "run", "3"), ("other", "twin", "4")):
        place.queue(cpu, queue)
        spec = {"completions": None}
        labels = in_queue(queue)
        created = job(
            name, place.name, parallelism=2, indexed=False, job_labels=labels, job_spec=spec
        )
        created["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
        place.client.create(created)
    for name in ("run", "twin"):
        place.wait_told("running", name)
        place.client.patch("batch/v1", "Job", name, {"spec": {"parallelism": 4}}, place.name)


def test_a_job_that_grows_while_it_runs(places: dict[str, Place]) -> None:
    """Its first Workload keeps its quota.

    The second one waits, because Kueue counts the request beyond the first.
    """
    place = places["slices"]
    message = "Queue queue has not admitted 2 more pods yet: 1 more cpu of flavor default must become free."
    _grows(place)
    check(Situation(_grows, "waiting-for-quota", "waiting", message, twin="running"), place)
    entries = [item for item in place.read(WORKLOADS, KUEUE) if item.queue == "queue"]
    (extra,) = [entry for entry in entries if entry.replaces]
    assert [entry.meta.ref.name for entry in entries if entry.admitted] == [extra.replaces]
    assert not extra.admitted


def _circle(place: Place) -> None:
    """Kueue says of the ClusterQueue that it is active, and of its Workloads that it is not. Twin: no circle."""
    place.cohort("a", parent="b")
    place.cohort("b", parent="a")
    place.cohort("c")
    place.queue(cohortName=f"{place.name}-a")
    place.queue(name="other", cohortName=f"{place.name}-c")
    place.run()
    place.run("twin", queue="other")


CIRCLE = Situation(
    _circle, "queue-stopped", "blocked",
    f"{CANNOT}ClusterQueue kq-circle-queue is inactive: Cohort kq-circle-a and Cohort kq-circle-b are "
    "each other's parent.", twin="running",
)  # fmt: skip


def test_a_circle_of_cohorts(places: dict[str, Place]) -> None:
    """Kueue v0.19.2 panics where a namespace changes while a ClusterQueue is in a circle (observed)."""
    place = places["circle"]
    wait(
        lambda: not _leaving(place.client),
        what="no namespace that is still on its way out",
        seen=lambda: _leaving(place.client),
        timeout=60,
    )
    try:
        _circle(place)
        check(CIRCLE, place)
    finally:
        place.client.patch(KUEUE, "Cohort", f"{place.name}-a", {"spec": {"parentName": None}})
        place.client.delete(KUEUE, "ClusterQueue", place.cluster_queue)
        wait_gone(place, place.cluster_queue)


def _leaving(client: Client) -> list[str]:
    result = client.list("v1", "Namespace")
    return [obj["metadata"]["name"] for obj in result if "deletionTimestamp" in obj["metadata"]]
