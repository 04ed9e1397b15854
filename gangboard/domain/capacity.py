"""Room on nodes and requests for it, as the filters of kube-scheduler see them.

Amounts come in two forms. *Base units* are exact decimals (cores, bytes, devices), as pods are
decoded. *Scheduler units* are whole numbers (`Amounts`): thousandths of a core for `cpu`, whole
bytes or devices for everything else. Each pod is rounded up by itself before anything is added,
as `Resource.Add` does in pkg/scheduler/framework/types.go.
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
"""The resource of which every pod takes one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Requirements of one pod on a node. Pods with the same requirements are one shape."""

    name: str
    """For sentences and for the witness, unique within a gang, such as the name of a child Job."""
    requests: Mapping[str, Decimal] = field(default_factory=dict)
    """In base units, as the scheduler counts one pod; the pod itself (`pods`) is not in it."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[Term, ...] | None = None
    """Required node affinity, any of the terms; None when it has none. No term matches no node."""
    tolerations: tuple[Toleration, ...] = ()
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: frozenset[PodTerm] = frozenset()
    """Required anti-affinity that it has: it shares no node, or no value of another label of nodes,
    with pods that match. Where it matches itself, a node or value takes one only."""
    matched_terms: frozenset[PodTerm] = frozenset()
    """Terms of anti-affinity that it matches, of its gang and of pods with a node: pods that have one of
    them keep it away."""
    pod_affinity: PodTerm | None = None
    """Required affinity to pods on nodes: the node must have the label with the value of a node with such a pod.
    It is in `unsupported` instead if members without a node could be such pods elsewhere."""
    spreads: tuple[Spread, ...] = ()
    """Set only for the one shape of a gang without topology keys, else they are in `unsupported`. Several
    constraints give an upper bound."""
    unsupported: tuple[str, ...] = ()
    """Other requirements, which only exclude more nodes, so that "does not fit" stays true: volumes, claims,
    affinity to each other, a request that could not be read."""
    undecidable: tuple[str, ...] = ()
    """Requirements that could also add nodes or room, so that no answer is safe. Example: an extended
    resource that a driver serves by dynamic allocation."""

    @property
    def spread(self) -> Spread | None:
        """Its topology spread constraint, if it is the only one."""
        return self.spreads[0] if len(self.spreads) == 1 else None


@dataclass(frozen=True, slots=True)
class Requested:
    """Usage of a set of unfinished pods on their node, nominated ones included."""

    amounts: Amounts = field(default_factory=dict)
    """Sum over the pods, each in scheduler units. `pods` is not in it."""
    pods: int = 0
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: PodTerms = field(default_factory=dict)
    """The terms of anti-affinity that these have, those that are not exact included."""
    matched_terms: PodTerms = field(default_factory=dict)
    """The exact terms that these match: anti-affinity by host of all pods of the cluster; of pods
    without a node also that by other labels unless it is open, affinity, and topology spread."""


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One node with its allocatable and requested amounts."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    """`spec.unschedulable`: cordoned."""
    ready: bool = True
    """For people. The scheduler reads the taints that follow from it, not the condition."""
    allocatable: Amounts = field(default_factory=dict)
    """In scheduler units, `pods` included; a resource that is not in it is not there."""
    now: Requested = Requested()
    """Everything that is on the node or nominated to it."""
    pinned: Requested = Requested()
    """The part of `now` that cannot leave: pods of DaemonSets and static pods."""
    unreadable: frozenset[str] = frozenset()
    """Resources whose amount here is not known, since some quantity was malformed."""
    withheld: Amounts = field(default_factory=dict)
    """Devices and huge pages that the node has and pods cannot get: capacity without allocatable."""
    lifecycle: tuple[Condition, ...] = ()
    """Conditions that an admin drains the node or works on it, for people. The scheduler reads none of them."""
    cordoned_by: FieldWriter | None = None
    tainted_by: FieldWriter | None = None
    """As `Node` has them."""

    @property
    def is_silent(self) -> bool:
        """Whether it has no `status.allocatable` yet, like nodes that have just registered."""
        return not self.allocatable and not self.unreadable


@dataclass(frozen=True, slots=True)
class PodSet:
    """So many pods of one shape."""

    shape: Shape
    count: int


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """The members that still want a node, to be placed together."""

    pod_sets: tuple[PodSet, ...]
    quorum: int | None = None
    """How many must be placed at once: the group's quorum without members that have a node. None: all of
    them."""
    topology_keys: tuple[str, ...] = ()
    """All members must be on nodes with the same value of each of these labels."""
    domain: tuple[str, ...] | None = None
    """The values that members with a node have already chosen, one for each key."""
    whose: str = ""
    """Whose pods they are where a sentence has to say so: `2 Jobs`."""

    @property
    def size(self) -> int:
        """How many pods it has."""
        return sum(pod_set.count for pod_set in self.pod_sets)

    @property
    def needed(self) -> int:
        """How many of them must be placed: the quorum, which may be more than there are."""
        return self.size if self.quorum is None else max(0, self.quorum)


@dataclass(frozen=True, slots=True)
class Termination:
    """Pods of a running gang that terminate by themselves, at a known time at the latest."""

    at: datetime
    loads: Mapping[str, Requested]
    """Node → usage there."""
    deleted: bool = False
    """They are being deleted; else their deadline, or that of their Job, comes."""
    replaced: bool = False
    """Others are made in their place, which may take the room: only their own gang counts on it."""

    @property
    def rounded(self) -> datetime:
        """The time that a sentence names: rounded up to the minute. It is believed until then."""
        return round_up(self.at)

    @property
    def pods(self) -> int:
        """How many they are."""
        return sum(load.pods for load in self.loads.values())


def round_up(at: datetime) -> datetime:
    """Return a time, rounded up to the minute."""
    minute = at.replace(second=0, microsecond=0)
    return minute if minute == at else minute + timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RunningGang:
    """A gang that holds room on nodes, or a pod without a gang that is known to terminate."""

    root: str
    """uid of its owner."""
    ref: ObjectRef
    priority: int
    """The highest of its pods; 0 where none has one."""
    loads: Mapping[str, Requested]
    """Node → usage of its pods there."""
    whole: bool = True
    """Whether all of it runs; False when it holds room without being whole."""
    waits: tuple[PodSet, ...] = ()
    """The members of one that is not whole that have no node and none kept for them."""
    by_suspending: Mapping[str, Requested] | None = None
    """The part of `loads` that only a suspend frees, without pods that are being deleted or whose owner is
    suspended already. None: all of it."""
    suspendable: bool = True
    """A suspend of it stays: it has an owner that can be suspended, and no controller, queue or
    other manager that would undo it."""
    began: datetime | None = None
    """Creation time of its oldest living pod, or None if unknown."""
    terminations: tuple[Termination, ...] = ()
    """Known terminations of its pods that are not replaced, in order of time."""

    @property
    def kept(self) -> Mapping[str, Requested]:
        """Node → usage of its pods that do not terminate already."""
        return self.loads if self.by_suspending is None else self.by_suspending


def _nobody() -> Sequence[RunningGang]:
    return ()


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """All nodes of a cluster with their pods at one moment. Immutable."""

    nodes: tuple[NodeInfo, ...] = ()
    """In the order of their names."""
    why: str = ""
    """Why capacity is unknown, as a clause such as `nodes: forbidden` or `pods: not read yet`. `nodes` is
    empty then."""
    running_gangs: Callable[[], Sequence[RunningGang]] = field(default=_nobody, compare=False)
    """The gangs that hold room, worked out when asked: only advice needs them."""
    cache: dict[Hashable, object] = field(default_factory=dict, compare=False, repr=False)
    """Results of placement about these nodes."""
