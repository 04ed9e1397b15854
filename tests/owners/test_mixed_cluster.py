"""All kinds at once in one real cluster: every gang of a hand-written list appears once, and each pod is in one gang."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from gangboard.plugins import registry
from tests.controlplane import flux, scheduled_elsewhere
from tests.controlplane.clearing import clear_nodes, delete_namespace
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.grove import Operator, clique, podcliqueset
from tests.controlplane.kubeflow import kubeflow_job, replicas
from tests.controlplane.leaderworkersets import disaggregatedset, leaderworkerset, template
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import job, jobset, namespace, pod, pod_template, podgroup
from tests.controlplane.queues import KUEUE, cluster_queue, in_queue, local_queue, resource_flavor
from tests.controlplane.rays import cluster_spec, ray_pods, raycluster, rayjob, rayservice
from tests.controlplane.trainjobs import TRAINER, create_when_taken, runtime, trainjob
from tests.installation import Installation

pytestmark = pytest.mark.controlplane

WHERE = "mixed"
POOL = {"test.gangboard.dev/pool": WHERE}
RUNTIMES = ("mixed-plain", "mixed-prepared")

# (kind, name) → (how many such gangs, code, pods of each).
GANGS: dict[tuple[str, str], tuple[int, str, int]] = {
    ("JobSet", "set"): (1, "running", 4),
    ("JobSet", "queued"): (1, "waiting-for-quota", 0),
    ("Job", "gang"): (1, "running", 3),
    ("Job", "over"): (1, "succeeded", 1),
    ("Job", "nightly-1"): (1, "running", 1),
    ("TrainJob", "train"): (1, "running", 3),
    ("TrainJob", "admitted"): (1, "running", 2),
    ("LeaderWorkerSet", "serve"): (1, "running", 4),
    ("DisaggregatedSet", "split"): (1, "running", 4),
    ("PodCliqueSet", "chat"): (1, "running", 4),
    ("PyTorchJob", "torch"): (1, "running", 3),
    ("TFJob", "tf"): (1, "running", 2),
    ("XGBoostJob", "xgb"): (1, "running", 2),
    ("PaddleJob", "paddle"): (1, "running", 2),
    ("JAXJob", "jax"): (1, "running", 2),
    ("MPIJob", "mpi"): (1, "running", 3),
    ("RayCluster", "pool"): (1, "running", 3),
    ("RayJob", "tune"): (1, "running", 4),
    ("RayJob", "later"): (1, "waiting-for-quota", 0),
    ("RayService", "ask"): (1, "not-serving", 3),
    ("MiniCluster", "lammps"): (1, "running", 2),
    ("PodGroup", "ring"): (1, "running", 2),
    ("Job", "sweep"): (1, "running", 2),
    ("PodGroup", "allreduce"): (1, "running", 2),
    ("PodGroup", "speech"): (1, "running", 2),
    ("Job", "etl"): (1, "running", 2),
    ("Pod", "lone"): (1, "running", 1),
    ("StatefulSet", "ranks"): (1, "running", 2),
    ("StatefulSet", "steps"): (1, "quorum-deadlock", 1),
    ("Deployment", "shards"): (1, "running", 2),
    ("PodGroup", "replicas"): (1, "running", 2),
}
"""Job `sweep` is one of Volcano, `etl` an application of YuniKorn; PodGroup `allreduce` is one of coscheduling, `speech` of KAI. A run of a CronJob is a gang; the CronJob itself, the objects between an owner and its pods (the JobSet of a TrainJob, the RayCluster of a RayJob, the LeaderWorkerSets of a DisaggregatedSet, PodCliques and PodGangs), entries in queues, and the pods of a DaemonSet are none. Pods of a StatefulSet or a Deployment without a group are no gangs either."""

OCCUPANTS = {"agent": 1, "web": 2, "db": 1}
"""Label of the pods that only take room → how many there are."""


def _objects() -> list[Json]:
    """Return one of each kind, and pods of others that take room."""
    lws = leaderworkerset("serve", WHERE, replicas=2, size=2, worker=_on(template()))
    role = leaderworkerset("", WHERE, replicas=1, size=2, worker=_on(template()))["spec"]
    return [
        runtime(RUNTIMES[0], node={"cpu": "1", "node_selector": POOL}),
        runtime(
            RUNTIMES[1],
            node={"cpu": "1", "node_selector": POOL},
            initializer={"complete_after": "1s", "node_selector": POOL},
        ),
        resource_flavor(),
        cluster_queue("mixed-queue", {"cpu": "3"}),
        local_queue("queue", WHERE, cluster_queue="mixed-queue"),
        jobset("set", WHERE, jobs={"w": {"replicas": 2, "pods": 2, "node_selector": POOL}}),
        job("gang", WHERE, parallelism=3, gang=3, node_selector=POOL),
        job("over", WHERE, complete_after="1s", node_selector=POOL),
        lws,
        disaggregatedset("split", WHERE, {"prefill": role, "decode": role}),
        kubeflow_job(
            "PyTorchJob", "torch", WHERE, {"Master": replicas(), "Worker": replicas(2)}, where=POOL
        ),
        *_of_training_operator(),
        kubeflow_job(
            "MPIJob", "mpi", WHERE, {"Launcher": replicas(), "Worker": replicas(2)}, where=POOL
        ),
        podgroup("ring", WHERE, version="v1beta1", gang=2),
        pod("ring-a", WHERE, pod_group="ring", node_selector=POOL),
        pod("ring-b", WHERE, pod_group="ring", node_selector=POOL),
        pod("lone", WHERE, node_selector=POOL),
        _app("Deployment", "web", replicas=2),
        _app("StatefulSet", "db", replicas=1, serviceName="db"),
        _app("DaemonSet", "agent"),
        *_in_groups(),
        *_of_ray(),
    ]


def _in_groups() -> list[Json]:
    """Return gangs that exist by the group of their pods. The ReplicaSet of `replicas` is not read."""
    quorums = {"ranks": 2, "steps": 3, "shards": 2, "replicas": 2}
    groups = [podgroup(name, WHERE, version="v1beta1", gang=gang) for name, gang in quorums.items()]
    at_once = {"serviceName": "ranks", "podManagementPolicy": "Parallel"}
    return [
        *groups,
        _app("StatefulSet", "ranks", group="ranks", replicas=2, **at_once),
        _app("StatefulSet", "steps", group="steps", replicas=3, serviceName="steps"),
        _app("Deployment", "shards", group="shards", replicas=2),
        _app("ReplicaSet", "bare", group="replicas", replicas=2),
    ]


def _of_training_operator() -> list[Json]:
    """Return one of each kind that has all in common with PyTorchJobs but its roles."""
    kinds = {
        ("TFJob", "tf"): {"Chief": 1, "PS": 1},
        ("XGBoostJob", "xgb"): {"Master": 1, "Worker": 1},
        ("PaddleJob", "paddle"): {"Master": 1, "Worker": 1},
        ("JAXJob", "jax"): {"Worker": 2},
    }
    return [
        kubeflow_job(
            kind, name, WHERE, {role: replicas(n) for role, n in sizes.items()}, where=POOL
        )
        for (kind, name), sizes in kinds.items()
    ]


def _of_ray(workers: int = 2, labels: dict[str, str] | None = None) -> list[Json]:
    spec = cluster_spec(ray_pods(on=POOL), ray_pods(on=POOL), workers=workers)
    submitter = ray_pods(on=POOL, name="ray-job-submitter", restart_policy="Never")
    return [
        raycluster("pool", WHERE, spec),
        rayjob("later" if labels else "tune", WHERE, spec, submitter, labels=labels),
        rayservice("ask", WHERE, spec),
    ]


def _on(created: Json) -> Json:
    created["spec"]["nodeSelector"] = POOL
    return created


def _app(kind: str, name: str, *, group: str = "", **spec: Any) -> Json:
    labels = {"app": name}
    pods = pod_template(
        {
            "labels": labels,
            "restart_policy": "Always",
            "node_selector": POOL,
            **({"pod_group": group} if group else {}),
        }
    )
    selector = {"selector": {"matchLabels": labels}, "template": pods}
    meta = {"name": name, "namespace": WHERE}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": {**selector, **spec}}


def _cronjob_with_a_run(client: Client) -> None:
    """As `kubectl create job --from=cronjob/nightly nightly-1` does it."""
    created = job("x", WHERE, node_selector=POOL)
    spec = {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": {"spec": created["spec"]}}
    meta = {"name": "nightly", "namespace": WHERE}
    cronjob = client.create(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec}
    )
    run = job("nightly-1", WHERE, node_selector=POOL)
    run["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly",
         "uid": cronjob["metadata"]["uid"], "controller": True}
    ]  # fmt: skip
    client.create(run)


@pytest.fixture(scope="module")
def cluster(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[Client]:
    """The cluster with one of each kind."""
    client = controlplane_kueue.client
    clear_nodes(client)
    try:
        client.create(namespace(WHERE))
        make_nodes(client, [node("mixed", cpu="96", labels=POOL)])
        client.create_all(_objects())
        _cronjob_with_a_run(client)
        cliques = [clique("pre", 2, 2, on=POOL), clique("dec", 2, 1, on=POOL)]
        Operator(client, "v1alpha3").play(podcliqueset("chat", WHERE, cliques))
        flux.play(client, flux.minicluster("lammps", WHERE, 2, on=POOL))
        scheduled_elsewhere.volcano_job(client, "sweep", WHERE, POOL)
        scheduled_elsewhere.coscheduling_group(client, "allreduce", WHERE, POOL)
        scheduled_elsewhere.kai_group(client, "speech", WHERE, POOL)
        scheduled_elsewhere.yunikorn_job(client, "etl", WHERE, POOL)
        create_when_taken(client, trainjob("train", WHERE, RUNTIMES[1], nodes=2))
        labels = in_queue("queue")
        create_when_taken(client, trainjob("admitted", WHERE, RUNTIMES[0], nodes=2, labels=labels))
        wait(
            lambda: len(_pods_of(client, "admitted")) == 2, what="pods of the one that is admitted"
        )
        client.create(
            jobset("queued", WHERE, labels=labels, jobs={"w": {"pods": 2, "node_selector": POOL}})
        )
        client.create(_of_ray(workers=1, labels=labels)[1])
        yield client
    finally:
        delete_namespace(client, WHERE)
        client.delete(KUEUE, "ClusterQueue", "mixed-queue")
        for name in RUNTIMES:
            client.delete(TRAINER, "ClusterTrainingRuntime", name)
        clear_nodes(client)


def _pods_of(client: Client, trainjob: str) -> list[Json]:
    return client.list("v1", "Pod", WHERE, labels=f"jobset.sigs.k8s.io/jobset-name={trainjob}")


def _listed(result: list[Json]) -> dict[tuple[str, str], tuple[int, str, int]]:
    """Return gangs as `GANGS` has them; several of one name must be alike, else each stands for itself."""
    rows = Counter(
        (gang["kind"], gang["name"], gang["code"], gang["members"]["created"]) for gang in result
    )
    return {(kind, name): (number, code, pods) for (kind, name, code, pods), number in rows.items()}


def test_every_gang_is_listed_once(cluster: Client, board: Installation) -> None:
    def listed_gangs() -> dict[tuple[str, str], tuple[int, str, int]]:
        return _listed(board.gangs(namespace=WHERE))

    wait(lambda: listed_gangs() == GANGS, what=str(GANGS), seen=listed_gangs, timeout=90)
    assert len(board.gangs(namespace=WHERE)) == sum(number for number, _, _ in GANGS.values())


def test_every_kind_of_the_table_is_listed(cluster: Client, board: Installation) -> None:
    """The kinds of docs/kinds.md. A CronJob is represented by its run."""
    kinds = {
        (kind.resource.group, kind.resource.kind)
        for kind in registry.owner_kinds()
        if kind.stands_alone and not kind.makes_gangs
    }
    groups = {
        (resource.group, resource.kind)
        for api in registry.grouping_apis()
        for resource in api.resources
        if resource.kind == "PodGroup" and api.groups_of is None
    }
    displayed = {(gang["api_group"], gang["kind"]) for gang in board.gangs(namespace=WHERE)}
    # A PodGroup of Volcano is that of its Job.
    assert kinds | groups - {("scheduling.volcano.sh", "PodGroup")} <= displayed


def test_each_pod_is_in_one_gang(cluster: Client, board: Installation) -> None:
    """Summed against the API server."""
    existing = {
        obj["metadata"]["uid"]: obj["metadata"].get("labels", {}).get("app", "")
        for obj in cluster.list("v1", "Pod", WHERE)
    }
    occupants = {uid: app for uid, app in existing.items() if app in OCCUPANTS}
    displayed: list[str] = []
    for gang in board.gangs(namespace=WHERE):
        detail = board.get(f"gangs/{gang['id']}/")
        pods = detail["members"]["pods"]
        assert len(pods) == gang["members"]["created"], gang["name"]
        displayed += [item["uid"] for item in pods]
    assert Counter(occupants.values()) == OCCUPANTS
    assert sorted(displayed) == sorted(existing.keys() - occupants.keys())
    assert len(displayed) == sum(number * pods for number, _, pods in GANGS.values())


def test_ordered_workloads_are_reported_and_unread_owners_named(
    cluster: Client, board: Installation
) -> None:
    result = {gang["name"]: gang for gang in board.gangs(namespace=WHERE)}
    steps, replicas = result["steps"], board.get(f"gangs/{result['replicas']['id']}/")
    assert steps["message"] == (
        "StatefulSet steps creates its pods one by one, but PodGroup steps needs 3 at once."
    )
    assert (steps["members"]["desired"], steps["members"]["quorum"]) == (3, 3)
    assert replicas["facts"] == [
        {"label": "Owned by", "text": "ReplicaSet/bare, which is not read"}
    ]
