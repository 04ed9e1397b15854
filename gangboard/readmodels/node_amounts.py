"""Nodes as they are stored, and what some of them offer together: resource by resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from gangboard.domain.capacity import PODS
from gangboard.domain.resources import is_accelerator, is_device
from gangboard.readmodels.fit import dearest_first
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quantities import quantity_text

_OTHERS = ("cpu", "memory", PODS)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node as it is stored; amounts are decimal strings in base units."""

    labels: Mapping[str, str]
    taints: Sequence[str]
    ready: bool
    cordoned: bool
    allocatable: Mapping[str, str]
    used: Mapping[str, str]
    held: Mapping[str, str]
    unreadable: Sequence[str]
    name: str = ""
    roots: Mapping[str, str] = field(default_factory=dict)
    """uid of each pod on it → uid of the owner of its gang, empty for none."""

    @property
    def takes_pods(self) -> bool:
        """Whether its free room is free: it is ready and not cordoned."""
        return self.ready and not self.cordoned


@dataclass(frozen=True, slots=True)
class Exact:
    """The same amounts as decimal strings in base units, for those who calculate with them."""

    allocatable: str
    used: str
    held: str
    free: str
    away: str


@dataclass(frozen=True, slots=True)
class Amount:
    """One resource over some nodes, as a person reads it, with its bar in percent."""

    resource: str
    is_accelerator: bool
    allocatable: str
    used: str
    held: str
    """The part of `used` that gangs hold that are not whole; empty for none."""
    free: str
    """On nodes that are ready and not cordoned, each overfull node counted as 0."""
    away: str
    """What is free on the other nodes, which is not free; empty for nothing."""
    unreadable: int
    """Nodes whose amount could not be read: they are in none of the numbers."""
    bar: tuple[float, float, float, float]
    """Used by whole gangs and others, held, free, away: where each ends."""
    exact: Exact

    @property
    def short(self) -> str:
        """How much of it is used, in a few words: `cpu 41 % used`."""
        offered, used = Decimal(self.exact.allocatable), Decimal(self.exact.used)
        if not offered:
            return f"{self.resource} {f'{self.used} used of 0' if used else 'not known'}"
        beside = f" ({_nodes(self.unreadable)} not read)" if self.unreadable else ""
        return f"{self.resource} {_percent(used, offered)} used{beside}"


@dataclass(slots=True)
class _Sum:
    allocatable: Decimal = Decimal()
    used: Decimal = Decimal()
    held: Decimal = Decimal()
    free: Decimal = Decimal()
    away: Decimal = Decimal()
    unreadable: int = 0

    def amount(self, resource: str) -> Amount:
        """Return it in words."""

        def text(value: Decimal) -> str:
            return quantity_text(resource, plain_number(value, commas=resource != "memory"))

        parts = (self.used - self.held, self.held, self.free, self.away)
        whole = (self.allocatable, self.used, self.held, self.free, self.away)
        return Amount(
            resource=printable(resource),
            is_accelerator=is_accelerator(resource),
            allocatable=text(self.allocatable),
            used=text(self.used),
            held=text(self.held) if self.held else "",
            free=text(self.free),
            away=text(self.away) if self.away else "",
            unreadable=self.unreadable,
            bar=_bar(parts),
            exact=Exact(*(plain_number(value, commas=False) for value in whole)),
        )


def node_amounts(nodes: Sequence[NodeRow]) -> tuple[Amount, ...]:
    """Return what the nodes offer of each resource that is counted, the dearest first."""
    sums: dict[str, _Sum] = {}
    for node in nodes:
        resources = {*node.allocatable, *node.used, *node.unreadable}
        for resource in resources:
            if resource in _OTHERS or is_device(resource):
                _add(sums.setdefault(resource, _Sum()), node, resource)
    return tuple(
        sums[resource].amount(resource)
        for resource in sorted(sums, key=dearest_first)
        if sums[resource].allocatable or sums[resource].used or sums[resource].unreadable
    )


def _add(total: _Sum, node: NodeRow, resource: str) -> None:
    offered, used, held = (
        read_decimal(column.get(resource, "0"))
        for column in (node.allocatable, node.used, node.held)
    )
    if resource in node.unreadable or offered is None or used is None or held is None:
        total.unreadable += 1
        return
    total.allocatable += offered
    total.used += used
    total.held += held
    free = max(Decimal(), offered - used)
    if node.takes_pods:
        total.free += free
    else:
        total.away += free


def read_decimal(text: str) -> Decimal | None:
    """Return a stored amount; None for a text that is no number."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def plain_number(value: Decimal, *, commas: bool) -> str:
    """Return a number without exponent and without zeros at its end."""
    text = f"{value:,f}" if commas else f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _percent(part: Decimal, whole: Decimal) -> str:
    """Return a share as a person says it: only nothing is 0 %, and only all of it 100 %."""
    share = 100 * part / whole
    if 0 < share < 1:
        return "under 1 %"
    if 99 < share < 100:
        return "over 99 %"
    return f"{share:.0f} %"


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number:,} nodes"


def _bar(parts: tuple[Decimal, ...]) -> tuple[float, float, float, float]:
    sizes = [float(max(Decimal(), part)) for part in parts]
    whole = sum(sizes) or 1.0
    ends, at = [], 0.0
    for size in sizes:
        at += 100 * size / whole
        ends.append(round(at, 2))
    return (ends[0], ends[1], ends[2], ends[3])
