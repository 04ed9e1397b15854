"""`creates` of every kind: the number, the names and the labels of the pods."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.forecast import CreationUnknownError
from gangboard.owners.trainjob.runtime import RUNTIMES
from gangboard.plugins import registry
from tests.controlplane.flux import minicluster
from tests.controlplane.grove import clique, podcliqueset, scaling_group
from tests.controlplane.kubeflow import kubeflow_job, replicas
from tests.controlplane.leaderworkersets import leaderworkerset
from tests.controlplane.objects import podgroup
from tests.controlplane.rays import cluster_spec, ray_pods, raycluster, rayjob
from tests.controlplane.trainjobs import runtime, trainjob
from tests.decode.reading import Json, model
from tests.owners.created_manifests import CREATED, Created
from tests.owners.expansion import Expansion, context, expand, read_owner

NO_PODS = {"PodCliqueScalingGroup": "its PodCliques come from the set"}
"""Kind → why it creates no object."""


def with_runtimes(case: Created, **fields: Any) -> Expansion:
    """Expand a manifest with the runtimes that exist before it."""
    stored = [{**obj, "metadata": {**obj["metadata"], "uid": "uid-runtime"}} for obj in case.before]
    blueprints = [model(RUNTIMES[0], obj) for obj in stored]
    return expand(case.manifest, context(blueprints=blueprints, **fields))


def test_every_kind_creates_objects_or_is_known_not_to() -> None:
    silent = {kind.kind for kind in registry.owner_kinds() if not kind.overrides("creates")}
    assert silent == set(NO_PODS)


def test_every_gang_can_have_faults() -> None:
    silent = {
        kind.kind
        for kind in registry.owner_kinds()
        if kind.stands_alone and not kind.overrides("faults")
    }
    assert silent == set()


@pytest.mark.parametrize("name", CREATED)
def test_the_pods_of_a_manifest(name: str) -> None:
    case = CREATED[name]
    pods = with_runtimes(case).pods
    found = {start: sum(pod.meta.ref.name.startswith(start) for pod in pods) for start in case.pods}
    assert found == case.pods
    assert len(pods) == sum(case.pods.values())
    for key, value in case.marks.items():
        assert {pod.labels.get(key) for pod in pods} == {value}


@pytest.mark.parametrize("name", CREATED)
def test_the_pods_are_as_many_as_the_owner_wants(name: str) -> None:
    case = CREATED[name]
    made = with_runtimes(case)
    owner = read_owner(made.objects[0])
    kind = registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)
    assert kind is not None
    if kind.makes_gangs:
        return
    children = [
        read_owner(obj)
        for obj in made.objects[1:]
        if registry.owner_kind(obj["apiVersion"].rpartition("/")[0], obj["kind"]) is not None
    ]
    blueprints = [
        model(RUNTIMES[0], {**obj, "metadata": {**obj["metadata"], "uid": "u"}})
        for obj in case.before
    ]
    assert kind.complete(owner, children, blueprints).desired == len(made.pods)


@pytest.mark.parametrize("name", CREATED)
def test_every_pod_has_its_role(name: str) -> None:
    made = with_runtimes(CREATED[name])
    owner = read_owner(made.objects[0])
    kind = registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)
    assert kind is not None
    if kind.overrides("role_of"):
        assert all(kind.role_of(pod) for pod in made.pods)


@pytest.mark.parametrize("name", CREATED)
def test_a_good_manifest_has_no_fault(name: str) -> None:
    made = with_runtimes(CREATED[name])
    for obj in made.objects:
        kind = registry.owner_kind(obj["apiVersion"].rpartition("/")[0], obj["kind"])
        if kind is not None:
            assert list(kind.faults(obj, context())) == []


# Suspended objects, and children that wait


def suspended(name: str) -> Json:
    manifest = CREATED[name].manifest
    spec = manifest["spec"]
    if name.endswith("Job") and "runtimeRef" not in spec and "rayClusterSpec" not in spec:
        policy = {"runPolicy": {"suspend": True}}
        return {
            **manifest,
            "spec": {**spec, **(policy if name not in ("Job", "CronJob") else {"suspend": True})},
        }
    return {**manifest, "spec": {**spec, "suspend": True}}


@pytest.mark.parametrize(
    "name",
    [
        "Job",
        "JobSet",
        "TrainJob",
        "PyTorchJob",
        "MPIJob",
        "RayCluster",
        "RayJob",
        "RayService",
        "CronJob",
    ],
)
def test_a_suspended_object_has_no_pods(name: str) -> None:
    case = CREATED[name]
    assert with_runtimes(Created(suspended(name), {}, case.before)).pods == []


def test_a_launcher_may_wait_for_its_workers() -> None:
    roles = {"Launcher": replicas(), "Worker": replicas(2)}
    manifest = kubeflow_job(
        "MPIJob", "run", "default", roles, launcherCreationPolicy="WaitForWorkersReady"
    )
    assert len(expand(manifest).pods) == 2
    assert len(expand(manifest, context(dependencies_met=True)).pods) == 3


def test_workers_may_wait_for_their_leader() -> None:
    manifest = leaderworkerset("run", "default", startupPolicy="LeaderReady")
    assert [pod.meta.ref.name for pod in expand(manifest).pods] == ["run-0", "run-1"]
    assert len(expand(manifest, context(dependencies_met=True)).pods) == 6


def test_replicas_of_a_leaderworkerset_are_gangs() -> None:
    manifest = leaderworkerset("run", "default", scheduling={})
    made = expand(manifest, context("podgroups.scheduling.k8s.io/v1beta1"))
    assert {
        obj["metadata"]["name"]: obj["spec"]["schedulingPolicy"] for obj in made.of("PodGroup")
    } == {name: {"gang": {"minCount": 3}} for name in ("run-0", "run-1")}
    assert {pod.group_name for pod in made.pods} == {"run-0", "run-1"}


def test_exclusive_replicas_share_a_domain() -> None:
    manifest = leaderworkerset("run", "default")
    key = "leaderworkerset.sigs.k8s.io/exclusive-topology"
    manifest["metadata"]["annotations"] = {key: "rack"}
    pods = expand(manifest, context(dependencies_met=True)).pods
    terms = {pod.needs.pod_affinity for pod in pods}
    assert len(terms) == 2
    assert {term.topology_key for term in terms if term is not None} == {"rack"}


def test_an_ordered_statefulset_creates_its_first_pod() -> None:
    manifest = CREATED["StatefulSet"].manifest
    spec = {key: value for key, value in manifest["spec"].items() if key != "podManagementPolicy"}
    ordered = {**manifest, "spec": spec}
    assert len(expand(ordered).pods) == 1
    assert len(expand(ordered, context(dependencies_met=True)).pods) == 3


# Trainer


def trained(runtime_spec: Json | None = None, **spec: Any) -> Expansion:
    of = runtime("plain", node={"cpu": "1", "node_selector": {"pool": "a"}}, **(runtime_spec or {}))
    case = Created(trainjob("run", "default", "plain", nodes=3, **spec), {}, (of,))
    return with_runtimes(case)


def test_a_runtime_keeps_no_secret() -> None:
    of = runtime("plain", node={"cpu": "1"})
    container = of["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"][
        "spec"
    ]["containers"][0]
    container |= {"env": [{"name": "TOKEN", "value": "hush"}], "args": ["hush"], "image": "hush"}
    of["spec"]["template"]["metadata"] = {"annotations": {"note": "hush"}}
    blueprint = model(RUNTIMES[0], {**of, "metadata": {"name": "plain", "uid": "u"}})
    assert "hush" not in repr(blueprint.detail)
    assert "replicatedJobs" in repr(blueprint.detail)


def test_nodes_ask_for_the_resources_of_the_trainjob() -> None:
    pods = with_runtimes(CREATED["TrainJob"]).pods
    assert {str(pod.requests["cpu"]) for pod in pods} == {"2"}
    assert {pod.needs.node_selector for pod in pods} == {(("pool", "a"),)}


def test_runtime_patches_change_the_nodes() -> None:
    pods = {"spec": {"nodeSelector": {"zone": "z"}, "tolerations": [{"key": "gpu"}]}}
    entry = {"name": "node", "template": {"spec": {"template": pods}}}
    patch = {"template": {"spec": {"replicatedJobs": [entry]}}}
    made = trained(runtimePatches=[{"manager": "me", "trainingRuntimeSpec": patch}])
    assert {pod.needs.node_selector for pod in made.pods} == {(("pool", "a"), ("zone", "z"))}
    assert "gpu" in {toleration.key for toleration in made.pods[0].needs.tolerations}


@pytest.mark.parametrize(
    ("policy", "group", "kind"),
    [
        ({"coscheduling": {}}, "scheduling.x-k8s.io", "PodGroup.scheduling.x-k8s.io"),
        ({"volcano": {}}, "scheduling.volcano.sh", "PodGroup.scheduling.volcano.sh"),
    ],
)
def test_the_group_of_another_scheduler(policy: Json, group: str, kind: str) -> None:
    made = trained({"podGroupPolicy": policy})
    (obj,) = made.of("PodGroup")
    assert obj["apiVersion"].startswith(group)
    assert obj["spec"] == {"minMember": 3, "minResources": {"cpu": "3"}}
    assert {(pod.group_name, pod.group_kind) for pod in made.pods} == {("run", kind)}


def test_a_missing_runtime_is_a_fault_where_runtimes_can_be_listed() -> None:
    manifest = trainjob("run", "default", "nope", nodes=1)
    kind = registry.owner_kind("trainer.kubeflow.org", "TrainJob")
    assert kind is not None
    served = context("clustertrainingruntimes.trainer.kubeflow.org/v1alpha1")
    assert [fault.field for fault in kind.faults(manifest, served)] == ["spec.runtimeRef"]
    assert list(kind.faults(manifest, context())) == []
    with pytest.raises(CreationUnknownError):
        expand(manifest)


# Ray


def test_a_rayjob_on_a_foreign_cluster_cannot_be_foreseen() -> None:
    manifest = CREATED["RayJob"].manifest
    spec = {"clusterSelector": {"ray.io/cluster": "other"}}
    with pytest.raises(CreationUnknownError):
        expand({**manifest, "spec": spec})


def test_the_submitter_waits_for_the_cluster() -> None:
    of = cluster_spec(ray_pods(on={}), ray_pods(on={}), workers=2)
    manifest = rayjob("run", "default", of, ray_pods(on={}, restart_policy="Never"))
    assert len(expand(manifest).pods) == 3
    assert len(expand(manifest, context(dependencies_met=True)).pods) == 4


def test_hosts_and_limits_of_a_ray_group() -> None:
    of = cluster_spec(ray_pods(on={}), ray_pods(on={}), workers=5)
    of["workerGroupSpecs"][0] |= {"maxReplicas": 2, "numOfHosts": 3}
    assert len(expand(raycluster("run", "default", of)).pods) == 1 + 2 * 3


# Grove and Flux


def test_the_cliques_of_a_set_and_of_its_scaling_groups() -> None:
    manifest = podcliqueset(
        "chat",
        "default",
        [clique("router", 2, 1), clique("leader", 1, 1), clique("worker", 3, 2)],
        groups=[scaling_group("decode", "leader", "worker", replicas=2, minimum=1)],
    )
    made = expand(manifest)
    pods = {obj["metadata"]["name"]: obj["spec"]["replicas"] for obj in made.of("PodClique")}
    assert pods == {
        "chat-0-router": 2,
        "chat-0-decode-0-leader": 1,
        "chat-0-decode-0-worker": 3,
        "chat-0-decode-1-leader": 1,
        "chat-0-decode-1-worker": 3,
    }
    gangs = {
        obj["metadata"]["name"]: {
            part["name"]: part["minReplicas"] for part in obj["spec"]["podgroups"]
        }
        for obj in made.of("PodGang")
    }
    assert gangs == {
        "chat-0": {"chat-0-router": 1, "chat-0-decode-0-leader": 1, "chat-0-decode-0-worker": 2},
        "chat-0-decode-0": {"chat-0-decode-1-leader": 1, "chat-0-decode-1-worker": 2},
    }
    kind = registry.owner_kind("grove.io", "PodCliqueSet")
    assert kind is not None
    assert {kind.placed_with(pod) for pod in made.pods} == set(gangs)
    owner = kind.complete(
        read_owner(made.objects[0]), [read_owner(obj) for obj in made.of("PodClique")], ()
    )
    assert owner.desired == len(made.pods) == 10


def test_a_million_replicas_without_cliques_take_no_time() -> None:
    manifest = podcliqueset("chat", "default", [], replicas=2**40)
    assert expand(manifest).objects == [expand(manifest).objects[0]]


def test_the_job_of_a_minicluster() -> None:
    made = expand(minicluster("run", "default", 4, cpu="2", on={"pool": "a"}))
    assert [obj["metadata"]["name"] for obj in made.of("Job")] == ["run"]
    assert {str(pod.requests["cpu"]) for pod in made.pods} == {"2"}
    assert {pod.needs.node_selector for pod in made.pods} == {(("pool", "a"),)}
    assert len(made.pods) == 4


# Volcano


def test_the_group_and_the_pods_of_a_volcano_job() -> None:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}
    tasks = [
        {"name": "ps", "replicas": 1, "template": template},
        {"name": "worker", "replicas": 3, "minAvailable": 2, "template": template},
    ]
    manifest = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "run", "namespace": "default"},
        "spec": {"minAvailable": 3, "queue": "research", "tasks": tasks},
    }
    made = expand(manifest)
    (group,) = made.of("PodGroup")
    assert group["spec"] == {
        "minMember": 3,
        "minTaskMember": {"ps": 1, "worker": 2},
        "minResources": {"cpu": "6"},
        "queue": "research",
    }
    assert [pod.meta.ref.name for pod in made.pods] == [
        "run-ps-0", "run-worker-0", "run-worker-1", "run-worker-2",
    ]  # fmt: skip
    assert {(pod.group_name, pod.scheduler_name) for pod in made.pods} == {("run", "volcano")}


def staged_vcjob(*dependencies: tuple[str, list[str]]) -> Json:
    template = {"spec": {"containers": [{"name": "c"}]}}
    tasks = [
        {"name": name, "replicas": 2, "template": template, "dependsOn": {"name": others}}
        for name, others in dependencies
    ]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "run", "namespace": "default"},
        "spec": {"minAvailable": 2, "tasks": tasks},
    }


def test_tasks_that_wait_for_others_have_no_pods_at_first() -> None:
    manifest = staged_vcjob(("driver", []), ("worker", ["driver"]))
    assert [pod.meta.ref.name for pod in expand(manifest).pods] == ["run-driver-0", "run-driver-1"]
    assert len(expand(manifest, context(dependencies_met=True)).pods) == 4


@pytest.mark.parametrize(
    ("dependencies", "fields"),
    [
        ([("driver", []), ("worker", ["driver"])], []),
        ([("driver", []), ("worker", ["nobody"])], ["spec.tasks[1].dependsOn.name"]),
        ([("driver", ["worker"]), ("worker", ["driver"])], ["spec.tasks"]),
    ],
)
def test_dependencies_of_tasks_must_have_an_order(
    dependencies: list[tuple[str, list[str]]], fields: list[str]
) -> None:
    """topoSort of v1.14.1."""
    manifest = staged_vcjob(*dependencies)
    kind = registry.owner_kind("batch.volcano.sh", "Job")
    assert kind is not None
    assert [fault.field for fault in kind.faults(manifest, context())] == fields


def test_pods_keep_a_group_that_their_template_names() -> None:
    group = podgroup("ring", "default", version="v1beta1", gang=3)
    manifest = CREATED["Job"].manifest
    template = manifest["spec"]["template"]
    named = {**template, "spec": {**template["spec"], "schedulingGroup": {"podGroupName": "ring"}}}
    made = expand(
        {**manifest, "spec": {**manifest["spec"], "template": named}},
        context("podgroups.scheduling.k8s.io/v1beta1"),
    )
    assert {pod.group_name for pod in made.pods} == {group["metadata"]["name"]}
    assert made.of("PodGroup") == []
