"""Findings and verdicts about gangs, as pages and the API show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.capacity import PlacementRequest
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef

NAMED_IN_ADVICE = "named in the advice"
"""Label of evidence that refers to objects named in the advice, so that pages can redact their names."""

NOT_STARTING = "not starting"
"""Label of a pod on a node with a container that cannot start without a change by the user."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Fact behind a sentence, with the object that it was read from."""

    label: str
    value: str
    source: ObjectRef | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding of one rule about one unit of a gang."""

    code: str
    health: Health
    stage: Stage
    title: str
    message: str
    """Sentence with numbers and names."""
    unit: str = ""
    """Name of its group or Job. Empty if it is about the whole gang."""
    advice: tuple[AdvisedStep, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    symptom: bool = False
    """The unit waits for another unit of its gang, whose finding is closer to the cause."""
    recheck_at: datetime | None = None
    """Time at which the finding can change without an event."""
    since: datetime | None = None
    """Start of the state by its objects. If it is None, the time of the first observation counts."""

    @property
    def advice_texts(self) -> tuple[str, ...]:
        """The advice as sentences."""
        return tuple(step.sentence for step in self.advice)


@dataclass(frozen=True, slots=True)
class Members:
    """Member counts of the current attempt."""

    desired: int = 0
    quorum: int | None = None
    created: int = 0
    scheduled: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    held: int = 0

    @property
    def quorum_is_all(self) -> bool:
        """Whether the quorum equals the size, so that it adds no information."""
        return self.quorum == self.desired


@dataclass(frozen=True, slots=True)
class UnitMemory:
    """Facts about a unit that gangboard stores between assessments, because no object has them."""

    created: int = 0
    created_since: datetime | None = None
    """Last change of the number of its pods."""
    whole_at: datetime | None = None
    """Last time at which its quorum, or without a quorum its size, was ready."""
    reached_size_at: datetime | None = None
    preempted_at: datetime | None = None
    """Last preemption of its pods, if it has not recovered. The events are about deleted pods and expire."""
    preempted_by: tuple[ObjectRef, ...] = ()
    """Known preemptor gangs of that preemption."""
    recovered_from: datetime | None = None
    """Time of the last preemption from which it recovered, by the scheduler's clock."""
    fits_since: datetime | None = None
    """Time since which its waiting members fit by arithmetic. None while they do not fit."""
    whole_count: int | None = None
    """Number of ready or succeeded members at `whole_at`, or None if unknown.

    The need can have grown since, because a Job that works through a queue wants more with each finished pod."""
    gated_at: datetime | None = None
    """Last time at which a member had a scheduling gate. No object has the time of their removal."""
    whole_attempt: datetime | None = None
    """Start of the attempt in which it was whole at `whole_at`, or None if unknown.

    The objects read at `whole_at` can be older, so a restart can have begun before that time."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Scheduling mode of a Job's pods, with its reason."""

    mode: str
    """gang, basic, brought-along, opted-out, not-eligible, owned, fallen-back, pod-by-pod or unknown."""
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class GangMode:
    """Observed division of an owner's pods into gangs, compared with the requested one."""

    mode: str
    """A `GangForm`, or `unknown`."""
    label: str
    reason: str
    """Sentence with names and numbers."""
    asked: str = ""
    """Request of the owner, in the terms of its kind. Empty without a request."""
    differs: bool = False
    """The observed division differs from the requested one."""


@dataclass(frozen=True, slots=True)
class JobState:
    """Child Job, or standalone Job, as the Gang page and the API show it."""

    ref: ObjectRef
    generation: int
    part: str
    """Name of its role. The database stores the field under this name."""
    suspended: bool
    held: bool
    finished: str
    """`succeeded`, `failed` or empty."""
    desired: int
    created: int
    ready: int
    nodes: tuple[str, ...]
    restarts: int
    scheduling: Scheduling
    finding: Finding | None = None
    hold: str = ""
    """Name of the Hold on it, suspended or not."""
    held_since: datetime | None = None
    held_by: str = ""
    """Author of the Hold, by the Hold itself."""
    held_reason: str = ""
    held_until: datetime | None = None
    queue: str = ""
    """Queue of its own entry. Empty without an entry, or if the entry names no queue."""
    queue_standing: str = ""
    """`QueueStanding` by that entry. Empty without an entry."""


@dataclass(frozen=True, slots=True)
class MemberState:
    """Pod as the member grid shows it."""

    ref: ObjectRef
    job: str
    node: str
    state: Health
    label: str
    """State of the pod: ready, starting, waiting, terminating, succeeded, failed …"""
    reason: str = ""
    group: str = ""
    part: str = ""
    """Its role (a replica) in the owner, if no Job created it. Empty without a role."""
    since: datetime | None = None
    """Start of this state by its conditions, or None if unknown."""
    restarts: int = 0
    """Restarts of all its containers."""
    container: str = ""
    """Container that ended with an error or restarts repeatedly. Empty if none does."""
    exit_code: int | None = None
    """Last exit code of that container, or None if unknown."""


@dataclass(frozen=True, slots=True)
class FitReason:
    """Nodes that cannot take a pod of a shape for the same reason."""

    label: str
    """Value of `Filter` or `Constraint`, or the exhausted resource, such as `nvidia.com/gpu` or `pods`."""
    nodes: int
    detail: str = ""
    """The taint, label or resource, if there is only one."""
    examples: tuple[str, ...] = ()
    """Names of up to three nodes, for users who may see the whole cluster."""


@dataclass(frozen=True, slots=True)
class FitBlocker:
    """A cause that keeps nodes from the pods of a shape now. A node can have several."""

    label: str
    """Value of `Filter` or `Constraint`, or the exhausted resource, such as `nvidia.com/gpu` or `pods`."""
    detail: str
    """The key of the taint, the topology label or the resource. Empty: the label says all."""
    nodes: int
    """All nodes that it keeps out, also if other causes do, too."""
    only_nodes: int | None = None
    """Nodes that take a pod now but for this cause. None: unknown, because amounts of the nodes are unknown."""
    only_pods: int | None = None
    """Most pods of the shape that `only_nodes` take now. None: it is not computed for this cause."""
    examples: tuple[str, ...] = ()
    """Names of up to three of `only_nodes`, for users who may see the whole cluster."""


@dataclass(frozen=True, slots=True)
class FitRow:
    """Node fit of the pods of one shape, a line of the node-fit table."""

    unit: str
    shape: str
    """Name of the Job or role."""
    waiting: int
    requests: dict[str, str]
    """Requests of one pod, as decimal strings in base units."""
    fits_now: int
    """Number of pods that fit now, if only this shape is placed."""
    fits_empty: int
    """The same without the pods that can leave."""
    nodes: int
    """All nodes of the cluster."""
    open_nodes: int
    """Nodes that can take another pod now."""
    saturated: tuple[FitReason, ...] = ()
    """Full eligible nodes, by exhausted resource."""
    excluded: tuple[FitReason, ...] = ()
    """Nodes that can never host it, by the first filter that excludes each."""
    unsupported: tuple[str, ...] = ()
    """Requirements that the arithmetic ignores, as in `Shape`. The numbers of pods and open nodes are upper bounds."""
    why: str = ""
    """Why no result exists. The numbers have no meaning then."""
    blockers: tuple[FitBlocker, ...] = ()
    """Causes that keep nodes out now, those that keep out most nodes alone first."""
    more_blockers: int = 0
    """Number of further causes, which keep out fewer nodes."""


@dataclass(frozen=True, slots=True)
class NodeRequests:
    """The members of a gang that wait for nodes, for the plan of the cluster."""

    requests: tuple[PlacementRequest, ...]
    """One for each of its units."""
    is_solved_by_capacity: bool
    """Whether they wait for capacity that the arithmetic does not find now, and for nothing else."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a gang with all findings and facts that explain it."""

    finding: Finding
    findings: tuple[Finding, ...]
    """All findings by rank, that of the verdict first."""
    members: Members
    requests: dict[str, str]
    """Quantities as decimal strings in base units, over all desired pods."""
    jobs: tuple[JobState, ...] = ()
    pods: tuple[MemberState, ...] = ()
    groups: tuple[ObjectRef, ...] = ()
    recheck_at: datetime | None = None
    memory: dict[str, UnitMemory] = field(default_factory=dict)
    priority: str = ""
    """Priority class, or the number as text. Empty without a priority, or if pods have different ones."""
    priority_value: int | None = None
    """Highest `spec.priority` of its pods, or None."""
    restarts: int = 0
    max_restarts: int | None = None
    fit: tuple[FitRow, ...] = ()
    """Node fit of the units with waiting members."""
    gang_mode: GangMode | None = None
    """None if its owner creates no Jobs."""
    domains: dict[str, dict[str, str]] = field(default_factory=dict)
    """uid of a group → topology key → domain of its pods."""
    node_requests: NodeRequests | None = None
    """Its members that wait for nodes, or None if none does. It is not stored."""
