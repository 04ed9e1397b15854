"""Nodes put together by a label, with what they offer and what is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.readmodels.node_amounts import (
    Amount,
    NodeRow,
    node_amounts,
    plain_number,
    read_decimal,
)
from gangboard.readmodels.printable import printable

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
MOST_GANGS = 5
"""Gangs that a square names."""
MOST_NAMES = 3
"""Nodes of a pool that are named where they are cordoned or not ready."""
_STATES = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Taints that only repeat what the state of the node says."""
_REFUSING = (":NoSchedule", ":NoExecute")


@dataclass(frozen=True, slots=True)
class NodeSquare:
    """One node with accelerators among many."""

    name: str
    free: str
    """How many of its accelerators are free; empty where that could not be read."""
    offered: str
    state: str
    """What keeps them from being free, in words: cordoned, not ready, held; else full or free."""
    gangs: tuple[str, ...] = ()
    """The gangs with pods on it that the viewer may see, by name."""

    @property
    def sentence(self) -> str:
        """All of it, for a tooltip and for who cannot see it."""
        room = f"{self.name}: {self.free or 'unknown'} of {self.offered} free"
        state = "" if self.state in ("free", "full") else f", {self.state}"
        return f"{room}{state}{f'; {self.gangs_text}' if self.gangs else ''}"

    @property
    def gangs_text(self) -> str:
        """The names of its gangs, the first few of many."""
        more = len(self.gangs) - MOST_GANGS
        return ", ".join(self.gangs[:MOST_GANGS]) + (f" and {more:,} more" if more > 0 else "")


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
    """Taints that are not in `taints`: rare ones, and all of them for viewers who may not read names of nodes."""
    amounts: tuple[Amount, ...]
    squares: tuple[NodeSquare, ...] = ()
    """Its nodes with accelerators, by topology and name, the first MOST_SQUARES; of one pool alone."""
    more_squares: int = 0
    cordoned_names: str = ""
    """The first few of these nodes, for viewers who may read names of nodes; else empty."""
    not_ready_names: str = ""

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


def make_pools(
    nodes: Iterable[NodeRow], by: str = "", gangs: Mapping[str, str] | None = None
) -> tuple[Pool, ...]:
    """Return the nodes by the label `by`, or by their pool; by label and value, the rest last.

    They name nodes and gangs: for viewers who may read these names. `gangs`: uid of an owner → name.
    """
    groups: dict[tuple[str, str], list[NodeRow]] = {}
    for node in nodes:
        groups.setdefault(pool_of(node, by), []).append(node)
    order = sorted(groups, key=lambda group: (not group[0], group[1], group[0]))
    return tuple(
        _with_squares(name_nodes(pool, members), members, gangs or {})
        for (label, value), members in ((key, groups[key]) for key in order)
        for pool in (sum_nodes(label, value, members),)
    )


def name_nodes(pool: Pool, nodes: Sequence[NodeRow]) -> Pool:
    """Return the pool with the names of its nodes that take no pods, for viewers who may read them."""
    return replace(
        pool,
        cordoned_names=_first_names(node for node in nodes if node.ready and node.cordoned),
        not_ready_names=_first_names(node for node in nodes if not node.ready),
    )


def without_taints(pool: Pool) -> Pool:
    """Return the pool with the number of its taints alone: their texts often name a team."""
    return replace(pool, taints=(), more_taints=len(pool.taints) + pool.more_taints)


def _first_names(nodes: Iterable[NodeRow]) -> str:
    names = sorted(printable(node.name) for node in nodes)
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _with_squares(pool: Pool, nodes: Iterable[NodeRow], gangs: Mapping[str, str]) -> Pool:
    main = next((one.resource for one in pool.amounts if one.is_accelerator), None)
    if main is None:
        return pool
    there = sorted((node for node in nodes if main in node.allocatable), key=_by_topology)
    squares = tuple(_square(node, main, gangs) for node in there[:MOST_SQUARES])
    return replace(pool, squares=squares, more_squares=len(there) - len(squares))


def _by_topology(node: NodeRow) -> tuple[tuple[str, ...], str]:
    return tuple(node.labels.get(label, "") for label in TOPOLOGY_LABELS), node.name


def _square(node: NodeRow, resource: str, gangs: Mapping[str, str]) -> NodeSquare:
    offered, used = (
        read_decimal(column.get(resource, "0")) for column in (node.allocatable, node.used)
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
        free=plain_number(free, commas=False) if known else "",
        offered=printable(node.allocatable[resource]),
        state=state,
        gangs=tuple(sorted({gangs[root] for root in node.roots.values() if root in gangs})),
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
        offered, used = read_decimal(text), read_decimal(node.used.get(resource, "0"))
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
        amounts=node_amounts(nodes),
    )


def _refuses(taint: str) -> bool:
    """Whether it keeps pods away that do not tolerate it, and is not only a state of the node."""
    return taint.endswith(_REFUSING) and not taint.startswith(_STATES)


@dataclass(slots=True)
class LabelChoices:
    """Collects the labels by which it makes sense to put nodes together."""

    _values: dict[str, set[str]] = field(default_factory=dict)
    _nodes: Counter[str] = field(default_factory=Counter)
    _pool_labels: set[str] = field(default_factory=set)

    def add(self, nodes: Iterable[NodeRow]) -> None:
        """Look at the labels of some nodes."""
        for node in nodes:
            self._pool_labels.add(pool_of(node)[0])
            for label, value in node.labels.items():
                self._values.setdefault(label, set()).add(value)
                self._nodes[label] += 1

    @property
    def default(self) -> str:
        """The label of all pools when nobody chooses one. Empty if nodes have different ones, or none."""
        return next(iter(self._pool_labels)) if len(self._pool_labels) == 1 else ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The labels that some nodes share a value of, without the default; those of pools and topology first."""
        shared = [
            label
            for label, values in self._values.items()
            if len(values) < self._nodes[label] and label not in (HOSTNAME, self.default)
        ]
        first = {label: place for place, label in enumerate((*TOPOLOGY_LABELS, *POOL_LABELS))}
        shared.sort(key=lambda label: (first.get(label, len(first)), label))
        return tuple(shared[:MOST_LABELS])
