"""The stored objects of a gang that a decision about acting stands on."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gangboard.actions.known import models
from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller, Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.store.grounds import find_gang, find_object, read_ground
from gangboard.store.models import Cluster, ResourceState
from tests.factories import make_cluster, make_gang, store_object

pytestmark = pytest.mark.django_db
NAMESPACE = "research"
JOBSETS, JOBS = "jobsets.jobset.x-k8s.io", "jobs.batch"
HOLDS, WORKLOADS = "holds.gangboard.dev", "workloads.kueue.x-k8s.io"


def meta(group: str, kind: str, name: str, uid: str, owner: str = "", second: int = 0) -> Meta:
    controller = Controller("jobset.x-k8s.io", "JobSet", "train", owner) if owner else None
    created = datetime(2026, 11, 21, 10, 0, second, tzinfo=UTC)
    ref = ObjectRef(group, kind, NAMESPACE, name, uid)
    return Meta("v1", ref, "1", 1, created, controller=controller)


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


def test_a_jobset(cluster: Cluster) -> None:
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    ground = read_ground(cluster.pk, gang, models())
    assert ground is not None
    assert ground.owner.meta.ref.uid == "js"
    assert [job.meta.ref.uid for job in ground.jobs] == ["j0"]
    assert [job.meta.ref.uid for job in ground.old_jobs] == ["j1"]
    assert [hold.meta.ref.uid for hold in ground.holds] == ["h0"]
    assert [entry.meta.ref.uid for entry in ground.entries] == ["w0"]
    assert ground.api_versions == {JOBS: "v1", HOLDS: "v1alpha1"}


def test_a_standalone_job_is_its_own_only_job(cluster: Cluster) -> None:
    store_object(cluster, JOBS, Owner(meta("batch", "Job", "alone", "a")))
    gang = make_gang(cluster, "alone", uid="a", kind="Job", api_group="batch")
    ground = read_ground(cluster.pk, gang, models())
    assert ground is not None
    assert [job.meta.ref.uid for job in ground.jobs] == ["a"]


def test_what_is_no_owner_has_no_ground(cluster: Cluster) -> None:
    gang = make_gang(cluster, "gone", uid="gone")
    assert read_ground(cluster.pk, gang, models()) is None


def test_the_gang_of_a_child_job(cluster: Cluster) -> None:
    gang = make_gang(cluster, "train", uid="js", namespace=NAMESPACE)
    assert find_gang(cluster.pk, "j0", models()) == gang
    assert find_gang(cluster.pk, "js", models()) == gang
    assert find_gang(cluster.pk, "j2", models()) is None
    assert find_gang(cluster.pk, "nothing", models()) is None


def test_of_two_with_one_name_the_newer_is_meant(cluster: Cluster) -> None:
    store_object(cluster, JOBS, Owner(meta("batch", "Job", "train-w-0", "newer", "js", second=9)))
    found = find_object(cluster, JOBS, NAMESPACE, "train-w-0", models())
    assert found is not None
    assert found.meta.ref.uid == "newer"
    assert find_object(cluster, JOBS, "elsewhere", "train-w-0", models()) is None
