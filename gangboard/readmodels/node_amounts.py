"""Stored nodes, and the sums of their resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from gangboard.domain.capacity import PODS
from gangboard.domain.resources import is_accelerator, is_device
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.fit import accelerators_first
from gangboard.readmodels.formatting import printable, quantity_text

_OTHERS = ("cpu", "memory", PODS)


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A stored node. Amounts are decimal strings in base units."""

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
    """uid of each pod on it → uid of the owner of the pod's gang. Empty: the pod has no gang."""

    @property
    def takes_pods(self) -> bool:
        """Whether pods can be placed on it: it is ready and not cordoned."""
        return self.ready and not self.cordoned


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """One resource over some nodes."""

    resource: str = shown("Resource")
    is_accelerator: bool = shown("Accelerator", api_name="accelerator")
    exact_allocatable: str = shown("Offered", api_name="allocatable")
    """Exact amounts are decimal strings in base units. The amounts below have units."""
    exact_used: str = shown(
        "Used", "Requests of pods on the nodes or nominated to them.", api_name="used"
    )
    exact_held: str = shown(
        "Held",
        "The part of `used` that incomplete gangs hold: gangs in formation or placement with members on nodes. Gangs that start, or that ran and lost members, are not in it.",
        api_name="held",
    )
    exact_free: str = shown("Free", "On nodes that are ready and not cordoned.", api_name="free")
    exact_away: str = shown(
        "Out of use", "On the other nodes, which take no pods.", api_name="away"
    )
    unreadable: int = shown(
        "Not read",
        "Nodes whose amount could not be read: in none of these.",
        api_name="nodes_unreadable",
    )
    allocatable: str
    used: str
    held: str
    """Empty for none."""
    free: str
    """Free amount. An overcommitted node counts as 0."""
    away: str
    """Empty for nothing."""
    bar: tuple[float, float, float, float]
    """Ends of the segments of the bar in percent: used by whole gangs and other pods, held, free, away."""

    @property
    def short(self) -> str:
        """The used share in a few words: `cpu 41 % used`."""
        offered, used = Decimal(self.exact_allocatable), Decimal(self.exact_used)
        if not offered:
            return f"{self.resource} {f'{self.used} used of 0' if used else 'not known'}"
        unread = f" ({_nodes(self.unreadable)} not read)" if self.unreadable else ""
        return f"{self.resource} {_percent(used, offered)} used{unread}"


@dataclass(slots=True)
class _Sum:
    allocatable: Decimal = Decimal()
    used: Decimal = Decimal()
    held: Decimal = Decimal()
    free: Decimal = Decimal()
    away: Decimal = Decimal()
    unreadable: int = 0

    def amount(self, resource: str) -> Amount:
        """Return the amount for pages and API."""

        def text(value: Decimal) -> str:
            return quantity_text(resource, plain_number(value, commas=resource != "memory"))

        def exact(value: Decimal) -> str:
            return plain_number(value, commas=False)

        segments = (self.used - self.held, self.held, self.free, self.away)
        return Amount(
            resource=printable(resource),
            is_accelerator=is_accelerator(resource),
            allocatable=text(self.allocatable),
            used=text(self.used),
            held=text(self.held) if self.held else "",
            free=text(self.free),
            away=text(self.away) if self.away else "",
            unreadable=self.unreadable,
            bar=_bar(segments),
            exact_allocatable=exact(self.allocatable),
            exact_used=exact(self.used),
            exact_held=exact(self.held),
            exact_free=exact(self.free),
            exact_away=exact(self.away),
        )


def node_amounts(nodes: Sequence[NodeRow]) -> tuple[Amount, ...]:
    """Return the amounts of each counted resource on the nodes, accelerators first."""
    sums: dict[str, _Sum] = {}
    for node in nodes:
        resources = {*node.allocatable, *node.used, *node.unreadable}
        for resource in resources:
            if resource in _OTHERS or is_device(resource):
                _add(sums.setdefault(resource, _Sum()), node, resource)
    return tuple(
        sums[resource].amount(resource)
        for resource in sorted(sums, key=accelerators_first)
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
    """Return a stored amount, or None for a text that is no number."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def plain_number(value: Decimal, *, commas: bool) -> str:
    """Return a number without an exponent and without trailing zeros."""
    text = f"{value:,f}" if commas else f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _percent(amount: Decimal, total: Decimal) -> str:
    """Return a share in percent. It is 0 % only for zero, and 100 % only for the total."""
    share = 100 * amount / total
    if 0 < share < 1:
        return "under 1 %"
    if 99 < share < 100:
        return "over 99 %"
    return f"{share:.0f} %"


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number:,} nodes"


def _bar(amounts: tuple[Decimal, ...]) -> tuple[float, float, float, float]:
    sizes = [float(max(Decimal(), value)) for value in amounts]
    total = sum(sizes) or 1.0
    segment_ends, position = [], 0.0
    for size in sizes:
        position += 100 * size / total
        segment_ends.append(round(position, 2))
    return (segment_ends[0], segment_ends[1], segment_ends[2], segment_ends[3])
