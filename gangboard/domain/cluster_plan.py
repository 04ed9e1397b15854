"""The plan of a cluster: a few steps that let most waiting accelerators run, computed together."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from gangboard.domain.capacity import PlacementRequest, Requested, Shape
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.resources import is_accelerator


class PlanStepKind(StrEnum):
    """Kind of a step, least harm first. The values are part of the API."""

    UNCORDON = "uncordon"
    REMOVE_TAINT = "remove-taint"
    END_INCOMPLETE = "end-incomplete"
    """Suspend gangs that hold capacity without running completely."""
    MOVE_PODS = "move-pods"
    """Delete pods that their controller recreates, while the freed nodes are cordoned."""
    STOP_WHOLE = "stop-whole"
    """Suspend gangs that run completely. Only shown on request."""


@dataclass(frozen=True, slots=True)
class WaitingGang:
    """A gang whose waiting members need nodes, and nothing else."""

    ref: ObjectRef
    """Its owner."""
    requests: tuple[PlacementRequest, ...]
    """The waiting members of each of its units."""
    priority: int = 0
    created_at: datetime | None = None
    is_solved_by_capacity: bool = True
    """False if something else than missing capacity keeps it waiting. It may take capacity, and is not promised."""

    @property
    def accelerators(self) -> int:
        """Accelerators that the waiting members request."""
        return sum(
            accelerators_of(pod_set.shape) * pod_set.count
            for request in self.requests
            for pod_set in request.pod_sets
        )

    @property
    def requirements(self) -> Hashable:
        """Value that is equal for gangs with the same priority and the same requests, whatever their names are."""
        return (
            self.priority,
            self.is_solved_by_capacity,
            tuple(map(_request_key, self.requests)),
        )


def accelerators_of(shape: Shape) -> int:
    """Return the accelerators that one pod of a shape requests."""
    amounts = (amount for name, amount in shape.requests.items() if is_accelerator(name))
    return int(sum(amounts, Decimal(0)))


def _request_key(request: PlacementRequest) -> Hashable:
    pod_sets = sorted(
        (repr(_shape_key(pod_set.shape)), pod_set.count) for pod_set in request.pod_sets
    )
    return tuple(pod_sets), request.quorum, request.topology_keys, request.domain


def _shape_key(shape: Shape) -> tuple[object, ...]:
    return (
        sorted(shape.requests.items()),
        sorted(shape.node_selector.items()),
        shape.affinity,
        shape.tolerations,
        sorted(map(repr, shape.host_ports)),
        sorted(term.name for term in shape.anti_affinity),
        sorted(term.name for term in shape.matched_terms),
        shape.pod_affinity,
        shape.spreads,
        shape.unsupported,
        shape.undecidable,
    )


@dataclass(frozen=True, slots=True)
class MovablePod:
    """A pod of no gang that its controller recreates after a deletion."""

    ref: ObjectRef
    node: str
    shape: Shape
    load: Requested
    """Its usage of the node."""


MAX_NAMED = 20
"""Most gangs that a gain names."""


@dataclass(frozen=True, slots=True)
class PlanGain:
    """Gangs that run after a step: `count` of a number of gangs that request the same."""

    gangs: tuple[ObjectRef, ...]
    """The oldest of them, at most MAX_NAMED."""
    of: int
    """Their number."""
    count: int
    """The number of them that run. The order in which the scheduler tries them decides which ones."""
    accelerators: int
    """Accelerators of one of them."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step, after the steps before it."""

    kind: PlanStepKind
    gains: tuple[PlanGain, ...]
    """Gangs that get nodes then in whatever order the scheduler tries them."""
    accelerators: int
    """Accelerators of all gangs that get nodes then, in the worst of the orders that were tried.

    If it is more than that of `gains`, the order decides which gangs get the rest."""
    nodes: tuple[ObjectRef, ...] = ()
    """Nodes to uncordon or to remove `taint` from. MOVE_PODS: nodes to cordon until the pods have moved."""
    taint: Taint | None = None
    gangs: tuple[ObjectRef, ...] = ()
    """Gangs to suspend."""
    pods: tuple[ObjectRef, ...] = ()
    """Pods to delete."""
    by: str = ""
    """Who cordoned or tainted the nodes, and when. Empty if unknown, or if several did."""

    @property
    def gang_count(self) -> int:
        """Number of gangs in `gains`."""
        return sum(gain.count for gain in self.gains)


@dataclass(frozen=True, slots=True)
class UntriedGangs:
    """Waiting gangs for which the search tried no step of a kind before its time was over."""

    kind: PlanStepKind
    gangs: int
    accelerators: int
    """Accelerators that they request together."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The plan of one cluster."""

    steps: tuple[PlanStep, ...] = ()
    without_steps: tuple[PlanGain, ...] = ()
    """Gangs that fit now, or once the pods that are being deleted are gone."""
    waiting_gangs: int = 0
    waiting_accelerators: int = 0
    """Gangs that wait for nodes, and their accelerators, those of `undecided` included."""
    undecided: int = 0
    """Waiting gangs that the arithmetic cannot decide about. The plan never promises them."""
    is_complete: bool = True
    """Whether `untried` is empty, so that a plan without steps means that no combination of a few steps helps."""
    why: str = ""
    """Why there is no plan, such as `nodes: forbidden`. The other fields have no meaning then."""
    untried: tuple[UntriedGangs, ...] = ()
    """Gangs that further steps of a kind might let run."""
