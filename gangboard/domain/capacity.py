"""Capacity of nodes and requests for it, as the filters of kube-scheduler see them.

Amounts have two forms. *Base units* are exact decimals (cores, bytes, devices), as decoded from pods.
*Scheduler units* are whole numbers (`Amounts`): millicores for `cpu`, whole bytes or devices for all other
resources. The amount of each pod is rounded up before amounts are added, as `Resource.Add` does in
pkg/scheduler/framework/types.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.pod_constraints import (
    HostPort,
    PodTerm,
    PodTerms,
    Spread,
    Taint,
    Term,
    Toleration,
)
from gangboard.domain.suspension import FieldWriter

Amounts = Mapping[str, int]
"""Resource name → amount in scheduler units."""

PODS = "pods"
"""Resource that limits the number of pods of a node. Every pod takes one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Requirements of a pod on a node. Pods with equal requirements have the same shape."""

    name: str
    """Name in sentences and placements, unique within a gang, such as the name of a child Job."""
    requests: Mapping[str, Decimal] = field(default_factory=dict)
    """Requests of one pod in base units, as the scheduler counts them, without `pods`."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[Term, ...] | None = None
    """Terms of required node affinity, one of which must match, or None without affinity.

    An empty tuple matches no node."""
    tolerations: tuple[Toleration, ...] = ()
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: frozenset[PodTerm] = frozenset()
    """Required anti-affinity of the pod. It shares no node, or value of another node label, with matching pods.

    If a term matches the pod itself, a node or value takes one such pod."""
    matched_terms: frozenset[PodTerm] = frozenset()
    """Anti-affinity terms of its gang and of bound pods that match this pod. Pods with such a term exclude it."""
    pod_affinity: PodTerm | None = None
    """Required affinity to pods on nodes. The node must share the label value of a node with a matching pod.

    The term is in `unsupported` instead if pending members could satisfy it elsewhere."""
    spreads: tuple[Spread, ...] = ()
    """Topology spread constraints, if the gang has one shape and no topology keys. Else they are in `unsupported`.

    Several constraints give an upper bound."""
    unsupported: tuple[str, ...] = ()
    """Other requirements, which can only exclude more nodes, so "does not fit" stays true.

    Examples are volumes, claims, affinity between members, and a malformed request."""
    undecidable: tuple[str, ...] = ()
    """Requirements that could also add nodes or capacity, so no answer is safe.

    An example is an extended resource that a driver serves by dynamic allocation."""

    @property
    def spread(self) -> Spread | None:
        """The topology spread constraint, if it has exactly one."""
        return self.spreads[0] if len(self.spreads) == 1 else None


@dataclass(frozen=True, slots=True)
class Requested:
    """Usage of a node by a set of unfinished pods, including pods nominated to it."""

    amounts: Amounts = field(default_factory=dict)
    """Sum of the requests in scheduler units, without `pods`."""
    pods: int = 0
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: PodTerms = field(default_factory=dict)
    """Anti-affinity terms of these pods, including inexact ones."""
    matched_terms: PodTerms = field(default_factory=dict)
    """Exact terms that match these pods.

    - anti-affinity by host of all pods of the cluster
    - of pods without a node: anti-affinity by other labels unless it is open, affinity, and topology spread"""


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """Node with its allocatable and requested amounts."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    """`spec.unschedulable`. True for a cordoned node."""
    ready: bool = True
    """For display. The scheduler reads the resulting taints instead of the condition."""
    allocatable: Amounts = field(default_factory=dict)
    """Allocatable amounts in scheduler units, including `pods`. A missing resource means the node has none."""
    now: Requested = Requested()
    """Usage by all pods on the node or nominated to it."""
    pinned: Requested = Requested()
    """Usage by pods that cannot leave the node, those of DaemonSets and static pods."""
    unreadable: frozenset[str] = frozenset()
    """Resources with an unknown amount, because a quantity was malformed."""
    withheld: Amounts = field(default_factory=dict)
    """Devices and huge pages in the node's capacity that are not allocatable."""
    lifecycle: tuple[Condition, ...] = ()
    """Conditions of a drain or maintenance, for display. The scheduler ignores them."""
    cordoned_by: FieldWriter | None = None
    tainted_by: FieldWriter | None = None
    """`cordoned_by` and `tainted_by` are those of `Node`."""

    @property
    def is_silent(self) -> bool:
        """Whether it has no `status.allocatable` yet, as a node that has just registered."""
        return not self.allocatable and not self.unreadable


@dataclass(frozen=True, slots=True)
class PodSet:
    """A number of pods with one shape."""

    shape: Shape
    count: int


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """Pending members that must be placed together."""

    pod_sets: tuple[PodSet, ...]
    quorum: int | None = None
    """Members to place at once, which is the group's quorum less its members on nodes, or None for all."""
    topology_keys: tuple[str, ...] = ()
    """Node labels. All members must be on nodes with the same value of each."""
    domain: tuple[str, ...] | None = None
    """Values of these labels on the nodes of placed members, one for each key."""
    owners_text: str = ""
    """Owners of the pods for sentences, such as `2 Jobs`."""

    @property
    def size(self) -> int:
        """Number of pods."""
        return sum(pod_set.count for pod_set in self.pod_sets)

    @property
    def needed(self) -> int:
        """Number of pods to place. A quorum can exceed the number of existing pods."""
        return self.size if self.quorum is None else max(0, self.quorum)


@dataclass(frozen=True, slots=True)
class Termination:
    """Pods of a running gang that terminate without an action, by a known time."""

    at: datetime
    loads: Mapping[str, Requested]
    """Node → usage there."""
    deleted: bool = False
    """True if they are being deleted. False if their deadline, or that of their Job, ends them."""
    replaced: bool = False
    """A controller replaces them, and the new pods may take the capacity. So only their own gang relies on it."""

    @property
    def rounded(self) -> datetime:
        """The time for sentences, rounded up to the minute. The termination is expected until then."""
        return round_up(self.at)

    @property
    def pods(self) -> int:
        """Number of pods."""
        return sum(load.pods for load in self.loads.values())


def round_up(time: datetime) -> datetime:
    """Return the time rounded up to the minute."""
    minute = time.replace(second=0, microsecond=0)
    return minute if minute == time else minute + timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RunningGang:
    """A gang with pods on nodes, or a pod without a gang that is known to terminate."""

    root: str
    """uid of its owner."""
    ref: ObjectRef
    priority: int
    """Highest priority of its pods, or 0 if no pod has one."""
    loads: Mapping[str, Requested]
    """Node → usage of its pods there."""
    is_whole: bool = True
    """Whether all of it runs. False if it has nodes and does not run completely."""
    waits: tuple[PodSet, ...] = ()
    """Pending members without a nominated node, if it does not run completely."""
    by_suspending: Mapping[str, Requested] | None = None
    """Part of `loads` that a suspend frees, or None for all of it.

    It excludes pods that are being deleted and pods of a suspended owner."""
    suspendable: bool = True
    """Whether a suspend lasts. Its owner can be suspended, and no controller, queue or other manager undoes it."""
    oldest_pod_at: datetime | None = None
    """Creation time of its oldest living pod, or None if unknown."""
    terminations: tuple[Termination, ...] = ()
    """Known terminations of pods that no controller replaces, in order of time."""

    @property
    def active_loads(self) -> Mapping[str, Requested]:
        """Node → usage of its pods that are not terminating."""
        return self.loads if self.by_suspending is None else self.by_suspending


def _no_gangs() -> Sequence[RunningGang]:
    return ()


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """All nodes of a cluster with their usage at one moment. Immutable."""

    nodes: tuple[NodeInfo, ...] = ()
    """Nodes ordered by name."""
    why: str = ""
    """Clause that says why the capacity is unknown, such as `nodes: forbidden` or `pods: not read yet`.

    `nodes` is empty then."""
    running_gangs: Callable[[], Sequence[RunningGang]] = field(default=_no_gangs, compare=False)
    """Function that returns the gangs with pods on nodes. It is lazy, because only advice needs them."""
    cache: dict[Hashable, object] = field(default_factory=dict, compare=False, repr=False)
    """Results of placement about these nodes."""
