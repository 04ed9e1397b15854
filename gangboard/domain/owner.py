"""An owner: an object a person makes and that stands for a gang, or one of its child Jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from gangboard.domain.objects import Condition, Meta, ObjectRef, first_true_condition
from gangboard.domain.suspension import FieldWriter

MAX_PODS = 10**15
"""The largest number of pods that is kept and counted: more than any cluster can have, and a number that
the store can keep and add up for thousands of gangs. Two int32 fields multiplied can be 4,600 times as much."""


class Outcome(StrEnum):
    """How a finished owner ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an owner, in its controller's own words."""

    outcome: Outcome
    reason: str = ""
    message: str = ""
    at: datetime | None = None


def finish_by(conditions: tuple[Condition, ...], ends: Mapping[str, Outcome]) -> Finish | None:
    """Return the end that the first of these terminal conditions tells, or None: type → outcome."""
    found = first_true_condition(conditions, *ends)
    if found is None:
        return None
    return Finish(ends[found.type], found.reason, found.message, found.since)


@dataclass(frozen=True, slots=True)
class Dependency:
    """A role waits for another role to reach a state (`Ready` or `Complete`)."""

    role: str
    status: str
    origin: str = "dependsOn"
    """`dependsOn` or `startupPolicy`: whose words the sentence uses."""


@dataclass(frozen=True, slots=True)
class PodRequests:
    """Pods made from one template: how many, and what each of them asks for."""

    count: int
    requests: dict[str, Decimal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Cut the number to `MAX_PODS`."""
        if self.count > MAX_PODS:
            object.__setattr__(self, "count", MAX_PODS)


class LeaderState(StrEnum):
    """What the first pod of a role must be before the others are made."""

    PLACED = "placed"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class RequestedSize:
    """How many pods of a role the owner's own spec asks for, where what it made for it can have others."""

    pods: int
    field: str
    """Where it is said: `spec.trainer.numNodes`."""
    why_not: str = ""
    """Why what it made does not follow it, where that is known: a clause, shown as evidence."""
    advice: tuple[str, ...] = ()
    """What makes it follow, where that is known."""


class GangForm(StrEnum):
    """Which pods of an owner with child Jobs are in one gang: asked for, or as it is."""

    WHOLE = "whole"
    """All of them."""
    PER_ROLE = "per-role"
    """Those of each role."""
    PER_JOB = "per-job"
    CUSTOM = "custom"
    """Others, or some of them in none."""
    POD_BY_POD = "pod-by-pod"
    """None: they are scheduled one by one."""


@dataclass(frozen=True, slots=True)
class GangRequest:
    """What an object asks of the scheduler as a group, in its own spec."""

    policy: str
    """`gang` or `basic`."""
    quorum: int | None = None
    derived: bool = False
    """Its spec names no quorum: this is what follows from its size."""
    api: str = ""
    """The grouping API by which it asks, where that is not Kubernetes' own: `coscheduling`."""
    asker: ObjectRef | None = None
    """The object in whose spec that is said, where it is not the owner's own."""
    mark: str = ""
    """Label by which its pods are told to that API; empty where no label tells."""
    form: GangForm | None = None
    """Of an owner with child Jobs: which of its pods it wants together; None where that is not said."""
    words: str = ""
    """The same in the words of its kind, with where it is said: a sentence without its end."""


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of child Job that the owner makes: a ReplicatedJob of a JobSet.

    Of a kind that makes pods without Jobs (`OwnerKind.role_of`): a set of pods that are one unit.
    """

    name: str
    replicas: int
    pods: int
    """Desired pods of each replica."""
    requests: dict[str, Decimal] = field(default_factory=dict)
    """What one of its pods asks for."""
    depends_on: tuple[Dependency, ...] = ()
    group_name: str = ""
    """PodGroup that the pod template names (brought along), or empty."""
    child_names: tuple[str, ...] = ()
    """The names its child Jobs have or will have."""
    ready: int | None = None
    """Child Jobs that the controller counts as ready; None when it does not say."""
    succeeded: int | None = None
    noun: str = "Job"
    """What stands before its name in a sentence."""
    followers_wait: LeaderState | None = None
    """What its first pod must be before the others are made; None where all are made at once."""
    quorum: int | None = None
    """Of a kind that makes pods without Jobs: the pods without which it is of no use. None for all."""
    asked: RequestedSize | None = None
    """None where nothing but the role itself says how many pods it has."""
    alone: str = ""
    """Why its pods are in no gang by design: a sentence. Empty where they may be in one."""
    gang_request: GangRequest | None = None
    """What the owner asks of the scheduler for this role, where it asks for its roles apart."""


@dataclass(frozen=True, slots=True)
class ReportedCounts:
    """How many parts of an owner are up, by its own status."""

    up: int
    wanted: int
    noun: str = "pod"
    state: str = "ready"
    """What `up` means in that status: `ready` or `running`."""


@dataclass(frozen=True, slots=True)
class SuspendChange:
    """One change of `spec.suspend` of an owner, as it was watched."""

    suspended: bool
    """What it was changed to."""
    manager: str
    """Field manager that did it, or empty: text of the cluster."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Owner:
    """A JobSet, Job, …: filled by its file in `owners/`, read by every rule alike."""

    meta: Meta
    suspended: bool = False
    """What its spec asks for, not what has been reached."""
    suspend_set_by: str = ""
    """Field manager that wrote `spec.suspend` last (managedFields), or empty: text of the cluster."""
    suspend_set_at: datetime | None = None
    """When it did so, by the API server's clock, cut to the second."""
    paused_by: FieldWriter | None = None
    """For a Job with parallelism 0: the last writer of `spec.parallelism`."""
    desired: int = 0
    """Pods it asks for, finished ones included."""
    roles: tuple[Role, ...] = ()
    pod_requests: tuple[PodRequests, ...] = ()
    finish: Finish | None = None
    conditions: tuple[Condition, ...] = ()
    restarts: int = 0
    max_restarts: int | None = None
    """None when the owner does not restart at all: its first failed child Job ends it."""
    counted_restarts: int = 0
    """Those restarts that count towards `max_restarts`."""
    restarting: bool = False
    """Its controller says that a restart is under way."""
    job_restarts: dict[str, int] = field(default_factory=dict)
    """Restarts of single child Jobs by child name."""
    attempt: str = ""
    """For a child Job: the restart attempt that it belongs to."""
    role_name: str = ""
    """For a child Job: the role of its owner that it was made from."""
    retries: int = 0
    """For a Job: failed pods so far."""
    max_retries: int | None = None
    """For a Job: `backoffLimit`."""
    completions: int | None = None
    parallelism: int | None = None
    indexed: bool = False
    succeeded_pods: int = 0
    failed_pods: int = 0
    failed_indexes: str = ""
    """For an Indexed Job with `backoffLimitPerIndex`: those that failed for good, such as `1,3-5`."""
    failed_index_count: int = 0
    has_success_policy: bool = False
    """For a Job: it can succeed without some of its indexes (`spec.successPolicy`)."""
    active_pods: int | None = None
    queue: str = ""
    """Name of the queue of an admission system that holds it, or empty."""
    managed_by: str = ""
    """`spec.managedBy` when it names a controller other than the kind's own."""
    gang_request: GangRequest | None = None
    group_name: str = ""
    """PodGroup that its pod template names (brought along), or empty."""
    priority_class: str = ""
    started_at: datetime | None = None
    resumed_at: datetime | None = None
    ending: str = ""
    """Reason of a condition such as `FailureTarget` that announces the end before pods are gone."""
    delegated_template: str = ""
    """Annotation `scheduling.k8s.io/group-template-name` of a child Job."""
    independent_claim: str = ""
    """The annotation or field by which it asks that its Jobs be suspended one by one, as it is written
    there (`jobset.sigs.k8s.io/reconciliation-mode: Independent`), or empty."""
    paused_parallelism: int | None = None
    """For a Job: the parallelism that was kept when gangboard set it to 0 (annotation)."""
    held_by: str = ""
    """For a Job: name of the Hold that turned its last resume back (annotation of the policy)."""
    last_action: str = ""
    """Id of the action of gangboard that changed it last (annotation)."""
    grace_seconds: int = 30
    """Longest `terminationGracePeriodSeconds` of its pod templates."""
    deadline_seconds: int | None = None
    """For a Job: `spec.activeDeadlineSeconds`: its pods are deleted that long after `started_at`."""
    reported: ReportedCounts | None = None
    """Its status in numbers, for a run in another cluster: that run's objects are not here. None if the status
    has none."""
    blueprints: tuple[ObjectRef, ...] = ()
    """Objects that it names and is made by (`OwnerKind.blueprints`), without their uids."""
    labels: tuple[tuple[str, str], ...] = ()
    """(key, value) by key."""
    submitter: str = ""
    """Field manager that made it, such as `kubectl-create`; empty if its managed fields do not tell."""
    detail: dict[str, str] = field(default_factory=dict)
    """What only its kind has and reads, by names of that kind."""

    def __post_init__(self) -> None:
        """Cut the size to `MAX_PODS`."""
        if self.desired > MAX_PODS:
            object.__setattr__(self, "desired", MAX_PODS)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What is kept of one. Only the file of the kind that names it reads `detail`."""

    meta: Meta
    """Of an object of the whole cluster the namespace is empty."""
    detail: dict[str, str] = field(default_factory=dict)
