"""Rows stored by another version of a decoder stay, and count as not read yet."""

from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from gangboard.store import observations
from gangboard.store.cluster_leases import (
    ClusterLease,
    LeaseLostError,
    acquire_lease,
    confirm_lease,
)
from gangboard.store.models import Cluster, ResourceState, WatchedObject
from gangboard.store.observations import invalidate_other_decoders
from tests.factories import make_cluster, make_resource

pytestmark = pytest.mark.django_db
JOBS, PODS = "jobs.batch", "pods"


@pytest.fixture
def cluster() -> Cluster:
    """A cluster whose Jobs and pods were read by decoder 2."""
    cluster = make_cluster()
    for resource in (JOBS, PODS):
        make_resource(cluster, resource, resource_version="7", decoder_version=2)
        for number in range(3):
            WatchedObject.objects.create(
                cluster=cluster,
                resource=resource,
                uid=f"{resource}-{number}",
                namespace="ns",
                name=f"n-{number}",
                resource_version=str(number + 1),
                data=b"as it was stored",
            )
    return cluster


def take(cluster: Cluster) -> ClusterLease:
    held = acquire_lease(cluster.pk, "worker")
    assert held is not None
    return held


def versions(cluster: Cluster, resource: str) -> list[str]:
    """The resourceVersions of the stored objects of a resource, by uid."""
    rows = WatchedObject.objects.filter(cluster=cluster, resource=resource).order_by("uid")
    return [row.resource_version for row in rows]


@pytest.mark.parametrize("own", [1, 3], ids=["rolled back", "updated"])
def test_rows_of_another_decoder_stay_and_lose_their_resource_versions(
    cluster: Cluster, own: int
) -> None:
    invalidate_other_decoders(take(cluster), {JOBS: own, PODS: 2})
    assert versions(cluster, JOBS) == ["", "", ""]
    rows = WatchedObject.objects.filter(resource=JOBS)
    assert {bytes(row.data) for row in rows} == {b"as it was stored"}
    state = ResourceState.objects.get(resource=JOBS)
    assert (state.state, state.version) == ("ok", "v1")
    assert (state.resource_version, state.decoder_version) == ("", 0)


def test_other_resources_and_clusters_are_unchanged(cluster: Cluster) -> None:
    west = make_cluster("west")
    make_resource(west, JOBS, resource_version="5", decoder_version=2)
    invalidate_other_decoders(take(cluster), {JOBS: 3, PODS: 2})
    assert versions(cluster, PODS) == ["1", "2", "3"]
    for state in (
        ResourceState.objects.get(cluster=cluster, resource=PODS),
        ResourceState.objects.get(cluster=west),
    ):
        assert (state.resource_version != "", state.decoder_version) == (True, 2)


def test_an_interrupted_reset_is_repeated(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No worker continues from a resourceVersion with rows of two decoders, whichever version runs
    next."""
    held = take(cluster)
    monkeypatch.setattr(observations, "CHUNK", 2)
    remaining_calls = [2]

    def confirm(lease: ClusterLease) -> None:
        remaining_calls[0] -= 1
        if remaining_calls[0] < 0:
            raise LeaseLostError("taken over")
        confirm_lease(lease)

    monkeypatch.setattr("gangboard.store.observations.confirm_lease", confirm)
    with pytest.raises(LeaseLostError):
        invalidate_other_decoders(held, {JOBS: 3, PODS: 2})
    assert versions(cluster, JOBS) == ["", "", "3"]
    monkeypatch.undo()
    invalidate_other_decoders(held, {JOBS: 2, PODS: 2})
    assert versions(cluster, JOBS) == ["", "", ""]


def test_rows_of_the_current_decoder_cause_no_write(
    cluster: Cluster, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    held = take(cluster)
    with django_assert_num_queries(1):
        invalidate_other_decoders(held, {JOBS: 2, PODS: 2})


def test_rows_without_a_state_have_an_unknown_decoder(cluster: Cluster) -> None:
    ResourceState.objects.filter(resource=JOBS).delete()
    invalidate_other_decoders(take(cluster), {JOBS: 2, PODS: 2})
    assert versions(cluster, JOBS) == ["", "", ""]
    assert not ResourceState.objects.filter(resource=JOBS).exists()


def test_a_worker_without_the_lease_resets_nothing(cluster: Cluster) -> None:
    held = take(cluster)
    with pytest.raises(LeaseLostError):
        invalidate_other_decoders(
            ClusterLease(held.cluster_id, held.holder, held.number - 1), {JOBS: 3, PODS: 2}
        )
    assert versions(cluster, JOBS) == ["1", "2", "3"]
