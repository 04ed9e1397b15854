"""In-memory state of one cluster, kept by the worker that holds its lease."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from gangboard.decode.admission_policies import BINDING, POLICY
from gangboard.decode.events import event_resource
from gangboard.decode.holds import HOLD
from gangboard.decode.nodes import NODE
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import Resource, SubmitterMarks
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
from gangboard.polling.assessment_index import AssessmentIndex, PendingRounds, Rechecks
from gangboard.polling.autoscaling import AUTOSCALING, AutoscalingTracker
from gangboard.polling.blueprints import BlueprintTracker
from gangboard.polling.capacity import CapacityWriter, TrendWriter
from gangboard.polling.cluster_plans import PlanWriter
from gangboard.polling.discovery_schedule import ControllerBuilds, DiscoverySchedule
from gangboard.polling.event_index import EventIndex, Preemptions
from gangboard.polling.node_usage import NodeUsageTracker
from gangboard.polling.pod_claims import CLAIMS, PodClaimTracker
from gangboard.polling.queues import QueueTracker
from gangboard.polling.reachability import ContactMeter, OutageTracker
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.row_cache import GangRowCache, ObjectCache
from gangboard.polling.usage_recorder import EvictionRecorder, UsageRecorder
from gangboard.polling.use_tracker import UseTracker
from gangboard.polling.visibility import PODS_KEY
from gangboard.polling.watch_history import DeletedOwners, SuspendHistory
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.gangs import VerdictInputs

_Put = Callable[[Any], set[str]]
_AUTOSCALING_KEYS = frozenset(resource.key for resource in AUTOSCALING)
_CLAIM_KEYS = frozenset(resource.key for resource in CLAIMS)


def resources() -> tuple[Resource, ...]:
    """Return all resources that are listed and watched: shared ones, and those of the registries."""
    events = event_resource(registry.event_reasons())
    everywhere = (registry.pods(), NODE, events, HOLD, POLICY, BINDING, *AUTOSCALING, *CLAIMS)
    return tuple(map(_with_submitter_marks, (*everywhere, *registry.resources())))


def _with_submitter_marks(resource: Resource) -> Resource:
    if resource.model is not Owner:
        return resource
    marks = SubmitterMarks(settings.SUBMITTER_LABEL, settings.SUBMITTER_ANNOTATION)
    return replace(resource, submitter=marks)


@dataclass(slots=True)
class ClusterCache:
    """Caches of one cluster. They are dropped when the lease is lost."""

    lease: ClusterLease
    cluster_name: str
    credentials_stamp: bytes
    """The sealed credentials of the connection. Different ones require a new cache."""
    connection: Connection | None
    """None in a cache that only reads the store."""
    watched: dict[str, WatchedResource]
    """By resource key, including resources that are not served."""
    discovery: Discovery | None = None
    discovery_schedule: DiscoverySchedule = field(default_factory=DiscoverySchedule)
    builds: ControllerBuilds = field(default_factory=ControllerBuilds)
    meter: ContactMeter = field(default_factory=ContactMeter)
    ownership_graph: OwnershipGraph = field(default_factory=OwnershipGraph)
    versions: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """Resource key → uid → resourceVersion, to skip unchanged objects."""
    names: dict[str, dict[str, tuple[str, str]]] = field(default_factory=lambda: defaultdict(dict))
    """Resource key → uid → (namespace, name)."""
    object_digests: dict[str, bytes] = field(default_factory=dict)
    """uid → digest of the stored object."""
    last_inputs: dict[str, VerdictInputs] = field(default_factory=dict)
    """Gang → inputs of its stored verdict. Used once, to select the gangs that a new lease holder must assess."""
    nodes: dict[str, Node] = field(default_factory=dict)
    rechecks: Rechecks = field(default_factory=Rechecks)
    """Verdicts that can change by waiting."""
    deleted_owners: DeletedOwners = field(default_factory=DeletedOwners)
    unobserved: tuple[Unobserved, ...] = ()
    """Needed resources that could not be read at the last assessment."""
    queue_visibility: str | None = None
    """At the last assessment. None before it."""
    unreadable: dict[str, tuple[Unobserved, ...]] = field(default_factory=dict)
    """Namespace → its unreadable objects at the last assessment. The namespace "" stands for any."""
    error: KubeError | None = None
    """Why the cluster as a whole could not be read in the last window."""
    outage_tracker: OutageTracker = field(default_factory=OutageTracker)
    unassessed: set[str] = field(default_factory=set)
    """Gangs that were touched while assessments were suspended."""
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    followed_since: datetime | None = None
    """Since when all needed resources are watched without a gap. None while one is not."""
    assessed_all: bool = False
    """All gangs were assessed, or skipped as unchanged, since these caches were created."""
    suspend_history: SuspendHistory = field(default_factory=SuspendHistory)
    objects: ObjectCache = field(init=False)
    gangs: GangRowCache = field(init=False)
    node_usage: NodeUsageTracker = field(init=False)
    assessments: AssessmentIndex = field(default_factory=AssessmentIndex)
    preemptions: Preemptions = field(init=False)
    pending: PendingRounds = field(init=False)
    capacity: CapacityWriter = field(init=False)
    trends: TrendWriter = field(init=False)
    usage: UsageRecorder = field(init=False)
    evictions: EvictionRecorder = field(default_factory=EvictionRecorder)
    plans: PlanWriter = field(init=False)
    autoscaling: AutoscalingTracker = field(init=False)
    pod_claims: PodClaimTracker = field(init=False)
    queues: QueueTracker = field(init=False)
    blueprints: BlueprintTracker = field(init=False)
    events: EventIndex = field(init=False)
    use_alerts: UseTracker = field(init=False)
    _tables: dict[type, _Put] = field(init=False)
    """Class of objects that belong to no gang → method that stores one and returns the roots of the gangs it touches."""
    _listeners: dict[type, tuple[Callable[[Any], object], ...]] = field(init=False)
    """Class of objects → methods that keep details of them, whatever gang they belong to."""

    def __post_init__(self) -> None:
        """Create the trackers, which need each other."""
        models = {key: watched.resource.model for key, watched in self.watched.items()}
        self.objects = ObjectCache(self.lease.cluster_id, models)
        self.gangs = GangRowCache(self.lease.cluster_id)
        self.node_usage = NodeUsageTracker(self.ownership_graph, self._ref_of)
        self.pending = PendingRounds(self.assessments)
        self.autoscaling = AutoscalingTracker(self.ownership_graph, self.watched)
        self.pod_claims = PodClaimTracker(self.ownership_graph, self.watched)
        self.queues = QueueTracker(self.ownership_graph)
        self.blueprints = BlueprintTracker(self.ownership_graph)
        self.preemptions = Preemptions(self.ownership_graph)
        self.events = EventIndex(self.ownership_graph, self.preemptions, self.autoscaling)
        self.use_alerts = UseTracker(self.lease.cluster_id, self.cluster_name)
        self.capacity = CapacityWriter(self.lease, self.node_usage, self.assessments)
        self.trends = TrendWriter(self.lease, self.capacity)
        self.usage = UsageRecorder(self.lease)
        self.plans = PlanWriter(self.lease, self.node_usage, self.objects)
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
            # Both concern the cluster and no single gang.
            AdmissionPolicy: lambda _: set(),
            QueueCheck: lambda _: set(),
        }
        self._listeners = {
            Node: (self.node_usage.put,),
            Pod: (self.node_usage.put, self.autoscaling.put_pod, self.pod_claims.put_pod),
            Owner: (self.node_usage.put, self.blueprints.put_owner, self._put_suspend),
            QueueEntry: (self.node_usage.put, self.queues.put_member),
            Group: (self.queues.put_member,),
        }

    def release(self) -> None:
        """Close the connections and drop the cached rows, because the cluster is not polled for a while."""
        self.close()
        self.objects.clear()
        self.gangs.clear()

    def close(self) -> None:
        """Close the connections."""
        if self.connection is not None:
            self.connection.close()

    def put(self, model: Any) -> set[str]:  # any class of the domain
        """Store a new state of an object. Return the uids of the gangs that it touches."""
        self.notify_listeners(model)
        put = self._tables.get(type(model), self._put_member)
        touched = put(model)
        self.node_usage.mark_stale(touched)
        return touched

    def notify_listeners(self, model: Any) -> None:
        """Call the listeners of an object. They do not need the ownership graph."""
        for listener in self._listeners.get(type(model), ()):
            listener(model)

    def _put_suspend(self, owner: Owner) -> None:
        self.suspend_history.put(owner, datetime.now(UTC))

    def _put_node(self, node: Node) -> set[str]:
        name = node.meta.ref.name
        before, self.nodes[name] = self.nodes.get(name), node
        state = (node.ready, node.unschedulable, node.taints)
        if before is not None and (before.ready, before.unschedulable, before.taints) == state:
            return set()
        return self.ownership_graph.roots_on_node(name)

    def _put_member(self, model: Linked) -> set[str]:
        touched = self.ownership_graph.put(model)
        return touched | self.preemptions.affected_gangs(model.meta.ref.uid, touched)

    def remove(self, resource: str, uid: str) -> set[str]:
        """Remove a deleted object. Return the uids of the gangs that it touches."""
        self.versions[resource].pop(uid, None)
        namespace_name = self.names[resource].pop(uid, None)
        preemptor_gangs = self.preemptions.remove(uid)
        self.deleted_owners.add(uid)
        self.events.hand_over(uid)
        if resource == NODE.key and namespace_name is not None:
            touched = self._remove_node(uid, namespace_name[1])
        elif resource in _AUTOSCALING_KEYS and namespace_name is not None:
            touched = self.autoscaling.remove(uid, *namespace_name)
        elif resource in _CLAIM_KEYS and namespace_name is not None:
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
            touched = preemptor_gangs | self.ownership_graph.remove(uid) | self.queues.remove(uid)
        self.node_usage.mark_stale(touched)
        return touched

    def _remove_node(self, uid: str, name: str) -> set[str]:
        node = self.nodes.get(name)
        if node is not None and node.meta.ref.uid != uid:
            return set()  # a new node of the same name exists
        self.nodes.pop(name, None)
        self.node_usage.remove_node(name)
        return self.ownership_graph.roots_on_node(name)

    def _ref_of(self, uid: str) -> ObjectRef | None:
        """Return the reference of a known object."""
        for key, names in self.names.items():
            if uid in names:
                resource = self.watched[key].resource
                return ObjectRef(resource.group, resource.kind, *names[uid], uid)
        return None

    def unobserved_in(self, namespace: str) -> tuple[Unobserved, ...]:
        """Return the resources and objects that the gangs of a namespace need and that cannot be read."""
        sources = (self.unobserved, self.unreadable.get("", ()), self.unreadable.get(namespace, ()))
        return tuple(dict.fromkeys(resource for source in sources for resource in source))

    def roots_in(self, namespaces: Collection[str]) -> set[str]:
        """Return the roots of the gangs in these namespaces. The namespace "" stands for all."""
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
        """Return the preemptors that these events and queue entries name: uid → reference of its gang.

        A preemptor without a gang stands for itself.
        """
        uids = {item.related.uid for item in events if item.reason == "Preempted" and item.related}
        uids |= {uid for entry in entries for uid in entry.takers}
        roots = {uid: self.preemptions.gang_of(uid) for uid in uids}
        refs = {uid: self._ref_of(root or uid) for uid, root in roots.items()}
        return {uid: ref for uid, ref in refs.items() if ref is not None}
