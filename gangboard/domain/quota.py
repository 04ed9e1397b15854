"""Queues with their quotas, as any admission system may have them, and what else it admits by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from gangboard.domain.objects import Meta
from gangboard.domain.pod_constraints import Taint


class QueueName(NamedTuple):
    """Names one queue of an admission system."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def place(self) -> tuple[str, str, str]:
        """API group, namespace and name: what entries know of it."""
        return self.group, self.namespace, self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class QueueLevel(StrEnum):
    """What a queue is there for."""

    ALIAS = "alias"
    """By it the owners of a namespace reach the queue that is its parent."""
    QUEUE = "queue"
    """Admits entries out of its quota."""
    SHARED = "shared"
    """Lends quota between the queues below it, and admits nobody."""


class QueueState(StrEnum):
    """Whether a queue admits anybody."""

    ACTIVE = "active"
    STOPPED = "stopped"
    """Somebody has stopped it."""
    INACTIVE = "inactive"
    """Something that it needs is not there."""
    UNKNOWN = "unknown"
    """Its system has said nothing of it."""


class FlavorAmount(NamedTuple):
    """So much of a resource in one flavor, in base units. Without a flavor: in any."""

    flavor: str
    resource: str
    amount: Decimal


class QuotaTerm(NamedTuple):
    """One more number of a quota, in the words of its system: a limit, a guarantee, a weight."""

    name: str
    amount: Decimal | None
    """In base units; None for no bound."""
    is_share: bool = False
    """A bare number, such as a weight, and no amount of the resource."""


@dataclass(frozen=True, slots=True)
class Quota:
    """What a queue may give of one resource in one flavor, and what it has given. Base units."""

    flavor: str
    resource: str
    nominal: Decimal | None = None
    """None where it has none of its own: what is used was given before the quota was taken away."""
    borrowing_limit: Decimal | None = None
    """At most so much more is borrowed; None for no limit."""
    lending_limit: Decimal | None = None
    """At most so much is lent while it is unused; None for no limit."""
    used: Decimal = Decimal(0)
    """By those that are admitted."""
    reserved: Decimal = Decimal(0)
    """By those that are admitted, and those that have their quota and wait for something else."""
    borrowed: Decimal = Decimal(0)
    """The part of `reserved` that goes beyond `nominal`."""
    terms: tuple[QuotaTerm, ...] = ()
    """What else its system keeps for it."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue: where entries wait (`ALIAS`, `QUEUE`), or what shares quota out between queues."""

    meta: Meta
    level: QueueLevel
    parent: QueueName | None = None
    """The queue of an alias; what shares quota out between this queue and others."""
    quotas: tuple[Quota, ...] = ()
    is_quota_overridden: bool = False
    """The quotas in force are computed, and not those that its spec says."""
    pending: int | None = None
    """Entries that wait, as its system counts them; None where it does not."""
    reserving: int | None = None
    """Entries that have their quota, admitted or not yet."""
    admitted: int | None = None
    state: QueueState = QueueState.UNKNOWN
    cause: str = ""
    """Why it is stopped or inactive: half a sentence; empty where nothing is known but that."""
    advice: str = ""
    """What makes it active again."""
    is_strict: bool = False
    """Whoever is first and has to wait lets nobody pass."""
    is_by_usage: bool = False
    """Whose alias has used least goes first, before priority and age: that is not told by entries."""
    terms: tuple[QuotaTerm, ...] = ()
    """What its system keeps for the queue as a whole, such as a weight."""

    @property
    def name(self) -> QueueName:
        """How others of its system name it."""
        ref = self.meta.ref
        return QueueName(ref.group, ref.kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class Flavor:
    """One sort of nodes for which queues have quota of their own."""

    meta: Meta
    node_labels: Mapping[str, str]
    node_taints: tuple[Taint, ...] = ()
    topology: str = ""
    """Name of the levels (rack, block) by which its pods are placed, or empty."""


@dataclass(frozen=True, slots=True)
class QueueCheck:
    """What has to agree before an entry that has its quota is admitted."""

    meta: Meta
    controller: str = ""
    """Name of the controller that decides."""
    is_active: bool | None = None
    """None while that controller has said nothing."""
    cause: str = ""
    """What it says of it, where it is not active."""


class QueueTree:
    """Queues by name, with what is above and below each."""

    def __init__(self, queues: Iterable[Queue] = ()) -> None:
        self._queues: dict[QueueName, Queue] = {}
        self._entrances: dict[tuple[str, str, str], QueueName] = {}
        self._below: defaultdict[QueueName, set[QueueName]] = defaultdict(set)
        """Also of what is named and not there."""
        self.flavors: dict[tuple[str, str], Flavor] = {}
        """By API group and name."""
        for queue in queues:
            self.put(queue)

    def __iter__(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def get(self, name: QueueName | None) -> Queue | None:
        """Return a queue; None where it is not there."""
        return self._queues.get(name) if name is not None else None

    def put(self, queue: Queue) -> None:
        """Add a queue, in place of one of its name."""
        self.remove(queue.name)
        self._queues[queue.name] = queue
        if queue.level is not QueueLevel.SHARED:
            self._entrances[queue.name.place] = queue.name
        if queue.parent is not None:
            self._below[queue.parent].add(queue.name)

    def remove(self, name: QueueName) -> None:
        """Take a queue away, if it is there."""
        queue = self._queues.pop(name, None)
        if queue is not None:
            self._entrances.pop(name.place, None)
            if queue.parent is not None:
                self._below[queue.parent].discard(name)

    def find_entry_queue(self, group: str, namespace: str, name: str) -> Queue | None:
        """Return the queue that an entry of a namespace names; None where there is none."""
        for place in ((group, namespace, name), (group, "", name)):
            if place in self._entrances:
                return self._queues[self._entrances[place]]
        return None

    def lineage(self, queue: Queue) -> tuple[Queue, ...]:
        """Return the queue with all that is above it, nearest first; nobody twice, should it go in a circle.

        What is named and not there ends it.
        """
        found: dict[QueueName, Queue] = {}
        at: Queue | None = queue
        while at is not None and at.name not in found:
            found[at.name] = at
            at = self.get(at.parent)
        return tuple(found.values())

    def is_circular(self, queue: Queue) -> bool:
        """Whether what is above a queue comes back to itself."""
        above = self.lineage(queue)
        return above[-1].parent in {one.name for one in above}

    def children(self, name: QueueName) -> tuple[Queue, ...]:
        """Return the queues of which this one, there or not, is the parent, by name."""
        return tuple(self._queues[one] for one in sorted(self._below.get(name, ())))

    def subtree(self, name: QueueName) -> set[QueueName]:
        """Return all that is below, with what has the name itself."""
        found, left = {name}, [name]
        while left:
            new = self._below.get(left.pop(), set()) - found
            found |= new
            left += new
        return found
