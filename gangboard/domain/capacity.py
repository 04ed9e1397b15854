"""What pods ask for and what nodes have, as the filters of kube-scheduler see them.

Amounts come in two forms. *Base units* are exact decimals (cores, bytes, devices), as pods are
decoded. *Scheduler units* are whole numbers (`Amounts`): thousandths of a core for `cpu`, whole
bytes or devices for everything else; each pod is rounded up by itself before anything is added,
as `Resource.Add` does in pkg/scheduler/framework/types.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from gangboard.domain.objects import Condition, ObjectRef

Amounts = Mapping[str, int]
"""Resource name → amount in scheduler units."""

PODS = "pods"
"""The resource of which every pod takes one."""
HOSTNAME = "kubernetes.io/hostname"
SPREAD = "spread constraints"
"""What is said of topology spread where it is not worked out."""
ANTI_AFFINITY = "pod anti-affinity"
"""What is said of required anti-affinity between pods where it is not worked out."""
AFFINITY = "pod affinity"
"""What is said of required affinity to other pods where it is not worked out."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)


class Effect(StrEnum):
    """What a taint does that keeps away pods that do not tolerate it (`PreferNoSchedule` does not)."""

    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """One entry of a node's `spec.taints`; an effect that is not known is kept as served."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class Toleration:
    """One entry of a pod's `spec.tolerations`. An empty key or effect matches every one."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One entry of `matchExpressions` or `matchFields`, of a node or of pods."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, value: str | None) -> bool:
        """Match a label, None where it is absent, as labels.Requirement does: NotIn also then."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
        return False

    def _compares(self, text: str | None) -> bool:
        """Compare as 64-bit integers; what is not one matches nothing."""
        value = _integer(text)
        bound = _integer(self.values[0]) if len(self.values) == 1 else None
        if value is None or bound is None:
            return False
        return value > bound if self.operator == "Gt" else value < bound


def _integer(text: str | None) -> int | None:
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which pods a rule of a pod is about. The name is all of it.

    A required term of anti-affinity keeps them away, a topology spread constraint counts them.
    """

    name: str
    """Such as `team-a/app=train`: terms that say the same the same way have the same name."""
    namespaces: frozenset[str] | None = field(default=None, compare=False)
    """None stands for every namespace."""
    selector: tuple[Requirement, ...] = field(default=(), compare=False)
    is_exact: bool = field(default=True, compare=False)
    """About just the pods that it matches. Of any other it is only known that it is about none but
    those that it matches."""
    topology_key: str = field(default=HOSTNAME, compare=False)
    """Of affinity and anti-affinity: the label of nodes whose values are the places to share or not."""
    is_count: bool = field(default=False, compare=False)
    """Whether it belongs to a topology spread constraint, for which pods count once they are bound and
    while nobody deletes them."""

    @property
    def is_by_host(self) -> bool:
        """Whether it is about pods on the same node."""
        return self.topology_key == HOSTNAME

    @property
    def is_open(self) -> bool:
        """Whether it names no value of a label, and goes by another label of nodes than the host's name.

        Each of hundreds of Jobs of JobSets has one such of its own about the pods of all others: who
        matches whom would be as many as there are pods, times the terms. It is not kept.
        """
        return not self.is_by_host and not any(one.operator == "In" for one in self.selector)

    @property
    def of_nominated(self) -> PodTerm:
        """The same of pods that are nominated to a node, and may come to count there."""
        return replace(self, name=f"{self.name} and nominated")

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it is about a pod of that namespace with these labels."""
        return (self.namespaces is None or namespace in self.namespaces) and all(
            entry.matches(labels.get(entry.key)) for entry in self.selector
        )


PodTerms = Mapping[PodTerm, int]
"""Term → of how many pods."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of anti-affinity that some pods have, and those that some match."""

    anti_affinity: frozenset[PodTerm] = frozenset()
    matched_terms: frozenset[PodTerm] = frozenset()


@dataclass(frozen=True, slots=True)
class Spread:
    """A hard topology spread constraint (`whenUnsatisfiable: DoNotSchedule`)."""

    topology_key: str
    counted: PodTerm
    """The pods that count: those of the pod's namespace that match the selector."""
    max_skew: int = 1
    min_domains: int = 1
    honours_affinity: bool = True
    """Nodes that node selector and required node affinity exclude are no part of any domain."""
    honours_taints: bool = False
    """Nor are nodes with taints that the pod does not tolerate."""
    counts_itself: bool = True
    """The pod is one of those that count."""


@dataclass(frozen=True, slots=True)
class Term:
    """One of the `nodeSelectorTerms`: all of it must match. A term with nothing in it matches no node."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod takes. An empty address is every address of the node."""

    port: int
    protocol: str = "TCP"
    address: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a pod asks of a node besides amounts, as decoded. Hashable: equal ones are one shape."""

    node_selector: tuple[tuple[str, str], ...] = ()
    """(label, value), in order."""
    affinity: tuple[Term, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: tuple[PodTerm, ...] = ()
    """Its required terms, by name; other pods are subject to those that are not exact, too."""
    pod_affinity: PodTerm | None = None
    """Required affinity to pods, by one label of nodes. None where it has none, or what is
    `unsupported`."""
    spreads: tuple[Spread, ...] = ()
    """All its constraints, without `counts_itself`. Empty when it has none, or what is `unsupported`."""
    spread_keys: tuple[str, ...] = ()
    """The labels of nodes by which hard topology spread constraints go, worked out or not."""
    unsupported: tuple[str, ...] = ()
    undecidable: tuple[str, ...] = ()
    """All others as in `Shape`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one pod asks of a node; pods that ask the same are one shape."""

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
    """Required affinity to pods that are there: its nodes have the label, and the value of a node with
    such a pod. Else it is in `unsupported`: where members without a node could be such pods elsewhere."""
    spreads: tuple[Spread, ...] = ()
    """Only of the one shape of a gang without topology keys; else they are in `unsupported`. Of several
    it is worked out how many pods fit at most."""
    unsupported: tuple[str, ...] = ()
    """What it asks for besides and what can only take nodes away (volumes, claims, affinity to each
    other, a request that could not be read): "does not fit" stays true."""
    undecidable: tuple[str, ...] = ()
    """What could also add nodes or room, such as an extended resource that a driver serves by
    dynamic allocation: no answer is safe."""

    @property
    def spread(self) -> Spread | None:
        """Its topology spread constraint, if it is the only one."""
        return self.spreads[0] if len(self.spreads) == 1 else None


@dataclass(frozen=True, slots=True)
class Load:
    """What a set of pods takes from its node: those that are not finished, nominated ones included."""

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
class NodeRoom:
    """One node with what it offers and what is taken."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    """`spec.unschedulable`: cordoned."""
    ready: bool = True
    """For people. The scheduler reads the taints that follow from it, not the condition."""
    allocatable: Amounts = field(default_factory=dict)
    """In scheduler units, `pods` included; a resource that is not in it is not there."""
    now: Load = Load()
    """Everything that is on the node or nominated to it."""
    staying: Load = Load()
    """The part of `now` that cannot leave: pods of DaemonSets and static pods."""
    unreadable: frozenset[str] = frozenset()
    """Resources whose amount here is not known, since some quantity was malformed."""
    withheld: Amounts = field(default_factory=dict)
    """Devices and huge pages that the node has and pods cannot get: capacity without allocatable."""
    lifecycle: tuple[Condition, ...] = ()
    """For people, too: an admin drains it or works on it. The scheduler reads none of these conditions."""

    @property
    def is_silent(self) -> bool:
        """Whether it has not said what it offers, as nodes have not that have just registered."""
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
    """How many of these must be placed at once: the group's quorum less what holds a node already.
    None when all of them must."""
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
class Ending:
    """Pods of a resident that are gone by themselves, at a known time at the latest."""

    at: datetime
    loads: Mapping[str, Load]
    """Node → what they take there."""
    deleted: bool = False
    """They are being deleted; else their deadline, or that of their Job, comes."""
    replaced: bool = False
    """Others are made in their place, which may take the room: only their own gang counts on it."""

    @property
    def told(self) -> datetime:
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
class Resident:
    """A gang that holds room on nodes, or a pod of nobody that is known to end."""

    root: str
    """uid of its owner."""
    ref: ObjectRef
    priority: int
    """The highest of its pods; 0 where none has one."""
    loads: Mapping[str, Load]
    """Node → what its pods take there."""
    whole: bool = True
    """Whether all of it runs; False when it holds room without being whole."""
    waits: tuple[PodSet, ...] = ()
    """The members of one that is not whole that have no node and none kept for them."""
    by_suspending: Mapping[str, Load] | None = None
    """What of `loads` goes only once somebody suspends it: nothing of pods that are being deleted or
    whose owner is suspended already. None when that is all of it."""
    suspendable: bool = True
    """A suspend of it stays: it has an owner that can be suspended, and no controller, queue or
    other manager that would undo it."""
    began: datetime | None = None
    """Creation time of its oldest living pod, or None if unknown."""
    ends: tuple[Ending, ...] = ()
    """What of it goes by itself, as far as that is known and nothing comes back; the first first."""

    @property
    def kept(self) -> Mapping[str, Load]:
        """Node → what its pods take there that are not on their way out already."""
        return self.loads if self.by_suspending is None else self.by_suspending


def _nobody() -> Sequence[Resident]:
    return ()


@dataclass(frozen=True, slots=True)
class ClusterRoom:
    """All nodes of a cluster at one moment, with what is on them. Never changed once made."""

    nodes: tuple[NodeRoom, ...] = ()
    """In the order of their names."""
    why: str = ""
    """Why nothing can be said of room, as a clause such as `nodes: forbidden` or `pods: not read
    yet`; `nodes` is empty then and means nothing."""
    residents: Callable[[], Sequence[Resident]] = field(default=_nobody, compare=False)
    """The gangs that hold room, worked out when asked: only advice needs them."""
    cache: dict[Hashable, object] = field(default_factory=dict, compare=False, repr=False)
    """What placement has worked out about these nodes; it goes with them."""
