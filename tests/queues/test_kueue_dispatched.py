"""Gangs without `spec.managedBy` that MultiKueue dispatches: their pods here keep the gate of Kueue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.domain.verdict import Verdict
from tests.domain_objects import a_condition, a_job, a_pod, ago, an_entry
from tests.owners.test_apps_v1 import an_app, of_replicaset, of_statefulset
from tests.owners.test_leaderworkerset import lws, member
from tests.queues.test_kueue_pod_groups import in_group, verdict_of, workload

GATE = "kueue.x-k8s.io/admission"
SAID = a_condition("PodScheduled", "False", reason="SchedulingGated", since=ago(3600))
GATED: dict[str, Any] = {"gates": (GATE,), "scheduled": SAID, "created_at": ago(3600)}
UP: dict[str, Any] = {
    "phase": "Running",
    "scheduled": a_condition("PodScheduled"),
    "ready": a_condition("Ready"),
}
"""Status of the pod in the worker cluster, as Kueue copies it."""
WORKER: dict[str, Any] = {"admitted": True, "admitted_at": ago(2400), "cluster": "worker1"}
HERE: dict[str, Any] = {**WORKER, "cluster": ""}
Made = tuple[Owner | Pod | QueueEntry, Sequence[Pod], Sequence[QueueEntry]]


def statefulset() -> Made:
    owner = an_app("StatefulSet", "vllm", replicas=2, podManagementPolicy="Parallel")
    fields = {**in_group("statefulset-vllm"), **GATED}
    pods = [of_statefulset(owner, number, **fields) for number in range(2)]
    return owner, pods, [an_entry(owner, "statefulset-vllm")]


def leaderworkerset() -> Made:
    """Each replica has an entry of its own."""
    owner = lws({"size": 1}, replicas=2)
    pods = [member(replica, 0, **GATED) for replica in (0, 1)]
    return owner, pods, [an_entry(owner, f"leaderworkerset-run-{replica}") for replica in (0, 1)]


def deployment() -> Made:
    """Each pod has an entry of its own."""
    owner = an_app("Deployment", "web", replicas=2)
    pods = [of_replicaset("web-5d9f", "5d9f", suffix, **GATED) for suffix in ("a", "b")]
    queued = {"kueue.x-k8s.io/queue-name": "lq"}
    pods = [replace(pod, labels={**pod.labels, **queued}) for pod in pods]
    return owner, pods, [an_entry(pod) for pod in pods]


def pod_group() -> Made:
    pods = [a_pod(f"spark-{number}", **GATED, **in_group("spark")) for number in range(2)]
    entry = workload("spark", 2, *pods)
    return entry, pods, [entry]


def lone_pod() -> Made:
    pod = a_pod("lone", labels={"kueue.x-k8s.io/queue-name": "lq"}, **GATED)
    return pod, [pod], [an_entry(pod)]


KINDS = (statefulset, leaderworkerset, deployment, pod_group, lone_pod)
COPIES = (deployment, pod_group, lone_pod)
"""Kinds whose pods own their entries: Kueue copies the status of these pods."""
all_kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def judge(made: Made, *statuses: dict[str, Any], up: int = 0, **of_pods: Any) -> Verdict:
    """Judge it with these fields of its entries, the last for the rest, and so many copied statuses."""
    root, pods, entries = made
    filled = [
        replace(entry, **statuses[min(number, len(statuses) - 1)])
        for number, entry in enumerate(entries)
    ]
    changed = [
        replace(pod, **(UP if number < up else {}), **of_pods) for number, pod in enumerate(pods)
    ]
    objects: list[Pod | QueueEntry] = [*filled, *changed]
    same = [item for item in objects if item.meta.ref.uid == root.meta.ref.uid]
    return verdict_of(same[0] if same else root, *objects)


@all_kinds
def test_a_dispatched_gang_is_no_alarm(kind: Any) -> None:
    finding = judge(kind(), WORKER).finding
    assert (finding.code, finding.health) == ("not-observed", Health.UNKNOWN)
    assert finding.message == "Runs in cluster worker1."
    assert finding.advice == ()
    evidence = {item.label: item.value for item in finding.evidence}
    assert evidence == {"spec.schedulingGates": GATE, "status.clusterName": "worker1"}


@all_kinds
def test_a_gang_that_kueue_lets_go_here_is_told_as_before(kind: Any) -> None:
    """Near miss: no entry names a cluster."""
    finding = judge(kind(), HERE).finding
    assert (finding.code, finding.health) == ("scheduling-gated", Health.BLOCKED)
    assert "Check the log of Kueue" in finding.advice_texts[0]


def test_a_statefulset_whose_first_pod_stays_gated_is_no_alarm() -> None:
    """The default policy OrderedReady: pod 1 is created after pod 0 is ready, which never happens here."""
    owner, pods, entries = statefulset()
    finding = judge((owner, pods[:1], entries), WORKER).finding
    assert (finding.code, finding.message) == ("not-observed", "Runs in cluster worker1.")
    assert judge((owner, pods[:1], entries), HERE).finding.code == "pods-not-created"


@pytest.mark.parametrize("kind", [leaderworkerset, deployment], ids=lambda kind: kind.__name__)
def test_a_gang_is_dispatched_in_part(kind: Any) -> None:
    """The second entry waits. No removal of a gate is due, because the first pod stays gated here."""
    verdict = judge(kind(), WORKER, {"admitted": False})
    assert "not-observed" not in {finding.code for finding in verdict.findings}
    assert Health.BLOCKED not in {finding.health for finding in verdict.findings}
    also_admitted = judge(kind(), WORKER, HERE)
    assert Health.BLOCKED not in {finding.health for finding in also_admitted.findings}


def test_several_clusters_are_named() -> None:
    finding = judge(deployment(), WORKER, {**WORKER, "cluster": "worker2"}).finding
    assert finding.message == "Runs in cluster worker1 and worker2."


@all_kinds
def test_pods_with_the_gate_of_another_controller_run_here(kind: Any) -> None:
    """Near miss: a user's gate keeps them, and Kueue has removed its own."""
    finding = judge(kind(), WORKER, gates=("example.com/data-ready",)).finding
    assert finding.code != "not-observed"


def test_a_pod_that_runs_here_is_judged_here() -> None:
    root, (first, second), entries = pod_group()
    placed = replace(first, node="n0", gates=(), **UP)
    assert judge((root, (placed, second), entries), WORKER).finding.code != "not-observed"


@pytest.mark.parametrize("kind", COPIES, ids=lambda kind: kind.__name__)
def test_the_copied_status_of_all_pods_is_believed(kind: Any) -> None:
    made = kind()
    number = len(made[1])
    finding = judge(made, WORKER, up=number).finding
    assert (finding.code, finding.health) == ("running", Health.RUNNING)
    verb = "is" if number == 1 else "are"
    assert finding.message == f"Runs in cluster worker1: {number} of {number} pods {verb} ready."


def test_the_copied_status_of_one_pod_is_counted() -> None:
    finding = judge(pod_group(), WORKER, up=1).finding
    assert (finding.code, finding.health) == ("not-observed", Health.UNKNOWN)
    assert finding.message == "Runs in cluster worker1: 1 of 2 pods is ready."


def test_a_finished_pod_of_a_dispatched_group_counts() -> None:
    root, (first, second), entries = pod_group()
    done = replace(first, phase="Succeeded", scheduled=a_condition("PodScheduled"))
    finding = judge((root, (done, replace(second, **UP)), entries), WORKER).finding
    assert (finding.code, finding.message) == (
        "running",
        "Runs in cluster worker1: 2 of 2 pods are ready.",
    )


def test_a_dispatched_group_that_is_over_has_ended() -> None:
    root, pods, entries = pod_group()
    over = judge((root, pods, entries), WORKER, phase="Succeeded").finding
    assert over.code == "succeeded"


def test_a_job_with_pods_here_is_no_mirror() -> None:
    """Near miss: its owner names MultiKueue, so pods here contradict the dispatch."""
    job = a_job("remote", pods=1, managed_by="kueue.x-k8s.io/multikueue")
    made: Made = (job, [a_pod("remote-0", of=job, **GATED)], [an_entry(job)])
    assert judge(made, WORKER).finding.code == "scheduling-gated"
