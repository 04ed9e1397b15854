"""The model of a gang: its objects at one moment, and the facts derived from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gangboard.domain.event import CreationFailure, Event
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.measured_use import UseAlert
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import GangRequest, Owner, Role, SuspendChange
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import UnusableClaims
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueStatus, queue_statuses_of
from gangboard.domain.quota import QueueTree
from gangboard.domain.suspension import RecordedSuspend
from gangboard.domain.text import label, names
from gangboard.domain.traits import NO_TRAITS, KindTraits, QueueTraits
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.cluster_view import NO_VIEW, ClusterView, Unobserved
from gangboard.facts.jobs import (
    JobKey,
    age_of_hold,
    expected_pods,
    hold_key,
    job_key,
    requests_pods,
    select_member_pods,
)
from gangboard.facts.roles import UnmetDependency, unmet_dependencies

NO_ALERT = UseAlert()
Linked = Owner | Pod | Group | Hold | QueueEntry
"""An object that can be part of a gang."""

Root = Owner | Pod | Group | QueueEntry
"""An object that can be the topmost one of a gang."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A terminating pod that the scheduler preempted for a pod or group of this gang."""

    pod: ObjectRef
    taker: str
    """uid of that pod or group."""
    since: datetime | None = None


@dataclass(frozen=True)
class Gang:
    """The objects of one gang, made by `build_gang`. Rules, policy and pages read them here.

    `owner` is the topmost object of a known kind. A bare PodGroup, Workload or pod is converted to an owner, so that
    rules need no special case for it.
    """

    owner: Owner
    now: datetime
    """When its objects were read."""
    cluster: ClusterView = NO_VIEW
    jobs: tuple[Owner, ...] = ()
    """Jobs of the current attempt. A standalone Job is its own only entry."""
    old_jobs: tuple[Owner, ...] = ()
    """Jobs of former attempts that still exist."""
    middle: tuple[Owner, ...] = ()
    """Owners between the topmost one and the Jobs, parents first: the JobSet of a TrainJob."""
    maker: Owner | None = None
    """The owner that creates such gangs (`OwnerKind.makes_gangs`). Actions can target it as well."""
    groups: tuple[Group, ...] = ()
    """Its PodGroups and CompositePodGroups, including those that its pods name.

    On 1.35 they are entries of Workloads, which have no object (`Group.entry`)."""
    workloads: tuple[Group, ...] = ()
    pods: tuple[Pod, ...] = ()
    """Pods of the current attempt. Database and live cluster supply none."""
    old_pods: tuple[Pod, ...] = ()
    """Terminating pods of former attempts."""
    foreign_pods: tuple[Pod, ...] = ()
    """Pods of other gangs that share one of its groups: the scheduler counts them too."""
    placeholders: tuple[Pod, ...] = ()
    """Pods without a node that its scheduler created to reserve places for its members."""
    holds: tuple[Hold, ...] = ()
    """Holds on its Jobs. The uid of the owner is compared, so a recreated JobSet has none."""
    entries: tuple[QueueEntry, ...] = ()
    """Queue entries of its owner and its Jobs."""
    events: tuple[Event, ...] = ()
    creation_failures: tuple[CreationFailure, ...] = ()
    """Events in which a controller reports that it could not create an object of this gang."""
    odd_references: tuple[str, ...] = ()
    """Sentences about its owner references."""
    unobserved: tuple[Unobserved, ...] = ()
    memory: Mapping[str, UnitMemory] = field(default_factory=dict)
    memory_since: datetime | None = None
    """When gangboard first observed this gang."""
    queues: QueueTree = field(default_factory=QueueTree)
    """Readable queues that its entries name, with their ancestors."""
    claims: UnusableClaims = field(default_factory=dict)
    """Claims that its waiting pods name and cannot use. Claims that cannot be read are not in it."""
    suspensions: Mapping[str, tuple[SuspendChange, ...]] = field(default_factory=dict)
    """uid of an owner → the last changes of its `spec.suspend` that this poll worker has watched, oldest first."""
    recorded_suspends: Mapping[str, RecordedSuspend] = field(default_factory=dict)
    """uid of a suspended owner or Job → its suspend in gangboard's own record."""
    victims: tuple[Victim, ...] = ()
    """Existing pods that were preempted for it by the known events, ordered by name."""
    preemptors: Mapping[str, ObjectRef] = field(default_factory=dict)
    """uid of a pod or group that preempted this gang by the known events → the gang of that object."""
    roles_of_pods: Mapping[str, str] = field(default_factory=dict)
    """uid of a pod → its role in the owner, for owners that create pods without Jobs."""
    kinds: Mapping[tuple[str, str], KindTraits] = field(default_factory=dict)
    """`registry.kind_traits`, by API group and kind. Rules read it here, since they may not see decoders."""
    pod_reasons: Mapping[str, str] = field(default_factory=dict)
    """`registry.pod_reasons`."""
    use_alert: UseAlert = NO_ALERT
    """Conspicuous use of its accelerators, if a Prometheus measures it. The poll alone supplies it."""
    admission: Mapping[str, QueueTraits] = field(default_factory=dict)
    """`registry.queue_traits`, by the API group of entries."""

    # Kinds and names

    @property
    def name(self) -> str:
        """The topmost owner in a sentence: `JobSet run`."""
        return label(self.owner.meta.ref)

    @property
    def makers(self) -> tuple[Owner, ...]:
        """The owner and the owners below it that make its Jobs, parents first."""
        return self.owner, *self.middle

    @property
    def traits(self) -> KindTraits:
        """The peculiarities of its owner's kind."""
        return self.traits_of(self.owner.meta.ref)

    def traits_of(self, reference: ObjectRef | Controller) -> KindTraits:
        """Return the traits of an object's kind."""
        return self.kinds.get((reference.group, reference.kind), NO_TRAITS)

    @cached_property
    def objects_by_name(self) -> Mapping[tuple[str, str, str], Owner | Group]:
        """The owners in `middle` and the groups with an object, by (API group, kind, name)."""
        groups = (group for group in self.groups if group.entry is None)
        objects: tuple[Owner | Group, ...] = (*self.middle, *groups)
        refs = [(item.meta.ref, item) for item in objects]
        return {(ref.group, ref.kind, ref.name): item for ref, item in refs}

    # Roles and Jobs

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """Roles of the owner by name."""
        return {role.name: role for role in self.owner.roles}

    @cached_property
    def child_jobs(self) -> Mapping[str, Owner]:
        """Current Jobs below the owner by uid. A standalone Job is not among them."""
        root = self.owner.meta.ref.uid
        return {uid: job for job in self.jobs if (uid := job.meta.ref.uid) != root}

    @cached_property
    def running(self) -> frozenset[str]:
        """uids of the child Jobs that ask for pods."""
        return frozenset(
            uid for uid, job in self.child_jobs.items() if job.finish is None and requests_pods(job)
        )

    @cached_property
    def missing_jobs(self) -> Mapping[str, int]:
        """Role → the number of its child Jobs that do not exist."""
        created = {job.meta.ref.name for job in self.child_jobs.values()}
        return {
            role.name: sum(name not in created for name in role.child_names)
            for role in self.owner.roles
        }

    @cached_property
    def unfinished_by_role(self) -> Mapping[str, int]:
        """Role → the number of its unfinished child Jobs, those that do not exist yet included."""
        unfinished = (job for job in self.child_jobs.values() if job.finish is None)
        return Counter(job.role_name for job in unfinished) + Counter(self.missing_jobs)

    @property
    def unfinished(self) -> int:
        """The number of unfinished child Jobs, those that do not exist yet included."""
        return sum(self.unfinished_by_role.values())

    def unfinished_beside(self, job: Owner, chosen: frozenset[str]) -> int:
        """Return the number of unfinished Jobs besides this one and the chosen uids."""
        excluded = (chosen & self.child_jobs.keys()) | {job.meta.ref.uid}
        return self.unfinished - sum(self.child_jobs[uid].finish is None for uid in excluded)

    @cached_property
    def unmet(self) -> Mapping[str, tuple[UnmetDependency, ...]]:
        """Name of a waiting role of the owner → its dependencies that are not met yet."""
        if not any(role.depends_on for role in self.owner.roles):
            return {}
        ready = Counter(role for uid, role in self.roles_of_pods.items() if uid in self.ready_pods)
        return unmet_dependencies(self.owner, ready)

    @cached_property
    def dependents(self) -> Mapping[str, tuple[Role, ...]]:
        """Role → the roles that wait for it."""
        roles: dict[str, list[Role]] = defaultdict(list)
        for role in self.owner.roles:
            for name in {dependency.role for dependency in role.depends_on}:
                roles[name].append(role)
        return {name: tuple(waiting) for name, waiting in roles.items()}

    @cached_property
    def gang_requests(self) -> Mapping[str, tuple[GangRequest, Owner]]:
        """uid of a Job → the gang request for its pods, and the object that makes it: the Job or the owner.

        If the owner has requests by role, only the one for the Job's role counts.
        """
        of_roles = {
            role.name: role.gang_request
            for role in reversed(self.owner.roles)
            if role.gang_request is not None
        }
        requests: dict[str, tuple[GangRequest, Owner]] = {}
        for job in self.jobs:
            of_owner = of_roles.get(job.role_name) if of_roles else self.owner.gang_request
            if job.gang_request is not None:
                requests[job.meta.ref.uid] = job.gang_request, job
            elif of_owner is not None:
                requests[job.meta.ref.uid] = of_owner, self.owner
        return requests

    # Groups

    @property
    def group_objects(self) -> tuple[Group, ...]:
        """Groups and Workloads with an object."""
        return *self.workloads, *(group for group in self.groups if group.entry is None)

    @cached_property
    def group_objects_by_owner(self) -> Mapping[str, tuple[Group, ...]]:
        """`group_objects` by the uid of the object that controls them."""
        groups: dict[str, list[Group]] = defaultdict(list)
        for group in self.group_objects:
            controller = group.meta.controller
            for uid in (controller.uid,) if controller is not None else group.meta.owner_uids:
                groups[uid].append(group)
        return {uid: tuple(of_owner) for uid, of_owner in groups.items()}

    @cached_property
    def pod_groups(self) -> Mapping[str, Group]:
        """PodGroups with an object by name."""
        return {
            group.meta.ref.name: group
            for group in self.groups
            if group.meta.ref.kind == "PodGroup" and group.entry is None
        }

    @cached_property
    def pod_groups_by_owner(self) -> Mapping[str, Group]:
        """PodGroups by the uid of an object that owns them."""
        return {uid: group for group in self.pod_groups.values() for uid in group.meta.owner_uids}

    @cached_property
    def jobs_per_group(self) -> Mapping[str, int]:
        """Name of a PodGroup → the number of unfinished child Jobs whose templates name it."""
        unfinished = (job for job in self.child_jobs.values() if job.finish is None)
        return Counter(job.group_name for job in unfinished)

    @cached_property
    def expected_pods(self) -> Mapping[str, int]:
        """Name of a PodGroup → the number of pods that running child Jobs have or will have in it."""
        pods: Counter[str] = Counter()
        for uid in self.running:
            job = self.child_jobs[uid]
            pods[job.group_name] += expected_pods(job)
        return pods

    # Pods

    @cached_property
    def pods_by_job(self) -> Mapping[str, tuple[Pod, ...]]:
        """The pods of each Job by the Job's uid. Jobs without pods have an empty entry."""
        pods: dict[str, list[Pod]] = {job.meta.ref.uid: [] for job in self.jobs}
        for pod in self.pods:
            if pod.meta.controller is not None and pod.meta.controller.uid in pods:
                pods[pod.meta.controller.uid].append(pod)
        return {uid: tuple(of_job) for uid, of_job in pods.items()}

    @cached_property
    def pods_on_nodes(self) -> frozenset[str]:
        """uids of the pods that hold a node and are not being deleted."""
        return frozenset(
            pod.meta.ref.uid
            for pod in self.pods
            if pod.node and not pod.is_finished and pod.meta.deleting_since is None
        )

    @cached_property
    def ready_pods(self) -> frozenset[str]:
        """uids of the pods that run and are ready."""
        return frozenset([pod.meta.ref.uid for pod in self.pods if pod.is_ready])

    @cached_property
    def member_pods(self) -> frozenset[str]:
        """uids of the pods that represent a member now (`jobs.select_member_pods`)."""
        return frozenset([pod.meta.ref.uid for pod in select_member_pods(self.pods, self.jobs)])

    @property
    def ready(self) -> int:
        """The number of ready pods."""
        return len(self.ready_pods)

    def failed_scheduling(self, pod: Pod) -> str:
        """Return why the last attempt to place a pod failed: `Unschedulable`, `SchedulerError`, or another reason.

        Empty if no attempt failed. Words of other schedulers are translated.
        """
        reason = pod.unscheduled_reason
        return self.pod_reasons.get(reason, reason)

    # Holds

    @cached_property
    def holds_by_job(self) -> Mapping[JobKey, tuple[Hold, ...]]:
        """The Holds of each Job that has some."""
        holds: dict[JobKey, list[Hold]] = defaultdict(list)
        for hold in self.holds:
            holds[hold_key(hold)].append(hold)
        return {key: tuple(of_job) for key, of_job in holds.items()}

    def holds_on(self, job: Owner) -> tuple[Hold, ...]:
        """Return the Holds on a Job, by the Job's name and the uid of its controller.

        The policy compares the same (real-control-plane.md §3), so a Hold for a deleted JobSet is on no Job
        of its successor.
        """
        return self.holds_by_job.get(job_key(job), ()) if job.meta.controller is not None else ()

    def hold_of(self, job: Owner) -> Hold | None:
        """Return the oldest Hold on a Job, or None. It is the one that counts."""
        return min(self.holds_on(job), key=age_of_hold, default=None)

    # Queues

    @cached_property
    def queue_statuses(self) -> Mapping[str, QueueStatus]:
        """Queue status of the owner and of each Job, by uid."""
        visibility = self.cluster.queue_visibility
        return queue_statuses_of(self.owner, self.jobs, self.entries, visibility)

    @cached_property
    def is_any_queued(self) -> bool:
        """Whether a queue decides about the owner or any Job."""
        return any(status.is_managed for status in self.queue_statuses.values())

    @property
    def queue(self) -> QueueStatus:
        """Queue status of the owner."""
        return self.queue_statuses[self.owner.meta.ref.uid]

    @cached_property
    def queued_jobs(self) -> Mapping[str, Owner]:
        """Unfinished child Jobs that a queue manages one by one, by uid."""
        return {
            uid: job
            for uid, job in self.child_jobs.items()
            if job.finish is None and self.queue_statuses[uid].is_managed
        }

    @cached_property
    def queue_system(self) -> str:
        """Names of the admission systems of its entries, else of all that this cluster may have: `Kueue`."""
        traits = {self.admission.get(entry.meta.ref.group) for entry in self.entries}
        own = sorted(system.label for system in traits if system is not None)
        return names(own or self.cluster.queue_systems)
