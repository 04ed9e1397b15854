"""Pods that Kueue admits together, and owners without a suspend field in its queues: each is one gang."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueCode, QueueEntry, QueueMessage
from gangboard.domain.verdict import Verdict
from gangboard.policy.refusals import unowned_sentence
from gangboard.queues.kueue import Kueue
from tests.decode.reading import Json, model, with_identity
from tests.domain_objects import NOW, Made, a_group, a_pod, an_entry
from tests.gangs import assemble
from tests.owners.test_apps_v1 import an_app, of_replicaset, of_statefulset

QUEUED = {"kueue.x-k8s.io/queue-name": "lq"}
CAUSE = "2 more GPUs of cq-sets must become free"
LACKS = QueueMessage(QueueCode.WAITING_FOR_QUOTA, CAUSE)
GATED: dict[str, Any] = {"gates": ("kueue.x-k8s.io/admission",)}


def in_group(name: str) -> dict[str, Any]:
    return {"labels": {**QUEUED, "kueue.x-k8s.io/pod-group-name": name}}


def workload(
    name: str, pods: int, *members: Pod, kind: str = "Pod", mark: str = "true", **status: Any
) -> QueueEntry:
    """Return a Workload as Kueue writes it for pods, or for what `kind` says."""
    owners = [
        {"apiVersion": "v1", "kind": kind, "name": member.meta.ref.name, "uid": member.meta.ref.uid}
        for member in members
    ]
    obj: Json = {
        "metadata": {
            "annotations": {"kueue.x-k8s.io/is-group-workload": mark},
            "ownerReferences": owners,
        },
        "spec": {"queueName": "lq", "podSets": [{"name": "a", "count": 1}, {"count": pods - 1}]},
        "status": status,
    }
    result: QueueEntry = model(Kueue.resources[0], with_identity(obj, name))
    ref = replace(result.meta.ref, namespace="team-a", uid=f"uid-{name}")
    return replace(result, meta=replace(result.meta, ref=ref))


def graph_of(*objects: Made) -> OwnershipGraph:
    graph = OwnershipGraph()
    for obj in objects:
        graph.put(obj)
    return graph


def uid(item: Made) -> str:
    return item.meta.ref.uid


def verdict_of(root: Owner | Pod | QueueEntry, *objects: Made) -> Verdict:
    """Return the verdict on the gang of `root` among these objects of its cluster."""
    every = {uid(item): item for item in (root, *objects)}
    graph = graph_of(*every.values())
    members = graph.members(uid(root))
    assert members, f"{root.meta.ref.name} is no gang"
    rest = [every[member] for member in members if member != uid(root)]
    return assess(assemble(root, rest, now=NOW, queue_visibility="served"))


DRIVER = a_pod("spark-driver", on="n0", **in_group("spark"))
EXECUTORS = [a_pod(f"spark-exec{number}", **in_group("spark")) for number in range(2)]
ADMITTED: dict[str, Any] = {
    "conditions": [
        {"type": "QuotaReserved", "status": "True"},
        {"type": "Admitted", "status": "True"},
    ]
}
SPARK = workload("spark", 3, DRIVER, *EXECUTORS, **ADMITTED)


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
def test_a_pod_group_is_one_gang(last: bool) -> None:
    pods = [DRIVER, *EXECUTORS]
    graph = graph_of(*pods, SPARK) if last else graph_of(SPARK, *pods)
    assert graph.roots() == {uid(SPARK)}
    assert set(graph.members(uid(SPARK))) == {uid(SPARK), *map(uid, pods)}


def test_one_placed_pod_of_three_is_reported_for_all_three() -> None:
    verdict = verdict_of(SPARK, DRIVER, *EXECUTORS)
    assert (verdict.members.desired, verdict.members.scheduled) == (3, 1)
    assert verdict.members.quorum is None
    assert verdict.finding.health is not Health.RUNNING


def test_pods_of_a_group_that_waits_for_quota() -> None:
    pods = [replace(pod, node="", ready=None, gates=GATED["gates"]) for pod in (DRIVER, *EXECUTORS)]
    finding = verdict_of(replace(SPARK, admitted=False, message=LACKS), *pods).finding
    assert (finding.code, finding.health) == ("waiting-for-quota", Health.WAITING)
    assert finding.message == f"Queue lq has not admitted it yet: {CAUSE}."


def test_a_deleted_pod_leaves_the_group() -> None:
    graph = graph_of(SPARK, DRIVER, *EXECUTORS)
    assert graph.remove(uid(DRIVER)) == {uid(SPARK)}
    assert graph.members(uid(SPARK)) == tuple(sorted({uid(SPARK), *map(uid, EXECUTORS)}))


def test_each_pod_is_a_gang_without_the_workload() -> None:
    graph = graph_of(SPARK, DRIVER, *EXECUTORS)
    graph.remove(uid(SPARK))
    assert graph.roots() == {uid(DRIVER), *map(uid, EXECUTORS)}


def test_the_group_of_the_scheduler_takes_precedence() -> None:
    ring = a_group("ring", quorum=2)
    pods = [a_pod(f"r-{number}", group="ring", **in_group("spark")) for number in range(2)]
    entry = workload("spark", 2, *pods)
    graph = graph_of(entry, ring, *pods)
    assert graph.roots() == {uid(ring)}
    assert set(graph.members(uid(ring))) >= {uid(ring), *map(uid, pods)}


def test_a_queued_pod_without_a_group_is_a_gang_of_one() -> None:
    pod = a_pod("lone", labels=QUEUED, **GATED)
    entry = an_entry(pod, queue="lq", message=LACKS)
    verdict = verdict_of(pod, entry)
    assert verdict.members.desired == 1
    assert verdict.finding.code == "waiting-for-quota"


@pytest.mark.parametrize(
    "other",
    [{"mark": ""}, {"kind": "StatefulSet"}],
    ids=["unmarked", "owned"],
)
def test_other_workloads_are_no_pod_groups(other: dict[str, str]) -> None:
    entry = workload("spark", 3, DRIVER, **other)
    assert entry.group_pods == 0
    assert graph_of(entry).roots() == set()


VLLM = an_app("StatefulSet", "vllm", replicas=3, podManagementPolicy="Parallel")
REPLICAS = [of_statefulset(VLLM, number, **in_group("vllm"), **GATED) for number in range(3)]


def test_a_statefulset_whose_pods_are_a_group() -> None:
    entry = replace(workload("vllm", 3, *REPLICAS), message=LACKS)
    graph = graph_of(entry, *REPLICAS)
    assert graph.owners_to_read() == {"statefulsets.apps"}
    verdict = verdict_of(VLLM, entry, *REPLICAS)
    finding = verdict.finding
    assert (finding.code, finding.health) == ("waiting-for-quota", Health.WAITING)
    assert finding.message == f"Queue lq has not admitted it yet: {CAUSE}."
    assert verdict.members.desired == 3


def test_a_statefulset_with_a_workload_of_its_own() -> None:
    """Labelled itself: Kueue labels its pods, and its Workload names it (pkg/controller/jobs/statefulset)."""
    pods = [of_statefulset(VLLM, number, **in_group("statefulset-vllm-1"), **GATED) for number in range(3)]  # fmt: skip
    entry = an_entry(VLLM, "statefulset-vllm-1", queue="lq", message=LACKS)
    assert verdict_of(VLLM, entry, *pods).finding.code == "waiting-for-quota"


def test_a_deployment_each_of_whose_pods_is_admitted_by_itself() -> None:
    web = an_app("Deployment", "web", replicas=3)
    pods = [of_replicaset("web-5d9f", "5d9f", suffix, **GATED) for suffix in ("a", "b")]
    pods = [replace(pod, labels={**pod.labels, **QUEUED}) for pod in pods]
    runs = of_replicaset("web-5d9f", "5d9f", "c", on="n0")
    runs = replace(runs, labels={**runs.labels, **QUEUED})
    entries = [an_entry(pod, queue="lq", message=LACKS) for pod in pods]
    let_in = an_entry(runs, queue="lq", admitted=True)
    assert graph_of(*pods).owners_to_read() == {"deployments.apps"}
    verdict = verdict_of(web, *pods, runs, *entries, let_in)
    assert verdict.finding.code == "waiting-for-quota"
    assert verdict.finding.message == f"Queue lq has not admitted 2 more pods yet: {CAUSE}."
    assert verdict.members.desired == 3


def test_queued_pods_of_a_bare_replicaset_are_listed() -> None:
    pod = a_pod("rs-1", of=Controller("apps", "ReplicaSet", "rs", "uid-rs"), labels=QUEUED, **GATED)
    verdict = verdict_of(pod, an_entry(pod, queue="lq", message=LACKS))
    assert verdict.finding.code == "waiting-for-quota"


def test_plain_deployments_are_no_gangs_and_not_fetched() -> None:
    web = an_app("Deployment", "web", replicas=2)
    pods = [of_replicaset("web-5d9f", "5d9f", suffix) for suffix in ("a", "b")]
    graph = graph_of(web, *pods)
    assert graph.roots() == set()
    assert graph.owners_to_read() == set()


def test_a_deployment_is_no_gang_after_its_last_pod_leaves_the_queue() -> None:
    web = an_app("Deployment", "web", replicas=1)
    pod = of_replicaset("web-5d9f", "5d9f", "a")
    queued = replace(pod, labels={**pod.labels, **QUEUED})
    graph = graph_of(web, queued)
    assert graph.roots() == {uid(web)}
    assert uid(web) in graph.put(pod)
    assert graph.roots() == set()
    assert graph.owners_to_read() == set()


def test_unowned_pods_are_not_suspended() -> None:
    assert unowned_sentence(SPARK.meta.ref) == (
        "Workload spark cannot be suspended: no known controller would re-create its pods."
    )
