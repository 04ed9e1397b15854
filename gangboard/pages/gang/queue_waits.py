"""Queues in which a gang waits, the other entries in them, and the holders of the missing quota."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from gangboard.diagnosis.scheduler_queues import scheduler_queues
from gangboard.domain.objects import ObjectRef
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount, Queue, QueueLevel, QueueState
from gangboard.domain.resources import decimal_text
from gangboard.plugins import registry
from gangboard.readmodels.declarations import shown, shown_property
from gangboard.readmodels.fair_shares import FairShareRow, fair_share_row
from gangboard.readmodels.formatting import amount_text, printable, quantity_text
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.queue_gangs import waits_for_nodes
from gangboard.readmodels.queue_lines import QueuesOfCluster, amount_of, read_queues
from gangboard.readmodels.queue_places import (
    AmountRow,
    HasPriority,
    PlaceRow,
    amount_rows,
    gangs_of_entries,
    place_rows,
    priority_of,
)
from gangboard.readmodels.queue_visibility import WatchedQueues
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.visible_queues import (
    HasQueueState,
    VisibleQueue,
    order_sentences,
    shared_names,
    tells_places,
    visible_aliases,
)
from gangboard.store.access import Viewer
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack
from gangboard.store.uid_lookups import owned_objects

MOST_WAITS = 3
"""Maximum number of entries of one gang. Each Job can have its own entry."""
MOST_AHEAD = 5
"""Maximum number of entries ahead of it, and of others where the order is unknown."""
MOST_HOLDERS = 5
_ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Given:
    """What queues have given of a resource in a flavor, and their quota of it."""

    reserved: str = shown("Reserved")
    """A decimal string in base units, like the quota."""
    quota: str = shown("Quota")


@dataclass(frozen=True, slots=True)
class LackRow:
    """A resource in one flavor that has to become free, and who has it. Decimal strings in base units."""

    flavor: str = shown("Flavor")
    resource: str = shown("Resource")
    exact: str = shown("Amount", "Amount that must become free.", api_name="amount")
    own: Given = shown("In its queue", "Of its queue.", api_name="queue")
    shared: Given | None = shown(
        "Shared",
        "Of all queues that share the quota. Null if it is not shared.",
    )
    holders: tuple[PlaceRow, ...] = shown(
        "Holders",
        "The largest holders, up to 5 that the caller may see.",
    )
    holders_more: int = shown("More holders")
    hidden: int = shown("Hidden", "Others that the caller may not see.")
    hidden_exact: str = shown("Hidden amount", api_name="hidden_amount")

    def _text(self, exact: str) -> str:
        return quantity_text(self.resource, exact)

    @property
    def amount_text(self) -> str:
        """The missing amount in units that people use: `2 GPUs`."""
        return amount_text(self.resource, self.exact)

    @property
    def own_text(self) -> str:
        """The reserved amount and the quota of its queue: `6 of 4 GPUs used (2 borrowed)`."""
        reserved, quota = self.own.reserved, self.own.quota
        borrowed = Decimal(reserved) - Decimal(quota)
        suffix = f" ({self._text(decimal_text(borrowed))} borrowed)" if borrowed > 0 else ""
        return f"{self._text(reserved)} of {amount_text(self.resource, quota)} used{suffix}"

    @property
    def shared_text(self) -> str:
        """The reserved amount and the quota of all queues that share it: `6 of 8`. Empty if none do."""
        if self.shared is None:
            return ""
        return f"{self._text(self.shared.reserved)} of {self._text(self.shared.quota)}"

    @property
    def hidden_text(self) -> str:
        """The amount of the hidden holders in units that people use."""
        return amount_text(self.resource, self.hidden_exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueWait(HasQueueState, HasPriority):
    """One entry of a gang that waits in a queue."""

    entry: str = shown("Entry")
    queue: str = shown("Queue", "The queue that would admit it, as in `queues/`.")
    kind: str = shown("Kind")

    @shown_property("State", "Of the queue.", choices=QueueState)
    def state(self) -> str:
        """Return the state of the queue."""
        return self.face.word

    position: int | None = shown(
        "Position",
        "1 is first, computed by gangboard. Null if it is not in line, or if the order is unknown.",
    )
    is_eligible: bool = shown(
        "Eligible", "Whether it is in line. Otherwise its place is null.", api_name="eligible"
    )
    tells_places: bool = shown(
        "Tells places", "False if no object shows the order. Nobody is then known to be ahead."
    )
    in_line: int = shown("In line")
    unknown: int = shown(
        "Unknown", "Gangs in a queue of a scheduler for which it is unknown if they wait."
    )
    priority: int | None = shown(
        "Priority", "Null if only `priority_class` is known, because its value is not read."
    )
    priority_class: str = shown("Priority class", empty_is_null=True)
    asks: tuple[AmountRow, ...] = shown("Asks")
    ahead: tuple[PlaceRow, ...] = shown("Ahead", "The first 5 of those before it.")
    ahead_more: int = shown("More ahead")
    others: tuple[PlaceRow, ...] = shown(
        "Others", "The first 5 others in line, if the order is unknown."
    )
    others_more: int = shown("More others")
    lacks: tuple[LackRow, ...] = shown("Lacks", "Quota that must become free, if known.")
    order: tuple[str, ...] = shown("Order")
    fair_share: FairShareRow | None = shown(
        "Fair share", "Of the queue. Null: its system does not divide quota by shares."
    )
    stale: bool = shown("Stale")
    cluster: str
    face: Face
    shared_name: str
    """The cohort, such as `Cohort west`, or a general term if the viewer may not know its name."""

    @property
    def is_first(self) -> bool:
        """Whether it is the first in line."""
        return self.position == 1

    @property
    def others_count(self) -> int:
        """The number of others in line."""
        return self.in_line - self.is_eligible


def read_waits(
    gang: Gang,
    uids: Iterable[str],
    groups: Iterable[ObjectRef],
    *,
    viewer: Viewer,
    cluster: Freshness,
) -> tuple[QueueWait, ...]:
    """Return the queue entries with which a gang waits (1 query, and about 10 if it waits).

    `uids` are those of its owner and Jobs, `groups` its groups. The result is empty if the gang waits in no
    queue, or if that is unknown.
    """
    waiting = [entry for entry in _entries(gang, uids) if entry.is_waiting]
    is_in_scheduler_queue = _waits_in_scheduler_queue(gang, groups)
    if not waiting and not is_in_scheduler_queue:
        return ()
    id_, visibility = cluster.cluster_id, WatchedQueues({cluster.cluster_id: cluster})
    queues = read_queues([id_])[id_]
    if is_in_scheduler_queue:
        waiting += queues.waiting_of_gang(gang.uid)
    waits = []
    for entry in waiting[:MOST_WAITS]:
        group, queue = entry.meta.ref.group, queues.queue_of(entry)
        if queue is not None and visibility.knows_entries(id_, group):
            stale = cluster.is_stale or visibility.is_stale(id_, group)
            wait = _WaitBuilder(viewer, cluster, queues, queue).build(entry)
            waits.append(replace(wait, stale=stale))
    return tuple(waits)


def _waits_in_scheduler_queue(gang: Gang, groups: Iterable[ObjectRef]) -> bool:
    if not gang.queue or scheduler_queues().keys().isdisjoint(ref.group for ref in groups):
        return False
    return waits_for_nodes(gang.health, gang.stage, gang.desired - gang.held - gang.scheduled)


def _entries(gang: Gang, uids: Iterable[str]) -> list[QueueEntry]:
    rows = owned_objects(gang.cluster_id, gang.namespace, list(uids)).filter(
        resource__in=[resource.key for resource in registry.queue_resources(QueueEntry)]
    )
    entries = [unpack(bytes(data), QueueEntry) for data in rows.values_list("data", flat=True)]
    return sorted(entries, key=lambda entry: entry.meta.ref.name)


@dataclass(frozen=True, slots=True)
class _WaitBuilder:
    """Builds the rows of entries that wait in one queue."""

    viewer: Viewer
    cluster: Freshness
    queues: QueuesOfCluster
    queue: Queue

    def build(self, entry: QueueEntry) -> QueueWait:
        """Return the entries ahead of an entry, and the holders of the quota that it lacks."""
        line = [item for item in self.queues.line(self.queue.name) if item.stands_in_line]
        has_order = tells_places(self.queue)
        ahead = _ahead_of(line, entry) if has_order else []
        others = [] if has_order else [item for item in line if item.meta.ref != entry.meta.ref]
        id_, ref = self.cluster.cluster_id, self.queue.meta.ref
        aliases = visible_aliases(self.viewer, id_, self.queues)
        visible_queue = VisibleQueue(
            self.cluster, self.queues, self.queue, (), shared_names(self.queues, self.queue)
        )
        return QueueWait(
            entry=printable(entry.meta.ref.name),
            cluster=self.cluster.cluster,
            kind=printable(ref.kind),
            queue=printable(ref.name),
            face=visible_queue.face,
            position=len(ahead) + 1 if has_order and entry.stands_in_line else None,
            is_eligible=entry.stands_in_line,
            tells_places=has_order,
            in_line=len(line),
            unknown=self.queues.unknown(self.queue.name),
            priority=priority_of(entry),
            priority_class=printable(entry.priority_class),
            asks=amount_rows(entry.asks),
            ahead=self._rows(list(enumerate(ahead[:MOST_AHEAD], start=1))),
            ahead_more=max(0, len(ahead) - MOST_AHEAD),
            others=self._rows([(None, item) for item in others[:MOST_AHEAD]]),
            others_more=max(0, len(others) - MOST_AHEAD),
            shared_name=self._shared_name(),
            lacks=tuple(map(self._lack, entry.message.lacks)) if entry.message else (),
            order=order_sentences(self.queue, aliases.get(self.queue.name, ())),
            fair_share=fair_share_row(self.queues, self.queue, viewer=self.viewer, cluster_id=id_),
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
        holders = [
            replace(entry, holds=(lack._replace(amount=amount),))
            for queue in sharing
            for entry in self.queues.holders(queue.name)
            if (amount := amount_of(entry.holds, lack.flavor, lack.resource))
        ]
        holders.sort(key=lambda entry: (-entry.holds[0].amount, entry.meta.ref.uid))
        id_ = self.cluster.cluster_id
        visible = [entry for entry in holders if self.viewer.sees(id_, entry.meta.ref.namespace)]
        hidden = [entry for entry in holders if not self.viewer.sees(id_, entry.meta.ref.namespace)]
        return LackRow(
            flavor=printable(lack.flavor),
            resource=printable(lack.resource),
            exact=decimal_text(lack.amount),
            own=_reserved([self.queue], lack),
            shared=_reserved(sharing, lack) if len(sharing) > 1 else None,
            holders=self._rows([(None, entry) for entry in visible[:MOST_HOLDERS]]),
            holders_more=max(0, len(visible) - MOST_HOLDERS),
            hidden=len(hidden),
            hidden_exact=decimal_text(sum((entry.holds[0].amount for entry in hidden), _ZERO)),
        )


def _ahead_of(line: Sequence[QueueEntry], entry: QueueEntry) -> list[QueueEntry]:
    """Return the entries ahead of an entry. Empty if the entry is not in the line."""
    uids = [item.meta.ref.uid for item in line]
    uid = entry.meta.ref.uid
    return list(line[: uids.index(uid)]) if uid in uids else []


def _reserved(queues: Iterable[Queue], lack: FlavorAmount) -> Given:
    """Return the reserved amount and the quota of these queues for a resource in a flavor."""
    quotas = [
        quota
        for queue in queues
        for quota in queue.quotas
        if (quota.flavor, quota.resource) == (lack.flavor, lack.resource)
    ]
    reserved = sum((max(quota.reserved, quota.used) for quota in quotas), _ZERO)
    nominal = sum((quota.nominal or _ZERO for quota in quotas), _ZERO)
    return Given(decimal_text(reserved), decimal_text(nominal))


def queue_of_gang(gang: Gang, groups: Iterable[ObjectRef]) -> str:
    """Return the name of the queue whose page shows the gang, or an empty string (at most 2 queries).

    Either the gang names an alias of a queue, or its groups name a queue of their scheduler. Two systems
    can have queues with the same name, so the API of its groups decides. A viewer of the gang may see its
    queue.
    """
    if not gang.queue or gang.gone_at is not None:
        return ""
    apis = {ref.group for ref in groups} & set(scheduler_queues())
    queues = _queues(gang.cluster_id, gang.queue, ("", gang.namespace))
    for queue in queues:
        is_admitting = queue.level is QueueLevel.QUEUE and not queue.meta.ref.namespace
        if is_admitting and queue.meta.ref.group in apis:
            return queue.meta.ref.name
    parents = {queue.parent for queue in queues if queue.level is QueueLevel.ALIAS and queue.parent}
    for parent in sorted(parents):
        if any(queue.name == parent for queue in _queues(gang.cluster_id, parent.name, ("",))):
            return parent.name
    return ""


def _queues(cluster_id: int, name: str, namespaces: tuple[str, ...]) -> list[Queue]:
    rows = WatchedObject.objects.filter(
        cluster_id=cluster_id,
        resource__in=[resource.key for resource in registry.queue_resources(Queue)],
        namespace__in=namespaces,
        name=name,
    )
    return [unpack(bytes(data), Queue) for data in rows.values_list("data", flat=True)]
