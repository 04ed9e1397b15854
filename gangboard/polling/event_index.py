"""The events that verdicts read, by the object that they are about, and the preemptions that join two gangs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.event import Event
from gangboard.polling.autoscaling import AutoscalingTracker

MAX_DELETED_OBJECTS = 10_000
"""Deleted objects whose gang is remembered. The oldest are dropped first."""


@dataclass(slots=True)
class _Preemption:
    """One `Preempted` event."""

    preemptor: str
    """uid of the pod or PodGroup for which the victim was deleted."""
    victim: str
    """uid of the preempted pod. Empty once it is deleted."""
    holder: str
    """uid of the object under which the event is indexed: the victim, later its gang."""


class Preemptions:
    """Preemptors and victims of one cluster, for as long as their `Preempted` events are indexed.

    A change in the gang of a preemptor or a victim requires an assessment of the other gang. The event is about the
    victim. It comes on a watch of its own, and late from a busy scheduler, so the victim may be deleted before it
    arrives. Therefore the gang of a deleted pod is remembered for a while, and the event is indexed under that gang.
    """

    def __init__(self, graph: OwnershipGraph) -> None:
        self._graph = graph
        self._preemptions: dict[str, _Preemption] = {}
        """By the uid of the event."""
        self._events_by_preemptor: defaultdict[str, set[str]] = defaultdict(set)
        self._events_by_victim: defaultdict[str, set[str]] = defaultdict(set)
        self._roots: dict[str, str] = {}
        """uid of a preemptor → the last known root of its gang."""
        self._preemptors_by_root: defaultdict[str, set[str]] = defaultdict(set)
        self._deleted: dict[str, str] = {}
        """uid of a deleted object → root of its gang, the oldest first."""

    def gang_of(self, uid: str) -> str | None:
        """Return the root of the gang of an object, which may be deleted. None if it is unknown.

        A pod whose owner was just deleted is no gang of its own.
        """
        root = self._graph.root_of(uid)
        if root is None or root == uid:
            return self._roots.get(uid) or self._deleted.get(uid) or root
        return root

    def put(self, event: Event, holder: str) -> set[str]:
        """Add an event that is indexed under `holder`. Return the gangs of its preemptor."""
        if event.reason != "Preempted" or event.related is None or not event.related.uid:
            return set()
        uid, preemptor = event.meta.ref.uid, event.related.uid
        self.drop((uid,))
        victim = event.regarding.uid if holder == event.regarding.uid else ""
        self._preemptions[uid] = _Preemption(preemptor, victim, holder)
        self._events_by_preemptor[preemptor].add(uid)
        if victim:
            self._events_by_victim[victim].add(uid)
        self._update_root(preemptor)
        return self._graph.gangs_of(preemptor)

    def update_roots(self) -> None:
        """Update the gang of each preemptor, after objects were loaded without `affected_gangs`."""
        for preemptor in self._events_by_preemptor:
            self._update_root(preemptor)

    def drop(self, events: Iterable[str]) -> None:
        """Remove the preemptions of these events."""
        for uid in events:
            preemption = self._preemptions.pop(uid, None)
            if preemption is None:
                continue
            preemptor = preemption.preemptor
            _discard(self._events_by_victim, preemption.victim, uid)
            _discard(self._events_by_preemptor, preemptor, uid)
            if preemptor not in self._events_by_preemptor and preemptor in self._roots:
                _discard(self._preemptors_by_root, self._roots.pop(preemptor), preemptor)

    def affected_gangs(self, uid: str, touched: set[str]) -> set[str]:
        """Return further gangs that a change of an object affects, besides the gangs it `touched`.

        A change of a victim affects the gangs of its preemptors. If the change moves a preemptor to another gang, it
        affects the gangs of the victims.
        """
        if not self._preemptions:
            return set()
        gangs = self._preemptor_gangs(uid)
        preemptors = {uid} if uid in self._events_by_preemptor else set()
        preemptors = preemptors.union(
            *(self._preemptors_by_root[root] for root in touched & self._preemptors_by_root.keys())
        )
        for preemptor in preemptors:
            if self._update_root(preemptor):
                for event in self._events_by_preemptor[preemptor]:
                    gangs |= self._graph.gangs_of(self._preemptions[event].holder)
        return gangs

    def remove(self, uid: str) -> set[str]:
        """Record that an object is deleted. Return the gangs that waited for its deletion."""
        root = self._graph.root_of(uid)
        if root is not None and root != uid:
            self._deleted.pop(uid, None)
            self._deleted[uid] = root
            if len(self._deleted) > MAX_DELETED_OBJECTS:
                del self._deleted[next(iter(self._deleted))]
        gangs = self._preemptor_gangs(uid)
        for event in self._events_by_victim.pop(uid, ()):
            preemption = self._preemptions[event]
            preemption.victim, preemption.holder = "", root or ""
        return gangs

    def victims_for(self, preemptors: Iterable[str]) -> dict[str, str]:
        """Return the uid of each victim of these pods and groups → the uid of its preemptor."""
        preemptions = (
            self._preemptions[event]
            for preemptor in preemptors
            for event in self._events_by_preemptor.get(preemptor, ())
        )
        return {
            preemption.victim: preemption.preemptor
            for preemption in preemptions
            if preemption.victim
        }

    def _preemptor_gangs(self, victim: str) -> set[str]:
        events = self._events_by_victim.get(victim, ())
        preemptors = {self._preemptions[event].preemptor for event in events}
        return set().union(*(self._graph.gangs_of(preemptor) for preemptor in preemptors))

    def _update_root(self, preemptor: str) -> bool:
        """Update the gang of a preemptor. Return whether it is a different one."""
        root, before = self._graph.root_of(preemptor), self._roots.get(preemptor)
        if root is None or root == before or (before is not None and root == preemptor):
            return False
        if before is not None:
            _discard(self._preemptors_by_root, before, preemptor)
        self._roots[preemptor] = root
        self._preemptors_by_root[root].add(preemptor)
        return True


def _discard(index: defaultdict[str, set[str]], key: str, uid: str) -> None:
    uids = index.get(key)
    if uids is None:
        return
    uids.discard(uid)
    if not uids:
        del index[key]


EVENTS_PER_OBJECT = 20
"""Events that are kept of one object. A crash loop makes thousands."""


class IndexedEvent(NamedTuple):
    """The facts that decide which events of an object are kept."""

    last_seen: float
    """Unix time of its last occurrence."""
    kind: tuple[str, str]
    """Reason and reporter."""


class EventIndex:
    """The uids of the events of one cluster that a verdict can read."""

    def __init__(
        self, graph: OwnershipGraph, preemptions: Preemptions, autoscaling: AutoscalingTracker
    ) -> None:
        self._graph = graph
        self._preemptions = preemptions
        self._autoscaling = autoscaling
        self.by_object: dict[str, dict[str, IndexedEvent]] = defaultdict(dict)
        """uid of the object that events are about → uid of the event."""
        self.stale: set[str] = set()
        """uids of events that verdicts no longer read. Their rows can be deleted."""

    def about(self, uids: Iterable[str]) -> list[str]:
        """Return the uids of the events about these objects."""
        return [event for uid in uids for event in self.by_object.get(uid, ())]

    def put(self, event: Event) -> set[str]:
        """Add an event. Return the roots of the gangs that it touches."""
        namespace = self._graph.namespace_of(event.regarding.uid)
        if namespace not in (None, event.meta.ref.namespace):
            # The API server checks neither uid nor namespace of `regarding` (seen on 1.37.0).
            self.drop((event.meta.ref.uid,))
            return set()
        last_seen = event.last_seen.timestamp() if event.last_seen else 0.0
        holder = self._holder_of(event)
        touched = self._graph.gangs_of_event(event) | self._graph.gangs_of(holder)
        touched |= self._preemptions.put(event, holder) | self._autoscaling.put_event(event)
        indexed = IndexedEvent(last_seen, (event.reason, event.reporter))
        self._add(holder, {event.meta.ref.uid: indexed})
        return touched

    def _holder_of(self, event: Event) -> str:
        """Return the uid under which an event is indexed: that of its object, or the gang of a deleted pod.

        The event of a preemption often arrives after the deletion of its pod.
        """
        uid = event.regarding.uid
        if event.regarding.kind != "Pod" or self._graph.root_of(uid) is not None:
            return uid
        return self._preemptions.gang_of(uid) or uid

    def _add(self, holder: str, events: dict[str, IndexedEvent]) -> None:
        """Index events under an object.

        Above the limit the oldest event of the most frequent kind is dropped. With autoscaling, a scheduler may refuse
        the same pod a hundred times, and the single event of the autoscaler must survive that.
        """
        indexed = self.by_object[holder]
        indexed.update(events)
        while len(indexed) > EVENTS_PER_OBJECT:
            counts = Counter(event.kind for event in indexed.values())
            oldest = min(
                indexed, key=lambda uid: (-counts[indexed[uid].kind], indexed[uid].last_seen)
            )
            del indexed[oldest]
            self.drop((oldest,))

    def drop(self, uids: Iterable[str]) -> None:
        """Mark the rows of these events for deletion."""
        uids = tuple(uids)
        self.stale.update(uids)
        self._preemptions.drop(uids)

    def drop_pods(self, pods: Iterable[str]) -> None:
        """Drop the events of NodeClaims that were made for these pods and for no others."""
        for claim in self._autoscaling.drop_pods(pods):
            self.drop(self.by_object.pop(claim, {}))

    def hand_over(self, uid: str) -> None:
        """Index the events of a deleted object under its gang. They tell, for example, what preempted it.

        The events of a NodeClaim tell why it was deleted. They stay while pods wait for that claim.
        """
        if self._autoscaling.is_awaited(uid):
            return
        events = self.by_object.pop(uid, None)
        if not events:
            return
        root = self._graph.root_of(uid)
        if root is None or root == uid:
            self.drop(events)
        else:
            self._add(root, events)

    def drop_orphaned(self) -> None:
        """Drop the events of deleted objects. After a restart only the stored rows mention such objects."""
        orphaned = [uid for uid in self.by_object if not self._graph.gangs_of_regarded_object(uid)]
        self.drop_pods(orphaned)
        for uid in orphaned:
            if not self._autoscaling.keeps_events_of(uid):
                self.drop(self.by_object.pop(uid, {}))
