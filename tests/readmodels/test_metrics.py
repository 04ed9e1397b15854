"""Figures of the whole installation: counted, and omitted or marked if unreadable."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import DjangoAssertNumQueries

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.pages.metrics.queries import read_metrics
from gangboard.pages.metrics.rows import ActionCount, Expiry, GangCount, Metrics, ResourceCount
from gangboard.readmodels.hold_counts import HoldCount, InForce
from gangboard.store.access import Viewer
from gangboard.store.models import Cluster, HoldCheck, ResourceState, WatchedObject
from tests.factories import NOW, make_cluster, make_gang, make_gangs, make_heartbeats, make_resource
from tests.recorded_actions import make_action
from tests.stored_jobsets import HOLDS, JOBSETS, make_hold, make_jobset, make_readable

pytestmark = pytest.mark.django_db

SILENT = NOW - timedelta(minutes=10)


def read(viewer: Viewer) -> Metrics:
    return read_metrics(viewer=viewer, now=NOW)


def test_gangs_are_counted_by_cluster_health_and_code(owner: Viewer) -> None:
    east, west = make_cluster("east"), make_cluster("west")
    make_gang(east, since=NOW - timedelta(hours=2), accelerators=8.0)
    make_gang(east, since=NOW - timedelta(hours=5), accelerators=16.0)
    make_gang(east, health="running", code="running", accelerators=4.0)
    make_gang(west, accelerators=1.0, since=NOW - timedelta(minutes=1))
    make_gang(west, gone_at=NOW)
    waiting, code = "waiting", "insufficient-resources"
    assert set(read(owner).gangs) == {
        GangCount("east", waiting, code, 2, 24.0, NOW - timedelta(hours=5)),
        GangCount("east", "running", "running", 1, 4.0, NOW - timedelta(minutes=38)),
        GangCount("west", waiting, code, 1, 1.0, NOW - timedelta(minutes=1)),
    }


def test_a_silent_cluster_exports_no_healthy_gangs_and_no_zeros(owner: Viewer) -> None:
    silent = make_cluster("east", contact_at=SILENT, problem="unreachable")
    make_resource(silent, "pods")
    make_gang(silent, health="running", code="running")
    make_gang(silent, health="succeeded", code="succeeded")
    result = read(owner)
    assert result.gangs == (GangCount("east", "unknown", "not-observed", 2, 16.0, None),)
    assert result.resources == ()
    assert [(cluster.is_silent, cluster.problem) for cluster in result.clusters] == [
        (True, "unreachable")
    ]


def test_an_unread_cluster_exports_no_counts(owner: Viewer) -> None:
    make_cluster("east", contact_at=None, listed_at=None)
    result = read(owner)
    assert (result.gangs, result.resources, result.holds) == ((), (), ())
    assert [(cluster.contact_at, cluster.listed) for cluster in result.clusters] == [(None, False)]


def test_resources_are_readable_after_a_list(owner: Viewer) -> None:
    cluster = make_cluster("east")
    make_resource(cluster, "pods", objects_count=12, problems_count=2)
    make_resource(cluster, "nodes", state="forbidden", objects_count=0)
    make_resource(cluster, "events", listed_at=None, objects_count=0)
    make_resource(cluster, "jobsets.jobset.x-k8s.io", state="not-served")
    assert set(read(owner).resources) == {
        ResourceCount("east", "pods", "ok", True, 12, 2),
        ResourceCount("east", "nodes", "forbidden", False, 0, 0),
        ResourceCount("east", "events", "ok", False, 0, 0),
    }


def test_known_credential_expiries_are_exported(owner: Viewer) -> None:
    make_cluster("east", credentials_expire_at=NOW, actor_expires_at=NOW + timedelta(days=1))
    make_cluster("west")
    assert read(owner).expiries == (
        Expiry("east", "reader", NOW),
        Expiry("east", "actor", NOW + timedelta(days=1)),
    )


def test_actions_of_watched_clusters_are_counted(owner: Viewer) -> None:
    cluster = make_cluster("east")
    for state in ("verified", "verified", "refused"):
        make_action(cluster, state=state)
    make_action(cluster, verb="resume")
    make_action(cluster, cluster=None)
    assert set(read(owner).actions) == {
        ActionCount("east", "suspend", "verified", 2),
        ActionCount("east", "suspend", "refused", 1),
        ActionCount("east", "resume", "verified", 1),
    }


# --- Holds


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, PolicyState]:
    """How the policy is installed everywhere; can be changed."""
    policy = {"is": PolicyState.INSTALLED}
    monkeypatch.setattr(
        "gangboard.readmodels.hold_counts.read_all_levers",
        lambda clusters: {
            cluster.pk: ClusterLevers(has_actor=True, hold=policy["is"]) for cluster in clusters
        },
    )
    return policy


def make_holds(cluster: Cluster) -> None:
    """One that is proved, one that is refuted, one whose proof failed, one that was never tried."""
    gang = make_jobset(cluster, jobs=4)
    make_readable(cluster, HOLDS)
    for index, in_force in enumerate((True, False, None)):
        HoldCheck.objects.create(
            cluster=cluster,
            hold_uid=f"hold-uid-{cluster.name}-llama-workers-{index}",
            in_force=in_force,
            checked_at=NOW,
        )
    for index in range(4):
        make_hold(cluster, gang, f"llama-workers-{index}")


def counted(viewer: Viewer) -> set[tuple[str, str, int]]:
    return {(hold.cluster, hold.in_force.value, hold.holds) for hold in read(viewer).holds}


@pytest.mark.usefixtures("installed")
def test_holds_are_counted_by_status(owner: Viewer) -> None:
    make_holds(make_cluster("east"))
    assert counted(owner) == {("east", "yes", 1), ("east", "no", 1), ("east", "unknown", 2)}


def test_holds_without_their_policy_are_not_in_force(
    owner: Viewer, installed: dict[str, PolicyState]
) -> None:
    make_holds(make_cluster("east"))
    installed["is"] = PolicyState.MISSING
    assert counted(owner) == {("east", "yes", 0), ("east", "no", 4), ("east", "unknown", 0)}


@pytest.mark.usefixtures("installed")
def test_holds_of_a_deleted_owner_are_lost(owner: Viewer) -> None:
    cluster = make_cluster("east")
    make_holds(cluster)
    WatchedObject.objects.filter(resource=JOBSETS).delete()
    assert counted(owner) == {("east", "yes", 0), ("east", "no", 4), ("east", "unknown", 0)}
    # A missing owner of an unreadable kind does not count as deleted.
    ResourceState.objects.filter(resource=JOBSETS).update(state="forbidden")
    assert counted(owner) == {("east", "yes", 1), ("east", "no", 1), ("east", "unknown", 2)}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("blind", ["silent", "forbidden", "failing"])
def test_unreadable_holds_are_unknown(owner: Viewer, blind: str) -> None:
    cluster = make_cluster("east", contact_at=SILENT if blind == "silent" else NOW)
    make_holds(cluster)
    if blind != "silent":
        ResourceState.objects.filter(resource=HOLDS).update(state=blind)
    assert counted(owner) == {("east", "unknown", 4)}


def test_zero_holds_requires_readable_holds(owner: Viewer) -> None:
    make_resource(make_cluster("none-made"), HOLDS)
    make_resource(make_cluster("not-installed"), HOLDS, state="not-served")
    make_resource(make_cluster("forbidden"), HOLDS, state="forbidden")
    make_cluster("not-looked-at-yet")
    assert set(read(owner).holds) == {
        HoldCount(cluster, in_force, 0)
        for cluster in ("none-made", "not-installed")
        for in_force in InForce
    }


# --- cost and rights


def test_the_number_of_queries_is_the_same_for_any_number_of_gangs(
    owner: Viewer, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    make_heartbeats()
    for name in ("east", "west"):
        cluster = make_cluster(name)
        make_gangs(cluster, 1_000)
        make_resource(cluster, HOLDS)
    with django_assert_num_queries(11):
        result = read(owner)
    assert sum(gang.gangs for gang in result.gangs) == 2_000
    for name in ("south", "north"):
        make_holds(make_cluster(name))
    with django_assert_num_queries(16):
        read(owner)


def test_a_user_without_roles_gets_no_counts(owner: Viewer, stranger: Viewer) -> None:
    cluster = make_cluster("east", credentials_expire_at=NOW)
    make_holds(cluster)
    make_action(cluster)
    result = read(stranger)
    assert (result.clusters, result.expiries, result.gangs) == ((), (), ())
    assert (result.resources, result.holds, result.actions) == ((), (), ())
