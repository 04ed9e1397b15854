"""Constraints of pods on nodes: selectors, tolerations, host ports, affinity and topology spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

HOSTNAME = "kubernetes.io/hostname"
CORDON = "node.kubernetes.io/unschedulable"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
"""Taint of a node that is off. The pod garbage collector then deletes the terminating pods of the node."""
"""Key of the taint that the node controller adds to a cordoned node."""
SPREAD = "spread constraints"
"""Name of topology spread in `Shape.unsupported`."""
ANTI_AFFINITY = "pod anti-affinity"
"""Name of required anti-affinity between pods in `Shape.unsupported`."""
AFFINITY = "pod affinity"
"""Name of required affinity to other pods in `Shape.unsupported`."""


class Effect(StrEnum):
    """Taint effects that exclude pods without a toleration. `PreferNoSchedule` does not exclude them."""

    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """Entry of a node's `spec.taints`. An unknown effect is stored as served."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class Toleration:
    """Entry of a pod's `spec.tolerations`. An empty key or effect matches all."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Entry of `matchExpressions` or `matchFields`, for nodes or pods."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodTerm:
    """Term that selects pods. Terms with equal names are equal.

    A required anti-affinity term excludes these pods, and a topology spread constraint counts them.
    """

    name: str
    """Unique name, such as `team-a/app=train`."""
    namespaces: frozenset[str] | None = field(default=None, compare=False)
    """None means every namespace."""
    selector: tuple[Requirement, ...] = field(default=(), compare=False)
    is_exact: bool = field(default=True, compare=False)
    """Whether it applies to all pods that it matches. An inexact term applies to some of them only."""
    topology_key: str = field(default=HOSTNAME, compare=False)
    """Node label of affinity and anti-affinity, whose value pods must or must not share."""
    is_count: bool = field(default=False, compare=False)
    """Whether it belongs to a topology spread constraint, which counts bound pods that are not being deleted."""

    @property
    def is_by_host(self) -> bool:
        """Whether it refers to pods on the same node."""
        return self.topology_key == HOSTNAME

    @property
    def is_open(self) -> bool:
        """Whether it selects no label value, and uses a node label other than the host name.

        Each of hundreds of Jobs of JobSets has such a term for the pods of all other Jobs. The matches would
        number pods times terms, so gangboard does not store them.
        """
        return not self.is_by_host and not any(
            requirement.operator == "In" for requirement in self.selector
        )

    @property
    def of_nominated(self) -> PodTerm:
        """The same term for pods nominated to a node, which may count there later."""
        return replace(self, name=f"{self.name} and nominated")


PodTerms = Mapping[PodTerm, int]
"""Term → number of pods."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Anti-affinity terms of some pods, and the terms that match such pods."""

    anti_affinity: frozenset[PodTerm] = frozenset()
    matched_terms: frozenset[PodTerm] = frozenset()


@dataclass(frozen=True, slots=True)
class Spread:
    """Hard topology spread constraint (`whenUnsatisfiable: DoNotSchedule`)."""

    topology_key: str
    counted: PodTerm
    """Counted pods, which are those in the pod's namespace that match the selector."""
    max_skew: int = 1
    min_domains: int = 1
    honours_affinity: bool = True
    """Domains have no nodes that the node selector or required node affinity excludes."""
    honours_taints: bool = False
    """Domains have no nodes with taints that the pod does not tolerate."""
    counts_itself: bool = True
    """The constraint counts the pod itself."""


@dataclass(frozen=True, slots=True)
class Term:
    """Entry of `nodeSelectorTerms`, all of whose requirements must match. An empty term matches no node."""

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class HostPort:
    """Host port of a pod. An empty address means every address of the node."""

    port: int
    protocol: str = "TCP"
    address: str = ""


@dataclass(frozen=True, slots=True)
class PodConstraints:
    """Constraints of a pod on its node, without amounts. Hashable, so that pods can be grouped by shape."""

    node_selector: tuple[tuple[str, str], ...] = ()
    """(label, value) in order."""
    affinity: tuple[Term, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    host_ports: frozenset[HostPort] = frozenset()
    anti_affinity: tuple[PodTerm, ...] = ()
    """Required anti-affinity terms by name, including inexact ones."""
    pod_affinity: PodTerm | None = None
    """Required affinity to pods, by one node label. None without affinity, or if it is unsupported."""
    spreads: tuple[Spread, ...] = ()
    """Topology spread constraints, without `counts_itself`. Empty without any, or if one is unsupported."""
    spread_keys: tuple[str, ...] = ()
    """Node labels of all hard topology spread constraints, including unsupported ones."""
    unsupported: tuple[str, ...] = ()
    undecidable: tuple[str, ...] = ()
    """`unsupported` and `undecidable` have the same meaning as in `Shape`."""
