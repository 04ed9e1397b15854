"""One queue that admits, as a viewer is shown it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gangboard.diagnosis.scheduler_queues import queue_system, queue_words
from gangboard.domain.quota import Queue, QueueState
from gangboard.domain.text import listed
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.printable import printable
from gangboard.readmodels.queue_lines import QueuesOfCluster
from gangboard.readmodels.queue_places import PlaceRow
from gangboard.readmodels.queue_quotas import QuotaRow, TermRow
from gangboard.readmodels.state_labels import Face

_ORDER = (
    "By priority, then by how long they stand in line: worked out here from all entries. Who waits "
    "for others to make room may be served first."
)
_BY_USAGE = (
    "Whose {alias} has used least lately goes first, before priority and age. No entry tells that, so "
    "no places are told."
)
_STRICT = "Strict: while the first has to wait, nobody passes."
_BEST_EFFORT = "Best effort: who fits may pass those who have to wait."
FACES = {
    QueueState.ACTIVE: Face("active", "Admits", "●", "running"),
    QueueState.STOPPED: Face("stopped", "Stopped", "❚❚", "suspended"),
    QueueState.INACTIVE: Face("inactive", "Inactive", "■", "blocked"),
    QueueState.UNKNOWN: Face("unknown", "No word yet", "?", "unknown"),
}


class ShowsState:
    """Something of which a face tells whether it admits."""

    __slots__ = ()
    face: Face

    @property
    def is_active(self) -> bool:
        """Whether it admits as usual: then nothing is said of its state."""
        return self.face.word == QueueState.ACTIVE


@dataclass(frozen=True, slots=True)
class AliasRow(ShowsState):
    """A name by which the owners of a namespace reach a queue."""

    kind: str
    namespace: str
    name: str
    face: Face
    cause: str
    pending: int | None


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A namespace that uses a queue without an alias."""

    name: str
    gangs: int
    """How many of its gangs wait in it or have its quota; 0 where all of them are over."""


@dataclass(frozen=True, slots=True)
class QueueRow(ShowsState):
    """One queue that admits."""

    id: str
    cluster: str
    system: str
    """The admission system, such as Kueue."""
    api_group: str
    api_version: str
    kind: str
    name: str
    uid: str
    shared: tuple[str, ...]
    """What it shares quota in, nearest first; empty for nothing, and where the viewer may not know."""
    shared_kind: str
    """Kind of these, such as Cohort; empty likewise."""
    shares_with: int
    """How many other queues it shares quota with."""
    face: Face
    cause: str
    """Why it is stopped or inactive, or empty."""
    advice: str
    quotas: tuple[QuotaRow, ...]
    is_quota_overridden: bool
    """The quotas in force are computed, and not those of its spec."""
    pending: int | None
    """Entries that wait, as its system counts them; None where it does not."""
    reserving: int | None
    admitted: int | None
    line: tuple[PlaceRow, ...] | None
    """The first who wait, those in no line last; None where entries cannot be looked at."""
    in_line: int | None
    """How many stand in line by the entries; None where these cannot be looked at."""
    kept_out: int | None
    """How many wait and stand in no line; None likewise."""
    waiting: int | None
    """How many wait, as its system counts its entries; gangs in a queue of a scheduler. None if it is not known."""
    placed: int | None
    """How many gangs have pods on nodes, in a queue of a scheduler; None in others, and where nobody can tell."""
    unknown: int
    """Of how many gangs in it nobody knows whether they wait."""
    namespaces: tuple[NamespaceRow, ...]
    """Of a queue without aliases: the namespaces with gangs in it, as far as the viewer may see them."""
    namespaces_hidden: int
    reached_by: str
    """A sentence: who may use it, where no alias says it; empty where aliases do."""
    terms: tuple[TermRow, ...]
    """What its system keeps for it as a whole, in its own words: `weight 1`."""
    tells_places: bool
    """Whether positions can be told."""
    order: tuple[str, ...]
    """How the line is ordered, and what is not known of that: sentences."""
    aliases: tuple[AliasRow, ...]
    """Those that the viewer may see."""
    aliases_hidden: int
    stale: bool

    @property
    def line_text(self) -> str:
        """How many wait, and how many of them have no turn: `2 waiting, 1 not eligible`; empty for none."""
        counts = ((self.in_line, "waiting"), (self.kept_out, "not eligible"))
        return ", ".join(f"{number:,} {word}" for number, word in counts if number)

    @property
    def lends(self) -> bool:
        """Whether queues of its system lend what they do not use, and reserve before they admit."""
        system = queue_system(self.api_group)
        return system is not None and system.lends

    @property
    def borrowed_word(self) -> str:
        """What its system calls the part beyond a quota."""
        return queue_words(self.api_group).borrowed

    @property
    def first(self) -> PlaceRow | None:
        """Who is first in line; None where nobody is, or nobody can tell."""
        return next((row for row in self.line or () if row.position == 1), None)

    @property
    def more(self) -> int:
        """How many wait beside those in `line`."""
        return (self.in_line or 0) + (self.kept_out or 0) - len(self.line or ())


@dataclass(frozen=True, slots=True)
class LostAlias:
    """An alias that names a queue that does not exist: who uses it is never admitted."""

    cluster: str
    kind: str
    namespace: str
    name: str
    target_kind: str
    target: str


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """One queue where it stands."""

    cluster: Freshness
    queues: QueuesOfCluster
    queue: Queue
    aliases: Sequence[Queue]
    """Those that the viewer may see."""
    shared: tuple[str, ...]
    """Names of what it shares quota in, nearest first; empty where the viewer may not know."""
    namespaces: tuple[str, ...] = ()
    """Those with gangs in it, of a queue of a scheduler, as far as the viewer may see them."""

    @property
    def is_circular(self) -> bool:
        """Whether what it shares quota in comes back to itself: nothing is admitted then."""
        return self.queues.tree.is_circular(self.queue)

    @property
    def face(self) -> Face:
        """Whether it admits anybody."""
        return FACES[QueueState.INACTIVE if self.is_circular else self.queue.state]

    @property
    def cause(self) -> str:
        """Why it does not: half a sentence, or empty."""
        if not self.is_circular:
            return self.queue.cause
        if not self.shared:
            return "what it shares quota in goes in a circle"
        return f"{listed(self.shared)} are above each other"


def shared_names(queues: QueuesOfCluster, queue: Queue) -> tuple[str, ...]:
    """Return the names of what a queue shares quota in, nearest first, there or only named."""
    above = queues.tree.above(queue)
    found = dict.fromkeys(one.parent.name for one in above if one.parent is not None)
    return tuple(map(printable, found))


def alias_row(alias: Queue) -> AliasRow:
    """Return an alias as it is shown."""
    ref = alias.meta.ref
    return AliasRow(
        kind=printable(ref.kind),
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        face=FACES[alias.state],
        cause=printable(alias.cause),
        pending=alias.pending,
    )


def order_sentences(queue: Queue, aliases: Sequence[Queue]) -> tuple[str, ...]:
    """Return how the line of a queue is ordered, and who may pass whom."""
    if own := queue_words(queue.meta.ref.group).order:
        return own
    alias = aliases[0].meta.ref.kind if aliases else "queue"
    first = _BY_USAGE.format(alias=alias) if queue.is_by_usage else _ORDER
    return first, _STRICT if queue.is_strict else _BEST_EFFORT


def tells_places(queue: Queue) -> bool:
    """Whether the objects tell in which order those who wait are served."""
    return not queue.is_by_usage and not queue_words(queue.meta.ref.group).order


def system_label(group: str) -> str:
    """Return the admission system whose queues are of this API group."""
    system = queue_system(group)
    return system.label if system is not None else ""
