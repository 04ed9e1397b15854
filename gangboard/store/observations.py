"""Writes of a poll: objects, gangs, and the watch state of each resource.

Call every function that changes rows inside one `writing(lease)` block.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F

from gangboard.store.bulk_statements import upsert_rows
from gangboard.store.cluster_leases import ClusterLease, confirm_lease
from gangboard.store.gang_search import index_deleted_gangs
from gangboard.store.models import Cluster, Gang, Outage, ResourceState, WatchedObject

CHUNK = 500
"""Rows of one statement; this keeps each transaction well under 100 ms."""
SILENT_AFTER = timedelta(seconds=120)
"""After this time without contact the state of a cluster's gangs is unknown."""

_OBJECT_COLUMNS = (
    "cluster_id",
    "resource",
    "uid",
    "namespace",
    "name",
    "resource_version",
    "data",
    "about",
    "owner_uid",
)


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """One object to store."""

    resource: str
    uid: str
    namespace: str
    name: str
    resource_version: str
    data: bytes
    about: str | None = None
    """For an event, the uid of its subject."""
    owner_uid: str | None = None
    """The result of `store.objects.owner_uid`."""


@dataclass(frozen=True, slots=True)
class ResourceStatus:
    """The current watch state of a resource."""

    resource: str
    state: str
    version: str = ""
    sentence: str = ""
    needed: bool = False
    resource_version: str = ""
    decoder_version: int = 0
    listed_at: datetime | None = None
    contact_at: datetime | None = None
    objects_count: int = 0
    problems: tuple[dict[str, str | bool], ...] = ()
    problems_count: int = 0


_VIEW_COLUMNS = tuple(ResourceStatus.__dataclass_fields__)


@contextmanager
def writing(lease: ClusterLease) -> Iterator[None]:
    """Open a transaction that commits only while this worker holds the cluster. Raises LeaseLostError."""
    with transaction.atomic():
        confirm_lease(lease)
        yield


def save_objects(cluster_id: int, rows: Sequence[ObjectRow]) -> None:
    """Insert or update objects."""
    values = [
        (
            cluster_id,
            row.resource,
            row.uid,
            row.namespace,
            row.name,
            row.resource_version,
            row.data,
            row.about,
            row.owner_uid,
        )
        for row in rows
    ]
    upsert_rows(WatchedObject._meta.db_table, _OBJECT_COLUMNS, ("cluster_id", "uid"), values)


def delete_objects(cluster_id: int, uids: Sequence[str]) -> None:
    """Delete the rows of deleted objects."""
    for start in range(0, len(uids), CHUNK):
        WatchedObject.objects.filter(
            cluster_id=cluster_id, uid__in=uids[start : start + CHUNK]
        ).delete()


def invalidate_cluster(lease: ClusterLease, *, events: str) -> None:
    """Mark all stored objects of a cluster as unread. Raises LeaseLostError.

    The effect is that of new decoders for all resources; see `invalidate_other_decoders`. Objects of the
    resource `events` are deleted, because a list does not tell which of them were never true.
    """
    with writing(lease):
        states = ResourceState.objects.filter(cluster_id=lease.cluster_id)
        states.update(resource_version="", decoder_version=0)
    stored_events = WatchedObject.objects.filter(cluster_id=lease.cluster_id, resource=events)
    while portion := list(stored_events.values_list("uid", flat=True)[:CHUNK]):
        with writing(lease):
            delete_objects(lease.cluster_id, portion)


def invalidate_other_decoders(lease: ClusterLease, decoders: Mapping[str, int]) -> None:
    """Mark objects that another decoder stored as unread. Raises LeaseLostError.

    `decoders`: resource → version of its decoder in this release. The rows stay, so no object counts as
    deleted meanwhile. Without resourceVersions the resource is listed, and every listed object counts as
    changed. Older and newer versions are both read again, because after a rollback this release may not
    understand the rows of the later one.

    A worker calls this when it takes a cluster. Where workers of two releases run side by side, each handover
    between them costs one list; a kept lease costs none.
    """
    states = ResourceState.objects.filter(cluster_id=lease.cluster_id)
    stored = dict(states.values_list("resource", "decoder_version"))
    outdated = [key for key, version in decoders.items() if stored.get(key) != version]
    if outdated:
        invalidate_resources(lease, outdated)


def invalidate_resources(lease: ClusterLease, resources: Collection[str]) -> None:
    """Mark the stored objects of these resources as unread. Raises LeaseLostError."""
    states = ResourceState.objects.filter(cluster_id=lease.cluster_id)
    with writing(lease):
        # First, so that the next holder starts over if this one crashes.
        states.filter(resource__in=resources).update(resource_version="", decoder_version=0)
    objects = WatchedObject.objects.filter(cluster_id=lease.cluster_id, resource__in=resources)
    unread = objects.exclude(resource_version="").order_by("pk").values_list("pk", flat=True)
    last = 0
    while portion := list(unread.filter(pk__gt=last)[:CHUNK]):
        with writing(lease):
            WatchedObject.objects.filter(pk__in=portion).update(resource_version="")
        last = portion[-1]


def save_resource_statuses(cluster_id: int, views: Iterable[ResourceStatus]) -> None:
    """Insert or update the watch states of resources."""
    values = [
        (cluster_id, *(_adapt(name, getattr(view, name)) for name in _VIEW_COLUMNS))
        for view in views
    ]
    columns = ("cluster_id", *_VIEW_COLUMNS)
    upsert_rows(ResourceState._meta.db_table, columns, ("cluster_id", "resource"), values)


def next_data_version(cluster_id: int) -> int:
    """Increase the data version of a cluster and return it."""
    table = Cluster._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET data_version = data_version + 1 WHERE id = %s RETURNING data_version",  # noqa: S608  # the name is our own
            [cluster_id],
        )
        (version,) = cursor.fetchone()
    return int(version)


_GANG_COLUMNS = tuple(str(field.column) for field in Gang._meta.concrete_fields)
_JSON_COLUMNS = {"advice", "requests", "problems", "labels"}


def _adapt(column: str, value: Any) -> Any:  # a value of any column
    if column in _JSON_COLUMNS:
        return connection.ops.adapt_json_value(value, None)
    if isinstance(value, datetime) and connection.vendor == "sqlite":
        return connection.ops.adapt_datetimefield_value(value)
    return value


def save_gangs(rows: Sequence[dict[str, Any]]) -> None:
    """Insert or update gangs. Each row has a value for every column of the table."""
    values = [tuple(_adapt(name, row[name]) for name in _GANG_COLUMNS) for row in rows]
    upsert_rows(Gang._meta.db_table, _GANG_COLUMNS, ("id",), values)


def mark_gangs_deleted(cluster_id: int, uids: Sequence[str], *, at: datetime, version: int) -> int:
    """Mark the gangs of deleted owners as deleted. Return how many were marked."""
    changed = 0
    for start in range(0, len(uids), CHUNK):
        batch = uids[start : start + CHUNK]
        changed += Gang.objects.filter(cluster_id=cluster_id, uid__in=batch, gone_at=None).update(
            gone_at=at, changed_version=version
        )
        index_deleted_gangs(batch, cluster_id=cluster_id)
    return changed


def save_contact(
    cluster_id: int,
    *,
    contact_at: datetime | None,
    problem: str,
    sentence: str,
    now: datetime,
    answer_ms: int | None = None,
    events_a_minute: int | None = None,
) -> bool:
    """Record the last contact and the current problem of a cluster. Return whether a page would change.

    A newer contact alone changes no page, because pages count its age themselves. `answer_ms` and
    `events_a_minute` do not either, because they change all the time. The end of a silence does, and is
    recorded. Without a new contact the old problem stays, because a new worker that has not failed yet knows
    no better.
    """
    row = Cluster.objects.filter(pk=cluster_id)
    before = row.values_list("problem", "sentence", "contact_at").first()
    if before is None:
        return False
    old_problem, old_sentence, last_contact_at = before
    if contact_at is None or (last_contact_at is not None and contact_at <= last_contact_at):
        contact_at = last_contact_at
        if not problem:
            problem, sentence = old_problem, old_sentence
    differs = (old_problem, old_sentence) != (problem, sentence)
    values: dict[str, Any] = {
        "problem": problem,
        "sentence": sentence,
        "contact_at": contact_at,
        "answer_ms": answer_ms,
        "events_a_minute": events_a_minute,
    }
    if differs:
        values["problem_since"] = now if problem else None
    was_silent = False
    if contact_at is not None and last_contact_at is not None:
        was_silent = record_outage(
            cluster_id, last_contact_at, contact_at, problem=old_problem, sentence=old_sentence
        )
    if differs or was_silent:
        values["data_version"] = F("data_version") + 1
    row.update(**values)
    return differs or was_silent


def record_outage(
    cluster_id: int, began_at: datetime, ended_at: datetime, *, problem: str, sentence: str
) -> bool:
    """Record an outage if the cluster was silent until now. Return whether it was. Call it inside `writing`."""
    was_silent = ended_at - began_at > SILENT_AFTER
    if was_silent:
        Outage.objects.create(
            cluster_id=cluster_id,
            began_at=began_at,
            ended_at=ended_at,
            problem=problem,
            sentence=sentence,
        )
    return was_silent


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """Comparison of the answering cluster's uid with the stored uids."""

    is_own: bool = True
    """True if it is the cluster that was added, or if its uid is unknown."""
    known_as: str = ""
    """The other name under which the cluster is watched already, or empty."""


def save_identity(lease: ClusterLease, uid: str) -> ClusterIdentity:
    """Compare the uid of the answering cluster with the stored one, or store the first. Raises
    LeaseLostError.

    An empty `uid` could not be read, so it is not compared.
    """
    if not uid:
        return ClusterIdentity()
    row = Cluster.objects.filter(pk=lease.cluster_id)
    try:
        with writing(lease):
            stored = row.values_list("system_uid", flat=True).first() or ""
            if stored:
                return ClusterIdentity(is_own=stored == uid)
            row.update(system_uid=uid)
    except IntegrityError:
        namesake = (
            Cluster.objects.filter(system_uid=uid).values_list("name", flat=True).first() or ""
        )
        return ClusterIdentity(is_own=False, known_as=namesake)
    return ClusterIdentity()


def save_discovery(lease: ClusterLease, *, server_version: str, at: datetime) -> None:
    """Record that discovery of the cluster succeeded. Raises LeaseLostError."""
    with writing(lease):
        Cluster.objects.filter(pk=lease.cluster_id).update(
            server_version=server_version[:64], discovered_at=at
        )


def save_controller_build(lease: ClusterLease, build: str) -> None:
    """Record what identifies the cluster's build of a controller. Raises LeaseLostError."""
    with writing(lease):
        Cluster.objects.filter(pk=lease.cluster_id).update(controller_build=build)


def save_first_listing(lease: ClusterLease, *, at: datetime) -> None:
    """Record that all needed resources were listed once. Raises LeaseLostError."""
    with writing(lease):
        Cluster.objects.filter(pk=lease.cluster_id, listed_at=None).update(
            listed_at=at, data_version=F("data_version") + 1
        )
