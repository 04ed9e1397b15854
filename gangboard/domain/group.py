"""Groups, the all-or-nothing units of grouping APIs, and how pods name them."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from gangboard.domain.objects import Condition, Meta


class GroupMark(NamedTuple):
    """Label or annotation with which pods name their group, and the schedulers that read it."""

    key: str
    is_label: bool
    kind: str
    """Kind and API group of the group, such as `PodGroup.toys.example`."""
    schedulers: tuple[str, ...] = ()
    """Names of the schedulers that read such groups. If it is empty and `any_name` is false, all schedulers do."""
    any_name: bool = False
    """The installer chooses the scheduler's name. Any name except the default and those of other marks counts."""


class QueueMark(NamedTuple):
    """Label or annotation with which pods name the queue of their scheduler."""

    key: str
    is_label: bool


class Policy(StrEnum):
    """Scheduling policy of a group."""

    GANG = "gang"
    BASIC = "basic"
    UNKNOWN = "unknown"
    """A union member that this release does not know. Pages show it as served."""


@dataclass(frozen=True, slots=True)
class WorkloadEntry:
    """Group of Kubernetes 1.35, which is an entry of a Workload for one replica and has no object.

    Pods name it in `spec.workloadRef`. Each replica key in these references is a group of its own.
    """

    workload: str
    pod_group: str
    replica: str = ""

    @property
    def name(self) -> str:
        """`run/workers`, or `run/workers/0` with a replica key. Names in Kubernetes have no slash."""
        return "/".join((self.workload, self.pod_group, *((self.replica,) if self.replica else ())))

    def __str__(self) -> str:
        """Return its name in sentences, such as `podGroup workers of Workload run`."""
        replica = f"replica {self.replica} of " if self.replica else ""
        return f"{replica}podGroup {self.pod_group} of Workload {self.workload}"


def read_entry(group_name: str) -> WorkloadEntry | None:
    """Parse the group name of a Workload entry. Returns None for the name of a PodGroup."""
    if "/" not in group_name:
        return None
    workload, pod_group, *replica = group_name.split("/", 2)
    return WorkloadEntry(workload, pod_group, *replica)


def label_of_group(group_name: str) -> str:
    """Return the group that pods name as text: `PodGroup ring`, or on 1.35 `podGroup workers of Workload run`."""
    entry = read_entry(group_name)
    return f"PodGroup {group_name}" if entry is None else str(entry)


@dataclass(frozen=True, slots=True)
class GroupFate:
    """What happens to a group when the object that owns it is suspended."""

    is_kept: bool
    """False: it is deleted, and its controller creates another when the object is resumed."""
    design: str = ""
    """The design that says so, such as `KEP-1`, if we did not observe it. Empty: we did."""
    same_name: bool = False
    """The next group has the name of the deleted one."""


@dataclass(frozen=True, slots=True)
class GroupTemplate:
    """Template of a Workload. On 1.35 it is an entry of its `podGroups`."""

    name: str
    policy: Policy
    quorum: int | None = None
    topology_keys: tuple[str, ...] = ()
    composite: bool = False
    members: tuple[str, ...] = ()
    """Names of its pods, if the group lists them."""


@dataclass(frozen=True, slots=True)
class GroupClaim:
    """Device claim that all pods of a group share."""

    name: str
    """Name of the claim in the pods."""
    claim: str = ""
    """Name of the ResourceClaim. Empty while none has been created from the template."""
    template: str = ""
    """Name of the ResourceClaimTemplate, or empty."""


@dataclass(frozen=True, slots=True)
class Group:
    """A Workload, PodGroup or CompositePodGroup, or its equivalent in another grouping API."""

    meta: Meta
    policy: Policy = Policy.UNKNOWN
    quorum: int | None = None
    """`gang.minCount` of the group itself, or `minGroupCount` of a CompositePodGroup."""
    workload_name: str = ""
    template_name: str = ""
    parent_name: str = ""
    """`spec.parentCompositePodGroupName`."""
    topology_keys: tuple[str, ...] = ()
    priority: int | None = None
    preempts: bool = True
    """False with `preemptionPolicy: Never`, so the scheduler preempts no pods for it."""
    disruption_mode: str = ""
    claims: tuple[GroupClaim, ...] = ()
    conditions: tuple[Condition, ...] = ()
    placed: Condition | None = None
    """Condition for a placed group, whose type depends on the API version."""
    templates: tuple[GroupTemplate, ...] = ()
    """Templates of a Workload."""
    controller_ref: tuple[str, str, str] | None = None
    """(API group, kind, name) of `spec.controllerRef` of a Workload."""
    policy_text: str = ""
    """Union members as served, if the policy is unknown."""
    requests: dict[str, Decimal] = field(default_factory=dict)
    """Total requests of the quorum in base units, if the group declares them."""
    queue: str = ""
    """Queue of its scheduler, or empty."""
    priority_class: str = ""
    """PriorityClass that the group names. Its value is not read."""
    part_label: str = ""
    """Pod label with the name of the pod's template, such as a task or a subgroup. Empty without templates."""
    detail: dict[str, str] = field(default_factory=dict)
    """Fields that only its grouping API uses, by their names there."""
    entry: WorkloadEntry | None = None
    """Entry that is a group of 1.35. `meta` is the metadata of its Workload, because the entry has no object."""

    @property
    def name(self) -> str:
        """Name of the group in pods."""
        return self.entry.name if self.entry is not None else self.meta.ref.name
