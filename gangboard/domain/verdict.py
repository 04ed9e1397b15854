"""Findings and verdicts: what a person is told about a gang."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef

NAMED_IN_ADVICE = "named in the advice"
"""Label of evidence that only says whose names the advice has, so that they can be taken out."""

NOT_STARTING = "not starting"
"""Label of a pod on a node with a container that waits for something that does not come by itself."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fact behind a sentence, with the object it was read from."""

    label: str
    value: str
    source: ObjectRef | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule found about one unit of a gang."""

    code: str
    health: Health
    stage: Stage
    title: str
    message: str
    """One sentence with numbers and names."""
    unit: str = ""
    """Name of the group or Job it is about; empty when it is about the whole gang."""
    advice: tuple[AdvisedStep, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    symptom: bool = False
    """It waits for another unit of the same gang, whose own finding is nearer to the cause."""
    recheck_at: datetime | None = None
    """When waiting alone can change this finding."""
    since: datetime | None = None
    """When the state itself says it began; otherwise the time of the first sight is used."""

    @property
    def advice_texts(self) -> tuple[str, ...]:
        """The advice as sentences."""
        return tuple(step.sentence for step in self.advice)


@dataclass(frozen=True, slots=True)
class Members:
    """Counts of the current attempt, as defined in the words of the design."""

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
        """Whether all of them are needed: then the quorum says nothing more."""
        return self.quorum == self.desired


@dataclass(frozen=True, slots=True)
class UnitMemory:
    """What must be remembered of a unit between two assessments, because no object says it."""

    created: int = 0
    created_since: datetime | None = None
    """Since when the number of its pods has not changed."""
    whole_at: datetime | None = None
    """Last time at which its quorum (without one: its size) was ready."""
    reached_size_at: datetime | None = None
    preempted_at: datetime | None = None
    """When its pods were preempted last, unless it came back since: the event is about pods that are
    gone, and is not kept for ever."""
    preempted_by: tuple[ObjectRef, ...] = ()
    """The gangs that took its room then, as far as they are known."""
    recovered_from: datetime | None = None
    """The time, by the scheduler's clock, of the last preemption after which it was whole again."""
    fits_since: datetime | None = None
    """Since when there is room for its members that wait, by arithmetic; None while there is none."""
    whole_count: int | None = None
    """How many members were ready or had succeeded at `whole_at`. What it needs can have grown since:
    a Job that works off a queue asks for more with each pod that is done. None when it is not known."""
    gated_at: datetime | None = None
    """Last time at which a member had a scheduling gate: no object says when the gates went."""
    whole_attempt: datetime | None = None
    """When the attempt began in which it was whole at `whole_at`: what was read then can have been older,
    so a restart can have begun before that. None when it is not known."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """How the pods of a Job are scheduled, and why."""

    mode: str
    """gang, basic, brought-along, opted-out, not-eligible, owned, fallen-back, pod-by-pod, unknown."""
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class GangMode:
    """Which pods of an owner with child Jobs are in one gang: as it is, beside what was asked for."""

    mode: str
    """A `GangForm`, or `unknown`."""
    label: str
    reason: str
    """A sentence with names and numbers."""
    asked: str = ""
    """What its owner asks for, in the words of its kind; empty where it asks for nothing."""
    differs: bool = False
    """It is not what was asked for."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A child Job (or the Job itself) as the Gang page and the API show it."""

    ref: ObjectRef
    generation: int
    part: str
    """Name of its role. Gangs are stored with this name of the field."""
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
    """Who asked for the Hold, as the Hold says."""
    held_reason: str = ""
    held_until: datetime | None = None
    queue: str = ""
    """The queue in which it has an entry of its own; empty where it has none, or that names none."""
    queue_standing: str = ""
    """A `QueueStanding` by that entry; empty where it has none."""


@dataclass(frozen=True, slots=True)
class MemberState:
    """A pod as the member grid shows it."""

    ref: ObjectRef
    job: str
    node: str
    state: Health
    label: str
    """Word for the square: ready, starting, waiting, terminating, succeeded, failed …"""
    reason: str = ""
    group: str = ""
    part: str = ""
    """The role of its owner that it belongs to (a replica), where no Job made it; empty where it has none."""
    since: datetime | None = None
    """Since when it is in this state, by its conditions; None where they do not tell."""
    restarts: int = 0
    """Of all its containers."""
    container: str = ""
    """The one that ended with an error or starts again and again; empty where none did."""
    exit_code: int | None = None
    """With which that container ended last; None where it is not known."""


@dataclass(frozen=True, slots=True)
class FitReason:
    """Some nodes that have no place for a pod of a shape, and why."""

    label: str
    """A word of `Filter`, or what is used up: `nvidia.com/gpu`, `pods`, a word of `Constraint`."""
    nodes: int
    detail: str = ""
    """Which taint, label or resource, when it is one."""
    examples: tuple[str, ...] = ()
    """Names of up to three nodes: only for who may see the whole cluster."""


@dataclass(frozen=True, slots=True)
class FitRow:
    """Where the pods of one shape can go: a line of the node-fit table."""

    unit: str
    shape: str
    """Name of the Job or role."""
    waiting: int
    requests: dict[str, str]
    """What one pod asks for, as decimal strings in base units."""
    fits_now: int
    """Pods of this shape alone that fit now."""
    fits_empty: int
    """The same without the pods that can leave."""
    nodes: int
    """All nodes of the cluster."""
    open_nodes: int
    """Nodes that can take one more now."""
    saturated: tuple[FitReason, ...] = ()
    """Eligible nodes that are full, by what is used up."""
    excluded: tuple[FitReason, ...] = ()
    """Nodes that can never host it, by the first filter that excludes each."""
    unsupported: tuple[str, ...] = ()
    """What one pod asks for besides and was not worked out, as in `Shape`: the numbers of pods and
    of open nodes are at most so many then."""
    why: str = ""
    """Why nothing could be worked out; the numbers mean nothing then."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one verdict of a gang with everything that explains it."""

    finding: Finding
    findings: tuple[Finding, ...]
    """All of them, ranked, the verdict's first."""
    members: Members
    requests: dict[str, str]
    """Quantities as decimal strings in base units, over all desired pods."""
    jobs: tuple[JobState, ...] = ()
    pods: tuple[MemberState, ...] = ()
    groups: tuple[ObjectRef, ...] = ()
    recheck_at: datetime | None = None
    memory: dict[str, UnitMemory] = field(default_factory=dict)
    priority: str = ""
    """Priority class, or the number as text; empty when none, or not the same for all pods."""
    priority_value: int | None = None
    """The highest `spec.priority` of its pods; None when no pod says one."""
    restarts: int = 0
    max_restarts: int | None = None
    fit: tuple[FitRow, ...] = ()
    """Of units whose members wait for a node."""
    gang_mode: GangMode | None = None
    """None where its owner makes no Jobs."""
    domains: dict[str, dict[str, str]] = field(default_factory=dict)
    """uid of a group → topology key → where its pods are."""
