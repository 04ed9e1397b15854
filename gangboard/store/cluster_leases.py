"""Leases of clusters. They are sticky, and a number that only increases fences them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import models, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from gangboard.store.models import Cluster, Lease
from gangboard.store.row_leases import RealDatabaseClock, RowLeases, lease_number

CLUSTER_LEASE_SECONDS = 15.0
"""Seconds of silence after which another worker takes the clusters of a holder."""
LEASES = RowLeases("expires_at", CLUSTER_LEASE_SECONDS)
_CLOCK = RealDatabaseClock()
NEVER_HELD = math.inf
"""Waiting time of a cluster that no worker ever held."""


class LeaseLostError(RuntimeError):
    """Another worker holds the cluster now. This worker must not write, and its caches are stale."""


@dataclass(frozen=True, slots=True)
class ClusterLease:
    """Proof that a worker holds a cluster: valid as long as the row has the same holder and number."""

    cluster_id: int
    holder: str
    number: int


@dataclass(frozen=True, slots=True)
class FreeCluster:
    """A cluster that no worker holds."""

    cluster_id: int
    last_holder: str
    """The last holder. Empty if there was none, or if the cluster got other credentials since and must be
    read anew."""
    waited: float
    """Seconds since the lease ended; infinite if no worker ever held the cluster."""


def acquire_lease(cluster_id: int, holder: str) -> ClusterLease | None:
    """Take a cluster, or keep it if `holder` had it last.

    Return None if another worker holds it, or if the cluster was removed. The number increases with each new
    holder. It is unchanged if no other worker held the cluster in between, also after `release_lease`. The
    caches of the holder are then still valid.
    """
    if not Cluster.objects.filter(pk=cluster_id).exists():
        return None
    Lease.objects.get_or_create(cluster_id=cluster_id)
    row = Lease.objects.filter(cluster_id=cluster_id)
    if LEASES.extend(row.filter(holder=holder), _CLOCK):
        number = lease_number(row, holder)
    else:
        number = LEASES.take_numbered(row, holder, _CLOCK)
    return None if number is None else ClusterLease(cluster_id, holder, number)


def confirm_lease(lease: ClusterLease) -> None:
    """Begin a write transaction by extending the lease on exactly one row.

    Call it inside `transaction.atomic`. Raises LeaseLostError, which rolls the transaction back. An expired
    lease that no other worker took is still valid, because its number is unchanged.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a lease is confirmed inside the transaction that it guards")
    if LEASES.extend(_row(lease), _CLOCK) != 1:
        raise LeaseLostError(f"lease {lease.number} of cluster {lease.cluster_id} was taken over")


def renew_lease(lease: ClusterLease) -> None:
    """Extend the lease without another write. Raises LeaseLostError."""
    with transaction.atomic():
        confirm_lease(lease)


def release_lease(lease: ClusterLease) -> None:
    """Release the cluster, so that another worker can take it at once."""
    _row(lease).update(expires_at=Now())


def _row(lease: ClusterLease) -> QuerySet[Lease]:
    """Return the lease row if this lease still holds it."""
    return Lease.objects.filter(
        cluster_id=lease.cluster_id, holder=lease.holder, number=lease.number
    )


def last_holders(cluster_ids: Iterable[int]) -> dict[int, str]:
    """Return the current or last holder of each cluster. Removed clusters are left out."""
    rows = Lease.objects.filter(cluster_id__in=tuple(cluster_ids))
    return dict(rows.values_list("cluster_id", "holder"))


def free_clusters() -> list[FreeCluster]:
    """Return the clusters that no worker holds, the longest waiting first."""
    LEASES.shorten(Lease.objects.all(), _CLOCK)
    held = Lease.objects.filter(expires_at__gt=Now()).values("cluster_id")
    waited = models.ExpressionWrapper(
        Now() - F("lease__expires_at"), output_field=models.DurationField()
    )
    rows = (
        Cluster.objects.exclude(pk__in=held)
        .annotate(waited=waited)
        .order_by(F("lease__expires_at").asc(nulls_first=True), "pk")
    )
    return [
        FreeCluster(pk, holder or "", NEVER_HELD if waited is None else waited.total_seconds())
        for pk, holder, waited in rows.values_list("pk", "lease__holder", "waited")
    ]
