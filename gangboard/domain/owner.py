"""Owners of gangs, such as a JobSet, and their child Jobs, roles and templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from gangboard.domain.objects import Condition, Meta, ObjectRef, first_true_condition
from gangboard.domain.suspension import FieldWriter

MAX_PODS = 10**15
"""Largest number of pods that gangboard stores. Larger numbers are cut.

No cluster has as many pods, and the database can add up this number for thousands of gangs. The product of two
int32 fields can be 4,600 times as much."""


LONGEST_SUBMITTER = 128
"""Characters of a stored submitter, as many as the API server allows for a field manager."""


class SubmitterSource(StrEnum):
    """Origin of the name of a submitter."""

    LABEL = "label"
    """The label that `GANGBOARD_SUBMITTER_LABEL` names. Users can write any value."""
    ANNOTATION = "annotation"
    """The annotation that `GANGBOARD_SUBMITTER_ANNOTATION` names. Users can write any value."""
    MANAGER = "field-manager"
    """The field manager that created the owner: a program such as `kubectl-create`."""


class Outcome(StrEnum):
    """Outcome of a finished owner."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finish:
    """End of an owner, with the texts of its controller."""

    outcome: Outcome
    reason: str = ""
    message: str = ""
    at: datetime | None = None


def finish_by(conditions: tuple[Condition, ...], outcomes: Mapping[str, Outcome]) -> Finish | None:
    """Return the end by the first true terminal condition, or None. `outcomes` is type → outcome."""
    condition = first_true_condition(conditions, *outcomes)
    if condition is None:
        return None
    outcome = outcomes[condition.type]
    return Finish(outcome, condition.reason, condition.message, condition.since)


@dataclass(frozen=True, slots=True)
class Dependency:
    """Dependency of a role on the state of another role (`Ready` or `Complete`)."""

    role: str
    status: str
    origin: str = "dependsOn"
    """Field that declares it, `dependsOn` or `startupPolicy`."""


@dataclass(frozen=True, slots=True)
class PodRequests:
    """Number and resource requests of the pods of one template."""

    count: int
    requests: dict[str, Decimal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Limit the number to `MAX_PODS`."""
        if self.count > MAX_PODS:
            object.__setattr__(self, "count", MAX_PODS)


class LeaderState(StrEnum):
    """State of a role's first pod that the creation of the others requires."""

    PLACED = "placed"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class RequestedSize:
    """Number of pods of a role in the owner's spec, if the object it created can have another number."""

    pods: int
    field: str
    """Field with the number, such as `spec.trainer.numNodes`."""
    why_not: str = ""
    """Known reason why the created object has another number. It is a clause, shown as evidence."""
    advice: tuple[str, ...] = ()
    """Known steps that make the created object follow the spec."""


class GangForm(StrEnum):
    """Requested or observed division of an owner's pods into gangs, if the owner has child Jobs."""

    WHOLE = "whole"
    """One gang of all pods."""
    PER_ROLE = "per-role"
    """One gang for each role."""
    PER_JOB = "per-job"
    CUSTOM = "custom"
    """Any other division, in which some pods may be in no gang."""
    POD_BY_POD = "pod-by-pod"
    """No gang. The scheduler places each pod by itself."""


@dataclass(frozen=True, slots=True)
class GangRequest:
    """Request for gang scheduling in the spec of an object."""

    policy: str
    """`gang` or `basic`."""
    quorum: int | None = None
    derived: bool = False
    """True if the quorum follows from the size, because the spec names none."""
    api: str = ""
    """Grouping API of the request, such as `coscheduling`. Empty for that of Kubernetes."""
    asker: ObjectRef | None = None
    """Object whose spec has the request, if it is not the owner."""
    mark: str = ""
    """Label that assigns the pods to the group in that API. Empty if no label does."""
    form: GangForm | None = None
    """Requested division of the pods into gangs, for an owner with child Jobs."""
    words: str = ""
    """The request in the terms of its kind, with its field. It is a sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class Role:
    """Role of an owner, from which it creates child Jobs, such as a ReplicatedJob of a JobSet.

    In a kind that creates pods without Jobs (`OwnerKind.role_of`) it is a set of pods that form one unit.
    """

    name: str
    replicas: int
    pods: int
    """Desired pods of each replica."""
    requests: dict[str, Decimal] = field(default_factory=dict)
    """Resource requests of one pod."""
    depends_on: tuple[Dependency, ...] = ()
    needs_any: bool = False
    """One met dependency is enough. Otherwise all of them are required."""
    group_name: str = ""
    """PodGroup that the pod template names (brought along), or empty."""
    child_names: tuple[str, ...] = ()
    """Names of its child Jobs, existing or not."""
    ready: int | None = None
    """Child Jobs that the controller counts as ready, or None if its status has no count."""
    succeeded: int | None = None
    noun: str = "Job"
    """Noun before its name in sentences."""
    followers_wait: LeaderState | None = None
    """State of its first pod that the creation of the others requires, or None if it creates all at once."""
    quorum: int | None = None
    """Pods that it needs to work, in a kind that creates pods without Jobs, or None for all."""
    asked: RequestedSize | None = None
    """None if only the role itself has a number of pods."""
    alone: str = ""
    """Sentence that says why its pods are in no gang by design. Empty if they may be in one."""
    gang_request: GangRequest | None = None
    """Gang request for this role, if the owner has one for each role."""


@dataclass(frozen=True, slots=True)
class ReportedCounts:
    """Counts in the status of an owner."""

    up: int
    wanted: int
    noun: str = "pod"
    state: str = "ready"
    """State that `up` counts, `ready` or `running`."""


@dataclass(frozen=True, slots=True)
class SuspendChange:
    """Change of an owner's `spec.suspend` that gangboard observed."""

    suspended: bool
    """The new value."""
    manager: str
    """Field manager that wrote it, or empty. Text from the cluster."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Owner:
    """A JobSet, a Job, or an object of another kind. Its file in `owners/` fills the fields for all rules."""

    meta: Meta
    suspended: bool = False
    """Desired state by its spec. Pods may still exist."""
    suspend_set_by: str = ""
    """Last writer of `spec.suspend` (managedFields), or empty. Text from the cluster."""
    suspend_set_at: datetime | None = None
    """Time of that write by the API server's clock, cut to the second."""
    paused_by: FieldWriter | None = None
    """Last writer of the field that sets its number of pods to 0, such as `spec.parallelism`."""
    desired: int = 0
    """Desired pods, including finished ones."""
    roles: tuple[Role, ...] = ()
    pod_requests: tuple[PodRequests, ...] = ()
    finish: Finish | None = None
    conditions: tuple[Condition, ...] = ()
    restarts: int = 0
    max_restarts: int | None = None
    """None if the owner never restarts, so that its first failed child Job ends it."""
    counted_restarts: int = 0
    """Restarts that count towards `max_restarts`."""
    restarting: bool = False
    """Its controller reports a restart in progress."""
    job_restarts: dict[str, int] = field(default_factory=dict)
    """Restarts of single child Jobs by name."""
    attempt: str = ""
    """Restart attempt of a child Job."""
    role_name: str = ""
    """Role of a child Job in its owner."""
    retries: int = 0
    """Failed pods of a Job so far."""
    max_retries: int | None = None
    """`backoffLimit` of a Job."""
    completions: int | None = None
    parallelism: int | None = None
    indexed: bool = False
    succeeded_pods: int = 0
    failed_pods: int = 0
    failed_indexes: str = ""
    """Indexes that failed for good, such as `1,3-5`, of an Indexed Job with `backoffLimitPerIndex`."""
    failed_index_count: int = 0
    has_success_policy: bool = False
    """A Job can succeed without some of its indexes (`spec.successPolicy`)."""
    active_pods: int | None = None
    terminating_pods: int = 0
    """Pods of a Job that are being deleted, as its status counts them."""
    queue: str = ""
    """Name of its queue in an admission system, or empty."""
    managed_by: str = ""
    """`spec.managedBy`, if it names a controller other than the kind's own."""
    gang_request: GangRequest | None = None
    group_name: str = ""
    """PodGroup that its pod template names (brought along), or empty."""
    priority_class: str = ""
    started_at: datetime | None = None
    resumed_at: datetime | None = None
    ending: str = ""
    """Reason of a condition such as `FailureTarget`, which announces the end while pods still terminate."""
    delegated_template: str = ""
    """Annotation `scheduling.k8s.io/group-template-name` of a child Job."""
    independent_claim: str = ""
    """Annotation or field that requests suspension of single Jobs, as written in the object, or empty.

    An example is `jobset.sigs.k8s.io/reconciliation-mode: Independent`."""
    paused_parallelism: int | None = None
    """Former parallelism of a Job that gangboard paused with 0 (annotation)."""
    template_affinity: str = ""
    """JSON of `affinity` in the pod template of a Job, as served. Empty if it has none."""
    exclusion: str = ""
    """Node requirement that a relocation added to the template of a Job (annotation), or empty."""
    held_by: str = ""
    """Name of the Hold that reverted the last resume of a Job (annotation of the policy)."""
    last_action: str = ""
    """Id of the last action of gangboard on it (annotation)."""
    grace_seconds: int = 30
    """Longest `terminationGracePeriodSeconds` of its pod templates."""
    deadline_seconds: int | None = None
    """`spec.activeDeadlineSeconds` of a Job, whose pods are deleted so long after `started_at`."""
    waits_for_terminating: bool = False
    """A Job that replaces a pod only once the old one is gone (`podReplacementPolicy: Failed`)."""
    reported: ReportedCounts | None = None
    """Counts of a run in another cluster, whose objects are not here. None if its status has no counts."""
    blueprints: tuple[ObjectRef, ...] = ()
    """Blueprints that it names (`OwnerKind.blueprints`), without uids."""
    labels: tuple[tuple[str, str], ...] = ()
    """(key, value) ordered by key."""
    submitter: str = ""
    """Person or program that created it, by `submitter_source`. Empty if unknown. Text from the cluster."""
    submitter_source: SubmitterSource | None = None
    detail: dict[str, str] = field(default_factory=dict)
    """Fields that only its kind uses, by names of that kind."""

    def __post_init__(self) -> None:
        """Limit the size to `MAX_PODS`."""
        if self.desired > MAX_PODS:
            object.__setattr__(self, "desired", MAX_PODS)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """Template that owners of a kind name and follow, such as the runtime of a TrainJob."""

    meta: Meta
    """Metadata. The namespace of a cluster-scoped object is empty."""
    detail: dict[str, str] = field(default_factory=dict)
    """Fields that only the file of the naming kind reads."""
