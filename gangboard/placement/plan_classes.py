"""Waiting gangs of a plan, grouped by equal requests, and the orders in which the scheduler may try them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from gangboard.domain.capacity import PlacementRequest
from gangboard.domain.cluster_plan import WaitingGang
from gangboard.domain.pod_constraints import PodTerm
from gangboard.placement.matching import undecidable
from gangboard.placement.plan_choices import Choice

_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class GangClass:
    """Waiting gangs with the same requests and the same priority. The order in which they get nodes is unknown."""

    gangs: tuple[WaitingGang, ...]
    """The oldest first."""
    accelerators: int
    """Accelerators of one of them."""
    is_decided: bool
    """Whether only capacity is missing, and the arithmetic understands all requirements."""

    @property
    def first(self) -> WaitingGang:
        """One of them."""
        return self.gangs[0]

    @property
    def size(self) -> int:
        """The number of pods of one of them."""
        return sum(request.size for request in self.first.requests)


def gang_classes(waiting: Iterable[WaitingGang]) -> tuple[GangClass, ...]:
    """Return the classes of waiting gangs. Those that request most accelerators come first."""
    classes: dict[object, list[WaitingGang]] = {}
    for gang in sorted(waiting, key=lambda gang: (gang.created_at or _EPOCH, gang.ref.uid)):
        classes.setdefault(gang.requirements, []).append(gang)
    return tuple(
        sorted(
            (
                GangClass(tuple(gangs), gangs[0].accelerators, is_decided(gangs[0]))
                for gangs in classes.values()
            ),
            key=lambda item: (-item.accelerators, -item.size, item.first.ref.uid),
        )
    )


def is_decided(gang: WaitingGang) -> bool:
    """Return whether only capacity is missing, and the arithmetic understands all requirements of a gang."""
    return gang.is_solved_by_capacity and all(
        request.needed <= request.size
        and not any(
            pod_set.shape.unsupported or undecidable(pod_set.shape) for pod_set in request.pod_sets
        )
        for request in gang.requests
    )


def _oldest(item: GangClass) -> tuple[float, ...]:
    return -item.first.priority, (item.first.created_at or _EPOCH).timestamp()


def _youngest(item: GangClass) -> tuple[float, ...]:
    return (-(item.gangs[-1].created_at or _EPOCH).timestamp(),)


def _smallest(item: GangClass) -> tuple[float, ...]:
    return item.accelerators, item.size


def _largest(item: GangClass) -> tuple[float, ...]:
    return -item.first.priority, -item.accelerators, -item.size


_Order = Callable[[GangClass], tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Way:
    """One of the ways in which a plan is tried: how the scheduler may behave."""

    order: _Order
    """Key by which it takes classes."""
    choice: Choice
    """The nodes that pods take."""
    takes_undecided: bool = False
    """Whether gangs that the arithmetic cannot decide about take capacity."""
    is_late: bool = False
    """Whether it has placed no pod when the next step is taken, unless a promised gang was to be seen (`plan_room`)."""


WAYS = (
    Way(_oldest, Choice.SCORED, takes_undecided=True),
    Way(_youngest, Choice.PACKED),
    Way(_smallest, Choice.WIDEST, takes_undecided=True),
    Way(_largest, Choice.WIDEST),
)
"""The ways of every plan. The scheduler takes gangs by priority, but a lower priority can come first while a gang backs
off, so two of the orders ignore it."""
LATE_WAYS = tuple(replace(way, is_late=True) for way in WAYS if way.choice is Choice.WIDEST)
DRAWN, DRAWN_OF_MANY_GANGS, DRAWN_OF_MANY_CLASSES = 20, 12, 2
"""Further ways whose nodes are drawn, and whose order is drawn anew after each step."""
FEW_GANGS, FEW_CLASSES = 60, 20
"""Waiting gangs up to which some ways are late, and classes up to which many are drawn. A late way places all gangs again
for each step, which takes too long with more of them."""


def ways_for(classes: Sequence[GangClass]) -> tuple[Way, ...]:
    """Return the ways in which a plan for these classes is tried."""
    if sum(len(item.gangs) for item in classes) <= FEW_GANGS:
        return (*WAYS, *LATE_WAYS, *_drawn_ways(DRAWN, late_too=True))
    many = len(classes) > FEW_CLASSES
    return (*WAYS, *_drawn_ways(DRAWN_OF_MANY_CLASSES if many else DRAWN_OF_MANY_GANGS))


def _drawn_ways(count: int, *, late_too: bool = False) -> Iterator[Way]:
    for number in range(count):
        way = WAYS[number % len(WAYS)]
        yield replace(way, choice=Choice.DRAWN, is_late=late_too and number % 2 == 1)


def has_relations(request: PlacementRequest) -> bool:
    """Return whether other pods decide which nodes a pod of the request may use."""
    return any(
        pod_set.shape.anti_affinity
        or pod_set.shape.matched_terms
        or pod_set.shape.pod_affinity
        or pod_set.shape.spreads
        for pod_set in request.pod_sets
    )


def terms_of(gang: WaitingGang) -> list[PodTerm]:
    """Return the terms of anti-affinity, affinity and topology spread of a gang."""
    return [
        term
        for request in gang.requests
        for pod_set in request.pod_sets
        for term in (
            *pod_set.shape.anti_affinity,
            *((pod_set.shape.pod_affinity,) if pod_set.shape.pod_affinity else ()),
            *(spread.counted for spread in pod_set.shape.spreads),
        )
    ]


def may_select(term: PodTerm, namespaces: Collection[str]) -> bool:
    """Return whether a term could be about pods in one of these namespaces. Their labels are not known here."""
    if term.namespaces is None:
        return bool(namespaces)
    return not term.namespaces.isdisjoint(namespaces)
