"""A group: one all-or-nothing unit as a grouping API stores it."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from gangboard.domain.objects import Condition, Meta


class GroupMark(NamedTuple):
    """A label or annotation by which pods name their group, and whose scheduler reads it."""

    key: str
    is_label: bool
    kind: str
    """Kind and API group of what it names, `PodGroup.toys.example`."""
    schedulers: tuple[str, ...] = ()
    """Names of the schedulers that read such groups. Without any, and without `any_name`: all do."""
    any_name: bool = False
    """Who installs that scheduler chooses its name: it reads them under any but those of others and the stock one's."""


class QueueMark(NamedTuple):
    """A label or annotation by which pods name the queue of their scheduler."""

    key: str
    is_label: bool


class Policy(StrEnum):
    """How the members of a group are placed."""

    GANG = "gang"
    BASIC = "basic"
    UNKNOWN = "unknown"
    """A union member that this release does not know: said, not guessed."""


@dataclass(frozen=True, slots=True)
class WorkloadEntry:
    """A group of Kubernetes 1.35, which has no object: an entry of a Workload, for one replica.

    Pods say it in `spec.workloadRef`. Each replica key that they give makes a group of its own.
    """

    workload: str
    pod_group: str
    replica: str = ""

    @property
    def name(self) -> str:
        """`run/workers`, with a replica key `run/workers/0`: no Kubernetes name has a slash."""
        return "/".join((self.workload, self.pod_group, *((self.replica,) if self.replica else ())))

    def __str__(self) -> str:
        """Return it as a sentence calls it: `podGroup workers of Workload run`."""
        replica = f"replica {self.replica} of " if self.replica else ""
        return f"{replica}podGroup {self.pod_group} of Workload {self.workload}"


def read_entry(group_name: str) -> WorkloadEntry | None:
    """Return the entry of a Workload that a group's name means; None for the name of a PodGroup."""
    if "/" not in group_name:
        return None
    workload, pod_group, *replica = group_name.split("/", 2)
    return WorkloadEntry(workload, pod_group, *replica)


def label_of_group(group_name: str) -> str:
    """Return how a sentence calls a group by the name that pods give: `PodGroup ring`.

    On 1.35 `podGroup workers of Workload run`.
    """
    entry = read_entry(group_name)
    return f"PodGroup {group_name}" if entry is None else str(entry)


@dataclass(frozen=True, slots=True)
class GroupTemplate:
    """One template of a Workload; on 1.35 one entry of its `podGroups`."""

    name: str
    policy: Policy
    quorum: int | None = None
    topology_keys: tuple[str, ...] = ()
    composite: bool = False
    members: tuple[str, ...] = ()
    """Names of the pods that it lists, where a group lists its pods."""


@dataclass(frozen=True, slots=True)
class GroupClaim:
    """A device claim that all pods of a group share."""

    name: str
    """How the pods name it."""
    claim: str = ""
    """The ResourceClaim that it is; empty while none was made of the template."""
    template: str = ""
    """The ResourceClaimTemplate that it is made of, or empty."""


@dataclass(frozen=True, slots=True)
class Group:
    """A Workload, PodGroup or CompositePodGroup (or what another grouping API has for them)."""

    meta: Meta
    policy: Policy = Policy.UNKNOWN
    quorum: int | None = None
    """`gang.minCount`; for a CompositePodGroup `minGroupCount`. The group's own, not the template's."""
    workload_name: str = ""
    template_name: str = ""
    parent_name: str = ""
    """`spec.parentCompositePodGroupName`."""
    topology_keys: tuple[str, ...] = ()
    priority: int | None = None
    preempts: bool = True
    """False with `preemptionPolicy: Never`: its scheduler takes nobody away for it."""
    disruption_mode: str = ""
    claims: tuple[GroupClaim, ...] = ()
    conditions: tuple[Condition, ...] = ()
    placed: Condition | None = None
    """The condition that tells whether the scheduler placed it, whatever its name in this version."""
    templates: tuple[GroupTemplate, ...] = ()
    """Those of a Workload."""
    controller_ref: tuple[str, str, str] | None = None
    """(API group, kind, name) of `spec.controllerRef` of a Workload."""
    policy_text: str = ""
    """The union members as served when the policy is unknown."""
    requests: dict[str, Decimal] = field(default_factory=dict)
    """What its scheduler has to find for the quorum, in base units, where it says so."""
    queue: str = ""
    """The queue of its scheduler that it waits in, or empty."""
    priority_class: str = ""
    """The PriorityClass by which its scheduler ranks it, where the group names it; its value is not read."""
    part_label: str = ""
    """Label of pods whose value is the name of their template: a task, a subgroup. Empty where none is told apart."""
    detail: dict[str, str] = field(default_factory=dict)
    """What only its API has and reads, by names of that API."""
    entry: WorkloadEntry | None = None
    """The entry that is a group of 1.35. It has no object of its own: `meta` is that of its Workload."""

    @property
    def name(self) -> str:
        """How pods name it."""
        return self.entry.name if self.entry is not None else self.meta.ref.name
