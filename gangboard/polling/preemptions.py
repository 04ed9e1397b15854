"""Who took whose room: events `Preempted` join two gangs, and each must be judged when the other moves.

The event is about the victim. It comes on a watch of its own, and late from a scheduler that has much
to say, so the victim can be gone before it. The victim's gang keeps it then: to which gang a pod that
is gone belonged is remembered for a while.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.event import Event

GONE_KEPT = 10_000
"""Of so many objects that are gone the gang is remembered; the oldest are forgotten first."""


@dataclass(slots=True)
class _Link:
    taker: str
    """uid of the pod or PodGroup that the room was taken for."""
    victim: str
    """uid of the pod that was taken away; empty once it is gone."""
    keeper: str
    """uid of the object that the event is kept with: the victim, then its gang."""


class Preemptions:
    """The preemptions of one cluster, as long as the events that tell of them are kept."""

    def __init__(self, graph: OwnershipGraph) -> None:
        self._graph = graph
        self._links: dict[str, _Link] = {}
        """By the uid of the event."""
        self._of_taker: defaultdict[str, set[str]] = defaultdict(set)
        """uid of a taker → uids of the events that name it."""
        self._of_victim: defaultdict[str, set[str]] = defaultdict(set)
        self._roots: dict[str, str] = {}
        """uid of a taker → the gang that it was last known to belong to."""
        self._takers_at: defaultdict[str, set[str]] = defaultdict(set)
        """The other way round."""
        self._gone: dict[str, str] = {}
        """uid of an object that is gone → its gang, the oldest first."""

    def gang_of(self, uid: str) -> str | None:
        """Return the gang of an object, also of one that is gone; None when nobody knows.

        A pod whose owner was deleted a moment ago is no gang of its own.
        """
        root = self._graph.root_of(uid)
        if root is None or root == uid:
            return self._roots.get(uid) or self._gone.get(uid) or root
        return root

    def put(self, event: Event, keeper: str) -> set[str]:
        """Take in an event that is kept with `keeper`; return the gangs that it is about besides."""
        if event.reason != "Preempted" or event.related is None or not event.related.uid:
            return set()
        uid, taker = event.meta.ref.uid, event.related.uid
        self.drop((uid,))
        victim = event.regarding.uid if keeper == event.regarding.uid else ""
        self._links[uid] = _Link(taker, victim, keeper)
        self._of_taker[taker].add(uid)
        if victim:
            self._of_victim[victim].add(uid)
        self._note_root(taker)
        return self._graph.gangs_of(taker)

    def note_roots(self) -> None:
        """Note to which gangs the takers belong, after objects were taken in that nobody followed."""
        for taker in self._of_taker:
            self._note_root(taker)

    def drop(self, events: Iterable[str]) -> None:
        """Forget what these events told."""
        for uid in events:
            link = self._links.pop(uid, None)
            if link is None:
                continue
            _discard(self._of_victim, link.victim, uid)
            _discard(self._of_taker, link.taker, uid)
            if link.taker not in self._of_taker and link.taker in self._roots:
                _discard(self._takers_at, self._roots.pop(link.taker), link.taker)

    def follow(self, uid: str, touched: set[str]) -> set[str]:
        """Return the gangs that a change of an object concerns besides those that it touched.

        When a victim changes, those for whom it goes; when a taker turns out to belong to another
        gang than thought, those whose pods it took.
        """
        if not self._links:
            return set()
        found = self._gangs_for(uid)
        preemptors = {uid} if uid in self._of_taker else set()
        preemptors = preemptors.union(
            *(self._takers_at[root] for root in touched & self._takers_at.keys())
        )
        for taker in preemptors:
            if self._note_root(taker):
                for event in self._of_taker[taker]:
                    found |= self._graph.gangs_of(self._links[event].keeper)
        return found

    def remove(self, uid: str) -> set[str]:
        """Note that an object is about to go; return the gangs that waited for that."""
        root = self._graph.root_of(uid)
        if root is not None and root != uid:
            self._gone.pop(uid, None)
            self._gone[uid] = root
            if len(self._gone) > GONE_KEPT:
                del self._gone[next(iter(self._gone))]
        found = self._gangs_for(uid)
        for event in self._of_victim.pop(uid, ()):
            link = self._links[event]
            link.victim, link.keeper = "", root or ""
        return found

    def victims_for(self, preemptors: Iterable[str]) -> dict[str, str]:
        """Return the pods that are taken away for these pods and groups: uid → uid of the taker."""
        links = (
            self._links[event] for taker in preemptors for event in self._of_taker.get(taker, ())
        )
        return {link.victim: link.taker for link in links if link.victim}

    def _gangs_for(self, victim: str) -> set[str]:
        preemptors = {self._links[event].taker for event in self._of_victim.get(victim, ())}
        return set().union(*(self._graph.gangs_of(taker) for taker in preemptors))

    def _note_root(self, taker: str) -> bool:
        """Note to which gang a taker belongs; return whether that is another than before."""
        root, before = self._graph.root_of(taker), self._roots.get(taker)
        if root is None or root == before or (before is not None and root == taker):
            return False
        if before is not None:
            _discard(self._takers_at, before, taker)
        self._roots[taker] = root
        self._takers_at[root].add(taker)
        return True


def _discard(index: defaultdict[str, set[str]], key: str, uid: str) -> None:
    found = index.get(key)
    if found is None:
        return
    found.discard(uid)
    if not found:
        del index[key]
