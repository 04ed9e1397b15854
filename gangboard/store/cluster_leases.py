"""Leases of clusters: sticky, and fenced by a number that only goes up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import models, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from gangboard.store.models import Cluster, Lease
from gangboard.store.row_leases import RealDatabaseClock, RowLeases, lease_number

LEASE_SECONDS = 15.0
"""How long a holder may be silent before another worker takes its clusters."""
LEASES = RowLeases("expires_at", LEASE_SECONDS)
_CLOCK = RealDatabaseClock()
NEVER_HELD = math.inf
"""How long a cluster has waited that nobody ever held."""


class LeaseLostError(RuntimeError):
    """Somebody else holds the cluster now: nothing may be written, all caches are stale."""


@dataclass(frozen=True, slots=True)
class ClusterLease:
    """Proof of holding a cluster: valid as long as the row still says the same."""

    cluster_id: int
    holder: str
    number: int


@dataclass(frozen=True, slots=True)
class FreeCluster:
    """A cluster that nobody holds."""

    cluster_id: int
    last_holder: str
    """Who held it last; empty for nobody, or when it has other credentials since and is read anew."""
    waited: float
    """Seconds since then; infinite when nobody ever did."""


def acquire_lease(cluster_id: int, holder: str) -> ClusterLease | None:
    """Take the cluster, or keep it when `holder` had it last.

    Return None when another one holds it, or the cluster was removed. The number goes up at each change
    of hands. It stays when nobody else has had the cluster since, also after `release_lease`: what its
    holder knows of it is still true.
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
    """Begin a write transaction: extend the lease on exactly one row.

    Must run inside `transaction.atomic`. Raises LeaseLostError, which rolls the transaction back.
    A lease that ran out and that nobody took is still ours: the number says so.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("a lease is confirmed inside the transaction that it guards")
    if LEASES.extend(_row(lease), _CLOCK) != 1:
        raise LeaseLostError(f"lease {lease.number} of cluster {lease.cluster_id} was taken over")


def renew_lease(lease: ClusterLease) -> None:
    """Extend the lease without writing anything else. Raises LeaseLostError."""
    with transaction.atomic():
        confirm_lease(lease)


def release_lease(lease: ClusterLease) -> None:
    """Give the cluster back so that another worker can take it at once."""
    _row(lease).update(expires_at=Now())


def _row(lease: ClusterLease) -> QuerySet[Lease]:
    """Return the row while it says that it is held so."""
    return Lease.objects.filter(
        cluster_id=lease.cluster_id, holder=lease.holder, number=lease.number
    )


def last_holders(cluster_ids: Iterable[int]) -> dict[int, str]:
    """Return who holds each of these clusters, or held it last; a removed one is left out."""
    rows = Lease.objects.filter(cluster_id__in=tuple(cluster_ids))
    return dict(rows.values_list("cluster_id", "holder"))


def free_clusters() -> list[FreeCluster]:
    """Return the clusters that nobody holds; the one that has been so for longest comes first."""
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
