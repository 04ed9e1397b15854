"""One gang looked through once, so that each of its 500 Jobs can be judged without going over all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.diagnosis import registry
from gangboard.domain.action import ClusterLevers, Ground, Lever
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller, ObjectRef, find_condition
from gangboard.domain.owner import Owner, Part
from gangboard.domain.queue import QueueEntry
from gangboard.domain.reading.wording import label
from gangboard.domain.registry import OwnerKind

_POD_GROUP = "PodGroup"


@dataclass(frozen=True, slots=True)
class Survey:
    """What one gang is made of, by what is asked about it."""

    ground: Ground
    kind: OwnerKind | None
    """Of the topmost owner; None for what is no owner, such as a bare PodGroup."""
    jobs: Mapping[str, Owner]
    """Child Jobs by uid; a standalone Job is none."""
    old_jobs: Mapping[str, Owner]
    holds: Mapping[tuple[str, str], tuple[Hold, ...]]
    """By uid of the JobSet and name of the Job."""
    entries: tuple[QueueEntry, ...]
    """Those by which a queue manages the owner, unfinished."""
    queued_jobs: Mapping[str, Owner]
    """Unfinished child Jobs that a queue manages one by one, by uid."""
    parts: Mapping[str, Part]
    dependents: Mapping[str, tuple[Part, ...]]
    """Part → the parts that wait for it."""
    unfinished: int
    running: frozenset[str]
    """uids of the child Jobs that ask for pods."""
    open_parts: Mapping[str, int]
    """Part → its unfinished child Jobs, those not made yet included."""
    absent: Mapping[str, int]
    """Part → its child Jobs that do not exist."""
    groups: Mapping[str, Group]
    """PodGroups by name."""
    groups_of: Mapping[str, Group]
    """PodGroups by the uid of an object that owns them."""
    seats: Mapping[str, int]
    """Name of a PodGroup → pods that running child Jobs have or will have in it."""
    sharers: Mapping[str, int]
    """Name of a PodGroup → unfinished child Jobs whose templates name it."""

    @property
    def owner(self) -> Owner:
        """The topmost owner."""
        return self.ground.owner

    @property
    def name(self) -> str:
        """The topmost owner in a sentence: `JobSet run`."""
        return label(self.owner.meta.ref)

    @property
    def queue(self) -> str:
        """The queue that the owner waits in or was admitted from, or empty."""
        return self.owner.queue or next((one.queue for one in self.entries if one.queue), "")

    @property
    def is_queued(self) -> bool:
        """Whether Kueue manages the owner: it then undoes a plain suspend in both directions."""
        return bool(self.owner.queue or self.entries)

    @property
    def is_admitted(self) -> bool:
        """Whether its queue lets it run; true where no queue has a say.

        Kueue suspends what it has not admitted, so before its Workload is there that tells.
        """
        if self.entries:
            return all(entry.admitted and entry.active for entry in self.entries)
        return not (self.owner.queue and self.owner.suspended)

    @property
    def waiting_for(self) -> str:
        """Why no child Job may run now whatever it asks for: half a sentence, or empty."""
        if not self.is_admitted:
            return f"Kueue has not admitted {self.name}"
        return f"{self.name} is suspended" if self.owner.suspended else ""

    def holds_on(self, job: Owner) -> tuple[Hold, ...]:
        """Return the Holds that are in force for a child Job: its JobSet's uid counts."""
        controller = job.meta.controller
        return self.holds.get((controller.uid, job.meta.ref.name), ()) if controller else ()

    def is_native(self, levers: ClusterLevers) -> bool:
        """Whether its child Jobs may be suspended one by one: asked for, and seen honoured."""
        return (
            bool(self.owner.independent_claim)
            and levers.native_honoured
            and self.kind is not None
            and Lever.NATIVE in self.kind.child_levers
        )


def survey(ground: Ground) -> Survey:
    """Look through a gang. The cost is one pass over its objects."""
    owner = ground.owner
    jobs = {job.meta.ref.uid: job for job in ground.jobs if job.meta.ref.uid != owner.meta.ref.uid}
    unfinished = [job for job in jobs.values() if job.finish is None]
    running = [job for job in unfinished if asks_for_pods(job)]
    created = {job.meta.ref.name for job in jobs.values()}
    absent = {
        part.name: sum(name not in created for name in part.child_names) for part in owner.parts
    }
    open_parts = Counter(job.part_name for job in unfinished) + Counter(absent)
    dependents: dict[str, list[Part]] = defaultdict(list)
    for part in owner.parts:
        for name in {dependency.part for dependency in part.depends_on}:
            dependents[name].append(part)
    seats: Counter[str] = Counter()
    for job in running:
        seats[job.group_name] += seats_of(job)
    holds: dict[tuple[str, str], list[Hold]] = defaultdict(list)
    for hold in ground.holds:
        holds[hold.owner_uid, hold.job_name].append(hold)
    entries = [entry for entry in ground.entries if _is_live(entry)]
    own = {entry.owner_uid for entry in entries} & jobs.keys()
    groups = [group for group in ground.groups if group.meta.ref.kind == _POD_GROUP]
    return Survey(
        ground=ground,
        kind=kind_of(owner.meta.ref),
        jobs=jobs,
        old_jobs={job.meta.ref.uid: job for job in ground.old_jobs},
        holds={key: tuple(found) for key, found in holds.items()},
        entries=tuple(entry for entry in entries if entry.owner_uid not in own),
        queued_jobs={
            job.meta.ref.uid: job for job in unfinished if job.queue or job.meta.ref.uid in own
        },
        parts={part.name: part for part in owner.parts},
        dependents={name: tuple(found) for name, found in dependents.items()},
        unfinished=sum(open_parts.values()),
        running=frozenset(job.meta.ref.uid for job in running),
        open_parts=open_parts,
        absent=absent,
        groups={group.meta.ref.name: group for group in groups},
        groups_of={uid: group for group in groups for uid in group.meta.owner_uids},
        seats=seats,
        sharers=Counter(job.group_name for job in unfinished),
    )


def kind_of(ref: ObjectRef | Controller) -> OwnerKind | None:
    """Return the registered kind of an object, or None."""
    for kind in registry.owner_kinds():
        if (kind.resource.group, kind.resource.kind) == (ref.group, ref.kind):
            return kind
    return None


def is_paused(job: Owner) -> bool:
    """Whether gangboard set its parallelism to 0: an annotation alone may be left over."""
    return job.parallelism == 0 and bool(job.paused_parallelism)


def asks_for_pods(job: Owner) -> bool:
    """Whether a Job is neither suspended nor at parallelism 0."""
    return not job.suspended and job.parallelism != 0


def seats_of(job: Owner) -> int:
    """Return the pods that a Job has or will have at a time: those that succeeded count no more."""
    return max(0, job.desired - job.succeeded_pods)


def _is_live(entry: QueueEntry) -> bool:
    finished = find_condition(entry.conditions, "Finished")
    return entry.meta.deleting_since is None and not (finished is not None and finished.is_true)
