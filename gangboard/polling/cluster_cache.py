"""What the holder of a cluster keeps in memory while the lease is its own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.events import events_of
from gangboard.decode.holds import HOLD
from gangboard.decode.nodes import NODE
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import Resource
from gangboard.domain.autoscaling import NodeClaim, ProvisioningRequest
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.hold import AdmissionPolicy
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import ResourceClaim, StorageClass, VolumeClaim
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue, QueueCheck
from gangboard.facts.cluster_view import Unobserved
from gangboard.kube.connection import Connection
from gangboard.kube.discovery import Discovery
from gangboard.kube.errors import KubeError
from gangboard.plugins import registry
from gangboard.polling.assessment_index import AssessmentIndex
from gangboard.polling.autoscaling import AUTOSCALING, AutoscalingTracker
from gangboard.polling.blueprints import BlueprintTracker
from gangboard.polling.capacity import CapacityWriter
from gangboard.polling.contact_meter import ContactMeter
from gangboard.polling.discovery_schedule import DiscoverySchedule
from gangboard.polling.kept_rows import KeptGangs, KeptObjects
from gangboard.polling.leftovers import Leftovers
from gangboard.polling.node_usage import NodeUsageTracker
from gangboard.polling.pending import Pending
from gangboard.polling.pod_claims import CLAIMS, PodClaimTracker
from gangboard.polling.preemptions import Preemptions
from gangboard.polling.queues import QueueTracker
from gangboard.polling.rechecks import Rechecks
from gangboard.polling.silence import Silence
from gangboard.polling.suspend_history import SuspendHistory
from gangboard.polling.trends import TrendWriter
from gangboard.polling.visibility import PODS_KEY
from gangboard.polling.watched import Watched
from gangboard.store.cluster_leases import ClusterLease

_OF_AUTOSCALERS = frozenset(resource.key for resource in AUTOSCALING)
_OF_CLAIMS = frozenset(resource.key for resource in CLAIMS)
EVENTS_PER_OBJECT = 20
"""The events kept of one object; a crash loop makes thousands."""


class KeptEvent(NamedTuple):
    """What decides which events of an object are kept."""

    seen: float
    """Unix time of its last sight."""
    kind: tuple[str, str]
    """Reason and reporter."""


def resources() -> tuple[Resource, ...]:
    """Everything that is listed and watched: what is everywhere, and what the registries say."""
    events = events_of(registry.event_reasons())
    everywhere = (registry.pods(), NODE, events, HOLD, POLICY, BINDING, *AUTOSCALING, *CLAIMS)
    return (*everywhere, *registry.resources())


@dataclass(slots=True)
class ClusterCache:
    """Caches of one cluster. Thrown away when the lease is lost."""

    claim: ClusterLease
    cluster_name: str
    credentials_stamp: bytes
    """The sealed credentials that the connection was made from; others mean a new cache."""
    connection: Connection
    watched: dict[str, Watched]
    """By resource key: what is served and what is not."""
    discovery: Discovery | None = None
    discovery_schedule: DiscoverySchedule = field(default_factory=DiscoverySchedule)
    """When it is asked again what the cluster serves."""
    meter: ContactMeter = field(default_factory=ContactMeter)
    build: Future[str | None] | None = None
    """The question which build of JobSet is served, while it waits for its answer."""
    ownership_graph: OwnershipGraph = field(default_factory=OwnershipGraph)
    versions: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """Resource key → uid → resourceVersion, to skip what has not changed."""
    names: dict[str, dict[str, tuple[str, str]]] = field(default_factory=lambda: defaultdict(dict))
    """Resource key → uid → (namespace, name)."""
    nodes: dict[str, Node] = field(default_factory=dict)
    events: dict[str, dict[str, KeptEvent]] = field(default_factory=lambda: defaultdict(dict))
    """uid of the object that events are about → uid of the event → what decides whether it is kept."""
    stale_events: set[str] = field(default_factory=set)
    """uids of events that nobody will ask for any more: their rows can go."""
    rechecks: Rechecks = field(default_factory=Rechecks)
    leftovers: Leftovers = field(default_factory=Leftovers)
    """Verdicts that waiting alone can change."""
    unobserved: tuple[Unobserved, ...] = ()
    """As of the last assessment of everything."""
    queue_visibility: str | None = None
    """What was known of queues when gangs were judged last; None before that."""
    unreadable: dict[str, tuple[Unobserved, ...]] = field(default_factory=dict)
    """Namespace → what of it cannot be read; "" for any. As of the last assessment."""
    trouble: KubeError | None = None
    """Why the cluster as a whole could not be looked at in the last window."""
    silence: Silence = field(default_factory=Silence)
    unjudged: set[str] = field(default_factory=set)
    """Gangs that were touched while nothing could be said of any."""
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    followed_since: datetime | None = None
    """Since when everything that is needed is followed without a gap; None while something is not."""
    assessed_all: bool = False
    """Every gang was judged since these caches were made."""
    suspend_history: SuspendHistory = field(default_factory=SuspendHistory)
    objects: KeptObjects = field(init=False)
    gangs: KeptGangs = field(init=False)
    node_usage: NodeUsageTracker = field(init=False)
    assessments: AssessmentIndex = field(default_factory=AssessmentIndex)
    preemptions: Preemptions = field(init=False)
    pending: Pending = field(init=False)
    capacity: CapacityWriter = field(init=False)
    trends: TrendWriter = field(init=False)
    autoscaling: AutoscalingTracker = field(init=False)
    pod_claims: PodClaimTracker = field(init=False)
    queues: QueueTracker = field(init=False)
    blueprints: BlueprintTracker = field(init=False)

    def __post_init__(self) -> None:
        """Make the parts that know others."""
        models = {key: watched.resource.model for key, watched in self.watched.items()}
        self.objects = KeptObjects(self.claim.cluster_id, models)
        self.gangs = KeptGangs(self.claim.cluster_id)
        self.node_usage = NodeUsageTracker(self.ownership_graph, self._ref_of)
        self.pending = Pending(self.assessments)
        self.autoscaling = AutoscalingTracker(self.ownership_graph, self.watched)
        self.pod_claims = PodClaimTracker(self.ownership_graph, self.watched)
        self.queues = QueueTracker(self.ownership_graph)
        self.blueprints = BlueprintTracker(self.ownership_graph)
        self.preemptions = Preemptions(self.ownership_graph)
        self.capacity = CapacityWriter(self.claim, self.node_usage, self.assessments)
        self.trends = TrendWriter(self.claim, self.capacity)

    def rest(self) -> None:
        """Nobody asks for a while: close the connections, and keep no rows."""
        self.connection.close()
        self.objects.clear()
        self.gangs.clear()

    def remember(self, model: Any) -> set[str]:  # any class of the domain
        """Take a new state of an object into the caches; return the uids of gangs it touches."""
        self.take_in(model)
        touched = self._touch(model)
        self.node_usage.touch(touched)
        return touched

    def take_in(self, model: Any) -> None:
        """Take in what does not ask which gangs there are."""
        if isinstance(model, Node | Pod | Owner | QueueEntry):
            self.node_usage.put(model)
        if isinstance(model, Pod):
            self.autoscaling.put_pod(model)
            self.pod_claims.put_pod(model)
        if isinstance(model, QueueEntry | Group):
            self.queues.put_waiting(model)
        if isinstance(model, Owner):
            self.blueprints.put_owner(model)
            self.suspend_history.put(model, datetime.now(UTC))

    def _touch(self, model: Any) -> set[str]:
        if isinstance(model, Node):
            before = self.nodes.get(model.meta.ref.name)
            self.nodes[model.meta.ref.name] = model
            if before is not None and (before.ready, before.unschedulable) == (
                model.ready,
                model.unschedulable,
            ):
                return set()
            return self.ownership_graph.roots_on_node(model.meta.ref.name)
        if isinstance(model, Event):
            return self._remember_event(model)
        if isinstance(model, NodeClaim | ProvisioningRequest):
            return self.autoscaling.put(model)
        if isinstance(model, VolumeClaim | ResourceClaim | StorageClass):
            return self.pod_claims.put(model)
        if isinstance(model, Queue):
            return self.queues.put(model)
        if isinstance(model, Flavor):
            return self.queues.put_flavor(model)
        if isinstance(model, AdmissionPolicy | QueueCheck):
            return set()  # it is about the cluster, not about a gang
        if isinstance(model, Blueprint):
            return self.blueprints.put(model)
        touched = self.ownership_graph.put(model)
        return touched | self.preemptions.follow(model.meta.ref.uid, touched)

    def _remember_event(self, event: Event) -> set[str]:
        known = self.ownership_graph.namespace_of(event.regarding.uid)
        if known not in (None, event.meta.ref.namespace):
            # The API server checks neither uid nor namespace of `regarding` (seen on 1.37.0).
            self.drop_events((event.meta.ref.uid,))
            return set()
        seen = event.last_seen.timestamp() if event.last_seen else 0.0
        about = self._keeper_of(event)
        touched = self.ownership_graph.touch_event(event) | self.ownership_graph.gangs_of(about)
        touched |= self.preemptions.put(event, about) | self.autoscaling.note(event)
        kept = KeptEvent(seen, (event.reason, event.reporter))
        self._keep_events(about, {event.meta.ref.uid: kept})
        return touched

    def _keeper_of(self, event: Event) -> str:
        """Return the uid with which an event is kept: the gang's where a pod of it is gone already.

        The event of a preemption often comes after the last word about its pod.
        """
        about = event.regarding.uid
        if event.regarding.kind != "Pod" or self.ownership_graph.root_of(about) is not None:
            return about
        return self.preemptions.gang_of(about) or about

    def _keep_events(self, about: str, events: dict[str, KeptEvent]) -> None:
        """Keep events with the object that they are about.

        Beyond the cap the oldest of those go of which there are most: where nodes come and go a scheduler
        refuses the same pod a hundred times, and what an autoscaler said once still counts.
        """
        kept = self.events[about]
        kept.update(events)
        while len(kept) > EVENTS_PER_OBJECT:
            often = Counter(one.kind for one in kept.values())
            oldest = min(kept, key=lambda uid: (-often[kept[uid].kind], kept[uid].seen))
            del kept[oldest]
            self.drop_events((oldest,))

    def drop_events(self, uids: Iterable[str]) -> None:
        """Let the rows of these events go."""
        uids = tuple(uids)
        self.stale_events.update(uids)
        self.preemptions.drop(uids)

    def forget(self, resource: str, uid: str) -> set[str]:
        """Take a deleted object out of the caches; return the uids of gangs it touches."""
        self.versions[resource].pop(uid, None)
        namespace_name = self.names[resource].pop(uid, None)
        waiting = self.preemptions.remove(uid)
        self.leftovers.note_deleted(uid)
        self._hand_down_events(uid)
        if resource == NODE.key and namespace_name is not None:
            touched = self._forget_node(uid, namespace_name[1])
        elif resource in _OF_AUTOSCALERS and namespace_name is not None:
            touched = self.autoscaling.remove(uid, *namespace_name)
        elif resource in _OF_CLAIMS and namespace_name is not None:
            touched = self.pod_claims.remove(resource, uid, *namespace_name)
        elif self.watched[resource].resource.model is Blueprint:
            touched = self.blueprints.remove(uid)
        else:
            if resource == PODS_KEY:
                self.node_usage.remove_pod(uid)
                self.pod_claims.drop_pod(uid)
                for about in self.autoscaling.drop_pods((uid,)):
                    self.drop_events(self.events.pop(about, {}).keys())
            self.suspend_history.remove(uid)
            self.blueprints.remove_owner(uid)
            self.node_usage.remove_owner(uid)
            touched = waiting | self.ownership_graph.remove(uid) | self.queues.remove(uid)
        self.node_usage.touch(touched)
        return touched

    def _forget_node(self, uid: str, name: str) -> set[str]:
        known = self.nodes.get(name)
        if known is not None and known.meta.ref.uid != uid:
            return set()  # one of the same name is there already
        self.nodes.pop(name, None)
        self.node_usage.remove_node(name)
        return self.ownership_graph.roots_on_node(name)

    def _ref_of(self, uid: str) -> ObjectRef | None:
        """Return how an object that is known is named."""
        for key, names in self.names.items():
            if uid in names:
                resource = self.watched[key].resource
                return ObjectRef(resource.group, resource.kind, *names[uid], uid)
        return None

    def _hand_down_events(self, uid: str) -> None:
        """What is told of a pod that is gone (who preempted it) stays with its gang.

        What is told of a NodeClaim that is gone (why) stays while pods wait that it was made for.
        """
        if self.autoscaling.is_asked_for(uid):
            return
        events = self.events.pop(uid, None)
        if not events:
            return
        root = self.ownership_graph.root_of(uid)
        if root is None or root == uid:
            self.drop_events(events)
        else:
            self._keep_events(root, events)

    def unobserved_in(self, namespace: str) -> tuple[Unobserved, ...]:
        """Return what the gangs of a namespace need and nobody can look at or read."""
        found = (self.unobserved, self.unreadable.get("", ()), self.unreadable.get(namespace, ()))
        return tuple(dict.fromkeys(one for part in found for one in part))

    def roots_in(self, namespaces: Collection[str]) -> set[str]:
        """Return the gangs of these namespaces; "" among them stands for all."""
        if not namespaces:
            return set()
        roots = self.ownership_graph.roots()
        if "" in namespaces:
            return roots
        refs = {root: self._ref_of(root) for root in roots}
        return {root for root, ref in refs.items() if ref and ref.namespace in namespaces}

    def takers(
        self, events: Iterable[Event], entries: Iterable[QueueEntry] = ()
    ) -> dict[str, ObjectRef]:
        """Return the gangs of those who took the room of pods, as these tell: uid → gang, itself where it has none."""
        uids = {one.related.uid for one in events if one.reason == "Preempted" and one.related}
        uids |= {one.message.taker for one in entries if one.message and one.message.taker}
        roots = {uid: self.preemptions.gang_of(uid) for uid in uids}
        refs = {uid: self._ref_of(root or uid) for uid, root in roots.items()}
        return {uid: ref for uid, ref in refs.items() if ref is not None}

    def event_uids(self, regarding: Iterable[str]) -> list[str]:
        """Return the uids of the events kept about these objects."""
        return [event for uid in regarding for event in self.events.get(uid, ())]
