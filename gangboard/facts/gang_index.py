"""An index of one gang, so that each of its 500 Jobs can be judged without going over all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gangboard.domain.action import ActionContext
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner, Role
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import (
    QueueStanding,
    QueueStatus,
    QueueVisibility,
    queue_statuses_of,
)
from gangboard.domain.text import label, names

_POD_GROUP = "PodGroup"


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Why a Job may not run now whatever it asks for."""

    why: str
    """Half a sentence: `Kueue has not admitted JobSet run`."""
    until: str
    """What has to come before it starts: `the JobSet does`."""


@dataclass(frozen=True, slots=True)
class ServedKind:
    """How the objects of a kind are asked for."""

    plural: str
    version: str
    """The version in which the cluster serves it; empty where that is not known."""
    preferred: str
    """The version that we would read first."""
    suspend_field: tuple[str, ...]
    suspend_map_missing: Callable[[Owner], bool] | None = None


ServedKinds = Mapping[tuple[str, str], ServedKind]
"""By API group and kind."""


@dataclass(frozen=True, slots=True)
class GangIndex:
    """The objects of one gang, indexed for the questions that are asked about them."""

    context: ActionContext
    kinds: ServedKinds
    """Every known kind of owner."""
    queue_system: str
    """Who admits owners of queues: `Kueue`."""
    jobs: Mapping[str, Owner]
    """Child Jobs by uid; a standalone Job is none."""
    old_jobs: Mapping[str, Owner]
    holds: Mapping[tuple[str, str], tuple[Hold, ...]]
    """By uid of what made the Job, and name of the Job."""
    queue_statuses: Mapping[str, QueueStatus]
    """How a queue stands to the owner and to each of its Jobs, by uid."""
    queued_jobs: Mapping[str, Owner]
    """Unfinished child Jobs that a queue manages one by one, by uid."""
    roles: Mapping[str, Role]
    dependents: Mapping[str, tuple[Role, ...]]
    """Role → the roles that wait for it."""
    unfinished: int
    running: frozenset[str]
    """uids of the child Jobs that ask for pods."""
    open_roles: Mapping[str, int]
    """Role → its unfinished child Jobs, those not made yet included."""
    absent: Mapping[str, int]
    """Role → its child Jobs that do not exist."""
    groups: Mapping[str, Group]
    """PodGroups by name."""
    groups_of: Mapping[str, Group]
    """PodGroups by the uid of an object that owns them."""
    seats: Mapping[str, int]
    """Name of a PodGroup → pods that running child Jobs have or will have in it."""
    sharers: Mapping[str, int]
    """Name of a PodGroup → unfinished child Jobs whose templates name it."""
    unknown_versions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """API group and kind → the served version, of kinds that are served in a version that this release does
    not know."""

    @property
    def owner(self) -> Owner:
        """The topmost owner."""
        return self.context.owner

    @property
    def name(self) -> str:
        """The topmost owner in a sentence: `JobSet run`."""
        return label(self.owner.meta.ref)

    def kind_of(self, owner: Owner) -> ServedKind:
        """Return how the kind of an owner is asked for."""
        return self.kinds[owner.meta.ref.group, owner.meta.ref.kind]

    @property
    def entries(self) -> tuple[QueueEntry, ...]:
        """Those by which a queue manages the owner, unfinished."""
        return self._own_queue.entries

    @property
    def queue(self) -> str:
        """The queue that the owner waits in or was admitted from, or empty."""
        return self._own_queue.queue

    @property
    def is_queued(self) -> bool:
        """Whether a queue manages the owner: it then undoes a plain suspend in both directions."""
        return self._own_queue.is_managed

    @property
    def is_admitted(self) -> bool:
        """Whether its queue lets it run; true where no queue has a say."""
        return self._own_queue.may_run

    @property
    def is_nobodys(self) -> bool:
        """Whether it names a queue, and nothing is served that could admit it."""
        return self._own_queue.standing is QueueStanding.NOBODY

    @property
    def _own_queue(self) -> QueueStatus:
        return self.queue_statuses[self.owner.meta.ref.uid]

    @property
    def wait(self) -> WaitReason | None:
        """Why none of its child Jobs may run now."""
        until = f"the {self.owner.meta.ref.kind} does"
        if self._own_queue.standing is QueueStanding.NOT_KNOWN:
            return WaitReason(
                f"{self.name} is suspended, and may wait in queue {self.queue}", until
            )
        if not self.is_admitted:
            return WaitReason(f"{self.queue_system} has not admitted {self.name}", until)
        return WaitReason(f"{self.name} is suspended", until) if self.owner.suspended else None

    def wait_of(self, job: Owner) -> WaitReason | None:
        """Return why a child Job may not run now: because of its owner, or of a queue of its own."""
        own = self.queue_statuses[job.meta.ref.uid]
        if self.wait is not None or own.may_run or not job.suspended:
            return self.wait
        name = label(job.meta.ref)
        if own.standing is QueueStanding.NOT_KNOWN:
            return WaitReason(f"{name} may wait in queue {own.queue}", "that has admitted it")
        if own.standing is QueueStanding.DEACTIVATED:
            listed = names(entry.meta.ref.name for entry in own.entries)
            why = f"{own.entries[0].meta.ref.kind} {listed} of {name} is deactivated"
            return WaitReason(why, "that is activated and admitted")
        return WaitReason(f"{self.queue_system} has not admitted {name}", "it is admitted")

    def unfinished_beside(self, job: Owner, chosen: frozenset[str]) -> int:
        """Return how many Jobs are unfinished beside this one and the chosen uids."""
        left = (chosen & self.jobs.keys()) | {job.meta.ref.uid}
        return self.unfinished - sum(self.jobs[uid].finish is None for uid in left)

    def holds_on(self, job: Owner) -> tuple[Hold, ...]:
        """Return the Holds that are in force for a child Job: the uid of what made it counts."""
        controller = job.meta.controller
        return self.holds.get((controller.uid, job.meta.ref.name), ()) if controller else ()


def index_gang(
    context: ActionContext,
    kinds: ServedKinds,
    queue_system: str,
    queue_visibility: str = QueueVisibility.NOT_KNOWN,
) -> GangIndex:
    """Index a gang; `queue_visibility` as in `ClusterLevers`. The cost is one pass over its objects."""
    owner = context.owner
    jobs = {job.meta.ref.uid: job for job in context.jobs if job.meta.ref.uid != owner.meta.ref.uid}
    unfinished = [job for job in jobs.values() if job.finish is None]
    running = [job for job in unfinished if asks_for_pods(job)]
    created = {job.meta.ref.name for job in jobs.values()}
    absent = {
        role.name: sum(name not in created for name in role.child_names) for role in owner.roles
    }
    open_roles = Counter(job.role_name for job in unfinished) + Counter(absent)
    dependents: dict[str, list[Role]] = defaultdict(list)
    for role in owner.roles:
        for name in {dependency.role for dependency in role.depends_on}:
            dependents[name].append(role)
    seats: Counter[str] = Counter()
    for job in running:
        seats[job.group_name] += seats_of(job)
    holds: dict[tuple[str, str], list[Hold]] = defaultdict(list)
    for hold in context.holds:
        holds[hold.owner_uid, hold.job_name].append(hold)
    queue_statuses = queue_statuses_of(owner, jobs.values(), context.entries, queue_visibility)
    groups = [group for group in context.groups if group.meta.ref.kind == _POD_GROUP]
    return GangIndex(
        context=context,
        kinds=kinds,
        queue_system=queue_system,
        jobs=jobs,
        old_jobs={job.meta.ref.uid: job for job in context.old_jobs},
        holds={key: tuple(found) for key, found in holds.items()},
        queue_statuses=queue_statuses,
        queued_jobs={
            job.meta.ref.uid: job
            for job in unfinished
            if queue_statuses[job.meta.ref.uid].is_managed
        },
        roles={role.name: role for role in owner.roles},
        dependents={name: tuple(found) for name, found in dependents.items()},
        unfinished=sum(open_roles.values()),
        running=frozenset(job.meta.ref.uid for job in running),
        open_roles=open_roles,
        absent=absent,
        groups={group.meta.ref.name: group for group in groups},
        groups_of={uid: group for group in groups for uid in group.meta.owner_uids},
        seats=seats,
        sharers=Counter(job.group_name for job in unfinished),
    )


def is_paused(job: Owner) -> bool:
    """Whether gangboard set its parallelism to 0. The annotation alone proves nothing: it may be left over."""
    return job.parallelism == 0 and bool(job.paused_parallelism)


def asks_for_pods(job: Owner) -> bool:
    """Whether a Job is neither suspended nor at parallelism 0."""
    return not job.suspended and job.parallelism != 0


def seats_of(job: Owner) -> int:
    """Return the pods that a Job has or will have at a time: those that succeeded count no more."""
    return max(0, job.desired - job.succeeded_pods)
