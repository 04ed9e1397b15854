"""What the holder of a cluster keeps in memory while the lease is its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.events import event_resource
from gangboard.decode.holds import HOLD
from gangboard.decode.nodes import NODE
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import Resource
from gangboard.domain.autoscaling import NodeClaim, ProvisioningRequest
from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.hold import AdmissionPolicy
from gangboard.domain.node import Node
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import ResourceClaim, StorageClass, VolumeClaim
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue, QueueCheck
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.gang import Linked
from gangboard.kube.connection import Connection
from gangboard.kube.discovery import Discovery
from gangboard.kube.errors import KubeError
from gangboard.plugins import registry
from gangboard.polling.assessment_index import AssessmentIndex
from gangboard.polling.autoscaling import AUTOSCALING, AutoscalingTracker
from gangboard.polling.blueprints import BlueprintTracker
from gangboard.polling.capacity import CapacityWriter, TrendWriter
from gangboard.polling.discovery_schedule import DiscoverySchedule
from gangboard.polling.event_index import EventIndex
from gangboard.polling.node_usage import NodeUsageTracker
from gangboard.polling.pending_gangs import Pending, Rechecks
from gangboard.polling.pod_claims import CLAIMS, PodClaimTracker
from gangboard.polling.preemptions import Preemptions
from gangboard.polling.queues import QueueTracker
from gangboard.polling.reachability import ContactMeter, Silence
from gangboard.polling.resource_watch import Watched
from gangboard.polling.row_cache import GangRowCache, ObjectCache
from gangboard.polling.visibility import PODS_KEY
from gangboard.polling.watch_history import Leftovers, SuspendHistory
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.gangs import VerdictInputs

_Put = Callable[[Any], set[str]]
_OF_AUTOSCALERS = frozenset(resource.key for resource in AUTOSCALING)
_OF_CLAIMS = frozenset(resource.key for resource in CLAIMS)


def resources() -> tuple[Resource, ...]:
    """Everything that is listed and watched: what is everywhere, and what the registries say."""
    events = event_resource(registry.event_reasons())
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
    contents: dict[str, bytes] = field(default_factory=dict)
    """uid → digest of the object as stored."""
    last_inputs: dict[str, VerdictInputs] = field(default_factory=dict)
    """Gang → inputs of its stored verdict, until the new holder has decided which gangs to judge."""
    nodes: dict[str, Node] = field(default_factory=dict)
    rechecks: Rechecks = field(default_factory=Rechecks)
    """Verdicts that waiting alone can change."""
    leftovers: Leftovers = field(default_factory=Leftovers)
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
    objects: ObjectCache = field(init=False)
    gangs: GangRowCache = field(init=False)
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
    events: EventIndex = field(init=False)
    _tables: dict[type, _Put] = field(init=False)
    """Class of objects that are no members of gangs → what takes them in and returns the roots of the gangs they touch."""
    _listeners: dict[type, tuple[Callable[[Any], object], ...]] = field(init=False)
    """Class of objects → what keeps something of them, whatever gang they belong to."""

    def __post_init__(self) -> None:
        """Make the parts that know others."""
        models = {key: watched.resource.model for key, watched in self.watched.items()}
        self.objects = ObjectCache(self.claim.cluster_id, models)
        self.gangs = GangRowCache(self.claim.cluster_id)
        self.node_usage = NodeUsageTracker(self.ownership_graph, self._ref_of)
        self.pending = Pending(self.assessments)
        self.autoscaling = AutoscalingTracker(self.ownership_graph, self.watched)
        self.pod_claims = PodClaimTracker(self.ownership_graph, self.watched)
        self.queues = QueueTracker(self.ownership_graph)
        self.blueprints = BlueprintTracker(self.ownership_graph)
        self.preemptions = Preemptions(self.ownership_graph)
        self.events = EventIndex(self.ownership_graph, self.preemptions, self.autoscaling)
        self.capacity = CapacityWriter(self.claim, self.node_usage, self.assessments)
        self.trends = TrendWriter(self.claim, self.capacity)
        self._fill_tables()

    def _fill_tables(self) -> None:
        self._tables = {
            Node: self._put_node,
            Event: self.events.put,
            NodeClaim: self.autoscaling.put,
            ProvisioningRequest: self.autoscaling.put,
            VolumeClaim: self.pod_claims.put,
            ResourceClaim: self.pod_claims.put,
            StorageClass: self.pod_claims.put,
            Queue: self.queues.put,
            Flavor: self.queues.put_flavor,
            Blueprint: self.blueprints.put,
            # Both are about the cluster, not about a gang.
            AdmissionPolicy: lambda _: set(),
            QueueCheck: lambda _: set(),
        }
        self._listeners = {
            Node: (self.node_usage.put,),
            Pod: (self.node_usage.put, self.autoscaling.put_pod, self.pod_claims.put_pod),
            Owner: (self.node_usage.put, self.blueprints.put_owner, self._put_suspend),
            QueueEntry: (self.node_usage.put, self.queues.put_waiting),
            Group: (self.queues.put_waiting,),
        }

    def rest(self) -> None:
        """Nobody asks for a while: close the connections, and keep no rows."""
        self.connection.close()
        self.objects.clear()
        self.gangs.clear()

    def remember(self, model: Any) -> set[str]:  # any class of the domain
        """Take a new state of an object into the caches; return the uids of gangs it touches."""
        self.take_in(model)
        put = self._tables.get(type(model), self._put_member)
        touched = put(model)
        self.node_usage.touch(touched)
        return touched

    def take_in(self, model: Any) -> None:
        """Take in what does not ask which gangs there are."""
        for listener in self._listeners.get(type(model), ()):
            listener(model)

    def _put_suspend(self, owner: Owner) -> None:
        self.suspend_history.put(owner, datetime.now(UTC))

    def _put_node(self, node: Node) -> set[str]:
        name = node.meta.ref.name
        before, self.nodes[name] = self.nodes.get(name), node
        shown = (node.ready, node.unschedulable)
        if before is not None and (before.ready, before.unschedulable) == shown:
            return set()
        return self.ownership_graph.roots_on_node(name)

    def _put_member(self, model: Linked) -> set[str]:
        touched = self.ownership_graph.put(model)
        return touched | self.preemptions.follow(model.meta.ref.uid, touched)

    def forget(self, resource: str, uid: str) -> set[str]:
        """Take a deleted object out of the caches; return the uids of gangs it touches."""
        self.versions[resource].pop(uid, None)
        namespace_name = self.names[resource].pop(uid, None)
        waiting = self.preemptions.remove(uid)
        self.leftovers.note_deleted(uid)
        self.events.hand_down(uid)
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
                self.events.drop_pods((uid,))
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

    def preemptors(
        self, events: Iterable[Event], entries: Iterable[QueueEntry] = ()
    ) -> dict[str, ObjectRef]:
        """Return the gangs of those who took the room of pods, as these tell: uid → gang, itself where it has none."""
        uids = {one.related.uid for one in events if one.reason == "Preempted" and one.related}
        uids |= {one.message.taker for one in entries if one.message and one.message.taker}
        roots = {uid: self.preemptions.gang_of(uid) for uid in uids}
        refs = {uid: self._ref_of(root or uid) for uid, root in roots.items()}
        return {uid: ref for uid, ref in refs.items() if ref is not None}
