"""What a rule is given: the objects of one gang, put together, and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gangboard.domain.autoscaling import NOT_SEEN, Autoscaling
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.dependencies import Unmet, unmet_dependencies
from gangboard.domain.event import Event, NotMade
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.node import Node
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import Owner, Role, SuspendChange
from gangboard.domain.placement_result import Placing
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import UnusableClaims
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueStatus, queue_statuses_of
from gangboard.domain.quota import QueueTree
from gangboard.domain.suspension import RecordedSuspend
from gangboard.domain.traits import NO_TRAITS, KindTraits, QueueTraits
from gangboard.domain.verdict import UnitMemory

NO_ROOM = ClusterCapacity(why="nodes: not read yet")


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A resource that a verdict needs and that could not be looked at."""

    resource: str
    """Such as `pods` or `podgroups.scheduling.k8s.io`."""
    state: str
    """A `WatchState`: FORBIDDEN, FAILING, UNKNOWN_VERSION or UNDECODABLE."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod on its way out because the scheduler takes its room for a pod or group of this gang."""

    pod: ObjectRef
    taker: str
    """uid of that pod or group."""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class GangFacts:
    """Everything known about one gang at one moment.

    `owner` is the topmost object of a known kind. A bare PodGroup, Workload or pod is presented as
    an owner too, so that no rule needs a case of its own for it.
    """

    owner: Owner
    now: datetime
    jobs: tuple[Owner, ...] = ()
    """Child Jobs of the current attempt. A standalone Job is its own only entry."""
    middle: tuple[Owner, ...] = ()
    """What stands between the owner and those Jobs, parents first: the JobSet of a TrainJob."""
    groups: tuple[Group, ...] = ()
    """Its PodGroups and CompositePodGroups, those that its pods name included; on 1.35 the entries
    of Workloads, which have no object (`Group.entry`)."""
    workloads: tuple[Group, ...] = ()
    pods: tuple[Pod, ...] = ()
    """Pods of the current attempt."""
    foreign_pods: tuple[Pod, ...] = ()
    """Pods of other gangs that share one of its groups: the scheduler counts them too."""
    placeholders: tuple[Pod, ...] = ()
    """Some pods without a node that its scheduler made to hold the place of its members."""
    events: tuple[Event, ...] = ()
    odd_references: tuple[str, ...] = ()
    """What is odd about how it hangs together: sentences."""
    not_made: tuple[NotMade, ...] = ()
    """Those of them that say so of the owner or of what makes its Jobs, by the reasons of their kinds."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """By name; only nodes that its pods are or were on."""
    nodes_known: bool = True
    """False when nodes cannot be looked at: then nothing is said about them."""
    gang_api_version: str = ""
    """Version of core PodGroups (1.35: Workloads) that the cluster serves; empty when none."""
    groups_unobserved: bool = False
    """Core groups are served and could not be read: their absence means nothing."""
    known_kinds: frozenset[str] = frozenset()
    """Kinds, with their API group (`PodGroup.toys.example`), of groups that pods name by a mark and of queues,
    which are served and can be read: what is not there of them does not exist."""
    events_known: bool = True
    holds_known: bool = True
    """False when Holds are served and cannot be looked at: then their absence means nothing."""
    unobserved: tuple[Unobserved, ...] = ()
    memory: Mapping[str, UnitMemory] = field(default_factory=dict)
    memory_since: datetime | None = None
    """When gangboard saw this gang first."""
    holds: tuple[Hold, ...] = ()
    """Holds on its child Jobs; the uid of the owner is compared, so a recreated JobSet has none."""
    entries: tuple[QueueEntry, ...] = ()
    """What admission systems keep for its owner and its Jobs."""
    queue_visibility: str = ""
    """A `QueueVisibility`: whether an entry that is not known does not exist."""
    queue_systems: tuple[str, ...] = ()
    """Names of the admission systems that are meant by that."""
    kinds: Mapping[tuple[str, str], KindTraits] = field(default_factory=dict)
    """What is peculiar to kinds of owners, by API group and kind."""
    pod_reasons: Mapping[str, str] = field(default_factory=dict)
    """`GroupingAPI.pod_reasons` of all grouping APIs."""
    admission: Mapping[str, QueueTraits] = field(default_factory=dict)
    """What is peculiar to admission systems, by the API group of their entries."""
    queues: QueueTree = field(default_factory=QueueTree)
    """The queues that its entries name, with all above them, as far as these can be read."""
    room: ClusterCapacity = NO_ROOM
    """The nodes of the cluster with what is on them; `room.why` says when it tells nothing."""
    kubernetes: tuple[int, int] | None = None
    """Version of the API server, such as (1, 37); None when it did not say."""
    autoscaling: Autoscaling = NOT_SEEN
    """Nodes on their way, by the objects of autoscalers. Their events about NodeClaims that are named
    to its pods are among `events`."""
    claims: UnusableClaims = field(default_factory=dict)
    """Claims that its waiting pods name and cannot use. What could not be looked at is not in it."""
    suspensions: Mapping[str, tuple[SuspendChange, ...]] = field(default_factory=dict)
    """uid of an owner → the last changes of its `spec.suspend` that this poll worker has watched,
    oldest first. Nothing is said where nothing is in it."""
    recorded_suspends: Mapping[str, RecordedSuspend] = field(default_factory=dict)
    """uid of a suspended owner or Job → its suspend in gangboard's own record."""
    victims: tuple[Victim, ...] = ()
    """Pods that make room for it and are still there, by name, as far as events tell."""
    roles_of_pods: Mapping[str, str] = field(default_factory=dict)
    """uid of a pod → the role of the owner that it belongs to, of owners that make pods without Jobs."""
    takers: Mapping[str, ObjectRef] = field(default_factory=dict)
    """uid of a pod or group that took room from this gang, as events tell → the gang of that one."""
    queue_statuses: Mapping[str, QueueStatus] = field(init=False, repr=False, compare=False)
    """How a queue stands to its owner and to each Job, by uid."""
    is_queued: bool = field(init=False, repr=False, compare=False)
    """Whether a queue decides about any of them."""
    named: Mapping[tuple[str, str, str], Owner | Group] = field(
        init=False, repr=False, compare=False
    )
    """(API group, kind, name) → what stands in `middle`, and what in `groups` is an object."""

    unmet: Mapping[str, tuple[Unmet, ...]] = field(init=False, repr=False, compare=False)
    """Name of a role of its owner that waits for others → the dependencies that are not met yet."""
    holding: frozenset[str] = field(init=False, repr=False, compare=False)
    """uids of its pods that hold a node and are not on their way out."""
    ready: int = field(init=False, repr=False, compare=False)
    """How many of its pods are ready."""

    def __post_init__(self) -> None:
        """Work out once what rules ask for each of its Jobs and roles."""
        object.__setattr__(self, "unmet", unmet_dependencies(self.owner))
        found = queue_statuses_of(self.owner, self.jobs, self.entries, self.queue_visibility)
        object.__setattr__(self, "queue_statuses", found)
        object.__setattr__(self, "is_queued", any(one.is_managed for one in found.values()))
        groups = (group for group in self.groups if group.entry is None)
        things: tuple[Owner | Group, ...] = (*self.middle, *groups)
        named = {(one.meta.ref.group, one.meta.ref.kind, one.meta.ref.name): one for one in things}
        object.__setattr__(self, "named", named)
        holding = (
            pod.meta.ref.uid
            for pod in self.pods
            if pod.is_placed and pod.is_live and not pod.is_terminating
        )
        object.__setattr__(self, "holding", frozenset(holding))
        object.__setattr__(self, "ready", sum(pod.is_ready for pod in self.pods))

    @property
    def makers(self) -> tuple[Owner, ...]:
        """The owner and what makes its Jobs for it, parents first."""
        return self.owner, *self.middle

    @property
    def traits(self) -> KindTraits:
        """What is peculiar to the kind of its owner."""
        return self.traits_of(self.owner.meta.ref)

    def traits_of(self, thing: ObjectRef | Controller) -> KindTraits:
        """Return what is peculiar to the kind of an object."""
        return self.kinds.get((thing.group, thing.kind), NO_TRAITS)

    def failed_scheduling(self, pod: Pod) -> str:
        """Return why the last attempt to place a pod failed: `Unschedulable`, `SchedulerError`, or another reason.

        Empty if no attempt failed. Words of other schedulers are translated.
        """
        reason = pod.unscheduled_reason
        return self.pod_reasons.get(reason, reason)

    @property
    def queue(self) -> QueueStatus:
        """How a queue stands to the owner."""
        return self.queue_statuses[self.owner.meta.ref.uid]


@dataclass(frozen=True, slots=True)
class Unit:
    """The thing that gets a stage: a group; without groups a child Job, a role, or the owner."""

    facts: GangFacts
    name: str
    """How a sentence calls it. Unique within the gang."""
    noun: str
    """`group`, `Job`, or the owner's kind: what stands before the name."""
    desired: int
    quorum: int | None
    """None when it is scheduled pod by pod or by a basic group."""
    jobs: tuple[Owner, ...] = ()
    roles: tuple[Role, ...] = ()
    """Roles of the owner whose pods belong here, their child Jobs made or not."""
    pods: tuple[Pod, ...] = ()
    foreign_pods: tuple[Pod, ...] = ()
    group: Group | None = None
    group_name: str = ""
    """The PodGroup, or the entry of a Workload (`WorkloadEntry.name`), that its pods name, there or
    not."""
    held: int = 0
    """Desired pods of suspended child Jobs."""
    missing_jobs: tuple[str, ...] = ()
    """Child Jobs that the owner should have and that do not exist."""
    events: tuple[Event, ...] = ()
    memory: UnitMemory = field(default_factory=UnitMemory)
    placing: Placing | None = None
    """What arithmetic says of its members that wait for a node; None when none waits."""
    together: Unit | None = None
    """All workers without a group as one, where others beside it wait for nodes as well: why they have
    none is a matter of all of them."""
    live: tuple[Pod, ...] = field(init=False, repr=False, compare=False)
    """Pods that the scheduler counts as members."""
    current: tuple[Pod, ...] = field(init=False, repr=False, compare=False)
    """Live pods that are not on their way out."""
    unplaced: tuple[Pod, ...] = field(init=False, repr=False, compare=False)
    """Current pods without a node."""
    refused: tuple[Pod, ...] = field(init=False, repr=False, compare=False)
    """Current pods without a node of which the scheduler says Unschedulable; not those that only wait for
    another pod of their group (`Pod.is_innocent`)."""
    placed: tuple[Pod, ...] = field(init=False, repr=False, compare=False)
    """Current pods on a node."""
    ready: tuple[Pod, ...] = field(init=False, repr=False, compare=False)
    """Pods that run and are ready."""

    def __post_init__(self) -> None:
        """Sort the pods once: every rule asks for them, and large gangs have thousands."""
        live = tuple(pod for pod in self.pods if pod.is_live)
        current = tuple(pod for pod in live if not pod.is_terminating)
        unplaced = tuple(pod for pod in current if not pod.is_placed)
        sorted_out = {
            "live": live,
            "current": current,
            "unplaced": unplaced,
            "refused": tuple(
                pod
                for pod in unplaced
                if self.facts.failed_scheduling(pod) == "Unschedulable" and not pod.is_innocent
            ),
            "placed": tuple(pod for pod in current if pod.is_placed),
            "ready": tuple(pod for pod in self.pods if pod.is_ready),
        }
        for name, pods in sorted_out.items():
            object.__setattr__(self, name, pods)

    @property
    def now(self) -> datetime:
        """The time of the assessment."""
        return self.facts.now

    @property
    def owner(self) -> Owner:
        """The gang's owner."""
        return self.facts.owner

    @property
    def wanted(self) -> int:
        """Pods that should exist now: desired without those of suspended Jobs."""
        return self.desired - self.held

    @property
    def needed(self) -> int:
        """The quorum, or without one all wanted pods."""
        return self.quorum if self.quorum is not None else self.wanted

    @property
    def other_scheduler(self) -> str:
        """Name of the scheduler of members that wait, where it is another than that of Kubernetes; else empty."""
        found = (pod.scheduler_name for pod in self.unplaced if pod.other_scheduler)
        return next(found, "")

    @property
    def succeeded(self) -> int:
        """Pods of the current attempt that have succeeded."""
        return sum(pod.phase == "Succeeded" for pod in self.pods)
