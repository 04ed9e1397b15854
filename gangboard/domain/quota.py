"""Queues of admission systems with their quotas, flavors and admission checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from gangboard.domain.objects import Meta
from gangboard.domain.pod_constraints import Taint, Toleration
from gangboard.domain.queue_policy import QueuePolicy
from gangboard.domain.suspension import FieldWriter


class QueueName(NamedTuple):
    """Name of a queue of an admission system."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def place(self) -> tuple[str, str, str]:
        """API group, namespace and name, by which entries refer to it."""
        return self.group, self.namespace, self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class QueueLevel(StrEnum):
    """Function of a queue."""

    ALIAS = "alias"
    """Entry point in a namespace to its parent queue, such as a LocalQueue."""
    QUEUE = "queue"
    """Queue that admits entries within its quota."""
    SHARED = "shared"
    """Lends quota between its child queues and admits no entries, such as a Cohort."""


class QueueState(StrEnum):
    """State of a queue. Only an active queue admits entries."""

    ACTIVE = "active"
    STOPPED = "stopped"
    """An admin stopped it."""
    INACTIVE = "inactive"
    """An object that it needs is missing."""
    UNKNOWN = "unknown"
    """Its system has not reported a state."""


class FlavorAmount(NamedTuple):
    """Amount of a resource in base units, in a flavor. An empty flavor means any."""

    flavor: str
    resource: str
    amount: Decimal


class QuotaTerm(NamedTuple):
    """Further number of a quota, such as a limit, a guarantee or a weight, with the name that its system uses."""

    name: str
    amount: Decimal | None
    """Amount in base units. None means unlimited."""
    is_share: bool = False
    """A plain number, such as a weight, instead of an amount of the resource."""


@dataclass(frozen=True, slots=True)
class FairShare:
    """Share of a queue in the quota that several queues lend each other. The queue with the lowest share goes first."""

    share: int | None
    """Borrowed part of the lendable quota in thousandths, divided by the weight. 0 without borrowing.

    None: the weight is 0 and the queue borrows, so it goes last."""
    weight: Decimal = Decimal(1)


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota and usage of a queue for one resource in one flavor, in base units."""

    flavor: str
    resource: str
    nominal: Decimal | None = None
    """None if the queue has no quota. Its usage is then older than the removal of the quota."""
    borrowing_limit: Decimal | None = None
    """Limit for borrowing beyond the quota. None means unlimited."""
    lending_limit: Decimal | None = None
    """Limit for lending unused quota. None means unlimited."""
    used: Decimal = Decimal(0)
    """Usage by admitted entries."""
    reserved: Decimal = Decimal(0)
    """Usage by admitted entries, and by entries with quota that wait for a check."""
    borrowed: Decimal = Decimal(0)
    """Part of `reserved` beyond `nominal`."""
    terms: tuple[QuotaTerm, ...] = ()
    """Further numbers that its system has for it."""


@dataclass(frozen=True, slots=True)
class Queue:
    """Queue in which entries wait (`ALIAS`, `QUEUE`), or which shares quota between queues (`SHARED`)."""

    meta: Meta
    level: QueueLevel
    parent: QueueName | None = None
    """Queue of an alias, or the shared quota of a queue."""
    quotas: tuple[Quota, ...] = ()
    is_quota_overridden: bool = False
    """The system computes the effective quotas, and ignores those in the spec."""
    pending: int | None = None
    """Waiting entries in the system's status. None if the status has no count."""
    reserving: int | None = None
    """Entries with quota, admitted or not."""
    admitted: int | None = None
    state: QueueState = QueueState.UNKNOWN
    cause: str = ""
    """The cause of its inactivity, or the effect of a stop on its entries, as a clause. Empty if unknown."""
    advice: str = ""
    """Sentence that says how to activate it again."""
    stop_setting: str = ""
    """Field and value that stop it, such as `spec.stopPolicy Hold`. Empty if its system has no such field."""
    stopped_by: FieldWriter | None = None
    """Last writer of that field."""
    command: tuple[str, ...] = ()
    """Arguments of a command that follows the advice."""
    is_strict: bool = False
    """Later entries wait while the first one cannot be admitted."""
    is_by_usage: bool = False
    """The alias with the least usage goes first, before priority and age. Entries do not show this order."""
    terms: tuple[QuotaTerm, ...] = ()
    """Numbers that its system has for the queue as a whole, such as a weight."""
    policy: QueuePolicy | None = None
    """None if the settings are unknown, as for queues of a scheduler."""
    share: FairShare | None = None
    """None if its system does not divide quota by shares, or has not reported a share."""

    @property
    def name(self) -> QueueName:
        """Name by which other objects refer to it."""
        ref = self.meta.ref
        return QueueName(ref.group, ref.kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class Flavor:
    """Type of nodes for which queues have separate quotas."""

    meta: Meta
    node_labels: Mapping[str, str]
    node_taints: tuple[Taint, ...] = ()
    topology: str = ""
    """Name of the topology (rack, block) for the placement of its pods, or empty."""
    tolerations: tuple[Toleration, ...] = ()
    """Tolerations that its system adds to the pods."""


@dataclass(frozen=True, slots=True)
class QueueCheck:
    """Admission check, which must pass before an entry with quota is admitted."""

    meta: Meta
    controller: str = ""
    """Name of the controller that decides."""
    is_active: bool | None = None
    """None while that controller has reported no state."""
    cause: str = ""
    """Message of the controller while the check is inactive."""


class QueueTree:
    """Queues by name, with their parents and children."""

    def __init__(self, queues: Iterable[Queue] = ()) -> None:
        self._queues: dict[QueueName, Queue] = {}
        self._entrances: dict[tuple[str, str, str], QueueName] = {}
        self._children: defaultdict[QueueName, set[QueueName]] = defaultdict(set)
        """Parent → children. A named parent need not exist."""
        self.flavors: dict[tuple[str, str], Flavor] = {}
        """Flavors by API group and name."""
        for queue in queues:
            self.put(queue)

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def get(self, name: QueueName | None) -> Queue | None:
        """Return the queue, or None if it does not exist."""
        return self._queues.get(name) if name is not None else None

    def put(self, queue: Queue) -> None:
        """Add a queue, or replace the one with its name."""
        self.remove(queue.name)
        self._queues[queue.name] = queue
        if queue.level is not QueueLevel.SHARED:
            self._entrances[queue.name.place] = queue.name
        if queue.parent is not None:
            self._children[queue.parent].add(queue.name)

    def remove(self, name: QueueName) -> None:
        """Remove the queue, if it exists."""
        queue = self._queues.pop(name, None)
        if queue is not None:
            self._entrances.pop(name.place, None)
            if queue.parent is not None:
                self._children[queue.parent].discard(name)

    def find_entry_queue(self, group: str, namespace: str, name: str) -> Queue | None:
        """Return the queue that an entry in the namespace names, or None."""
        for key in ((group, namespace, name), (group, "", name)):
            if key in self._entrances:
                return self._queues[self._entrances[key]]
        return None

    def lineage(self, queue: Queue) -> tuple[Queue, ...]:
        """Return the queue and its ancestors, nearest first.

        A cycle or a missing parent ends the lineage.
        """
        lineage: dict[QueueName, Queue] = {}
        current: Queue | None = queue
        while current is not None and current.name not in lineage:
            lineage[current.name] = current
            current = self.get(current.parent)
        return tuple(lineage.values())

    def is_circular(self, queue: Queue) -> bool:
        """Return whether the ancestors of a queue form a cycle."""
        lineage = self.lineage(queue)
        return lineage[-1].parent in {ancestor.name for ancestor in lineage}

    def children(self, name: QueueName) -> tuple[Queue, ...]:
        """Return the queues with this parent, ordered by name. The parent need not exist."""
        return tuple(self._queues[child] for child in sorted(self._children.get(name, ())))

    def subtree(self, name: QueueName) -> set[QueueName]:
        """Return this name and the names of all descendants."""
        names, pending = {name}, [name]
        while pending:
            new = self._children.get(pending.pop(), set()) - names
            names |= new
            pending += new
        return names
