"""StatefulSets and Deployments are read only while a group names their pods. Otherwise no request is sent for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from gangboard.pages.clusters.queries import cluster_detail
from gangboard.store.access import Scope, Viewer
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Gang
from simulator.resources import DEPLOYMENTS, STATEFULSETS
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Json = dict[str, Any]

SETS, SERVERS = "statefulsets.apps", "deployments.apps"
EVERYTHING = Viewer(1, "olga", (Scope(None, "", "admin"),))
SPEC = {"replicas": 3, "template": {"spec": {"containers": [{"name": "main"}]}}}


def manifest(api_version: str, kind: str, name: str, **fields: Any) -> Json:
    meta = {
        "name": name,
        "namespace": "default",
        "uid": f"uid-{name}",
        **fields.pop("metadata", {}),
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def a_pod(name: str, maker: str, *, group: str = "", **labels: str) -> Json:
    """Return a pod of `Kind/name` of apps/v1."""
    kind, _, owner = maker.partition("/")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"uid-{owner}"}
    metadata = {"ownerReferences": [{**reference, "controller": True}], "labels": labels}
    spec: Json = {"containers": [{"name": "main"}], "schedulerName": "default-scheduler"}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return manifest("v1", "Pod", name, metadata=metadata, spec=spec, status={"phase": "Pending"})


def a_gang(watching: Watching, *, quorum: int = 2) -> None:
    """Put a StatefulSet of three with two pods in a gang, and other objects that use capacity."""
    put = watching.simulator.objects.put
    policy = {"schedulingPolicy": {"gang": {"minCount": quorum}}}
    put(manifest("scheduling.k8s.io/v1beta1", "PodGroup", "ring", spec=policy))
    put(manifest("apps/v1", "StatefulSet", "db", spec=SPEC))
    put(manifest("apps/v1", "StatefulSet", "cache", spec=SPEC))
    for name in ("db-0", "db-1"):
        put(a_pod(name, "StatefulSet/db", group="ring"))


@pytest.fixture
def watching(watch: Watch) -> Watching:
    """A cluster with a web server and a database that are in no group."""
    watching = watch(fleet="empty", extra=(STATEFULSETS, DEPLOYMENTS))
    put = watching.simulator.objects.put
    put(manifest("apps/v1", "Deployment", "web", spec=SPEC))
    put(manifest("apps/v1", "StatefulSet", "logs", spec=SPEC))
    put(a_pod("web-5d9f-x7k2p", "ReplicaSet/web-5d9f", **{"pod-template-hash": "5d9f"}))
    put(a_pod("logs-0", "StatefulSet/logs"))
    return watching


def gangs() -> set[tuple[str, str]]:
    return set(Gang.objects.filter(gone_at=None).values_list("kind", "name"))


def states(watching: Watching) -> tuple[str, str]:
    return watching.state(SETS).state, watching.state(SERVERS).state


def test_owners_of_single_pods_are_not_read(watching: Watching) -> None:
    fault = watching.simulator.faults.forbidden(path="/apis/apps/v1/")
    assert watching.once().ok
    watching.window(0.5)
    assert fault.hits == 0
    assert gangs() == set()
    assert states(watching) == ("not-needed", "not-needed")
    detail = cluster_detail(watching.cluster.name, viewer=EVERYTHING, now=timezone.now())
    assert detail is not None
    resource_rows = {row.resource: row for row in detail.resources}
    assert (resource_rows[SETS].face.label, resource_rows[SETS].is_fault) == ("Not needed", False)


def test_one_poll_reads_the_owner_that_a_group_names(watching: Watching) -> None:
    a_gang(watching)
    assert watching.once().ok
    assert gangs() == {("StatefulSet", "db")}
    assert watching.gang("db").desired == 3
    assert states(watching) == ("ok", "not-needed"), "no pod of a Deployment is in a group"
    assert not Gang.objects.filter(kind="PodGroup").exists(), "not even for a moment"


def test_an_owner_that_appears_during_a_window_is_read_in_it(watching: Watching) -> None:
    watching.settle()
    assert states(watching)[0] == "not-needed"
    a_gang(watching)
    watching.settle(also=(SETS,))
    assert gangs() == {("StatefulSet", "db")}


def test_owners_that_are_no_longer_needed_are_deleted(watching: Watching) -> None:
    a_gang(watching)
    watching.once()
    assert watching.objects(SETS) == 3
    for name in ("db-0", "db-1"):
        watching.simulator.objects.delete("v1", "Pod", name, "default")
    watching.once()
    watching.once()
    assert states(watching)[0] == "not-needed"
    assert watching.objects(SETS) == 0
    assert gangs() == {("PodGroup", "ring")}


def test_a_group_without_quorum_needs_no_owners(watching: Watching) -> None:
    a_gang(watching)
    policy: Json = {"schedulingPolicy": {"basic": {}}}
    watching.simulator.objects.put(
        manifest("scheduling.k8s.io/v1beta1", "PodGroup", "ring", spec=policy)
    )
    watching.once()
    assert states(watching)[0] == "not-needed"
    assert gangs() == set()


def test_a_reader_without_list_permission_sees_the_gang_by_its_group(watching: Watching) -> None:
    a_gang(watching)
    watching.simulator.faults.forbidden(resource=SETS)
    watching.once()
    assert states(watching)[0] == "forbidden"
    assert gangs() == {("PodGroup", "ring")}
    gang = watching.gang("ring")
    assert gang.code != "not-observed"
    assert "StatefulSet/db" in str(unpack_detail(bytes(gang.detail)))
