"""Which nodes a pod may go to: selectors, tolerations, host ports, affinity and topology spread, as decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

HOSTNAME = "kubernetes.io/hostname"
CORDON = "node.kubernetes.io/unschedulable"
"""Key of the taint that the node controller gives to a cordoned node."""
SPREAD = "spread constraints"
"""Name of topology spread in `Shape.unsupported`."""
ANTI_AFFINITY = "pod anti-affinity"
"""Name of required anti-affinity between pods in `Shape.unsupported`."""
AFFINITY = "pod affinity"
"""Name of required affinity to other pods in `Shape.unsupported`."""


class Effect(StrEnum):
    """Effects of a taint that keep away pods which do not tolerate it. `PreferNoSchedule` does not."""

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


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Which pods a rule of a pod is about. The name is all of it.

    A required term of anti-affinity keeps them away, a topology spread constraint counts them.
    """

    name: str
    """Such as `team-a/app=train`. Equal terms have the same name."""
    namespaces: frozenset[str] | None = field(default=None, compare=False)
    """None: every namespace."""
    selector: tuple[Requirement, ...] = field(default=(), compare=False)
    is_exact: bool = field(default=True, compare=False)
    """Whether it applies to all pods that it matches. An inexact term applies to some of them only."""
    topology_key: str = field(default=HOSTNAME, compare=False)
    """The node label of affinity and anti-affinity: pods share a value of it or not."""
    is_count: bool = field(default=False, compare=False)
    """Whether it belongs to a topology spread constraint, which counts bound pods that are not being deleted."""

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
    """Nodes with taints that the pod does not tolerate are no part of any domain either."""
    counts_itself: bool = True
    """The pod is one of those that count."""


@dataclass(frozen=True, slots=True)
class Term:
    """One of the `nodeSelectorTerms`: all of it must match. An empty term matches no node."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that a pod takes. An empty address is every address of the node."""

    port: int
    protocol: str = "TCP"
    address: str = ""


@dataclass(frozen=True, slots=True)
class PodConstraints:
    """Requirements of a pod on a node besides amounts, as decoded. Hashable, to group pods by shape."""

    node_selector: tuple[tuple[str, str], ...] = ()
    """(label, value), in order."""
    affinity: tuple[Term, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: tuple[PodTerm, ...] = ()
    """Its required terms, by name. Inexact terms apply to other pods as well."""
    pod_affinity: PodTerm | None = None
    """Required affinity to pods, by one node label. None: it has none, or an unsupported one."""
    spreads: tuple[Spread, ...] = ()
    """All its constraints, without `counts_itself`. Empty: it has none, or unsupported ones."""
    spread_keys: tuple[str, ...] = ()
    """The labels of nodes by which hard topology spread constraints go, worked out or not."""
    unsupported: tuple[str, ...] = ()
    undecidable: tuple[str, ...] = ()
    """All others as in `Shape`."""
