"""Readings of accelerator use: when they are due, how they are stored, and which are conspicuous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from gangboard.domain.health import Health
from gangboard.domain.measured_use import MeasuredUse, Straggler, UseAlert
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.models import Cluster, Gang, GangUse, UseSource
from gangboard.store.observations import next_data_version
from gangboard.store.row_leases import DatabaseClock, RealDatabaseClock

CLOCK: DatabaseClock = RealDatabaseClock()
_COLUMNS = tuple(
    field.name for field in GangUse._meta.concrete_fields if field.name not in ("gang", "cluster")
)
_OLD = timedelta(hours=1)
"""Readings of gangs that no longer run are deleted after this time."""


STALE_READINGS = 3
"""Intervals after which the last reading of a gang is stale."""


def stale_after() -> timedelta:
    """Return the age from which on a reading is stale, so that the use is unknown."""
    return timedelta(seconds=STALE_READINGS * settings.PROMETHEUS_INTERVAL)


def due_clusters() -> list[tuple[int, str]]:
    """Return id and name of the clusters whose source, if they have one, is due (1 query)."""
    waiting = UseSource.objects.filter(due_at__gt=Now()).values("cluster_id")
    return list(Cluster.objects.exclude(pk__in=waiting).values_list("pk", "name"))


def claim_reading(cluster_id: int, *, interval: float) -> bool:
    """Return whether this worker reads the source of a cluster now. The next reading is due in `interval` seconds."""
    later = CLOCK.database_now(interval)
    _, is_new = UseSource.objects.get_or_create(cluster_id=cluster_id, defaults={"due_at": later})
    if is_new:
        return True
    # A clock that was set back must not delay readings for longer than the interval.
    due = UseSource.objects.filter(cluster_id=cluster_id)
    is_due = due.filter(due_at__lte=Now()) | due.filter(due_at__gt=later)
    return bool(is_due.update(due_at=later))


def save_failure(cluster_id: int, sentence: str, *, at: datetime) -> None:
    """Store why the source could not be read. Findings end once the last reading is older than `stale_after()`."""
    with transaction.atomic():
        source = UseSource.objects.select_for_update().get(cluster_id=cluster_id)
        is_news = source.sentence != sentence
        UseSource.objects.filter(cluster_id=cluster_id).update(sentence=sentence)
        _end_stale(cluster_id, read_before=at - stale_after())
        if is_news:
            next_data_version(cluster_id)


def _end_stale(cluster_id: int, *, read_before: datetime) -> None:
    """End the findings of gangs without a recent reading. Their next verdict is without them."""
    stale = GangUse.objects.filter(cluster_id=cluster_id, read_at__lt=read_before)
    stale.filter(is_conspicuous=True).update(
        is_conspicuous=False, is_idle=False, idle_since=None, straggler=None
    )


@dataclass(frozen=True, slots=True)
class MeasuredGang:
    """A gang whose pods may use accelerators."""

    id: str
    changed_version: int
    namespace: str
    health: str


def measured_gangs(cluster_id: int, namespaces: Sequence[str]) -> list[MeasuredGang]:
    """Return the gangs of these namespaces that have not ended (1 query)."""
    rows = Gang.objects.filter(cluster_id=cluster_id, gone_at=None, namespace__in=namespaces)
    rows = rows.exclude(health__in=(Health.SUCCEEDED.value, Health.FAILED.value))
    columns = ("id", "changed_version", "namespace", "health")
    return [MeasuredGang(*row) for row in rows.values_list(*columns)]


def packed_details(gang_ids: Sequence[str]) -> dict[str, bytes]:
    """Return the packed details of gangs by id (1 query)."""
    rows = Gang.objects.filter(pk__in=gang_ids).values_list("id", "detail")
    return {id_: bytes(detail) for id_, detail in rows}


def read_uses(cluster_id: int) -> dict[str, MeasuredUse]:
    """Return the stored readings by gang id (1 query)."""
    rows = GangUse.objects.filter(cluster_id=cluster_id)
    return {row.gang_id: use_of(row) for row in rows}


def use_of(row: GangUse) -> MeasuredUse:
    """Return a stored reading."""
    straggler = None
    if row.straggler is not None:
        straggler = msgspec.convert(row.straggler, Straggler)
    return MeasuredUse(
        read_at=row.read_at,
        pods=row.pods,
        mean=row.mean,
        least=row.least,
        least_pod=row.least_pod,
        most=row.most,
        most_pod=row.most_pod,
        idle_since=row.idle_since,
        is_idle=row.is_idle,
        straggler=straggler,
    )


def save_uses(
    cluster_id: int,
    uses: Mapping[str, MeasuredUse],
    before: Mapping[str, MeasuredUse],
    *,
    pods: int,
    at: datetime,
) -> None:
    """Store the readings of gangs by id, of an answer with `pods` pods. Pages are woken if they show a difference.

    A gang without a reading keeps its last one. Its findings end once that is older than `stale_after()`.
    """
    rows = [_row(cluster_id, gang_id, use) for gang_id, use in sorted(uses.items())]
    with transaction.atomic():
        source = UseSource.objects.filter(cluster_id=cluster_id)
        is_news = source.exclude(sentence="", read_at__isnull=False).exists()
        source.update(read_at=at, pods=pods, sentence="")
        # A gang may have been removed since it was read.
        existing = set(Gang.objects.filter(pk__in=list(uses)).values_list("pk", flat=True))
        GangUse.objects.bulk_create(
            [row for row in rows if row.gang_id in existing],
            update_conflicts=True,
            unique_fields=["gang"],
            update_fields=_COLUMNS,
        )
        _end_stale(cluster_id, read_before=at - stale_after())
        if is_news or any(_shown(uses[id_]) != _shown(before.get(id_)) for id_ in existing):
            next_data_version(cluster_id)
    delete_in_batches(GangUse.objects.filter(cluster_id=cluster_id, read_at__lt=at - _OLD))


def _row(cluster_id: int, gang_id: str, use: MeasuredUse) -> GangUse:
    straggler = use.straggler
    return GangUse(
        gang_id=gang_id,
        cluster_id=cluster_id,
        read_at=use.read_at,
        pods=use.pods,
        mean=use.mean,
        least=use.least,
        least_pod=use.least_pod,
        most=use.most,
        most_pod=use.most_pod,
        idle_since=use.idle_since,
        is_idle=use.is_idle,
        straggler=None if straggler is None else msgspec.to_builtins(asdict(straggler)),
        is_conspicuous=use.is_idle or (straggler is not None and straggler.is_told),
    )


def _shown(use: MeasuredUse | None) -> tuple[Any, ...]:
    """Return the values that pages show, as they round them."""
    if use is None:
        return ()
    percents = (round(value) for value in (use.mean, use.least, use.most))
    return (*percents, use.pods, use.least_pod, use.most_pod, use.idle_since)


def conspicuous_uses(cluster_id: int) -> dict[str, UseAlert]:
    """Return the conspicuous gangs of a cluster by the uid of their owner (1 query)."""
    rows = GangUse.objects.filter(cluster_id=cluster_id, is_conspicuous=True, gang__gone_at=None)
    alerts = {}
    for row in rows.select_related("gang").defer("gang__detail", "gang__memory"):
        use = use_of(row)
        straggler = use.straggler
        alerts[row.gang.uid] = UseAlert(
            use.idle_since if use.is_idle else None,
            straggler if straggler is not None and straggler.is_told else None,
        )
    return alerts
