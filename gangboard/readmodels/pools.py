"""Nodes put together by a label, with what they offer and what is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation

from gangboard.domain.capacity import HOSTNAME, PODS
from gangboard.domain.resources import is_accelerator, is_device
from gangboard.readmodels.fit import dearest_first
from gangboard.readmodels.printable import printable
from gangboard.readmodels.quantities import quantity_text

POOL_LABELS = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "doks.digitalocean.com/node-pool",
    "node.kubernetes.io/instance-type",
)
"""Labels that say which pool a node is of, the first that a node has counts: those that GKE, EKS,
eksctl, Karpenter, AKS and DigitalOcean set, and for all others the type of the machine."""
TOPOLOGY_LABELS = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/rack",
)
MOST_LABELS = 60
MOST_TAINTS = 3
MOST_SQUARES = 120
_OTHERS = ("cpu", "memory", PODS)
_STATES = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Taints that only repeat what the state of the node says."""
_REFUSING = (":NoSchedule", ":NoExecute")


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


@dataclass(frozen=True, slots=True)
class NodeSquare:
    """One node with accelerators among many."""

    name: str
    free: str
    """How many of its accelerators are free; empty where that could not be read."""
    offered: str
    state: str
    """What keeps them from being free, in words: cordoned, not ready, held; else full or free."""

    @property
    def sentence(self) -> str:
        """All of it, for a tooltip and for who cannot see it."""
        return f"{self.name}: {self.free or 'unknown'} of {self.offered} free, {self.state}"


@dataclass(frozen=True, slots=True)
class Pool:
    """Some nodes together."""

    label: str
    """The label by which they stand together; empty when they have none of those asked for."""
    value: str
    nodes: int
    ready: int
    """Ready and not cordoned; with the next two it adds up to `nodes`."""
    cordoned: int
    not_ready: int
    taints: tuple[tuple[str, int], ...]
    """(taint, nodes that take pods and have it): their room is for who tolerates it."""
    more_taints: int
    amounts: tuple[Amount, ...]
    squares: tuple[NodeSquare, ...] = ()
    """Its nodes with accelerators, by topology and name, the first MOST_SQUARES; of one pool alone."""
    more_squares: int = 0

    @property
    def accelerators(self) -> tuple[Amount, ...]:
        """What is dear of what they offer."""
        return tuple(one for one in self.amounts if one.is_accelerator)

    @property
    def others(self) -> tuple[Amount, ...]:
        """All else that they offer: cpu, memory, pods and devices that do not calculate."""
        return tuple(one for one in self.amounts if not one.is_accelerator)

    @property
    def others_short(self) -> str:
        """How much is used of all else, in a line."""
        return ", ".join(one.short for one in self.others)


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
            return quantity_text(resource, _plain(value, commas=resource != "memory"))

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
            exact=Exact(*(_plain(value, commas=False) for value in whole)),
        )


def make_pools(nodes: Iterable[NodeRow], by: str = "") -> tuple[Pool, ...]:
    """Return the nodes by the label `by`, or by their pool; by label and value, the rest last."""
    groups: dict[tuple[str, str], list[NodeRow]] = {}
    for node in nodes:
        groups.setdefault(pool_of(node, by), []).append(node)
    order = sorted(groups, key=lambda group: (not group[0], group[1], group[0]))
    return tuple(
        _with_squares(sum_nodes(label, value, groups[label, value]), groups[label, value])
        for label, value in order
    )


def _with_squares(pool: Pool, nodes: Iterable[NodeRow]) -> Pool:
    main = next((one.resource for one in pool.amounts if one.is_accelerator), None)
    if main is None:
        return pool
    there = sorted((node for node in nodes if main in node.allocatable), key=_by_topology)
    squares = tuple(_square(node, main) for node in there[:MOST_SQUARES])
    return replace(pool, squares=squares, more_squares=len(there) - len(squares))


def _by_topology(node: NodeRow) -> tuple[tuple[str, ...], str]:
    return tuple(node.labels.get(label, "") for label in TOPOLOGY_LABELS), node.name


def _square(node: NodeRow, resource: str) -> NodeSquare:
    offered, used = (
        _decimal(column.get(resource, "0")) for column in (node.allocatable, node.used)
    )
    known = resource not in node.unreadable and offered is not None and used is not None
    free = max(Decimal(), offered - used) if offered is not None and used is not None else Decimal()
    if not node.ready:
        state = "not ready"
    elif node.cordoned:
        state = "cordoned"
    elif not known:
        state = "unknown"
    elif node.held.get(resource, "0") not in ("", "0"):
        state = "held"
    else:
        state = "free" if free else "full"
    return NodeSquare(
        name=printable(node.name),
        free=_plain(free, commas=False) if known else "",
        offered=printable(node.allocatable[resource]),
        state=state,
    )


def pool_of(node: NodeRow, by: str = "") -> tuple[str, str]:
    """Return the label by which a node is put together with others, and its value; empty for none."""
    labels = (by,) if by else POOL_LABELS
    label = next((one for one in labels if one in node.labels), "")
    return label, node.labels[label] if label else ""


def left_on(node: NodeRow) -> dict[str, Decimal]:
    """Return what is free of each resource, of one that takes pods and whose amounts could be read."""
    if not node.takes_pods:
        return {}
    found: dict[str, Decimal] = {}
    for resource, text in node.allocatable.items():
        offered, used = _decimal(text), _decimal(node.used.get(resource, "0"))
        if resource not in node.unreadable and offered is not None and used is not None:
            found[resource] = max(Decimal(), offered - used)
    return found


def sum_nodes(label: str, value: str, nodes: Sequence[NodeRow]) -> Pool:
    """Return what the nodes offer together."""
    taints = Counter(
        taint for node in nodes if node.takes_pods for taint in set(node.taints) if _refuses(taint)
    )
    often = sorted(taints.items(), key=lambda pair: (-pair[1], pair[0]))
    ready = sum(node.takes_pods for node in nodes)
    not_ready = sum(not node.ready for node in nodes)
    return Pool(
        label=printable(label),
        value=printable(value),
        nodes=len(nodes),
        ready=ready,
        cordoned=len(nodes) - ready - not_ready,
        not_ready=not_ready,
        taints=tuple((printable(taint), number) for taint, number in often[:MOST_TAINTS]),
        more_taints=max(0, len(often) - MOST_TAINTS),
        amounts=_amounts(nodes),
    )


def _refuses(taint: str) -> bool:
    """Whether it keeps pods away that do not tolerate it, and is not only a state of the node."""
    return taint.endswith(_REFUSING) and not taint.startswith(_STATES)


def _amounts(nodes: Sequence[NodeRow]) -> tuple[Amount, ...]:
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
        _decimal(column.get(resource, "0")) for column in (node.allocatable, node.used, node.held)
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


def _decimal(text: str) -> Decimal | None:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() else None


def _plain(value: Decimal, *, commas: bool) -> str:
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


@dataclass(slots=True)
class LabelChoices:
    """Collects the labels by which it makes sense to put nodes together."""

    _values: dict[str, set[str]] = field(default_factory=dict)
    _nodes: Counter[str] = field(default_factory=Counter)

    def add(self, nodes: Iterable[NodeRow]) -> None:
        """Look at the labels of some nodes."""
        for node in nodes:
            for label, value in node.labels.items():
                self._values.setdefault(label, set()).add(value)
                self._nodes[label] += 1

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels that some nodes share a value of; those of pools and topology first."""
        shared = [
            label
            for label, values in self._values.items()
            if len(values) < self._nodes[label] and label != HOSTNAME
        ]
        first = {label: place for place, label in enumerate((*TOPOLOGY_LABELS, *POOL_LABELS))}
        shared.sort(key=lambda label: (first.get(label, len(first)), label))
        return tuple(shared[:MOST_LABELS])
