"""What a rule is given: the objects of one gang, put together, and the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gangboard.domain.autoscaling import NOT_SEEN, Autoscaling
from gangboard.domain.capacity import ClusterRoom
from gangboard.domain.dependencies import Unmet, unmet_dependencies
from gangboard.domain.event import Event, NotMade
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.node import Node
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import Outcome, Owner, Role, SuspendChange
from gangboard.domain.placing import Placing
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import UnusableClaims
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueStatus, queue_statuses_of
from gangboard.domain.quota import QueueTree
from gangboard.domain.suspension import RecordedSuspend
from gangboard.domain.traits import NO_TRAITS, KindTraits, QueueTraits
from gangboard.domain.verdict import UnitMemory

JobKey = tuple[str, str, str]
"""(uid of the controller, namespace, name) of a Job."""

GOOD_ENDINGS = frozenset({"SuccessPolicy", "CompletionsReached"})
"""Reasons of `SuccessCriteriaMet`. All other endings announce a failure (KEP-3998, KEP-3939)."""

NO_ROOM = ClusterRoom(why="nodes: not read yet")


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


@dataclass(frozen=True)
class GangFacts:
    """Everything known about one gang at one moment. What follows from that is worked out once, on demand.

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
    room: ClusterRoom = NO_ROOM
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

    @cached_property
    def queue_statuses(self) -> Mapping[str, QueueStatus]:
        """How a queue stands to the owner and to each Job, by uid."""
        return queue_statuses_of(self.owner, self.jobs, self.entries, self.queue_visibility)

    @cached_property
    def is_queued(self) -> bool:
        """Whether a queue decides about the owner or any Job."""
        return any(status.is_managed for status in self.queue_statuses.values())

    @cached_property
    def holds_by_job(self) -> Mapping[JobKey, Hold]:
        """The Hold on each Job that has one. The oldest of several counts."""
        by_age = sorted(self.holds, key=age_of_hold, reverse=True)
        return {hold_key(hold): hold for hold in by_age}

    def hold_of(self, job: Owner) -> Hold | None:
        """Return the Hold on a Job, by the Job's name and the uid of its controller, or None.

        The policy compares the same (real-control-plane.md §3), so a Hold for a deleted JobSet is on no Job
        of its successor.
        """
        return self.holds_by_job.get(job_key(job)) if job.meta.controller is not None else None

    @cached_property
    def pods_by_job(self) -> Mapping[str, tuple[Pod, ...]]:
        """The pods of each Job by the Job's uid. Jobs without pods have an empty entry."""
        pods: dict[str, list[Pod]] = {job.meta.ref.uid: [] for job in self.jobs}
        for pod in self.pods:
            if pod.meta.controller is not None and pod.meta.controller.uid in pods:
                pods[pod.meta.controller.uid].append(pod)
        return {uid: tuple(of_job) for uid, of_job in pods.items()}

    @cached_property
    def named(self) -> Mapping[tuple[str, str, str], Owner | Group]:
        """The owners in `middle` and the groups with an object, by (API group, kind, name)."""
        groups = (group for group in self.groups if group.entry is None)
        refs = [(thing.meta.ref, thing) for thing in (*self.middle, *groups)]
        return {(ref.group, ref.kind, ref.name): thing for ref, thing in refs}

    @cached_property
    def unmet(self) -> Mapping[str, tuple[Unmet, ...]]:
        """Name of a waiting role of the owner → its dependencies that are not met yet."""
        return unmet_dependencies(self.owner)

    @cached_property
    def holding(self) -> frozenset[str]:
        """uids of the pods that hold a node and are not being deleted."""
        return frozenset(
            pod.meta.ref.uid
            for pod in self.pods
            if pod.node and not pod.is_finished and pod.meta.deleting_since is None
        )

    @cached_property
    def ready(self) -> int:
        """The number of ready pods."""
        return sum(pod.is_ready for pod in self.pods)

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


@dataclass(frozen=True)
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

    # A large gang has thousands of pods, and each rule asks for these.

    @cached_property
    def live(self) -> tuple[Pod, ...]:
        """Pods that the scheduler counts as members."""
        return tuple(pod for pod in self.pods if not pod.is_finished)

    @cached_property
    def current(self) -> tuple[Pod, ...]:
        """Live pods that are not being deleted."""
        return tuple(pod for pod in self.live if pod.meta.deleting_since is None)

    @cached_property
    def unplaced(self) -> tuple[Pod, ...]:
        """Current pods without a node."""
        return tuple(pod for pod in self.current if not pod.node)

    @cached_property
    def refused(self) -> tuple[Pod, ...]:
        """Current pods without a node that the scheduler calls Unschedulable.

        Pods that only wait for another pod of their group are not among them (`Pod.is_innocent`).
        """
        return tuple(
            pod
            for pod in self.unplaced
            if self.facts.failed_scheduling(pod) == "Unschedulable" and not pod.is_innocent
        )

    @cached_property
    def placed(self) -> tuple[Pod, ...]:
        """Current pods on a node."""
        return tuple(pod for pod in self.current if pod.node)

    @cached_property
    def ready(self) -> tuple[Pod, ...]:
        """Pods that run and are ready."""
        return tuple(pod for pod in self.pods if pod.is_ready)

    @cached_property
    def succeeded_pods(self) -> int:
        """The number of existing pods that have succeeded."""
        return sum(pod.phase == "Succeeded" for pod in self.pods)

    @cached_property
    def succeeded(self) -> int:
        """The number of members that have succeeded.

        Succeeded pods are collected with their node, and their Job still counts them. A Job that met its
        success policy needs no more pods than it has.
        """
        by_jobs = sum(
            job.desired if _has_succeeded(job) else job.succeeded_pods for job in self.jobs
        )
        return max(self.succeeded_pods, by_jobs)

    @cached_property
    def active_jobs(self) -> tuple[Owner, ...]:
        """Jobs that are neither finished nor suspended."""
        return tuple(job for job in self.jobs if job.finish is None and not job.suspended)

    @cached_property
    def given_up(self) -> int:
        """The number of members that stay away because their index failed for good.

        With `backoffLimitPerIndex` the Job goes on without such an index, and makes pods for others as
        long as there are some (firstPendingIndexes in pkg/controller/job).
        """
        return sum(_indexes_short(job) for job in self.active_jobs if job.failed_index_count)

    @cached_property
    def seats(self) -> int:
        """The number of pods that should be alive now: wanted, without those done or given up."""
        return max(0, self.wanted - self.succeeded - self.given_up)

    @cached_property
    def missing(self) -> int:
        """The number of pods that should be alive and do not exist."""
        return max(0, self.seats - len(self.current))

    @property
    def is_full(self) -> bool:
        """Whether every seat has a ready pod."""
        return len(self.ready) >= self.seats

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


def job_key(job: Owner) -> JobKey:
    """Return the key of a Job in `GangFacts.holds_by_job`."""
    ref, controller = job.meta.ref, job.meta.controller
    return controller.uid if controller else "", ref.namespace, ref.name


def hold_key(hold: Hold) -> JobKey:
    """Return the key of the Job that a Hold is for."""
    return hold.owner_uid, hold.meta.ref.namespace, hold.job_name


def age_of_hold(hold: Hold) -> tuple[bool, float, str]:
    """Return the sort key of Holds: the oldest first, unknown ages last."""
    created = hold.meta.created_at
    return created is None, created.timestamp() if created else 0.0, hold.meta.ref.name


def _has_succeeded(job: Owner) -> bool:
    if job.finish is not None:
        return job.finish.outcome is Outcome.SUCCEEDED
    return job.ending in GOOD_ENDINGS


def _indexes_short(job: Owner) -> int:
    at_once = 1 if job.parallelism is None else job.parallelism
    left = max(0, (job.completions or 0) - job.succeeded_pods)
    return min(at_once, left) - min(at_once, max(0, left - job.failed_index_count))
