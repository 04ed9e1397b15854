"""The stored objects of a gang, on which a decision about acting is based."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller, Meta
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.store import gang_objects, objects
from gangboard.store.gang_objects import find_gang, find_object, read_gang
from gangboard.store.models import Cluster, ResourceState
from tests.domain_objects import a_meta
from tests.factories import make_cluster, make_gang, store_object

pytestmark = pytest.mark.django_db
NAMESPACE = "research"
JOBSETS, JOBS = "jobsets.jobset.x-k8s.io", "jobs.batch"
HOLDS, WORKLOADS = "holds.gangboard.dev", "workloads.kueue.x-k8s.io"


def meta(group: str, kind: str, name: str, uid: str, owner: str = "", second: int = 0) -> Meta:
    controller = Controller("jobset.x-k8s.io", "JobSet", "train", owner) if owner else None
    created_at = datetime(2026, 11, 21, 10, 0, second, tzinfo=UTC)
    return a_meta(
        group, kind, name, uid=uid, namespace=NAMESPACE, of=controller, created_at=created_at
    )


@pytest.fixture
def cluster() -> Cluster:
    cluster = make_cluster()
    store_object(
        cluster, JOBSETS, Owner(meta("jobset.x-k8s.io", "JobSet", "train", "js"), restarts=1)
    )
    for name, uid, owner, attempt in (
        ("train-w-0", "j0", "js", "1"),
        ("train-w-1", "j1", "js", "0"),
        ("train-w-2", "j2", "another", "1"),
    ):
        job = Owner(meta("batch", "Job", name, uid, owner), attempt=attempt)
        store_object(cluster, JOBS, job)
    for uid, owner in (("h0", "js"), ("h1", "another")):
        store_object(
            cluster, HOLDS, Hold(meta("gangboard.dev", "Hold", uid, uid), "train-w-0", owner)
        )
    for uid, owner in (("w0", "js"), ("w1", "another")):
        entry = QueueEntry(meta("kueue.x-k8s.io", "Workload", uid, uid), owner_uid=owner)
        store_object(cluster, WORKLOADS, entry)
    states = ((JOBS, "ok", "v1"), (HOLDS, "ok", "v1alpha1"), (WORKLOADS, "not-served", "v1beta2"))
    for resource, state, version in states:
        ResourceState.objects.create(
            cluster=cluster, resource=resource, state=state, version=version
        )
    return cluster


def test_a_jobset_has_its_jobs(cluster: Cluster) -> None:
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    context = read_gang(cluster.pk, gang)
    assert context is not None
    assert context.owner.meta.ref.uid == "js"
    assert [job.meta.ref.uid for job in context.jobs] == ["j0"]
    assert [job.meta.ref.uid for job in context.old_jobs] == ["j1"]
    assert [hold.meta.ref.uid for hold in context.holds] == ["h0"]
    assert [entry.meta.ref.uid for entry in context.entries] == ["w0"]
    assert context.cluster.api_versions == {JOBS: "v1", HOLDS: "v1alpha1"}


def test_a_standalone_job_is_its_own_only_job(cluster: Cluster) -> None:
    store_object(cluster, JOBS, Owner(meta("batch", "Job", "alone", "a")))
    gang = make_gang(cluster, "alone", uid="a", kind="Job", api_group="batch")
    context = read_gang(cluster.pk, gang)
    assert context is not None
    assert [job.meta.ref.uid for job in context.jobs] == ["a"]


def test_a_gang_without_a_stored_owner_is_not_read(cluster: Cluster) -> None:
    gang = make_gang(cluster, "gone", uid="gone")
    assert read_gang(cluster.pk, gang) is None


def test_a_child_job_has_its_gang(cluster: Cluster) -> None:
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    assert find_gang(cluster.pk, NAMESPACE, "j0") == gang
    assert find_gang(cluster.pk, NAMESPACE, "js") == gang
    assert find_gang(cluster.pk, NAMESPACE, "j2") is None
    assert find_gang(cluster.pk, NAMESPACE, "nothing") is None
    assert find_gang(cluster.pk, "elsewhere", "j0") is None
    assert find_gang(cluster.pk, "elsewhere", "js") is None


def test_the_newer_of_two_objects_with_one_name_is_used(cluster: Cluster) -> None:
    store_object(cluster, JOBS, Owner(meta("batch", "Job", "train-w-0", "newer", "js", second=9)))
    obj = find_object(cluster, JOBS, NAMESPACE, "train-w-0")
    assert obj is not None
    assert obj.meta.ref.uid == "newer"
    assert find_object(cluster, JOBS, "elsewhere", "train-w-0") is None


def test_unrelated_objects_in_the_namespace_are_not_read(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    with CaptureQueriesContext(connection) as few_queries:
        read_gang(cluster.pk, gang)
    for number in range(60):
        uid = f"other-{number}"
        hold = Hold(meta("gangboard.dev", "Hold", f"h-{uid}", f"h-{uid}"), "train-w-0", uid)
        entry = QueueEntry(
            meta("kueue.x-k8s.io", "Workload", f"w-{uid}", f"w-{uid}"), owner_uid=uid
        )
        job = Owner(meta("batch", "Job", f"train-w-0-{number}", f"j-{uid}", uid))
        for resource, model in ((HOLDS, hold), (WORKLOADS, entry), (JOBS, job)):
            store_object(cluster, resource, model)
    unpacked: list[Any] = []

    def count(data: bytes, model: type[Any]) -> Any:
        unpacked.append(obj := objects.unpack(data, model))
        return obj

    monkeypatch.setattr(gang_objects, "unpack", count)
    with CaptureQueriesContext(connection) as crowded:
        context = read_gang(cluster.pk, gang)
    assert context is not None
    assert [hold.meta.ref.uid for hold in context.holds] == ["h0"]
    # The JobSet's two Jobs, its Hold and its entry.
    assert sorted(stored.meta.ref.uid for stored in unpacked) == ["h0", "j0", "j1", "w0"]
    assert len(crowded) == len(few_queries) <= 6


def test_a_child_is_matched_by_its_controller_and_not_its_name(cluster: Cluster) -> None:
    store_object(cluster, JOBS, Owner(meta("batch", "Job", "shortened-8f3a", "odd", "js")))
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    context = read_gang(cluster.pk, gang)
    assert context is not None
    assert {job.meta.ref.uid for job in (*context.jobs, *context.old_jobs)} == {"j0", "j1", "odd"}


def test_nested_children_and_owner_cycles_are_handled(cluster: Cluster) -> None:
    top = meta("jobset.x-k8s.io", "JobSet", "top", "top", "middle")
    middle = meta("jobset.x-k8s.io", "JobSet", "top-m", "middle", "top")
    for model in (Owner(top), Owner(middle)):
        store_object(cluster, JOBSETS, model)
    store_object(cluster, JOBS, Owner(meta("batch", "Job", "top-m-0", "bottom", "middle")))
    gang = make_gang(cluster, "top", uid="top", namespace=NAMESPACE)
    context = read_gang(cluster.pk, gang)
    assert context is not None
    assert {job.meta.ref.uid for job in (*context.jobs, *context.old_jobs)} == {"bottom"}


def test_children_beyond_one_query_are_read(cluster: Cluster) -> None:
    for number in range(objects.BATCH + 1):
        store_object(cluster, JOBS, Owner(meta("batch", "Job", f"w-{number}", f"w-{number}", "js")))
    last = Hold(meta("gangboard.dev", "Hold", "last", "last"), "w", f"w-{objects.BATCH}")
    store_object(cluster, HOLDS, last)
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    context = read_gang(cluster.pk, gang)
    assert context is not None
    assert {hold.meta.ref.uid for hold in context.holds} == {"h0", "last"}


@pytest.mark.parametrize("uid", ["", "x" * 65, "a\x00b"])
def test_an_invalid_uid_has_no_children(uid: str) -> None:
    assert objects.owner_uid(Hold(meta("gangboard.dev", "Hold", "h", "h"), "train", uid)) is None
