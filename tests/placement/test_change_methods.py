"""Each row of the table of ways, tried by a dry run on the control planes of three minors."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest

from gangboard.domain.advice import AdviceKind, ChangeMethod
from gangboard.placement.advice.change_methods import (
    V1_36,
    V1_37,
    ChangedObject,
    Minor,
    change_method,
)
from tests.controlplane.client import ApiError, Client, Json, PatchType, wait
from tests.controlplane.objects import JOBSET, job, jobset, pod, podgroup, workload

V1_35 = (1, 35)
NOWHERE = {"test.gangboard.dev/pool": "there-is-none"}
DEDICATED = {"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}
SCHEDULING = {V1_35: "v1alpha1", V1_36: "v1alpha2", V1_37: "v1beta1"}
SIZE_OF_JOBS = ("template/spec/parallelism", "template/spec/completions")
TOLERATED = {"spec": {"template": {"spec": {"tolerations": [DEDICATED]}}}}


_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Cluster:
    client: Client
    namespace: str
    minor: Minor

    @property
    def scheduling(self) -> str:
        return f"scheduling.k8s.io/{SCHEDULING[self.minor]}"


@pytest.fixture(params=[V1_37, V1_36, V1_35], ids=["1.37", "1.36", "1.35"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    plane = request.getfixturevalue(f"controlplane_{request.param[0]}{request.param[1]}")
    name = f"ways-{request.param[1]}-{next(_NUMBERS)}"
    plane.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield Cluster(plane.client, name, request.param)
    plane.client.delete("v1", "Namespace", name)


pytestmark = pytest.mark.controlplane


def _taken(cluster: Cluster, version: str, kind: str, name: str, body: object) -> bool:
    """Whether the API server would take the patch: a list is a JSON patch, all else is merged."""
    how: PatchType = "json" if isinstance(body, list) else "merge"
    try:
        cluster.client.patch(version, kind, name, body, cluster.namespace, type=how, dry_run=True)
    except ApiError as error:
        if error.status not in (403, 422):
            raise
        return False
    return True


def _is_in_place(cluster: Cluster, change: AdviceKind, target: ChangedObject) -> bool:
    return change_method(change, target, cluster.minor) is ChangeMethod.IN_PLACE


def _with_pods(cluster: Cluster, created: Json, pods: int) -> None:
    cluster.client.create(created)
    _wait_for_pods(cluster, created["metadata"]["name"], pods)


def _wait_for_pods(cluster: Cluster, of: str, pods: int) -> None:
    wait(
        lambda: len(cluster.client.list("v1", "Pod", cluster.namespace)) >= pods,
        what=f"{pods} pods of {of}",
    )


def _wait_for_quorum(cluster: Cluster, quorum: int) -> None:
    """Return when the only group has it."""

    def look() -> bool:
        (group,) = cluster.client.list(cluster.scheduling, "PodGroup", cluster.namespace)
        return bool(group["spec"]["schedulingPolicy"]["gang"]["minCount"] == quorum)

    wait(look, what=f"a quorum of {quorum}")


def _lower(*fields: str) -> Json:
    """Return the change of a Job of four to two: of these fields of it."""
    spec: Json = {name: 2 for name in fields if name != "minCount"}
    if "minCount" in fields:
        spec["scheduling"] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    return {"spec": spec}


def test_the_size_of_a_job(cluster: Cluster) -> None:
    _with_pods(
        cluster,
        job("j", cluster.namespace, parallelism=4, indexed=False, node_selector=NOWHERE),
        4,
    )
    taken = _taken(cluster, "batch/v1", "Job", "j", _lower("parallelism"))
    assert taken is _is_in_place(cluster, AdviceKind.SIZE, ChangedObject.JOB)
    assert not _taken(cluster, "batch/v1", "Job", "j", _lower("parallelism", "completions"))


def test_the_size_of_an_indexed_job(cluster: Cluster) -> None:
    """1.36 would make a gang of it, but for one that brings a basic group."""
    created = job("j", cluster.namespace, parallelism=4, node_selector=NOWHERE)
    if cluster.minor == V1_36:
        created = job(
            "j", cluster.namespace, parallelism=4, node_selector=NOWHERE, pod_group="basic"
        )
        cluster.client.create(podgroup("basic", cluster.namespace, version="v1alpha2"))
    _with_pods(cluster, created, 4)
    taken = _taken(cluster, "batch/v1", "Job", "j", _lower("parallelism", "completions"))
    assert taken is _is_in_place(cluster, AdviceKind.SIZE, ChangedObject.JOB)


def test_the_size_of_a_list_of_work(cluster: Cluster) -> None:
    _with_pods(
        cluster,
        job("j", cluster.namespace, parallelism=4, completions=100, node_selector=NOWHERE),
        4,
    )
    taken = _taken(cluster, "batch/v1", "Job", "j", _lower("parallelism"))
    assert taken is _is_in_place(cluster, AdviceKind.SIZE, ChangedObject.JOB)


def test_the_size_of_a_job_in_an_unrequested_gang(cluster: Cluster) -> None:
    if cluster.minor != V1_36:
        assert not _is_in_place(
            cluster, AdviceKind.SIZE, ChangedObject.UNASKED_GANG_JOB
        )  # it makes none
        return
    _with_pods(cluster, job("j", cluster.namespace, parallelism=4, node_selector=NOWHERE), 4)
    taken = _taken(cluster, "batch/v1", "Job", "j", _lower("parallelism", "completions"))
    assert taken is _is_in_place(cluster, AdviceKind.SIZE, ChangedObject.UNASKED_GANG_JOB)


@pytest.mark.parametrize("gang", ["all", 4])
@pytest.mark.parametrize("shape", ["indexed", "list", "NonIndexed"])
def test_the_size_of_a_job_in_a_gang(
    cluster: Cluster, gang: int | Literal["all"], shape: str
) -> None:
    """The group follows; a quorum that is given stands in the way unless it goes down as well."""
    if cluster.minor != V1_37:
        assert not _is_in_place(
            cluster, AdviceKind.SIZE, ChangedObject.GANG_JOB
        )  # it has no such field
        return
    created = job(
        "j",
        cluster.namespace,
        parallelism=4,
        completions=100 if shape == "list" else 4,
        indexed=shape != "NonIndexed",
        gang=gang,
        node_selector=NOWHERE,
    )
    _with_pods(cluster, created, 4)
    fields = ["parallelism", "completions"] if shape == "indexed" else ["parallelism"]
    if gang == 4:
        assert not _taken(cluster, "batch/v1", "Job", "j", _lower(*fields))
        fields.append("minCount")
    taken = _taken(cluster, "batch/v1", "Job", "j", _lower(*fields))
    assert taken is _is_in_place(cluster, AdviceKind.SIZE, ChangedObject.GANG_JOB)
    cluster.client.patch("batch/v1", "Job", "j", _lower(*fields), cluster.namespace)
    _wait_for_quorum(cluster, 2)


@pytest.mark.parametrize("suspend", [False, True])
@pytest.mark.parametrize("fields", [("replicas",), SIZE_OF_JOBS], ids=["Jobs", "pods"])
def test_the_size_of_a_jobset(cluster: Cluster, fields: tuple[str, ...], *, suspend: bool) -> None:
    created = jobset(
        "s",
        cluster.namespace,
        suspend=suspend,
        jobs={"w": {"replicas": 2, "pods": 2, "node_selector": NOWHERE}},
    )
    _with_pods(cluster, created, 0 if suspend else 4)
    smaller = [
        {"op": "replace", "path": f"/spec/replicatedJobs/0/{field}", "value": 1} for field in fields
    ]
    taken = _taken(cluster, JOBSET, "JobSet", "s", smaller)
    assert taken is _is_in_place(cluster, AdviceKind.SIZE, ChangedObject.MULTI_ROLE_OWNER)


@pytest.mark.parametrize("gang", ["all", 4])
def test_the_quorum_of_a_job(cluster: Cluster, gang: int | Literal["all"]) -> None:
    """Also where none is given: then it is set. The group follows at once."""
    if cluster.minor != V1_37:
        assert not _is_in_place(
            cluster, AdviceKind.QUORUM, ChangedObject.GANG_JOB
        )  # it has no such field
        return
    _with_pods(
        cluster, job("j", cluster.namespace, parallelism=4, gang=gang, node_selector=NOWHERE), 4
    )
    taken = _taken(cluster, "batch/v1", "Job", "j", _lower("minCount"))
    assert taken is _is_in_place(cluster, AdviceKind.QUORUM, ChangedObject.GANG_JOB)
    cluster.client.patch("batch/v1", "Job", "j", _lower("minCount"), cluster.namespace)
    _wait_for_quorum(cluster, 2)


def test_the_quorum_of_a_group_brought_along(cluster: Cluster) -> None:
    if cluster.minor == V1_35:
        cluster.client.create(
            workload("w", cluster.namespace, templates={"g": 4}, version="v1alpha1")
        )
        lower: Json = {"spec": {"podGroups": [{"name": "g", "policy": {"gang": {"minCount": 2}}}]}}
        taken = _taken(cluster, cluster.scheduling, "Workload", "w", lower)
        assert taken is _is_in_place(cluster, AdviceKind.QUORUM, ChangedObject.WORKLOAD)
        return
    cluster.client.create(
        podgroup("g", cluster.namespace, version=SCHEDULING[cluster.minor], gang=4)
    )
    lower = {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    taken = _taken(cluster, cluster.scheduling, "PodGroup", "g", lower)
    assert taken is _is_in_place(cluster, AdviceKind.QUORUM, ChangedObject.POD_GROUP)


def test_the_topology_of_a_group(cluster: Cluster) -> None:
    if cluster.minor == V1_35:
        assert not _is_in_place(
            cluster, AdviceKind.DROP_TOPOLOGY, ChangedObject.WORKLOAD
        )  # it has none
        return
    created = podgroup(
        "g", cluster.namespace, version=SCHEDULING[cluster.minor], gang=2, topology="rack"
    )
    stored = cluster.client.create(created)
    if cluster.minor == V1_36:
        assert (
            "schedulingConstraints" not in stored["spec"]
        )  # its gate is off, so there is no field to drop
        return
    without = {"spec": {"schedulingConstraints": None}}
    taken = _taken(cluster, cluster.scheduling, "PodGroup", "g", without)
    assert taken is _is_in_place(cluster, AdviceKind.DROP_TOPOLOGY, ChangedObject.POD_GROUP)


def test_the_topology_of_a_job(cluster: Cluster) -> None:
    if cluster.minor != V1_37:
        assert not _is_in_place(
            cluster, AdviceKind.DROP_TOPOLOGY, ChangedObject.GANG_JOB
        )  # it has none
        return
    created = job(
        "j", cluster.namespace, parallelism=2, gang="all", topology="rack", node_selector=NOWHERE
    )
    _with_pods(cluster, created, 2)
    without = {"spec": {"scheduling": {"schedulingConstraints": None}}}
    taken = _taken(cluster, "batch/v1", "Job", "j", without)
    assert taken is _is_in_place(cluster, AdviceKind.DROP_TOPOLOGY, ChangedObject.GANG_JOB)


def test_a_taint_tolerated_by_a_job(cluster: Cluster) -> None:
    _with_pods(
        cluster,
        job("j", cluster.namespace, parallelism=2, indexed=False, node_selector=NOWHERE),
        2,
    )
    taken = _taken(cluster, "batch/v1", "Job", "j", TOLERATED)
    assert taken is _is_in_place(cluster, AdviceKind.TOLERATE, ChangedObject.JOB)


def test_a_taint_tolerated_by_a_jobset(cluster: Cluster) -> None:
    created = jobset(
        "s", cluster.namespace, jobs={"w": {"replicas": 1, "pods": 2, "node_selector": NOWHERE}}
    )
    _with_pods(cluster, created, 2)
    path = "/spec/replicatedJobs/0/template/spec/template/spec/tolerations"
    extra = [{"op": "add", "path": path, "value": [DEDICATED]}]
    taken = _taken(cluster, JOBSET, "JobSet", "s", extra)
    assert taken is _is_in_place(cluster, AdviceKind.TOLERATE, ChangedObject.MULTI_ROLE_OWNER)


def test_a_taint_tolerated_by_a_pod(cluster: Cluster) -> None:
    created = cluster.client.create(pod("p", cluster.namespace, node_selector=NOWHERE))
    extra = {"spec": {"tolerations": [*created["spec"].get("tolerations", []), DEDICATED]}}
    taken = _taken(cluster, "v1", "Pod", "p", extra)
    assert taken is _is_in_place(cluster, AdviceKind.TOLERATE, ChangedObject.POD)
