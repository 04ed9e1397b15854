"""Which events are kept, by the object that they are about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.event import Event
from gangboard.polling.autoscaling import AutoscalingTracker
from gangboard.polling.preemptions import Preemptions

EVENTS_PER_OBJECT = 20
"""The events kept of one object; a crash loop makes thousands."""


class IndexedEvent(NamedTuple):
    """What decides which events of an object are kept."""

    seen: float
    """Unix time of its last sight."""
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
        """uid of the object that events are about → uid of the event → what decides whether it is kept."""
        self.stale: set[str] = set()
        """uids of events that no verdict reads any more: their rows can go."""

    def about(self, uids: Iterable[str]) -> list[str]:
        """Return the uids of the events kept about these objects."""
        return [event for uid in uids for event in self.by_object.get(uid, ())]

    def put(self, event: Event) -> set[str]:
        """Take in an event; return the roots of the gangs that it touches."""
        known = self._graph.namespace_of(event.regarding.uid)
        if known not in (None, event.meta.ref.namespace):
            # The API server checks neither uid nor namespace of `regarding` (seen on 1.37.0).
            self.drop((event.meta.ref.uid,))
            return set()
        seen = event.last_seen.timestamp() if event.last_seen else 0.0
        about = self._keeper_of(event)
        touched = self._graph.touch_event(event) | self._graph.gangs_of(about)
        touched |= self._preemptions.put(event, about) | self._autoscaling.put_event(event)
        kept = IndexedEvent(seen, (event.reason, event.reporter))
        self._keep(about, {event.meta.ref.uid: kept})
        return touched

    def _keeper_of(self, event: Event) -> str:
        """Return the uid with which an event is kept: the gang's if a pod of it is gone already.

        The event of a preemption often comes after the last word about its pod.
        """
        about = event.regarding.uid
        if event.regarding.kind != "Pod" or self._graph.root_of(about) is not None:
            return about
        return self._preemptions.gang_of(about) or about

    def _keep(self, about: str, events: dict[str, IndexedEvent]) -> None:
        """Keep events with the object that they are about.

        Beyond the cap the oldest of the most frequent kind go: where nodes come and go a scheduler refuses the
        same pod a hundred times, and what an autoscaler said once still counts.
        """
        kept = self.by_object[about]
        kept.update(events)
        while len(kept) > EVENTS_PER_OBJECT:
            often = Counter(event.kind for event in kept.values())
            oldest = min(kept, key=lambda uid: (-often[kept[uid].kind], kept[uid].seen))
            del kept[oldest]
            self.drop((oldest,))

    def drop(self, uids: Iterable[str]) -> None:
        """Let the rows of these events go."""
        uids = tuple(uids)
        self.stale.update(uids)
        self._preemptions.drop(uids)

    def drop_pods(self, pods: Iterable[str]) -> None:
        """Drop the events of the NodeClaims that were made for these pods and for no others."""
        for claim in self._autoscaling.drop_pods(pods):
            self.drop(self.by_object.pop(claim, {}))

    def hand_over(self, uid: str) -> None:
        """Keep the events of an object that goes with its gang: an event says, for example, who preempted it.

        Events of a NodeClaim say why it is gone. They stay while pods wait that it was made for.
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
            self._keep(root, events)

    def drop_orphaned(self) -> None:
        """Drop the events of objects that are gone: after a restart they are known by their rows only."""
        orphaned = [uid for uid in self.by_object if not self._graph.gangs_of_regarded(uid)]
        self.drop_pods(orphaned)
        for uid in orphaned:
            if not self._autoscaling.keeps_events_of(uid):
                self.drop(self.by_object.pop(uid, {}))
