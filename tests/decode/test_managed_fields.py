"""Last writers of fields, by `managedFields` of API servers."""

import json
from datetime import UTC, datetime

import pytest

from gangboard.decode.managed_fields import last_writer
from gangboard.domain.suspension import FieldWriter
from gangboard.owners.apps_v1 import Deployment, StatefulSet
from gangboard.owners.grove import PodClique, PodCliqueSet
from gangboard.owners.job import Job
from gangboard.owners.jobset import JobSet
from gangboard.owners.leaderworkerset import LeaderWorkerSet
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.queues.kueue import Kueue
from tests.decode.reading import Json, model, with_identity
from tests.kinds import registered

JOB = registered(Job)
JOBSET = registered(JobSet)


def entry(manager: str, time: str, fields: object, **more: str) -> Json:
    value = {"operation": "Update", "apiVersion": "batch/v1", "fieldsType": "FieldsV1", **more}
    return {"manager": manager, "time": time, "fieldsV1": fields, **value}


# A child Job created by JobSet, suspended by a user, with a status written by Kubernetes.
MADE = {"f:metadata": {"f:labels": {".": {}}}, "f:spec": {"f:parallelism": {}, "f:template": {}}}
SUSPENDED: Json = {"f:spec": {"f:suspend": {}}}
STATUS: Json = {"f:status": {"f:conditions": {}, "f:suspend": {}}}
CHILD = [
    entry("jobset", "2026-11-21T10:00:00Z", MADE),
    entry("night-saver", "2026-11-21T10:05:07Z", SUSPENDED),
    entry("kube-controller-manager", "2026-11-21T10:05:08Z", STATUS, subresource="status"),
]


def writer_of(entries: object, pointer: str = "/spec/suspend") -> tuple[str, str]:
    return last_writer(json.dumps(entries).encode(), pointer)


def test_owner_of_a_field() -> None:
    assert writer_of(CHILD) == ("night-saver", "2026-11-21T10:05:07Z")
    assert writer_of(CHILD, "/spec/parallelism") == ("jobset", "2026-11-21T10:00:00Z")
    assert writer_of(CHILD, "/spec/active") == ("", "")


def test_last_of_several_writers_counts_and_gangboard_comes_last() -> None:
    """Server-side apply lets several own a field of one value."""
    several = [
        entry(name, f"2026-11-21T10:0{index}:00Z", SUSPENDED) for index, name in enumerate("bca")
    ]
    assert writer_of(several)[0] == "a"
    ours = entry("gangboard", "2026-11-21T10:09:00Z", SUSPENDED)
    assert writer_of([*several, ours])[0] == "a"
    assert writer_of([ours]) == ("gangboard", "2026-11-21T10:09:00Z")


@pytest.mark.parametrize(
    "entries",
    [
        None,
        [],
        {},
        [7],
        [entry("x", "2026-11-21T10:00:00Z", None)],
        [entry("x", "2026-11-21T10:00:00Z", {"f:spec": ["f:suspend"]})],
        [{"manager": 7, "fieldsV1": SUSPENDED}],
    ],
)
def test_malformed_managed_fields_count_as_empty(entries: object) -> None:
    assert writer_of(entries) == ("", "")


def test_manager_name_is_cut_at_the_limit_of_the_api_server() -> None:
    assert writer_of([entry("x" * 1000, "", SUSPENDED)]) == ("x" * 128, "")


@pytest.mark.parametrize("kind", [JOB, JOBSET])
def test_jobs_and_jobsets_have_the_writer_of_suspend(kind: OwnerKind) -> None:
    obj = with_identity({"metadata": {"managedFields": CHILD}, "spec": {"suspend": True}})
    owner = model(kind.resource, obj)
    assert (owner.suspended, owner.suspend_set_by) == (True, "night-saver")
    assert owner.suspend_set_at == datetime(2026, 11, 21, 10, 5, 7, tzinfo=UTC)
    for junk in (None, "x", [{"time": 7}]):
        obj["metadata"]["managedFields"] = junk
        owner = model(kind.resource, obj)
        assert (owner.suspended, owner.suspend_set_by, owner.suspend_set_at) == (True, "", None)


@pytest.mark.parametrize("parallelism", [0, 1])
def test_paused_job_has_the_writer_of_parallelism(parallelism: int) -> None:
    obj = with_identity(
        {"metadata": {"managedFields": CHILD}, "spec": {"parallelism": parallelism}}
    )
    written_at = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
    by = model(JOB.resource, obj).paused_by
    assert by == (None if parallelism else FieldWriter("jobset", written_at))


@pytest.mark.parametrize("replicas", [0, 1])
@pytest.mark.parametrize(
    "kind", [StatefulSet, Deployment, LeaderWorkerSet, PodCliqueSet, PodClique]
)
def test_an_object_scaled_to_zero_has_the_writer_of_its_size(
    kind: type[OwnerKind], replicas: int
) -> None:
    """After `kubectl scale --replicas=0` nobody owns the field (observed on 1.37.2)."""
    edited = entry("kubectl-edit", "2026-11-29T10:22:13Z", {"f:spec": {"f:replicas": {}}})
    obj = with_identity({"metadata": {"managedFields": [edited]}, "spec": {"replicas": replicas}})
    written_at = datetime(2026, 11, 29, 10, 22, 13, tzinfo=UTC)
    by = model(registered(kind).resource, obj).paused_by
    assert by == (None if replicas else FieldWriter("kubectl-edit", written_at))


@pytest.mark.parametrize("active", [False, True])
def test_deactivated_entry_has_its_writer(active: bool) -> None:
    """As the real Kueue 0.19.2 and kubectl leave it on 1.37.2."""
    entries = [
        entry("kueue", "2026-11-27T10:22:08Z", {"f:spec": {"f:queueName": {}}}),
        entry("kubectl-patch", "2026-11-27T10:22:13Z", {"f:spec": {"f:active": {}}}),
    ]
    workloads = next(resource for resource in Kueue.resources if resource.kind == "Workload")
    obj = with_identity({"metadata": {"managedFields": entries}, "spec": {"active": active}})
    written_at = datetime(2026, 11, 27, 10, 22, 13, tzinfo=UTC)
    by = model(workloads, obj).deactivated_by
    assert by == (None if active else FieldWriter("kubectl-patch", written_at))
