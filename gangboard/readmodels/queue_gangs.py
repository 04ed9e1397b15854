"""Gangs in the queues of schedulers, as queue entries.

An admission system has an object for each waiting entry. A scheduler only has groups that name a queue, and no object
with their order. The verdict of a gang says whether it waits, because groups of some schedulers do not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from gangboard.diagnosis.scheduler_queues import group_resources_in_queues, scheduler_queues
from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.queue import QueueCode, QueueEntry, QueueMessage
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.resources import is_accelerator
from gangboard.plugins.queue_system import QueueSystem
from gangboard.readmodels.group_gangs import find_gangs
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack

_ANYBODY = Viewer(0, "", (Scope(None, "", "viewer"),), may_act=False)
"""A viewer of everything. Positions are counted from all gangs, and names are hidden later for each viewer."""
_NOT_KNOWN_TO_WAIT = frozenset({Health.SUCCEEDED, Health.FAILED, Health.SUSPENDED, Health.UNKNOWN})
_BEFORE_NODES = frozenset({Stage.ADMISSION, Stage.FORMATION, Stage.PLACEMENT})
_CODES = frozenset(map(str, QueueCode))
_COLUMNS = (
    *("id", "uid", "health", "stage", "code", "title", "requests", "created_at"),
    *("desired", "held", "scheduled", "succeeded"),
)


@dataclass(frozen=True, slots=True)
class QueuedGang:
    """One gang in one queue of a scheduler."""

    group: Group
    """Its oldest group in the queue."""
    waiting: QueueEntry | None
    """Its waiting entry. None if no pod waits for a node."""
    holding: QueueEntry | None
    """Its entry with quota. None if no pod has a node."""
    is_unknown: bool
    """Whether the gang was not observed, so that it is unknown whether it waits."""


def read_queued_gangs(cluster_ids: Collection[int]) -> Iterator[tuple[int, QueuedGang]]:
    """Yield the gangs in queues of schedulers with their cluster id (1 query, and about 4 more if there are groups)."""
    groups = list(_groups(cluster_ids))
    names = find_gangs(groups, viewer=_ANYBODY) if groups else {}
    rows = _gang_rows({name.id for name in names.values()})
    systems, yielded = scheduler_queues(), set[tuple[int, str, str, str]]()
    for id_, group in groups:
        ref = group.meta.ref
        name = names.get((id_, ref.uid))
        row = rows.get(name.id) if name is not None else None
        if row is None:
            continue
        # Some owners have a group for each pod.
        place = id_, ref.group, group.queue, row["id"]
        if place not in yielded:
            yielded.add(place)
            yield id_, _queued(group, row, systems[ref.group])


def _groups(cluster_ids: Collection[int]) -> Iterable[tuple[int, Group]]:
    """Return the groups that name a queue, the oldest first."""
    rows = WatchedObject.objects.filter(
        cluster_id__in=list(cluster_ids),
        resource__in=[resource.key for resource in group_resources_in_queues()],
    ).values_list("cluster_id", "data")
    groups = ((id_, unpack(bytes(data), Group)) for id_, data in rows.iterator(chunk_size=2000))
    return sorted(
        ((id_, group) for id_, group in groups if group.queue),
        key=lambda resource: (str(resource[1].meta.created_at or ""), resource[1].meta.ref.uid),
    )


def _gang_rows(ids: Collection[str]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    sorted_ids = sorted(ids)
    for start in range(0, len(sorted_ids), 500):
        gangs = Gang.objects.filter(pk__in=sorted_ids[start : start + 500], gone_at=None)
        rows |= {row["id"]: row for row in gangs.values(*_COLUMNS)}
    return rows


def _queued(group: Group, row: dict[str, Any], system: QueueSystem) -> QueuedGang:
    health = Health(row["health"])
    # People look for accelerators first.
    requests = sorted(
        row["requests"].items(), key=lambda request: (not is_accelerator(request[0]), request[0])
    )
    amounts = tuple(FlavorAmount("", resource, Decimal(amount)) for resource, amount in requests)
    entry = QueueEntry(
        meta=group.meta,
        queue=group.queue,
        owner_uid=row["uid"],
        priority_class=group.priority_class,
        in_line_since=group.meta.created_at or row["created_at"],
        asks=amounts,
    )
    missing = row["desired"] - row["held"] - row["scheduled"]
    running = row["scheduled"] - row["succeeded"]
    is_whole = missing <= 0 and not row["succeeded"] and not row["held"]
    return QueuedGang(
        group=group,
        waiting=replace(entry, message=_message(group, row, health, system))
        if waits_for_nodes(health, row["stage"], missing)
        else None,
        holding=replace(
            entry,
            has_quota=True,
            admitted_by=group.queue,
            # The requests of a part of its pods are not stored.
            holds=amounts if is_whole else (),
            message=None
            if is_whole
            else QueueMessage(
                QueueCode.WAITING_FOR_QUOTA, f"{running} of {row['desired']} pods have a node"
            ),
        )
        if running > 0
        else None,
        is_unknown=health is Health.UNKNOWN,
    )


def waits_for_nodes(health: str, stage: str, missing: int) -> bool:
    """Return whether a gang waits for nodes, as far as is known. `missing` pods of it have no node."""
    if Health(health) in _NOT_KNOWN_TO_WAIT:
        return False
    return missing > 0 or Stage(stage) in _BEFORE_NODES


def _message(
    group: Group, row: dict[str, Any], health: Health, system: QueueSystem
) -> QueueMessage:
    """Return the message of a waiting gang: its verdict, and its phase in the scheduler's words."""
    phase = system.phase_of(group)
    code = row["code"]
    return QueueMessage(
        QueueCode(code) if code in _CODES else QueueCode.QUEUE_EVALUATING,
        f"{row['title']} ({phase})" if phase else row["title"],
        is_out_of_line=health is Health.BLOCKED,
    )
