"""A unit of a gang: what gets a stage of its own, with its counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.owner import Outcome, Owner, Role
from gangboard.domain.placement_result import Placing
from gangboard.domain.pod import Container, Pod
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.gang import Gang

GOOD_ENDINGS = frozenset({"SuccessPolicy", "CompletionsReached"})
"""Reasons of `SuccessCriteriaMet`. All other endings announce a failure (KEP-3998, KEP-3939)."""


@dataclass(frozen=True)
class Unit:
    """The thing that gets a stage: a group; without groups a child Job, a role, or the owner."""

    gang: Gang
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

    # A large gang has thousands of pods. A list comprehension is one call, a generator one for each pod.

    @cached_property
    def live(self) -> tuple[Pod, ...]:
        """Pods that the scheduler counts as members."""
        ended = ("Succeeded", "Failed")
        return tuple([pod for pod in self.pods if pod.phase not in ended])

    @cached_property
    def current(self) -> tuple[Pod, ...]:
        """Live pods that are not being deleted."""
        return tuple([pod for pod in self.live if pod.meta.deleting_since is None])

    @cached_property
    def unplaced(self) -> tuple[Pod, ...]:
        """Current pods without a node."""
        return tuple([pod for pod in self.current if not pod.node])

    @cached_property
    def refused(self) -> tuple[Pod, ...]:
        """Current pods without a node that the scheduler calls Unschedulable.

        Pods that only wait for another pod of their group are not among them (`Pod.is_innocent`).
        """
        return tuple(
            [
                pod
                for pod in self.unplaced
                if self.gang.failed_scheduling(pod) == "Unschedulable" and not pod.is_innocent
            ]
        )

    @cached_property
    def placed(self) -> tuple[Pod, ...]:
        """Current pods on a node."""
        return tuple([pod for pod in self.current if pod.node])

    @cached_property
    def halted_containers(self) -> tuple[tuple[Pod, Container], ...]:
        """Containers of placed pods that do not run, each with its pod."""
        return tuple(
            [
                (pod, container)
                for pod in self.placed
                for container in pod.containers
                if container.state != "running"
            ]
        )

    @cached_property
    def ready(self) -> tuple[Pod, ...]:
        """Pods that run and are ready."""
        return tuple([pod for pod in self.pods if pod.is_ready])

    @cached_property
    def succeeded_pods(self) -> int:
        """The number of existing pods that have succeeded."""
        return len([pod for pod in self.pods if pod.phase == "Succeeded"])

    @cached_property
    def succeeded(self) -> int:
        """The number of members that have succeeded.

        Succeeded pods are collected with their node, and their Job still counts them. A Job that met its
        success policy needs no more pods than it has.
        """
        by_jobs = sum(
            [job.desired if _has_succeeded(job) else job.succeeded_pods for job in self.jobs]
        )
        return max(self.succeeded_pods, by_jobs)

    @cached_property
    def active_jobs(self) -> tuple[Owner, ...]:
        """Jobs that are neither finished nor suspended."""
        return tuple([job for job in self.jobs if job.finish is None and not job.suspended])

    @cached_property
    def given_up(self) -> int:
        """The number of members that stay away because their index failed for good.

        With `backoffLimitPerIndex` the Job goes on without such an index, and makes pods for others as
        long as there are some (firstPendingIndexes in pkg/controller/job).
        """
        return sum([_indexes_short(job) for job in self.active_jobs if job.failed_index_count])

    @cached_property
    def seats(self) -> int:
        """The number of pods that should be alive now: wanted, without those done or given up."""
        return max(0, self.wanted - self.succeeded - self.given_up)

    @cached_property
    def missing(self) -> int:
        """The number of pods that should be alive and do not exist."""
        return max(0, self.seats - len(self.current))

    @cached_property
    def is_full(self) -> bool:
        """Whether every seat has a ready pod."""
        return len(self.ready) >= self.seats

    @cached_property
    def now(self) -> datetime:
        """The time of the assessment."""
        return self.gang.now

    @cached_property
    def owner(self) -> Owner:
        """The gang's owner."""
        return self.gang.owner

    @cached_property
    def wanted(self) -> int:
        """Pods that should exist now: desired without those of suspended Jobs."""
        return self.desired - self.held

    @cached_property
    def needed(self) -> int:
        """The quorum, or without one all wanted pods."""
        return self.quorum if self.quorum is not None else self.wanted

    @cached_property
    def other_scheduler(self) -> str:
        """Name of the scheduler of members that wait, where it is another than that of Kubernetes; else empty."""
        found = (pod.scheduler_name for pod in self.unplaced if pod.other_scheduler)
        return next(found, "")


def _has_succeeded(job: Owner) -> bool:
    if job.finish is not None:
        return job.finish.outcome is Outcome.SUCCEEDED
    return job.ending in GOOD_ENDINGS


def _indexes_short(job: Owner) -> int:
    at_once = 1 if job.parallelism is None else job.parallelism
    left = max(0, (job.completions or 0) - job.succeeded_pods)
    return min(at_once, left) - min(at_once, max(0, left - job.failed_index_count))
