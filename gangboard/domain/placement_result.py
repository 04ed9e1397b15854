"""Results of the placement arithmetic. Unsupported cases give "cannot tell" instead of a guess.

The fields of `PlacementResult` and its `Assessment` show why a unit waits:

| Cause of waiting | Fields |
|---|---|
| no nodes | cause NO_ELIGIBLE_NODE, and the cluster has no node |
| no matching node | cause NO_ELIGIBLE_NODE: the owner's requirements exclude all nodes |
| untolerated taint | the same, and TAINT excluded most of the remaining nodes. `excluded[…].details` has the taints |
| nodes unschedulable | the same with CORDON or NOT_READY, or with UNSAID if no other reason is known |
| port conflict, anti-affinity | the same with HOST_PORT or ANTI_AFFINITY; or cause CONSTRAINED with HOST_PORTS or ANTI_AFFINITY in `constraints` |
| topology does not fit | cause CONSTRAINED with TOPOLOGY in `constraints` |
| spread constraints | cause CONSTRAINED with SPREAD in `constraints` |
| node pod limit | cause SHORT, OCCUPIED, FRAGMENTED or TOO_LARGE, `deciding` is `pods` |
| exceeds capacity | cause TOO_LARGE |
| insufficient resources | cause SHORT or OCCUPIED |
| fragmented | cause FRAGMENTED |
| none: it fits | cause FITS: the scheduler has not tried yet, knows another reason, or tries in another order |

With CONSTRAINED, `empty` distinguishes a waiting gang from a blocked one. YES means that it fits drained nodes
with the constraint.
If some shapes have eligible nodes and others have none, the reason of NO_ELIGIBLE_NODE is in
`Eligibility.excluded` of the largest shape without an eligible node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gangboard.domain.capacity import PlacementRequest, Shape
from gangboard.domain.verdict import FitBlocker


class When(StrEnum):
    """Set of pods that count as being on the nodes."""

    CURRENT = "now"
    DRAINED = "empty"
    """Pinned pods only, which are DaemonSet pods and static pods."""


class FitAnswer(StrEnum):
    """Answer to whether pods fit."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"


class Filter(StrEnum):
    """Reasons why a node can never host a pod of a shape, even if drained, in the order of the filters.

    Requirements of the owner come before states of the node.
    """

    SELECTOR = "node selector or required node affinity"
    POD_AFFINITY = "not near a pod that it must be near"
    """Required affinity to pods on nodes. The node lacks the label, or has another value than their nodes."""
    TOPOLOGY_LABEL = "no label of the topology key"
    MISSING_RESOURCE = "does not have a requested resource"
    TOO_SMALL = "too small for one pod when empty"
    UNSAID = "has not said what it offers"
    """A node that has just registered, without `status.allocatable`."""
    CORDON = "cordoned"
    NOT_READY = "taint of a node that is not ready"
    TAINT = "untolerated taint"
    HOST_PORT = "host port held by a pod that stays"
    ANTI_AFFINITY = "kept away by a pod that stays"
    UNREADABLE = "amount that could not be read"


class Constraint(StrEnum):
    """Constraints that the arithmetic omits one at a time to find the cause."""

    TOPOLOGY = "topology"
    HOST_PORTS = "host ports"
    ANTI_AFFINITY = "required anti-affinity"
    SPREAD = "topology spread"


class PlacementCause(StrEnum):
    """Causes why members get no nodes."""

    FITS = "fits"
    TOO_FEW_PODS = "too few pods"
    """The group has fewer pods than its quorum, so capacity is not the cause."""
    NO_ELIGIBLE_NODE = "no eligible node"
    TOO_LARGE = "too large"
    """It does not fit even without the pods that can leave."""
    SHORT = "short"
    """The free total is less than the need, though some member fits a node.

    For this and the next two, `empty` is YES. It can also be CANNOT_TELL because of unsupported requirements
    (`Fit.but_for`), which cannot add capacity."""
    OCCUPIED = "occupied"
    """The free total is less than the need, and no member fits any node."""
    FRAGMENTED = "fragmented"
    """The free total on eligible nodes is enough, and no placement exists."""
    CONSTRAINED = "constrained"
    """It fits without its topology, host ports, anti-affinity or spread. `constraints` says which."""
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class ExcludedNodes:
    """Nodes that a filter was the first to exclude."""

    count: int
    examples: tuple[str, ...]
    """Names of up to three of them, in order."""
    details: tuple[tuple[str, int], ...] = ()
    """Taints or resources with their numbers of nodes, most frequent first."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Eligible and excluded nodes for a shape."""

    eligible: tuple[str, ...]
    """Names in order."""
    excluded: Mapping[Filter, ExcludedNodes] = field(default_factory=dict)
    """Excluded nodes in the order of `Filter`. Each node counts once, under the first filter that excludes it."""

    @property
    def nodes(self) -> int:
        """Number of all nodes."""
        return len(self.eligible) + sum(nodes.count for nodes in self.excluded.values())


@dataclass(frozen=True, slots=True)
class Fit:
    """Answer to whether a number of members fit together."""

    answer: FitAnswer
    placement: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Node → shape → number of pods, if the answer is YES."""
    why: str = ""
    """The obstacle, if the answer is CANNOT_TELL."""
    steps: int = 0
    """Number of search steps."""
    but_for: tuple[str, ...] = ()
    """Unsupported requirements without which the answer would be YES instead of CANNOT_TELL."""


@dataclass(frozen=True, slots=True)
class ResourceTotal:
    """Total of a resource over all nodes that could host a member, in scheduler units."""

    resource: str
    needed: int
    """Smallest sum of the requests of the needed members."""
    free: int
    """Free amount. An overcommitted node counts as 0."""
    capacity: int
    """Free amount without the pods that can leave."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Results of the placement arithmetic for one gang."""

    request: PlacementRequest
    cause: PlacementCause
    now: Fit
    """Fit of the quorum, or of all members without a quorum."""
    empty: Fit
    """Fit of the quorum without the pods that can leave."""
    totals: tuple[ResourceTotal, ...]
    deciding: str = ""
    """Resource that decides, if there is one.

    - SHORT and OCCUPIED: the resource with the smallest available share of the need
    - FRAGMENTED: the only resource without which it fits
    - TOO_LARGE: either of these
    - CANNOT_TELL with `now` NO: the resource whose total is short
    """
    constraints: tuple[Constraint, ...] = ()
    """Constraints. If any single one is omitted, the members fit."""
    why: str = ""
    """The obstacle, if the cause is CANNOT_TELL."""


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """Node fit of the waiting pods of one shape, a line of the node-fit table."""

    shape: Shape
    count: int
    """Members of this shape that wait for a node."""
    eligibility: Eligibility
    now: int
    """Number of pods that fit now, if only this shape is placed."""
    empty: int
    """The same without the pods that can leave."""
    open_nodes: int
    """Eligible nodes that can take another pod now."""
    saturated: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    """Limits of the other eligible nodes, most frequent first.

    Each has a label (a resource, `pods`, or a value of `Constraint`), the number of nodes, and up to three names."""
    blockers: tuple[FitBlocker, ...] = ()
    """Causes that keep nodes out now, those that keep out most nodes alone first."""
    more_blockers: int = 0
    """Number of further causes."""


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """Result of the placement arithmetic for the waiting members of one unit."""

    request: PlacementRequest
    assessment: Assessment | None = None
    """None if nodes or pods are unknown. `why` has the reason."""
    shapes: tuple[ShapeFit, ...] = ()
    why: str = ""
    """Clause such as `nodes: forbidden`, if the assessment is None."""
    refused_at: datetime | None = None
    """Last time at which the scheduler refused members that fit now. Set with cause FITS only."""

    @property
    def has_no_nodes(self) -> bool:
        """Whether the cluster was read and has no nodes."""
        return bool(self.shapes) and all(not fit.eligibility.nodes for fit in self.shapes)
