"""The gangs in the queues of schedulers, as entries: what waits there are groups, and no object says who is next.

An admission system keeps an object for each of those who wait. A scheduler only has groups that name a queue. Whether
a gang waits is told by its verdict, because groups of some schedulers do not say it.
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
"""A place in a line is counted from all gangs. Names are left out later, for each viewer."""
_OUT_OF_QUEUE = frozenset({Health.SUCCEEDED, Health.FAILED, Health.SUSPENDED})
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
    """The oldest of its groups in the queue."""
    waiting: QueueEntry | None
    """None where none of its pods waits for a node."""
    holding: QueueEntry | None
    """None where none of its pods has one."""
    is_unknown: bool
    """Nobody could look: whether it waits is not known."""


def read_queued_gangs(cluster_ids: Collection[int]) -> Iterator[tuple[int, QueuedGang]]:
    """Yield the gangs in queues of schedulers, each with its cluster (1 query; where there are groups some 4 more)."""
    groups = list(_groups(cluster_ids))
    names = find_gangs(groups, viewer=_ANYBODY) if groups else {}
    rows = _gang_rows({name.id for name in names.values()})
    systems, seen = scheduler_queues(), set[tuple[int, str, str, str]]()
    for id_, group in groups:
        ref = group.meta.ref
        name = names.get((id_, ref.uid))
        row = rows.get(name.id) if name is not None else None
        if row is None:
            continue
        # Some owners have a group for each of their pods.
        place = id_, ref.group, group.queue, row["id"]
        if place not in seen:
            seen.add(place)
            yield id_, _queued(group, row, systems[ref.group])


def _groups(cluster_ids: Collection[int]) -> Iterable[tuple[int, Group]]:
    """Return the groups that name a queue, the oldest first."""
    rows = WatchedObject.objects.filter(
        cluster_id__in=list(cluster_ids),
        resource__in=[one.key for one in group_resources_in_queues()],
    ).values_list("cluster_id", "data")
    found = ((id_, unpack(bytes(data), Group)) for id_, data in rows.iterator(chunk_size=2000))
    return sorted(
        ((id_, group) for id_, group in found if group.queue),
        key=lambda one: (str(one[1].meta.created_at or ""), one[1].meta.ref.uid),
    )


def _gang_rows(ids: Collection[str]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    wanted = sorted(ids)
    for start in range(0, len(wanted), 500):
        found = Gang.objects.filter(pk__in=wanted[start : start + 500], gone_at=None)
        rows |= {row["id"]: row for row in found.values(*_COLUMNS)}
    return rows


def _queued(group: Group, row: dict[str, Any], system: QueueSystem) -> QueuedGang:
    health = Health(row["health"])
    # Accelerators first: people look for these.
    requests = sorted(row["requests"].items(), key=lambda one: (not is_accelerator(one[0]), one[0]))
    asks = tuple(FlavorAmount("", resource, Decimal(amount)) for resource, amount in requests)
    entry = QueueEntry(
        meta=group.meta,
        queue=group.queue,
        owner_uid=row["uid"],
        priority_class=group.priority_class,
        in_line_since=group.meta.created_at or row["created_at"],
        asks=asks,
    )
    missing = row["desired"] - row["held"] - row["scheduled"]
    waits = missing > 0 or Stage(row["stage"]) in _BEFORE_NODES
    running = row["scheduled"] - row["succeeded"]
    is_whole = missing <= 0 and not row["succeeded"] and not row["held"]
    is_unknown = health is Health.UNKNOWN
    return QueuedGang(
        group=group,
        waiting=replace(entry, message=_message(group, row, health, system))
        if waits and not is_unknown and health not in _OUT_OF_QUEUE
        else None,
        holding=replace(
            entry,
            has_quota=True,
            admitted_by=group.queue,
            # What some of its pods ask for stands nowhere.
            holds=asks if is_whole else (),
            message=None
            if is_whole
            else QueueMessage(
                QueueCode.WAITING_FOR_QUOTA, f"{running} of {row['desired']} pods have a node"
            ),
        )
        if running > 0
        else None,
        is_unknown=is_unknown,
    )


def _message(
    group: Group, row: dict[str, Any], health: Health, system: QueueSystem
) -> QueueMessage:
    """Return what is said of a gang that waits: its verdict, and its phase in the words of its scheduler."""
    phase = system.phase_of(group)
    code = row["code"]
    return QueueMessage(
        QueueCode(code) if code in _CODES else QueueCode.QUEUE_EVALUATING,
        f"{row['title']} ({phase})" if phase else row["title"],
        is_out_of_line=health is Health.BLOCKED,
    )
