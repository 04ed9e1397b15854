"""Forecasts about manifests in a stored cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.check import CheckVerdict
from gangboard.domain.forecast import Forecast, PodSet
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.queue_policy import QueuePolicy
from gangboard.domain.quota import Flavor, Quota
from gangboard.plugins import registry
from gangboard.polling.checks.loaded_cluster import drop_kept
from gangboard.store.models import Cluster, Gang, ResourceState, WatchedObject
from tests.domain_objects import (
    a_job,
    a_jobset,
    a_meta,
    a_pod,
    a_queue,
    an_alias,
    an_entry,
    pods_of,
)
from tests.factories import store_object
from tests.polling.checks.fleet import (
    NOW,
    SERVED,
    check,
    check_one,
    gpu_node,
    job,
    make_fleet,
    tainted,
)

pytestmark = pytest.mark.django_db

RUNS, WAITS = CheckVerdict.WOULD_RUN, CheckVerdict.WOULD_WAIT
BLOCKED, UNKNOWN = CheckVerdict.WOULD_BLOCK, CheckVerdict.UNKNOWN

JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: run, namespace: team-a}
spec:
  replicatedJobs:
  - name: driver
    replicas: 1
    template: {spec: {parallelism: 1, completions: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}
  - name: workers
    replicas: 2
    dependsOn: [{name: driver, status: Ready}]
    template: {spec: {parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}}}}
"""
GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: ring, namespace: team-a}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
"""
MEMBER = """
apiVersion: v1
kind: Pod
metadata: {name: ring-%d, namespace: team-a}
spec: {schedulingGroup: {podGroupName: ring}, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}
"""


def ring(members: int) -> str:
    """Return a PodGroup with this many bare pods."""
    return "---".join((GROUP, *(MEMBER % index for index in range(members))))


# Jobs


def test_a_job_that_fits_would_run() -> None:
    gang = check_one(make_fleet(gpu_node("n0"), gpu_node("n1")), job(pods=4, gpus=4))
    assert (gang.verdict, gang.code, gang.nodes) == (RUNS, "running", 2)
    assert gang.message == "All 4 pods fit on 2 nodes now."


@pytest.mark.parametrize(
    ("text", "verdict", "code"),
    [
        (job(pods=3), WAITS, "partly-placed"),
        (job(pods=1, gpus=16), BLOCKED, "no-matching-node"),
        (job(more="nodeSelector: {pool: a100}"), BLOCKED, "no-matching-node"),
        (job(more="schedulingGates: [{name: a.b/c}]"), WAITS, "scheduling-gated"),
        (job(spec="suspend: true"), BLOCKED, "suspended"),
        (job(more="schedulerName: other"), UNKNOWN, "not-observed"),
        (job(name="a" * 70), BLOCKED, "manifest-refused"),
    ],
)
def test_a_job_that_does_not_run(text: str, verdict: CheckVerdict, code: str) -> None:
    gang = check_one(make_fleet(gpu_node("n0")), text)
    assert (gang.verdict, gang.code) == (verdict, code), gang.message


def test_a_taint_blocks() -> None:
    gang = check_one(make_fleet(tainted("n0")), job())
    assert (gang.verdict, gang.code) == (BLOCKED, "untolerated-taint")
    tolerant = job(more="tolerations: [{key: team, operator: Exists}]")
    drop_kept()
    assert check_one(make_fleet(tainted("n0"), name="other"), tolerant).verdict is RUNS


def test_a_fault_names_its_field() -> None:
    gang = check_one(make_fleet(gpu_node("n0")), job(name="a" * 70))
    assert [fault.field for fault in gang.faults] == ["metadata.name"]


def test_a_priority_class_may_preempt() -> None:
    cluster = make_fleet(gpu_node("n0"))
    gang = check_one(cluster, job(pods=3, more="priorityClassName: urgent"))
    assert gang.verdict is WAITS
    assert "priority class urgent" in gang.notes[0]
    assert not check_one(cluster, job(pods=3)).notes
    assert not check_one(cluster, job(more="priorityClassName: urgent")).notes


def test_pods_that_run_use_capacity() -> None:
    cluster = make_fleet(gpu_node("n0"))
    busy = a_pod("busy", on="n0", requests={"nvidia.com/gpu": Decimal(6)}, phase="Running")
    store_object(cluster, "pods", busy)
    gang = check_one(cluster, job(pods=1, gpus=4))
    assert (gang.verdict, gang.code) == (WAITS, "insufficient-resources")


# Jobs of an owner, and groups


def test_parts_that_wait_for_others_are_placed_as_well() -> None:
    cluster = make_fleet(gpu_node("n0"), gpu_node("n1"))
    gang = check_one(cluster, JOBSET)
    assert (gang.verdict, gang.message) == (RUNS, "All 5 pods fit on 2 nodes now.")
    gang = check_one(cluster, JOBSET.replace("replicas: 2", "replicas: 3"))
    assert (gang.verdict, gang.code) == (WAITS, "partly-placed")


def test_parts_that_wait_for_an_end_do_not_run_now() -> None:
    gang = check_one(
        make_fleet(gpu_node("n0"), gpu_node("n1")), JOBSET.replace("Ready", "Complete")
    )
    assert (gang.verdict, gang.code) == (WAITS, "dependency-waiting")


@pytest.mark.parametrize(
    ("members", "verdict", "code"),
    [
        (2, BLOCKED, "below-quorum"),
        (3, RUNS, "running"),
        (4, RUNS, "running"),
        (5, RUNS, "below-size"),
    ],
)
def test_bare_pods_with_a_group_are_one_gang(
    members: int, verdict: CheckVerdict, code: str
) -> None:
    gang = check_one(make_fleet(gpu_node("n0"), gpu_node("n1")), ring(members))
    assert (gang.kind, gang.verdict, gang.code) == ("PodGroup", verdict, code), gang.message


def test_the_faults_of_all_members_are_told() -> None:
    text = ring(3).replace("gpu: 4}", "gpu: 4}, requests: {nvidia.com/gpu: 3}", 1)
    gang = check_one(make_fleet(gpu_node("n0"), gpu_node("n1")), text)
    assert (gang.verdict, gang.code) == (BLOCKED, "manifest-refused")
    assert [fault.field for fault in gang.faults] == [
        "Pod ring-0 spec.containers[0].resources.requests[nvidia.com/gpu]"
    ]


def test_a_group_gets_nodes_as_a_whole_or_not_at_all() -> None:
    cluster = make_fleet(gpu_node("n0"))
    gang = check_one(cluster, ring(3))
    assert (gang.verdict, gang.code, gang.nodes) == (BLOCKED, "exceeds-capacity", 0)


def test_a_pod_without_its_group_is_blocked() -> None:
    gang = check_one(make_fleet(gpu_node("n0")), MEMBER % 0)
    assert (gang.kind, gang.verdict, gang.code) == ("Pod", BLOCKED, "podgroup-missing")


def test_fields_about_groups_are_dropped_by_a_cluster_without_groups() -> None:
    served = tuple(key for key in SERVED if "scheduling.k8s.io" not in key)
    cluster = make_fleet(gpu_node("n0"), served=served)
    text = job(spec="scheduling: {schedulingPolicy: {gang: {minCount: 2}}}")
    gang = check_one(cluster, text)
    assert (gang.verdict, gang.code) == (RUNS, "running"), gang.message
    gang = check_one(cluster, job(more="schedulingGroup: {podGroupName: nowhere}"))
    assert (gang.verdict, gang.code) == (RUNS, "running"), gang.message


def test_what_runs_first_keeps_its_node_when_the_rest_does_not_fit() -> None:
    """A group of workers must not take the node of the driver, without which they do not exist."""
    text = JOBSET.replace("cpu: 1}", "cpu: 40}").replace(
        "{limits: {nvidia.com/gpu: 4}}", "{requests: {cpu: 20}}"
    )
    text = text.replace("replicas: 2", "replicas: 1").replace(
        "{parallelism: 2, completions: 2, ", "{parallelism: 3, completions: 3, "
    )
    gang = check_one(make_fleet(gpu_node("n0")), text)
    assert (gang.verdict, gang.code) == (WAITS, "partly-placed"), gang.message
    assert gang.message.endswith("and 4 are free on the only usable node; 1 of 3 pods is placed.")


# Several objects


def test_each_gang_comes_after_the_ones_before_it() -> None:
    cluster = make_fleet(gpu_node("n0"))
    first, second = check(cluster, "---".join((job("a"), job("b")))).gangs
    assert (first.name, first.verdict) == ("a", RUNS)
    assert (second.name, second.verdict, second.number) == ("b", WAITS, 2)
    assert second.row is not None
    assert not [step for step in second.row["advice"] if "team-a/a" in step["text"]]


def test_objects_that_make_no_gang_are_named() -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\n"
    owned = job("child") + "\n---\n"
    owned = owned.replace(
        "namespace: team-a}",
        "namespace: team-a, ownerReferences: [{kind: JobSet, name: run, controller: true}]}",
    )
    result = check(make_fleet(gpu_node("n0")), f"{config}---{owned}{job()}")
    assert [gang.name for gang in result.gangs] == ["train"]
    assert result.notes == (
        "Job child names a controller, which creates it, so it is not checked by itself.",
        "ConfigMap files is of no kind that makes gangs, so the check ignores it.",
    )
    alone = check(Cluster.objects.get(), config)
    assert alone.why_unknown == "No object of the text is of a kind that makes a gang."


def test_an_existing_gang_counts_as_deleted() -> None:
    cluster = make_fleet(gpu_node("n0"))
    owner = next(kind for kind in registry.owner_kinds() if kind.resource.is_job)
    old = a_job("train", pods=2, requests={"nvidia.com/gpu": Decimal(4)})
    store_object(cluster, owner.resource.key, old)
    for pod in pods_of(old, 2, on="n0", requests={"nvidia.com/gpu": Decimal(4)}):
        store_object(cluster, "pods", pod)
    assert check_one(cluster, job("other")).verdict is WAITS
    gang = check_one(cluster, job("train"))
    assert gang.verdict is RUNS
    assert "exists in this cluster" in gang.notes[0]
    assert check_one(cluster, job("other")).verdict is WAITS


# What cannot be looked at


def test_a_silent_cluster_is_unknown() -> None:
    cluster = make_fleet(gpu_node("n0"))
    Cluster.objects.update(contact_at=NOW - timedelta(seconds=121))
    assert "has not been read since" in check(cluster, job()).why_unknown
    Cluster.objects.update(contact_at=NOW, listed_at=None)
    assert "has not been read completely" in check(cluster, job()).why_unknown


def test_forbidden_nodes_are_unknown() -> None:
    cluster = make_fleet(gpu_node("n0"))
    ResourceState.objects.filter(resource="nodes").update(state="forbidden")
    gang = check_one(cluster, job())
    assert (gang.verdict, gang.code) == (UNKNOWN, "not-observed")
    assert gang.message == "gangboard cannot tell whether the pods fit: nodes: forbidden."


def test_a_volume_that_the_arithmetic_does_not_cover_is_unknown() -> None:
    volume = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"
    gang = check_one(make_fleet(gpu_node("n0")), job(more=volume))
    assert gang.verdict is UNKNOWN
    assert gang.message.startswith("gangboard cannot tell whether the pods fit: ")


def test_a_kind_that_is_not_served_blocks() -> None:
    served = tuple(key for key in SERVED if not key.startswith("jobsets"))
    gang = check_one(make_fleet(gpu_node("n0"), served=served), JOBSET)
    assert (gang.verdict, gang.code) == (BLOCKED, "kind-not-served")
    assert gang.message == "JobSet is not served by cluster eu-train."


def test_too_many_pods_are_refused_before_they_are_made() -> None:
    gang = check_one(make_fleet(gpu_node("n0")), job(pods=2_000_000_000))
    assert gang.verdict is not RUNS
    assert "2000000000" in gang.message or "2,000,000,000" in gang.message


def test_an_object_that_cannot_be_read_says_why() -> None:
    gang = check_one(make_fleet(gpu_node("n0")), job(spec="backoffLimit: many"))
    assert gang.verdict is UNKNOWN
    assert "cannot be read" in gang.message


def test_a_fault_counts_even_if_the_object_cannot_be_read() -> None:
    text = job(name="a" * 70, spec="backoffLimit: many")
    gang = check_one(make_fleet(gpu_node("n0")), text)
    assert (gang.verdict, gang.code) == (BLOCKED, "manifest-refused")
    assert gang.message.startswith("metadata.name: ")


# Admission


class Admission:
    """An admission system that decides as a test says."""

    def __init__(self, *, admitted: bool, labels: Mapping[str, str] | None = None) -> None:
        self.admitted, self.labels = admitted, labels or {}
        self.asked: list[tuple[PodSet, ...]] = []

    def forecast(self, owner: Any, pod_sets: Any, state: Any, annotations: Any) -> Forecast:
        """Return the decision."""
        self.asked.append(tuple(pod_sets))
        self.annotations = annotations
        message = None if self.admitted else QueueMessage(QueueCode.WAITING_FOR_QUOTA, "full")
        entry = an_entry(
            owner, queue="gpu", admitted=self.admitted, has_quota=self.admitted, message=message
        )
        entry = replace(
            entry, meta=a_meta("kueue.x-k8s.io", "Workload", "entry", namespace="team-a")
        )
        behind = (a_jobset("first").meta.ref,)
        return Forecast(
            entry,
            () if self.admitted else behind,
            {pod_set.name: self.labels for pod_set in pod_sets},
        )


@pytest.fixture
def admission(monkeypatch: pytest.MonkeyPatch) -> Admission:
    """Let all systems decide alike, and the cluster serve them."""
    decision = Admission(admitted=True)
    for system in registry.queue_systems():
        monkeypatch.setattr(system, "forecast", decision.forecast, raising=False)
    return decision


QUEUES = ("workloads.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io")
LABELLED = job(spec="suspend: true").replace(
    "namespace: team-a}", "namespace: team-a, labels: {kueue.x-k8s.io/queue-name: gpu}}"
)


def test_an_admitted_owner_is_placed_on_the_nodes_of_its_flavor(admission: Admission) -> None:
    cluster = make_fleet(
        gpu_node("n0"), gpu_node("n1", labels={"pool": "a100"}), served=(*SERVED, *QUEUES)
    )
    admission.labels = {"pool": "a100"}
    text = LABELLED.replace("labels:", "annotations: {example.com/a: b}, labels:")
    gang = check_one(cluster, text)
    assert admission.annotations == {"example.com/a": "b"}
    assert (gang.verdict, gang.nodes) == (RUNS, 1), gang.message
    (pod_sets,) = admission.asked
    assert [(pod_set.name, pod_set.count) for pod_set in pod_sets] == [("", 2)]
    admission.labels = {"pool": "h100"}
    gang = check_one(cluster, text)
    assert (gang.verdict, gang.code) == (BLOCKED, "no-matching-node")


def test_an_owner_without_quota_is_suspended_and_waits(admission: Admission) -> None:
    cluster = make_fleet(gpu_node("n0"), served=(*SERVED, *QUEUES))
    admission.admitted = False
    gang = check_one(cluster, LABELLED.replace("suspend: true", ""))
    assert (gang.verdict, gang.code) == (WAITS, "waiting-for-quota"), gang.message
    assert [ref.name for ref in gang.behind] == ["first"]


ALL_QUEUES = (*QUEUES, "cohorts.kueue.x-k8s.io", "resourceflavors.kueue.x-k8s.io")


def _with_queue(gpus: int) -> Cluster:
    """Store a cluster with a node of 8 GPUs and a queue of so many."""
    cluster = make_fleet(gpu_node("n0"), name=f"of-{gpus}", served=(*SERVED, *ALL_QUEUES))
    quota = Quota("any", "nvidia.com/gpu", Decimal(gpus))
    policy = QueuePolicy(namespaces=())
    flavor = Flavor(a_meta("kueue.x-k8s.io", "ResourceFlavor", "any", namespace=""), {})
    for key, item in (
        ("clusterqueues", a_queue("shared", quotas=(quota,), policy=policy)),
        ("localqueues", an_alias("gpu", to="shared")),
        ("resourceflavors", flavor),
    ):
        store_object(cluster, f"{key}.kueue.x-k8s.io", item)
    return cluster


def test_the_quota_of_a_queue_decides() -> None:
    assert check_one(_with_queue(8), LABELLED).verdict is RUNS
    small = check_one(_with_queue(7), LABELLED)
    assert (small.verdict, small.code) == (BLOCKED, "exceeds-quota")
    assert small.message == (
        "Queue gpu cannot admit it: 8 GPUs of flavor any are needed, but the queue can give at most 7."
    )


def test_the_second_of_two_manifests_waits_for_the_first() -> None:
    both = f"{LABELLED}---\n{LABELLED.replace('name: train', 'name: second')}"
    first, second = check(_with_queue(8), both).gangs
    assert (first.verdict, second.verdict, second.code) == (RUNS, WAITS, "waiting-for-quota")


def test_queues_that_cannot_be_read_are_not_missing() -> None:
    cluster = _with_queue(8)
    ResourceState.objects.filter(resource="localqueues.kueue.x-k8s.io").update(state="forbidden")
    gang = check_one(cluster, LABELLED)
    assert gang.verdict is UNKNOWN
    assert gang.message == "The LocalQueues of Kueue cannot be read completely."
    ResourceState.objects.update(state="ok")
    assert check_one(cluster, LABELLED.replace("queue-name: gpu", "queue-name: lost")).code == (
        "queue-missing"
    )


def test_admission_counts_the_templates_and_not_what_controllers_add(admission: Admission) -> None:
    keys = (*SERVED, *QUEUES, "pytorchjobs.kubeflow.org")
    template = "{spec: {containers: [{name: pytorch, resources: {requests: {cpu: 1}}}]}}"
    text = f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: run, namespace: team-a}}
spec: {{pytorchReplicaSpecs: {{Master: {{replicas: 1, template: {template}}}, Worker: {{replicas: 2, template: {template}}}}}}}
"""
    check_one(make_fleet(gpu_node("n0"), served=keys), text)
    (pod_sets,) = admission.asked
    assert {pod_set.name: (pod_set.count, dict(pod_set.requests)) for pod_set in pod_sets} == {
        "Master": (1, {"cpu": Decimal(1)}),
        "Worker": (2, {"cpu": Decimal(1)}),
    }


def test_an_owner_that_makes_gangs_is_judged_as_the_next_one() -> None:
    text = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team-a}
spec: {schedule: "0 1 * * *", jobTemplate: {spec: {parallelism: 2, completions: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}}}}}
"""
    cluster = make_fleet(gpu_node("n0"), served=(*SERVED, "cronjobs.batch"))
    gang = check_one(cluster, text)
    assert (gang.kind, gang.verdict, gang.code) == ("Job", RUNS, "running"), gang.message
    assert check_one(cluster, text.replace("parallelism: 2", "parallelism: 3")).verdict is RUNS
    assert check_one(cluster, text.replace("gpu: 4", "gpu: 8")).verdict is WAITS


# Storage


def test_a_check_stores_nothing_and_leaves_no_trace() -> None:
    cluster = make_fleet(gpu_node("n0"), gpu_node("n1"))
    before = set(WatchedObject.objects.values_list("uid", "resource_version"))
    first = check(cluster, f"{JOBSET}---{ring(4)}")
    again = check(cluster, f"{JOBSET}---{ring(4)}")
    drop_kept()
    assert first == again == check(cluster, f"{JOBSET}---{ring(4)}")
    assert set(WatchedObject.objects.values_list("uid", "resource_version")) == before
    assert not Gang.objects.exists()


def test_a_check_that_fails_drops_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make_fleet(gpu_node("n0"))
    assert check_one(cluster, job()).verdict is RUNS

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr("gangboard.polling.checks.engine.assess", fail)
        with pytest.raises(ZeroDivisionError):
            check(cluster, job("other"))
    assert check_one(cluster, job()).verdict is RUNS


def test_changes_of_the_store_are_seen() -> None:
    cluster = make_fleet(gpu_node("n0"))
    assert check_one(cluster, job()).verdict is RUNS
    busy = a_pod("busy", on="n0", requests={"nvidia.com/gpu": Decimal(8)}, phase="Running")
    row = store_object(cluster, "pods", busy)
    assert check_one(cluster, job()).verdict is WAITS
    row.delete()
    assert check_one(cluster, job()).verdict is RUNS
    WatchedObject.objects.filter(resource="nodes").delete()
    assert check_one(cluster, job()).code == "no-nodes"
