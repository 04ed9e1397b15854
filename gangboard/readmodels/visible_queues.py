"""Queues that a viewer may see, with their states and the order of their lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gangboard.diagnosis.scheduler_queues import queue_words
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState
from gangboard.domain.text import listed
from gangboard.facts.queue_sentences import closed_queue_text
from gangboard.readmodels.filters import all_words_in
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.queue_lines import QueuesOfCluster
from gangboard.readmodels.state_labels import Face
from gangboard.store.access import Viewer

QUEUE_FACES = {
    QueueState.ACTIVE: Face("active", "Admits", "●", "running"),
    QueueState.STOPPED: Face("stopped", "Stopped", "❚❚", "suspended"),
    QueueState.INACTIVE: Face("inactive", "Inactive", "■", "blocked"),
    QueueState.UNKNOWN: Face("unknown", "No status yet", "?", "unknown"),
}
QUEUE_STATES = tuple(state.value for state in QUEUE_FACES)
_ORDER = "By priority, then by time in line. gangboard computes the order from all entries. Gangs that wait for a preemption may be served first."
_BY_USAGE = "The {alias} with the lowest recent usage goes first, before priority and age. No object shows this usage, so places are unknown."
_STRICT = "Strict: while the first waits, no other gang is admitted."
_BEST_EFFORT = "Best effort: a gang that fits may pass gangs that wait."


class HasQueueState:
    """A row with the state of a queue."""

    __slots__ = ()
    face: Face

    @property
    def is_active(self) -> bool:
        """Whether the queue admits as usual. Pages do not mention this state."""
        return self.face.word == QueueState.ACTIVE


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """Filters of a list of queues. Empty means all."""

    cluster: str = ""
    state: str = ""
    """active, stopped, inactive or unknown."""
    q: str = ""
    """Words that must all occur in the queue's name, the names of its parents, or its aliases with their namespaces."""


@dataclass(frozen=True, slots=True)
class VisibleQueue:
    """One queue that admits, with its surroundings as far as the viewer may see them."""

    cluster: Freshness
    queues: QueuesOfCluster
    queue: Queue
    aliases: Sequence[Queue] = ()
    """Aliases in namespaces of the viewer."""
    shared: tuple[str, ...] = ()
    """Names of the parents in which it shares quota, nearest first. Empty for a viewer of some namespaces."""
    namespaces: tuple[str, ...] = ()
    """Namespaces of the viewer with gangs in it, if it is a queue of a scheduler."""

    @property
    def is_circular(self) -> bool:
        """Whether its chain of parents is a cycle. A queue in a cycle admits no entries."""
        return self.queues.tree.is_circular(self.queue)

    @property
    def face(self) -> Face:
        """Whether it admits."""
        return QUEUE_FACES[QueueState.INACTIVE if self.is_circular else self.queue.state]

    @property
    def cause(self) -> str:
        """Why it does not admit, without a capital and a full stop. Empty if it admits."""
        if not self.is_circular:
            return closed_queue_text(self.queue)
        if not self.shared:
            return "its parents form a circle"
        return f"{listed(self.shared)} are above each other"

    @property
    def sort_key(self) -> tuple[str, ...]:
        """Its sort key in lists: cluster and name."""
        ref = self.queue.meta.ref
        return self.cluster.cluster, ref.name, ref.group, ref.kind

    def matches(self, filters: QueueFilters) -> bool:
        """Return whether it has the state and the words of the filters. The cluster is not compared."""
        if filters.state not in ("", self.face.word):
            return False
        texts = [self.queue.meta.ref.name, *self.shared, *self.namespaces]
        for alias in self.aliases:
            texts += (alias.meta.ref.namespace, alias.meta.ref.name)
        return all_words_in(filters.q, texts)


def visible_queues(
    viewer: Viewer, clusters: Mapping[int, Freshness], stored: Mapping[int, QueuesOfCluster]
) -> list[VisibleQueue]:
    """Return the queues that the viewer may see, by cluster and name.

    A viewer of a whole cluster sees all of its queues. Other viewers see the queues of the aliases in their
    namespaces, and the queues with their gangs.
    """
    queues = (
        queue
        for id_, cluster in clusters.items()
        for queue in _visible_in_cluster(viewer, id_, cluster, stored[id_])
    )
    return sorted(queues, key=lambda queue: queue.sort_key)


def _visible_in_cluster(
    viewer: Viewer, cluster_id: int, cluster: Freshness, stored: QueuesOfCluster
) -> Iterator[VisibleQueue]:
    aliases = visible_aliases(viewer, cluster_id, stored)
    for queue in stored.tree:
        if queue.level is not QueueLevel.QUEUE:
            continue
        own = aliases.get(queue.name, ())
        users = sorted(stored.users(queue.name))
        namespaces = tuple(name for name in users if viewer.sees(cluster_id, name))
        sees_cluster = viewer.sees_cluster(cluster_id)
        if sees_cluster or own or namespaces:
            shared = shared_names(stored, queue) if sees_cluster else ()
            yield VisibleQueue(cluster, stored, queue, own, shared, namespaces)


def visible_aliases(
    viewer: Viewer, cluster_id: int, queues: QueuesOfCluster
) -> dict[QueueName, list[Queue]]:
    """Return the aliases that the viewer may see, by the name of their queue. The queue may not exist."""
    aliases: dict[QueueName, list[Queue]] = {}
    for queue in sorted(queues.tree, key=lambda queue: queue.name):
        if queue.level is not QueueLevel.ALIAS or queue.parent is None:
            continue
        if viewer.sees(cluster_id, queue.meta.ref.namespace):
            aliases.setdefault(queue.parent, []).append(queue)
    return aliases


def shared_names(queues: QueuesOfCluster, queue: Queue) -> tuple[str, ...]:
    """Return the names of the parents in which a queue shares quota, nearest first. Missing parents are included."""
    lineage = queues.tree.lineage(queue)
    names = dict.fromkeys(level.parent.name for level in lineage if level.parent is not None)
    return tuple(map(printable, names))


def order_sentences(queue: Queue, aliases: Sequence[Queue]) -> tuple[str, ...]:
    """Return the sentences about the order of a queue's line and the entries that may pass others."""
    if own := queue_words(queue.meta.ref.group).order:
        return own
    alias = aliases[0].meta.ref.kind if aliases else "queue"
    first = _BY_USAGE.format(alias=alias) if queue.is_by_usage else _ORDER
    return first, _STRICT if queue.is_strict else _BEST_EFFORT


def tells_places(queue: Queue) -> bool:
    """Return whether the order of the line is known from the objects."""
    return not queue.is_by_usage and not queue_words(queue.meta.ref.group).order
