"""A unit of a gang, which gets a finding of its own, and its counts.

The scheduler counts live pods, also those that are being deleted, and no finished ones (its pod informer selects by
phase; k/k#142330). Running members are counted from pods, never from a condition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.node import Node
from gangboard.domain.owner import Outcome, Owner, Role
from gangboard.domain.placement_result import PlacementResult
from gangboard.domain.pod import Container, Pod
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.gang import Gang

SUCCESS_REASONS = frozenset({"SuccessPolicy", "CompletionsReached"})
"""Reasons of `SuccessCriteriaMet`. All other endings announce a failure (KEP-3998, KEP-3939)."""


@dataclass(frozen=True)
class Unit:
    """Unit of diagnosis, which has a stage: a group, or without groups a child Job, a role or the owner."""

    gang: Gang
    name: str
    """Name in sentences, unique within the gang."""
    noun: str
    """Noun before the name: `group`, `Job`, or the owner's kind."""
    desired: int
    quorum: int | None
    """None if the scheduler places each pod by itself, with or without a basic group."""
    jobs: tuple[Owner, ...] = ()
    roles: tuple[Role, ...] = ()
    """Roles of the owner whose pods belong to the unit. Their child Jobs need not exist."""
    pods: tuple[Pod, ...] = ()
    foreign_pods: tuple[Pod, ...] = ()
    group: Group | None = None
    group_name: str = ""
    """PodGroup or entry of a Workload (`WorkloadEntry.name`) that its pods name. It need not exist."""
    held: int = 0
    """Desired pods of suspended child Jobs."""
    missing_jobs: tuple[str, ...] = ()
    """Child Jobs that the owner should have and that do not exist."""
    events: tuple[Event, ...] = ()
    memory: UnitMemory = field(default_factory=UnitMemory)
    placing: PlacementResult | None = None
    """Result of the placement arithmetic for members that wait for a node, or None if none waits."""
    together: Unit | None = None
    """Merged unit of all ungrouped workers, if others wait for nodes as well and share the cause."""

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
    def terminating(self) -> tuple[Pod, ...]:
        """Live pods that are being deleted."""
        return tuple([pod for pod in self.live if pod.meta.deleting_since is not None])

    @cached_property
    def unplaced(self) -> tuple[Pod, ...]:
        """Current pods without a node."""
        return tuple([pod for pod in self.current if not pod.node])

    @cached_property
    def refused(self) -> tuple[Pod, ...]:
        """Current pods without a node that the scheduler calls Unschedulable.

        Pods that only wait for another pod of their group are not among them (`Pod.is_waiting_for_group`).
        """
        return tuple(
            [
                pod
                for pod in self.unplaced
                if self.gang.failed_scheduling(pod) == "Unschedulable"
                and not pod.is_waiting_for_group
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

        With `backoffLimitPerIndex` the Job continues without such an index, and creates pods for the remaining indexes
        (firstPendingIndexes in pkg/controller/job).
        """
        return sum([_indexes_short(job) for job in self.active_jobs if job.failed_index_count])

    @cached_property
    def expected_pods(self) -> int:
        """The number of pods that should be alive now: wanted, without those done or given up."""
        return max(0, self.wanted - self.succeeded - self.given_up)

    @cached_property
    def missing(self) -> int:
        """The number of pods that should be alive and do not exist."""
        return max(0, self.expected_pods - len(self.current))

    @cached_property
    def is_full(self) -> bool:
        """Whether every seat has a ready pod."""
        return len(self.ready) >= self.expected_pods

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
        """The quorum, or all wanted pods without a quorum."""
        return self.quorum if self.quorum is not None else self.wanted

    @cached_property
    def other_scheduler(self) -> str:
        """Name of the scheduler of waiting members if it is not that of Kubernetes, or empty."""
        schedulers = (pod.scheduler_name for pod in self.unplaced if pod.other_scheduler)
        return next(schedulers, "")


def _has_succeeded(job: Owner) -> bool:
    if job.finish is not None:
        return job.finish.outcome is Outcome.SUCCEEDED
    return job.ending in SUCCESS_REASONS


def _indexes_short(job: Owner) -> int:
    at_once = 1 if job.parallelism is None else job.parallelism
    remaining = max(0, (job.completions or 0) - job.succeeded_pods)
    return min(at_once, remaining) - min(at_once, max(0, remaining - job.failed_index_count))


_CORE = "scheduling.k8s.io"


def ready_count(unit: Unit) -> int:
    """Return the number of ready pods. In a gang group the pods of other gangs count as well."""
    foreign = sum(pod.is_ready for pod in unit.foreign_pods) if unit.quorum is not None else 0
    return len(unit.ready) + foreign


def live_count(unit: Unit) -> int:
    """Return the number of members that the scheduler counts for the group."""
    return len(unit.live) + sum(pod.is_live for pod in unit.foreign_pods)


def is_formed(unit: Unit) -> bool:
    """Return whether enough pods exist for the scheduler to try: the quorum, or all without a quorum."""
    if unit.quorum is None:
        return unit.missing == 0
    return live_count(unit) >= unit.quorum


def lacks_nodes(unit: Unit) -> bool:
    """Return whether members wait for a node that the unit needs: below the quorum, or any without a quorum.

    At the quorum a gang is past placement, and waiting pods only keep it below its size. Succeeded members keep no gang
    running: without any other member on a node it is back at placement. A part with quorum 0 is optional.
    """
    if not unit.unplaced:
        return False
    if unit.quorum is None or (unit.quorum and not unit.placed):
        return True
    foreign = sum(pod.is_live and pod.is_placed for pod in unit.foreign_pods)
    return len(unit.placed) + unit.succeeded + foreign < unit.quorum


def has_ready_quorum(unit: Unit) -> bool:
    """Return whether a gang has its quorum ready. False without a quorum."""
    if unit.quorum is None or (unit.quorum and not unit.ready):
        return False
    return ready_count(unit) + unit.succeeded >= unit.quorum


def failing_jobs(unit: Unit) -> tuple[Owner, ...]:
    """Return child Jobs that have failed, or are about to, while their owner has not ended."""
    return tuple(
        [
            job
            for job in unit.jobs
            if (job.finish is not None and job.finish.outcome is Outcome.FAILED)
            or (job.finish is None and job.ending and is_failure_reason(job.ending))
        ]
    )


def is_failure_reason(reason: str) -> bool:
    """Return whether the reason of an announced end (`FailureTarget`, …) is a failure."""
    return bool(reason) and reason not in SUCCESS_REASONS


def unready_nodes(unit: Unit) -> tuple[Node, ...]:
    """Return nodes that are not ready and have live pods of it that are not ready, by name."""
    nodes = {pod.node for pod in pods_on_unready_nodes(unit)}
    return tuple(unit.gang.cluster.nodes[name] for name in sorted(nodes))


def pods_on_unready_nodes(unit: Unit) -> tuple[Pod, ...]:
    """Return live pods that are not ready, on nodes that are not ready."""
    if not unit.gang.cluster.nodes_known:
        return ()
    return tuple(
        pod
        for pod in unit.live
        if not pod.is_ready
        and pod.node in unit.gang.cluster.nodes
        and not unit.gang.cluster.nodes[pod.node].is_ready
    )


def is_paused(unit: Unit) -> bool:
    """Return whether all Jobs that could run have `parallelism: 0` and no pods exist."""
    jobs = unit.active_jobs
    return bool(jobs) and not unit.current and all(job.parallelism == 0 for job in jobs)


def is_bare_group(unit: Unit) -> bool:
    """Return whether the group is the gang itself, without an owner that makes its pods."""
    return unit.group is not None and unit.group.meta.ref.uid == unit.owner.meta.ref.uid


def is_empty_plan(unit: Unit) -> bool:
    """Return whether it is a Workload or CompositePodGroup without a PodGroup. It makes no pods itself."""
    ref = unit.owner.meta.ref
    is_plan = ref.group == _CORE and ref.kind in ("Workload", "CompositePodGroup")
    return is_plan and unit.group is None and not unit.pods


def is_scaled_to_zero(unit: Unit) -> bool:
    """Return whether it is scaled to zero: no pods wanted or existing, and no Job ended."""
    nothing = unit.desired == 0 and not unit.current and not unit.missing_jobs
    if not nothing or is_bare_group(unit) or is_empty_plan(unit):
        return False
    return all(job.finish is None for job in unit.jobs)
