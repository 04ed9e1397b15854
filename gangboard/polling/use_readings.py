"""Reads the accelerator use of a cluster's gangs from its Prometheus, and stores it.

It runs beside the polls, in a thread of a poll worker.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from gangboard.cluster_networks import cluster_destinations
from gangboard.domain.health import Health
from gangboard.domain.measured_use import MeasuredUse, PodUse
from gangboard.domain.pod import Pod
from gangboard.domain.resources import is_accelerator
from gangboard.facts.measured_use import UseLimits, judge_use
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError
from gangboard.logs import get_logger
from gangboard.plugins import registry
from gangboard.polling.prometheus import (
    PodName,
    PrometheusError,
    query_by_pod,
    read_service,
    read_url,
)
from gangboard.prometheus_sources import source_of
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Cluster
from gangboard.store.objects import read_objects
from gangboard.store.secrets import SecretUnreadableError, unseal
from gangboard.store.use import (
    MeasuredGang,
    claim_reading,
    due_clusters,
    measured_gangs,
    packed_details,
    read_uses,
    save_failure,
    save_uses,
    stale_after,
)

log = get_logger(__name__)

_BATCH = 200
"""Details that are read together. Those of large gangs have a megabyte."""

_slot = threading.BoundedSemaphore(1)
"""Limits a process to one reading at a time, so that a Prometheus that hangs takes one thread and delays no poll."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A pod of a gang."""

    uid: str
    role: str


@dataclass(frozen=True, slots=True)
class _KnownGang:
    """The pods of a gang by name, as of a version of its row."""

    version: int
    members: Mapping[str, _Member]


_known: dict[int, dict[str, _KnownGang]] = {}
"""Cluster → gang id → its pods, of the last reading by this process."""


def due_sources() -> list[int]:
    """Return the clusters whose source is due (1 query, none without sources)."""
    if not settings.PROMETHEUS_SOURCES:
        return []
    due = due_clusters()
    return [pk for pk, name in due if source_of(name, settings.PROMETHEUS_SOURCES) is not None]


def read_cluster_use(cluster_id: int) -> bool:
    """Read and store the use of a cluster's gangs if that is due. Return whether it was read."""
    if not _slot.acquire(blocking=False):
        return False
    try:
        cluster = Cluster.objects.filter(pk=cluster_id).first()
        if cluster is None or not claim_reading(cluster_id, interval=settings.PROMETHEUS_INTERVAL):
            return False
        return _read(cluster)
    finally:
        _slot.release()


def _read(cluster: Cluster) -> bool:
    try:
        values = query_by_pod(_answer(cluster))
    except PrometheusError as error:
        log.warning("use not read", cluster=cluster.name, why=str(error))
        save_failure(cluster.pk, str(error), at=timezone.now())
        return False
    now = timezone.now()
    gangs = measured_gangs(cluster.pk, sorted({namespace for namespace, _ in values}))
    known = _read_members(cluster.pk, gangs)
    before = read_uses(cluster.pk)
    uses = {}
    for gang in gangs:
        readings = _readings_of(gang, known[gang.id].members, values)
        if readings:
            members = known[gang.id].members
            uses[gang.id] = _judge(cluster.pk, gang, members, readings, before.get(gang.id), now)
    save_uses(cluster.pk, uses, before, pods=len(values), at=now)
    return True


def _answer(cluster: Cluster) -> bytes:
    source = source_of(cluster.name, settings.PROMETHEUS_SOURCES)
    if source is None:
        raise PrometheusError("The cluster has no source.")
    query = settings.PROMETHEUS_QUERY.replace("$cluster", cluster.name)
    if source.url:
        return read_url(
            source, query, token=settings.PROMETHEUS_TOKEN, ca_file=settings.PROMETHEUS_CA
        )
    try:
        credentials = Credentials.from_document(unseal(bytes(cluster.credentials)))
        connection = Connection(credentials, destinations=cluster_destinations())
    except (SecretUnreadableError, KubeError) as error:
        raise PrometheusError(f"The credentials of the cluster cannot be used: {error}") from error
    with connection:
        return read_service(connection, source, query)


def _read_members(cluster_id: int, gangs: Sequence[MeasuredGang]) -> dict[str, _KnownGang]:
    """Return the pods of each gang. It queries the database for changed gangs only."""
    before = _known.get(cluster_id, {})
    known = {
        gang.id: before[gang.id]
        for gang in gangs
        if gang.id in before and before[gang.id].version == gang.changed_version
    }
    unread = [gang for gang in gangs if gang.id not in known]
    for start in range(0, len(unread), _BATCH):
        batch = unread[start : start + _BATCH]
        details = packed_details([gang.id for gang in batch])
        for gang in batch:
            members = _members_of(details.get(gang.id, b""))
            known[gang.id] = _KnownGang(gang.changed_version, members)
    _known[cluster_id] = known
    return known


def _members_of(packed: bytes) -> dict[str, _Member]:
    if not packed:
        return {}
    detail = unpack_detail(packed)
    roles = {job.ref.name: job.part for job in detail.jobs}
    return {
        pod.ref.name: _Member(pod.ref.uid, roles.get(pod.job, "") or pod.part)
        for pod in detail.members
    }


def _readings_of(
    gang: MeasuredGang, members: Mapping[str, _Member], values: Mapping[PodName, float]
) -> list[PodUse]:
    return [
        PodUse(name, member.role, values[gang.namespace, name])
        for name, member in members.items()
        if (gang.namespace, name) in values
    ]


def _judge(
    cluster_id: int,
    gang: MeasuredGang,
    members: Mapping[str, _Member],
    readings: Sequence[PodUse],
    before: MeasuredUse | None,
    now: datetime,
) -> MeasuredUse:
    def count_devices() -> int:
        models = {registry.pods().key: Pod}
        pods = read_objects(cluster_id, (member.uid for member in members.values()), models)
        return sum(pod.is_live and any(map(is_accelerator, pod.requests)) for pod in pods.values())

    return judge_use(
        readings,
        before,
        is_whole=gang.health == Health.RUNNING,
        count_devices=count_devices,
        at=now,
        limits=UseLimits(
            idle_percent=settings.IDLE_PERCENT,
            idle_after=timedelta(seconds=settings.IDLE_AFTER),
            straggler_percent=settings.STRAGGLER_PERCENT,
            straggler_after=timedelta(seconds=settings.STRAGGLER_AFTER),
            longest_gap=stale_after(),
        ),
    )
