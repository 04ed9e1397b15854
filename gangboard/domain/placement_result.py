"""Answers of placement. No answer is a guess: unsupported cases are "cannot tell".

The cause of waiting of one unit, by the fields of `PlacementResult` and its `Assessment`:

| Cause of waiting | Fields |
|---|---|
| no nodes | cause NO_ELIGIBLE_NODE, and the cluster has no node |
| no matching node | cause NO_ELIGIBLE_NODE: the owner's requirements exclude all nodes |
| untolerated taint | the same, and TAINT took most of the nodes that it leaves; which: `excluded[…].details` |
| nodes unschedulable | the same with CORDON or NOT_READY; with UNSAID if no other reason is known |
| port conflict, anti-affinity | the same with HOST_PORT or ANTI_AFFINITY; or cause CONSTRAINED with HOST_PORTS or ANTI_AFFINITY in `constraints` |
| topology does not fit | cause CONSTRAINED with TOPOLOGY in `constraints` |
| spread constraints | cause CONSTRAINED with SPREAD in `constraints` |
| node pod limit | cause SHORT, OCCUPIED, FRAGMENTED or TOO_LARGE, `deciding` is `pods` |
| exceeds capacity | cause TOO_LARGE |
| insufficient resources | cause SHORT or OCCUPIED |
| fragmented | cause FRAGMENTED |
| none: it fits | cause FITS: the scheduler has not tried yet, knows another reason, or tries in another order |

With CONSTRAINED, `empty` tells waiting (YES: it fits with the constraint on drained nodes) from blocked (NO).
Some shapes can have hosts while others have none. The reason of NO_ELIGIBLE_NODE is then in
`Eligibility.excluded` of the shape without a host that has most members.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gangboard.domain.capacity import PlacementRequest, Shape


class When(StrEnum):
    """Which pods are counted as being on the nodes."""

    CURRENT = "now"
    DRAINED = "empty"
    """Only pinned pods, which cannot leave: DaemonSet pods and static pods."""


class FitAnswer(StrEnum):
    """Whether it fits."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot tell"


class Filter(StrEnum):
    """Why a node can never host a pod of a shape, even when drained, in the order of the filters.

    Requirements of the owner come before states of the node.
    """

    SELECTOR = "node selector or required node affinity"
    POD_AFFINITY = "not near a pod that it must be near"
    """Required affinity to pods on nodes: the node has another value of the label than they have, or none."""
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
    """Constraints that a trial leaves out to see whether they are the cause."""

    TOPOLOGY = "topology"
    HOST_PORTS = "host ports"
    ANTI_AFFINITY = "required anti-affinity"
    SPREAD = "topology spread"


class PlacementCause(StrEnum):
    """Why the members do not get nodes."""

    FITS = "fits"
    TOO_FEW_PODS = "too few pods"
    """The group has fewer pods than its quorum, so capacity is not the cause."""
    NO_ELIGIBLE_NODE = "no eligible node"
    TOO_LARGE = "too large"
    """Does not fit even without the pods that can leave."""
    SHORT = "short"
    """Less is free in total than it needs, though some member finds room. For this and the next two,
    `empty` is YES; or CANNOT_TELL because of unsupported requirements (`Fit.but_for`), which
    cannot add room."""
    OCCUPIED = "occupied"
    """Less is free in total than it needs, and no member finds room anywhere."""
    FRAGMENTED = "fragmented"
    """Enough is free in total, on nodes that could host a member, and no placement exists."""
    CONSTRAINED = "constrained"
    """Fits without its topology, its host ports, its anti-affinity or its spread; see `constraints`."""
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class ExcludedNodes:
    """The nodes that one filter was the first to exclude."""

    count: int
    examples: tuple[str, ...]
    """Names of up to three of them, in order."""
    details: tuple[tuple[str, int], ...] = ()
    """Which taint or resource, with its number of nodes, most frequent first."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Which nodes could ever host a pod of a shape."""

    eligible: tuple[str, ...]
    """Names, in order."""
    excluded: Mapping[Filter, ExcludedNodes] = field(default_factory=dict)
    """In the order of `Filter`; each node counts once, for the first that excludes it."""

    @property
    def nodes(self) -> int:
        """Return the number of all nodes."""
        return len(self.eligible) + sum(one.count for one in self.excluded.values())


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether so many members fit together."""

    answer: FitAnswer
    placement: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """With YES: node → shape → number of pods."""
    why: str = ""
    """With CANNOT_TELL: what stood in the way."""
    steps: int = 0
    """Work that was spent, in steps of the search."""
    but_for: tuple[str, ...] = ()
    """With CANNOT_TELL: it would be YES if these were not asked for; they are not worked out."""


@dataclass(frozen=True, slots=True)
class ResourceTotal:
    """One resource over all nodes that could host a member, in scheduler units."""

    resource: str
    needed: int
    """The least that the needed members ask for together."""
    free: int
    """Overfull nodes count as 0."""
    capacity: int
    """The same without the pods that can leave."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """All that arithmetic has to say of one gang."""

    request: PlacementRequest
    cause: PlacementCause
    now: Fit
    """For the quorum, or for all without one."""
    empty: Fit
    """For the quorum without the pods that can leave."""
    totals: tuple[ResourceTotal, ...]
    deciding: str = ""
    """The deciding resource, if there is one. SHORT and OCCUPIED: the one with the smallest available share of
    the need. FRAGMENTED: the only one without which it fits. TOO_LARGE: either. CANNOT_TELL with `now` NO:
    the one that is short in total."""
    constraints: tuple[Constraint, ...] = ()
    """Each fits when it alone is left out."""
    why: str = ""
    """With CANNOT_TELL: what stood in the way."""


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """Where the waiting pods of one shape can go: the lines of the node-fit table."""

    shape: Shape
    count: int
    """Members of this shape that wait for a node."""
    eligibility: Eligibility
    now: int
    """How many pods of this shape alone fit now."""
    empty: int
    """The same without the pods that can leave."""
    open_nodes: int
    """Eligible nodes that can take one more now."""
    saturated: tuple[tuple[str, int, tuple[str, ...]], ...] = ()
    """Limits on the other eligible nodes (a resource, `pods`, a value of `Constraint`), with the number of nodes
    and up to three names, most frequent first."""


@dataclass(frozen=True, slots=True)
class PlacementResult:
    """The placement arithmetic for the waiting members of one unit."""

    request: PlacementRequest
    assessment: Assessment | None = None
    """None: nodes or pods are not known, and `why` says why."""
    shapes: tuple[ShapeFit, ...] = ()
    why: str = ""
    """One clause such as `nodes: forbidden`, when there is no assessment."""
    refused_at: datetime | None = None
    """When the scheduler last refused members that fit now. Set with cause FITS only."""

    @property
    def has_no_nodes(self) -> bool:
        """Whether the cluster was read and has no node at all."""
        return bool(self.shapes) and all(not one.eligibility.nodes for one in self.shapes)
