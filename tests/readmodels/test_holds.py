"""Holds: in force or not, lost or not, seen or not; never a guess."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.objects import Controller
from gangboard.pages.holds.queries import HoldFilters, read_holds
from gangboard.pages.holds.rows import HoldPage, HoldRow
from gangboard.readmodels.cursors import CursorError
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang, HoldCheck, ResourceState, WatchedObject
from tests.actions.stored_holds import record
from tests.factories import NOW, make_cluster, make_resource, store_object
from tests.stored_jobsets import (
    HOLDS,
    JOBS,
    JOBSETS,
    make_hold,
    make_job_object,
    make_jobset,
    make_readable,
)

pytestmark = pytest.mark.django_db

JOB = "llama-workers-1"


@pytest.fixture
def cluster() -> Cluster:
    new_cluster = make_cluster(actor_credentials=b"sealed")
    make_readable(new_cluster, HOLDS)
    return new_cluster


@pytest.fixture(autouse=True)
def policy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Say how the policy is installed: by default as it should be."""

    def set_policy_state(state: PolicyState, sentence: str = "") -> None:
        cluster_levers = ClusterLevers(has_actor=True, hold=state, hold_sentence=sentence)
        monkeypatch.setattr(
            "gangboard.pages.holds.queries.read_all_levers",
            lambda clusters: {cluster.pk: cluster_levers for cluster in clusters},
        )

    set_policy_state(PolicyState.INSTALLED)
    return set_policy_state


def held(cluster: Cluster, **fields: Any) -> Gang:
    gang = make_jobset(cluster, suspended={JOB})
    make_hold(cluster, gang, JOB, **fields)
    return gang


def check(cluster: Cluster, in_force: bool | None, sentence: str = "") -> None:
    HoldCheck.objects.create(
        cluster=cluster,
        hold_uid=f"hold-uid-{cluster.name}-{JOB}",
        in_force=in_force,
        checked_at=NOW - timedelta(seconds=8),
        sentence=sentence,
    )


def read(viewer: Viewer, **filters: Any) -> HoldPage:
    return read_holds(viewer=viewer, filters=HoldFilters(**filters), now=NOW)


def only(viewer: Viewer) -> HoldRow:
    (row,) = read(viewer).rows
    return row


def test_a_proved_hold_is_in_force(owner: Viewer, cluster: Cluster) -> None:
    gang = held(cluster, until=NOW + timedelta(hours=6))
    check(cluster, True)
    row = only(owner)
    assert (row.cluster, row.namespace, row.name, row.job) == (
        "eu-train",
        "research",
        f"hold-{JOB}",
        JOB,
    )
    assert (row.owner.kind, row.owner.name, row.owner.uid) == ("JobSet", "llama", gang.uid)
    assert (row.by, row.reason, row.gang_id) == ("olga", "gpu-07 throws ECC errors", gang.pk)
    assert row.since == NOW - timedelta(minutes=20)
    assert row.until == NOW + timedelta(hours=6)
    assert (row.in_force, row.checked_at) == (True, NOW - timedelta(seconds=8))
    assert (row.face.label, row.face.tone, row.message, row.lost) == (
        "In force",
        "suspended",
        "",
        False,
    )


def test_an_untested_hold_is_not_in_force(owner: Viewer, cluster: Cluster) -> None:
    held(cluster)
    row = only(owner)
    assert (row.in_force, row.checked_at, row.face.label) == (None, None, "Not known")


def test_a_hold_with_a_failed_proof_is_not_in_force(owner: Viewer, cluster: Cluster) -> None:
    held(cluster)
    check(cluster, False, "A resume was let through.")
    row = only(owner)
    assert (row.in_force, row.face.label, row.message) == (
        False,
        "Not in force",
        "A resume was let through.",
    )


def test_a_hold_without_its_policy_is_not_in_force(
    owner: Viewer, cluster: Cluster, policy: Any
) -> None:
    held(cluster)
    check(cluster, True)
    policy(PolicyState.MISSING, "The policy gangboard-hold is not installed.")
    row = only(owner)
    assert (row.in_force, row.message) == (False, "The policy gangboard-hold is not installed.")
    policy(PolicyState.CHANGED, "The policy gangboard-hold was changed.")
    row = only(owner)
    # A recent proof stays valid. A different policy is reported.
    assert (row.in_force, row.message) == (True, "The policy gangboard-hold was changed.")


def test_a_recreated_jobset_has_lost_its_hold(owner: Viewer, cluster: Cluster) -> None:
    gang = held(cluster)
    check(cluster, True)
    WatchedObject.objects.exclude(resource=HOLDS).delete()
    new = Controller("jobset.x-k8s.io", "JobSet", "llama", "new-uid")
    store_object(cluster, JOBS, make_job_object(JOB, "new-job", new))
    row = only(owner)
    assert (row.lost, row.in_force, row.face.label) == (True, False, "Hold lost")
    assert row.message == (
        f"Hold lost: this Hold is for uid {gang.uid}, but JobSet/llama has another uid. JobSet/llama was "
        "re-created, or the Hold names another object."
    )
    assert (row.owner.name, row.owner.uid) == ("llama", gang.uid)


def test_a_deleted_jobset_has_lost_its_hold(owner: Viewer, cluster: Cluster) -> None:
    gang = held(cluster)
    WatchedObject.objects.exclude(resource=HOLDS).delete()
    assert only(owner).message == (
        f"Hold lost: namespace research has no JobSet with uid {gang.uid}."
    )


def test_a_hold_of_an_unknown_jobset_is_lost(owner: Viewer, cluster: Cluster) -> None:
    gang = held(cluster)
    WatchedObject.objects.exclude(resource=HOLDS).delete()
    gang.delete()
    row = only(owner)
    assert (row.owner.kind, row.owner.name, row.gang_id, row.lost) == ("JobSet", "", "", True)


def test_unreadable_jobsets_are_not_deleted(owner: Viewer, cluster: Cluster) -> None:
    held(cluster)
    WatchedObject.objects.exclude(resource=HOLDS).delete()
    ResourceState.objects.filter(resource=JOBSETS).update(state="forbidden")
    row = only(owner)
    assert (row.lost, row.in_force) == (False, None)


def test_force_is_unknown_in_a_silent_cluster(owner: Viewer, cluster: Cluster) -> None:
    held(cluster)
    check(cluster, True)
    Cluster.objects.update(contact_at=NOW - timedelta(minutes=3), problem="timeout")
    page = read(owner)
    (row,) = page.rows
    assert row.in_force is None
    assert row.message == (
        "Cluster eu-train does not answer, so whether the Hold is in force is unknown."
    )
    assert [hidden.state for hidden in page.unseen] == ["silent"]
    Cluster.objects.update(problem="")
    page = read(owner)
    assert page.rows[0].message == (
        "Cluster eu-train is not being read, so whether the Hold is in force is unknown."
    )
    assert [hidden.sentence for hidden in page.unseen] == [
        "Cluster eu-train is not being read: its Holds are as last seen."
    ]


def test_a_hold_on_a_running_job_is_marked(owner: Viewer, cluster: Cluster) -> None:
    gang = make_jobset(cluster)
    make_hold(cluster, gang, JOB, action="", by="")
    row = only(owner)
    assert row.message == f"Job {JOB} is not suspended: a Hold does not stop a Job that runs."
    assert (row.action_id, row.by) == ("", "")


def test_a_hold_explains_a_job_between_two_attempts(owner: Viewer, cluster: Cluster) -> None:
    held(cluster)
    WatchedObject.objects.filter(resource=JOBS, name=JOB).delete()
    assert only(owner).message == (
        f"Job {JOB} does not exist now. If it is created again, it starts suspended."
    )


@pytest.mark.parametrize("is_ours", [True, False])
def test_an_expired_hold_is_marked(owner: Viewer, cluster: Cluster, is_ours: bool) -> None:
    """gangboard removes the Hold itself where a person told it that end; anybody can write the text."""
    past = NOW - timedelta(seconds=1)
    hold = make_hold(cluster, make_jobset(cluster, suspended={JOB}), JOB, until=past)
    record(cluster, hold, past if is_ours else None, id=hold.action)
    assert only(owner).message == (
        "The end of the Hold has passed, but it is not released yet."
        if is_ours
        else "The end of the Hold has passed. gangboard did not set that end, so a person has to release it."
    )


@pytest.mark.parametrize("action", ["../../admin", "a/b", "G", "0" * 33])
def test_an_annotation_without_an_action_has_no_link(
    owner: Viewer, cluster: Cluster, action: str
) -> None:
    held(cluster, action=action)
    assert only(owner).action_id == ""


def test_the_number_of_queries_does_not_grow_with_holds(
    owner: Viewer, cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    gang = make_jobset(cluster, jobs=40)
    for index in range(40):
        make_hold(cluster, gang, f"llama-workers-{index}")
    # Clusters, Holds, checks, blind resources, owners, Jobs, their gangs (2), clusters, states.
    with django_assert_num_queries(10):
        assert len(read(owner).rows) == 40


# --- unreadable holds


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("not-served", "The Hold is not installed in cluster eu-train."),
        ("forbidden", "The reader may not list Holds in cluster eu-train, so they are unknown."),
        ("failing", "The Holds of cluster eu-train cannot be read now; the list may be outdated."),
    ],
)
def test_unreadable_holds_are_reported_per_cluster(
    owner: Viewer, cluster: Cluster, state: str, sentence: str
) -> None:
    make_resource(make_cluster("us-train"), HOLDS)
    ResourceState.objects.filter(cluster=cluster, resource=HOLDS).update(state=state)
    page = read(owner)
    assert page.rows == ()
    assert [(item.cluster, item.state, item.sentence) for item in page.unseen] == [
        ("eu-train", state, sentence)
    ]
    assert read(owner, cluster="us-train").unseen == ()


def test_an_unread_cluster_has_a_notice(owner: Viewer) -> None:
    make_cluster("new", contact_at=None)
    make_cluster("young")
    assert [(item.cluster, item.state) for item in read(owner).unseen] == [
        ("new", "never"),
        ("young", "not-looked"),
    ]


def test_readable_clusters_have_no_notice(owner: Viewer, cluster: Cluster) -> None:
    assert read(owner) == HoldPage((), (), None)


# --- who may see


def test_hidden_holds_are_not_listed(cluster: Cluster, stranger: Viewer) -> None:
    held(cluster)
    gang = make_jobset(cluster, "canary", namespace="other")
    make_hold(cluster, gang, "canary-workers-0")
    west = make_cluster("canary-west")
    reader = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    page = read(reader)
    assert [row.job for row in page.rows] == [JOB]
    assert "canary" not in repr(page)
    assert read(reader, namespace="other").rows == ()
    assert read(reader, cluster=west.name) == HoldPage((), (), None)
    assert read(stranger) == HoldPage((), (), None)


def test_holds_are_filtered_and_paged(owner: Viewer, cluster: Cluster) -> None:
    gang = make_jobset(cluster, jobs=5)
    for index in range(5):
        make_hold(cluster, gang, f"llama-workers-{index}")
    assert [row.job for row in read(owner, q="workers-3").rows] == ["llama-workers-3"]
    assert read(owner, namespace="other").rows == ()
    walked: list[str] = []
    cursor: str | None = None
    while True:
        page = read_holds(viewer=owner, limit=2, cursor=cursor, now=NOW)
        walked += [row.job for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert walked == [f"llama-workers-{index}" for index in range(5)]
    with pytest.raises(CursorError):
        read_holds(viewer=owner, cursor="x", now=NOW)
