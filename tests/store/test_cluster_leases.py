"""Leases: one holder at a time, sticky, with a number that fences off stopped holders."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models.functions import Now

from gangboard.store.cluster_leases import (
    NEVER_HELD,
    LeaseLostError,
    acquire_lease,
    confirm_lease,
    free_clusters,
    release_lease,
    renew_lease,
)
from gangboard.store.models import Cluster, Lease

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="one", server="https://one.example", credentials=b"")


def _expire(cluster: Cluster) -> None:
    Lease.objects.filter(cluster=cluster).update(expires_at=Now() - timedelta(seconds=1))


def test_a_free_cluster_is_claimed(cluster: Cluster) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    assert held.number == 1
    assert free_clusters() == []


def test_a_held_cluster_is_refused_to_another_holder(cluster: Cluster) -> None:
    acquire_lease(cluster.pk, "a")
    assert acquire_lease(cluster.pk, "b") is None


def test_the_holder_keeps_its_fencing_number(cluster: Cluster) -> None:
    first = acquire_lease(cluster.pk, "a")
    assert acquire_lease(cluster.pk, "a") == first


def test_an_expired_lease_passes_on_with_a_higher_number(cluster: Cluster) -> None:
    acquire_lease(cluster.pk, "a")
    _expire(cluster)
    assert [free.cluster_id for free in free_clusters()] == [cluster.pk]
    taken = acquire_lease(cluster.pk, "b")
    assert taken is not None
    assert taken.number == 2


def test_the_former_holder_cannot_confirm(cluster: Cluster) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    _expire(cluster)
    acquire_lease(cluster.pk, "b")
    with pytest.raises(LeaseLostError):
        renew_lease(held)


def test_a_former_holder_that_returns_after_another_gets_a_new_number(cluster: Cluster) -> None:
    first = acquire_lease(cluster.pk, "a")
    _expire(cluster)
    acquire_lease(cluster.pk, "b")
    _expire(cluster)
    lease = acquire_lease(cluster.pk, "a")
    assert first is not None
    assert lease is not None
    assert lease.number == 3
    with pytest.raises(LeaseLostError):
        renew_lease(first)


def test_an_expired_untaken_lease_still_belongs_to_its_holder(cluster: Cluster) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    _expire(cluster)
    renew_lease(held)
    assert acquire_lease(cluster.pk, "b") is None


def test_confirming_extends_the_lease(cluster: Cluster) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    soon = Now() + timedelta(seconds=1)
    Lease.objects.filter(cluster=cluster).update(expires_at=soon)
    with transaction.atomic():
        confirm_lease(held)
    later = Now() + timedelta(seconds=10)
    assert Lease.objects.filter(cluster=cluster, expires_at__gt=later).exists()


def test_a_released_cluster_is_free_at_once(cluster: Cluster) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    release_lease(held)
    assert [free.cluster_id for free in free_clusters()] == [cluster.pk]
    assert acquire_lease(cluster.pk, "b") is not None


def test_a_cluster_reclaimed_by_its_last_holder_keeps_its_number(
    cluster: Cluster,
) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    release_lease(held)
    assert acquire_lease(cluster.pk, "a") == held


def test_free_clusters_wait_in_turn() -> None:
    clusters = [
        Cluster.objects.create(name=name, server="https://x.example", credentials=b"")
        for name in ("short", "long", "never")
    ]
    for cluster, seconds in zip(clusters, (10, 70), strict=False):
        acquire_lease(cluster.pk, "a")
        past = Now() - timedelta(seconds=seconds)
        Lease.objects.filter(cluster=cluster).update(expires_at=past)
    short, long, never = (cluster.pk for cluster in clusters)
    free_ids = free_clusters()
    assert [free.cluster_id for free in free_ids] == [never, long, short]
    assert [free.last_holder for free in free_ids] == ["", "a", "a"]
    assert free_ids[0].waited == NEVER_HELD
    assert 70 <= free_ids[1].waited < 80


def test_a_removed_cluster_cannot_be_claimed(cluster: Cluster) -> None:
    number = cluster.pk
    cluster.delete()
    assert acquire_lease(number, "a") is None
    assert not Lease.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_confirmation_outside_a_transaction_is_a_defect(cluster: Cluster) -> None:
    held = acquire_lease(cluster.pk, "a")
    assert held is not None
    with pytest.raises(RuntimeError, match="inside the transaction"):
        confirm_lease(held)
