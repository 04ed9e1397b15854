"""What is ahead of a gang in its queue, and who has what it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount, Queue
from gangboard.domain.resource_units import decimal_text
from gangboard.plugins import registry
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quantities import amount_text, quantity_text
from gangboard.readmodels.queue_lines import QueuesOfCluster, amount_of, read_queues
from gangboard.readmodels.queue_places import (
    AmountRow,
    PlaceRow,
    amount_rows,
    gangs_of_entries,
    place_rows,
)
from gangboard.readmodels.queue_visibility import WatchedQueues
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.visible_queues import (
    ShowsState,
    VisibleQueue,
    order_sentences,
    shared_names,
)
from gangboard.store.access import Viewer
from gangboard.store.models import Gang
from gangboard.store.objects import unpack
from gangboard.store.uid_lookups import owned_objects

MOST_WAITS = 3
"""Entries of one gang that are told of: each of its Jobs may have one of its own."""
MOST_AHEAD = 5
MOST_HOLDERS = 5
_NOTHING = Decimal(0)


class Given(NamedTuple):
    """What queues have given of a resource in a flavor, and their quota of it: base units."""

    reserved: str
    quota: str


@dataclass(frozen=True, slots=True)
class LackRow:
    """A resource in one flavor that has to become free, and who has it."""

    flavor: str
    resource: str
    exact: str
    """How much has to become free, in base units."""
    own: Given
    """By its queue."""
    shared: Given | None
    """The same over all with which it shares quota; None where it shares with nobody."""
    holders: tuple[PlaceRow, ...]
    """Who has most of it, of those that the viewer may see."""
    holders_more: int
    hidden: int
    """How many others have some of it that the viewer may not see."""
    hidden_exact: str
    """What these have together, in base units."""

    def _text(self, exact: str) -> str:
        return quantity_text(self.resource, exact)

    @property
    def amount_text(self) -> str:
        """How much has to become free, as a person reads it: `2 GPUs`."""
        return amount_text(self.resource, self.exact)

    @property
    def own_text(self) -> str:
        """`6 of 4 GPUs used (2 borrowed)`: reserved in its queue, of its quota."""
        reserved, quota = self.own
        beyond = Decimal(reserved) - Decimal(quota)
        borrowed = f" ({self._text(decimal_text(beyond))} borrowed)" if beyond > 0 else ""
        return f"{self._text(reserved)} of {amount_text(self.resource, quota)} used{borrowed}"

    @property
    def shared_text(self) -> str:
        """`6 of 8`: the same over all with which it shares quota; empty where it shares with nobody."""
        if self.shared is None:
            return ""
        return f"{self._text(self.shared.reserved)} of {self._text(self.shared.quota)}"

    @property
    def hidden_text(self) -> str:
        """What those have that the viewer may not see, as a person reads it."""
        return amount_text(self.resource, self.hidden_exact)


@dataclass(frozen=True, slots=True)
class QueueWait(ShowsState):
    """One entry of a gang that waits in a queue."""

    entry: str
    cluster: str
    kind: str
    """Of the queue that would admit it."""
    queue: str
    face: Face
    position: int | None
    """1 for the first; None for who stands in no line, and where the order cannot be told."""
    in_line: int
    priority: int
    asks: tuple[AmountRow, ...]
    ahead: tuple[PlaceRow, ...]
    """The first of those before it."""
    ahead_more: int
    shared_name: str
    """`Cohort west`: what it shares quota in; in general words where the viewer may not know that."""
    lacks: tuple[LackRow, ...]
    """What has to become free, as far as its system tells."""
    order: tuple[str, ...]
    stale: bool

    @property
    def is_first(self) -> bool:
        """Whether nobody stands before it."""
        return self.position == 1


def read_waits(
    gang: Gang, uids: Iterable[str], *, viewer: Viewer, cluster: Freshness
) -> tuple[QueueWait, ...]:
    """Return where a gang waits in queues (1 query; where it does, some 6 more).

    `uids`: of its owner and its Jobs. Nothing where it waits in none, and where that cannot be told.
    """
    waiting = [one for one in _entries(gang, uids) if one.is_waiting]
    if not waiting:
        return ()
    id_, visibility = cluster.cluster_id, WatchedQueues({cluster.cluster_id: cluster})
    queues = read_queues([id_])[id_]
    found = []
    for entry in waiting[:MOST_WAITS]:
        group, queue = entry.meta.ref.group, queues.queue_of(entry)
        if queue is not None and visibility.is_known(id_, QueueEntry, group):
            stale = cluster.is_stale or visibility.is_stale(id_, group)
            told = _Reader(viewer, cluster, queues, queue).read(entry)
            found.append(replace(told, stale=stale))
    return tuple(found)


def _entries(gang: Gang, uids: Iterable[str]) -> list[QueueEntry]:
    rows = owned_objects(gang.cluster_id, gang.namespace, list(uids)).filter(
        resource__in=[one.key for one in registry.queue_resources(QueueEntry)]
    )
    found = [unpack(bytes(data), QueueEntry) for data in rows.values_list("data", flat=True)]
    return sorted(found, key=lambda one: one.meta.ref.name)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Tells of entries that wait in one queue."""

    viewer: Viewer
    cluster: Freshness
    queues: QueuesOfCluster
    queue: Queue

    def read(self, entry: QueueEntry) -> QueueWait:
        """Return what is ahead of an entry, and who has what it lacks."""
        line = [one for one in self.queues.line(self.queue.name) if one.stands_in_line]
        before = _before(line, entry) if not self.queue.is_by_usage else []
        is_told = entry.stands_in_line and not self.queue.is_by_usage
        ref = self.queue.meta.ref
        place = VisibleQueue(
            self.cluster, self.queues, self.queue, (), shared_names(self.queues, self.queue)
        )
        return QueueWait(
            entry=printable(entry.meta.ref.name),
            cluster=self.cluster.cluster,
            kind=printable(ref.kind),
            queue=printable(ref.name),
            face=place.face,
            position=len(before) + 1 if is_told else None,
            in_line=len(line),
            priority=entry.priority,
            asks=amount_rows(entry.asks),
            ahead=self._rows(list(enumerate(before[:MOST_AHEAD], start=1))),
            ahead_more=max(0, len(before) - MOST_AHEAD),
            shared_name=self._shared_name(),
            lacks=tuple(map(self._lack, entry.message.lacks)) if entry.message else (),
            order=order_sentences(self.queue, ()),
            stale=False,
        )

    def _shared_name(self) -> str:
        parent = self.queue.parent
        if parent is None or not self.viewer.sees_cluster(self.cluster.cluster_id):
            return "all that share quota"
        return printable(str(parent))

    def _rows(self, entries: Sequence[tuple[int | None, QueueEntry]]) -> tuple[PlaceRow, ...]:
        id_ = self.cluster.cluster_id
        gangs = gangs_of_entries(((id_, entry) for _, entry in entries), viewer=self.viewer)
        return place_rows(entries, gangs, viewer=self.viewer, cluster_id=id_)

    def _lack(self, lack: FlavorAmount) -> LackRow:
        sharing = self.queues.sharing(self.queue)
        having = [
            replace(one, holds=(lack._replace(amount=amount),))
            for queue in sharing
            for one in self.queues.holders(queue.name)
            if (amount := amount_of(one.holds, lack.flavor, lack.resource))
        ]
        having.sort(key=lambda one: (-one.holds[0].amount, one.meta.ref.uid))
        id_ = self.cluster.cluster_id
        seen = [one for one in having if self.viewer.sees(id_, one.meta.ref.namespace)]
        hidden = [one for one in having if not self.viewer.sees(id_, one.meta.ref.namespace)]
        return LackRow(
            flavor=printable(lack.flavor),
            resource=printable(lack.resource),
            exact=decimal_text(lack.amount),
            own=_reserved([self.queue], lack),
            shared=_reserved(sharing, lack) if len(sharing) > 1 else None,
            holders=self._rows([(None, one) for one in seen[:MOST_HOLDERS]]),
            holders_more=max(0, len(seen) - MOST_HOLDERS),
            hidden=len(hidden),
            hidden_exact=decimal_text(sum((one.holds[0].amount for one in hidden), _NOTHING)),
        )


def _before(line: Sequence[QueueEntry], entry: QueueEntry) -> list[QueueEntry]:
    """Return who stands before an entry; nobody where it stands in no line itself."""
    uids = [one.meta.ref.uid for one in line]
    uid = entry.meta.ref.uid
    return list(line[: uids.index(uid)]) if uid in uids else []


def _reserved(queues: Iterable[Queue], lack: FlavorAmount) -> Given:
    """Return what these queues have given of a resource in a flavor, and their quota of it."""
    quotas = [
        quota
        for queue in queues
        for quota in queue.quotas
        if (quota.flavor, quota.resource) == (lack.flavor, lack.resource)
    ]
    reserved = sum((max(one.reserved, one.used) for one in quotas), _NOTHING)
    nominal = sum((one.nominal or _NOTHING for one in quotas), _NOTHING)
    return Given(decimal_text(reserved), decimal_text(nominal))
