"""Pools of nodes with their taints and resources, and the nodes of whole clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, Level
from gangboard.readmodels.node_amounts import (
    Amount,
    NodeRow,
    node_amounts,
)
from gangboard.store.access import Viewer
from gangboard.store.models import ClusterCapacity, NodeCapacity

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
"""Labels that name the pool of a node. The first label that a node has counts.

GKE, EKS, eksctl, Karpenter, AKS and DigitalOcean set them. Other nodes are grouped by their machine type.
"""
TOPOLOGY_LABELS = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/rack",
)
MOST_TAINTS = 3
MOST_GANGS = 5
"""Gangs that the sentence of a node names."""
_STATES = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Taints that only repeat the state of the node."""
_REFUSING = (":NoSchedule", ":NoExecute")


@dataclass(frozen=True, slots=True)
class NodeSquare:
    """A node with accelerators, shown as a square."""

    name: str
    free: str
    """The number of its free accelerators. Empty if it could not be read."""
    offered: str
    state: str
    """State of its accelerators: cordoned, not ready, held, unknown, full or free."""
    gangs: tuple[str, ...] = ()
    """The names of the gangs with pods on it that the viewer may see."""

    @property
    def sentence(self) -> str:
        """The node in words, for a tooltip and for screen readers."""
        room = f"{self.name}: {self.free or 'unknown'} of {self.offered} free"
        state = "" if self.state in ("free", "full") else f", {self.state}"
        return f"{room}{state}{f'; {self.gangs_text}' if self.gangs else ''}"

    @property
    def gangs_text(self) -> str:
        """The first few names of its gangs, and the number of others."""
        unnamed = len(self.gangs) - MOST_GANGS
        return ", ".join(self.gangs[:MOST_GANGS]) + (
            f" and {unnamed:,} more" if unnamed > 0 else ""
        )


@dataclass(frozen=True, slots=True)
class TaintRow:
    """A taint that keeps pods away."""

    taint: str = shown("Taint")
    nodes: int = shown("Nodes", "Nodes that take pods and have it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Some nodes together."""

    label: str = shown(
        "Label",
        "The label that groups them. Null if they have none of these labels.",
        empty_is_null=True,
    )
    value: str = shown("Value")
    nodes: int = shown("Nodes")
    ready: int = shown("Ready", "And not cordoned; the three add up to `nodes`.")
    cordoned: int = shown("Cordoned", "And ready.")
    not_ready: int = shown("Not ready")
    taints: tuple[TaintRow, ...] = shown("Taints", "The most frequent three.")
    more_taints: int = shown(
        "More taints",
        "Number of rarer taints, or of all taints for callers who may not see the whole cluster.",
    )
    amounts: tuple[Amount, ...] = shown("Amounts")
    squares: tuple[NodeSquare, ...] = ()
    """Its first nodes with accelerators by topology and name. Empty for the sum of several pools."""
    more_squares: int = 0
    cordoned_names: str = ""
    """The first few cordoned nodes, for viewers who may read names of nodes. Else empty."""
    not_ready_names: str = ""

    @property
    def accelerators(self) -> tuple[Amount, ...]:
        """The amounts of accelerators."""
        return tuple(amount for amount in self.amounts if amount.is_accelerator)

    @property
    def others(self) -> tuple[Amount, ...]:
        """The amounts of other resources: cpu, memory, pods and other devices."""
        return tuple(amount for amount in self.amounts if not amount.is_accelerator)

    @property
    def others_short(self) -> str:
        """The used share of the other resources in one line."""
        return ", ".join(amount.short for amount in self.others)


def pool_of(node: NodeRow, by: str = "") -> tuple[str, str]:
    """Return the label that names the pool of a node, and its value. Both are empty for a node without a pool."""
    candidates = (by,) if by else POOL_LABELS
    label = next((name for name in candidates if name in node.labels), "")
    return label, node.labels[label] if label else ""


def sum_nodes(label: str, value: str, nodes: Sequence[NodeRow]) -> Pool:
    """Return the nodes as one pool."""
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
        taints=tuple(TaintRow(printable(taint), number) for taint, number in often[:MOST_TAINTS]),
        more_taints=max(0, len(often) - MOST_TAINTS),
        amounts=node_amounts(nodes),
    )


def _refuses(taint: str) -> bool:
    """Return whether a taint repels pods and is not only a state of the node."""
    return taint.endswith(_REFUSING) and not taint.startswith(_STATES)


MOST_NODES = 10_000
"""Nodes that one page sums up. Further clusters are summed up if the request names them."""
AgedSentence = tuple[str, datetime | None, str]
"""A sentence with an age: the text before it, the start of the age, and the text after it."""


def read_cluster_totals(
    *, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> dict[int, Pool | None]:
    """Return the sums of all nodes by cluster, None for a cluster without nodes (3 queries).

    Clusters with unknown or too many nodes, and those whose nodes the viewer may not count, are left out.
    """
    ids = [id_ for id_ in clusters if viewer.counts_nodes(id_)]
    stored = {row.cluster_id: row for row in ClusterCapacity.objects.filter(cluster_id__in=ids)}
    known = [id_ for id_ in ids if unknown_nodes_sentence(clusters[id_], stored.get(id_)) is None]
    chosen = limit_clusters(known, only=False)
    nodes = read_nodes(chosen)
    return {id_: sum_nodes("", "", nodes[id_]) if id_ in nodes else None for id_ in chosen}


def unknown_nodes_sentence(
    cluster: Freshness, stored: ClusterCapacity | None
) -> AgedSentence | None:
    """Return why the nodes of a cluster are unknown, or None if they are known."""
    if cluster.level is Level.NEVER:
        once = f"This cluster {cluster.has_not_once}: the resources of its nodes are unknown."
        return (once, None, "")
    if cluster.level is Level.SILENT:
        after = ": the free resources of its nodes are unknown."
        return (f"This cluster {cluster.has_not} for ", cluster.contact_at, after)
    if stored is None:
        return ("The nodes of this cluster have not been read yet.", None, "")
    if stored.why:
        return (f"The capacity of this cluster is unknown: {printable(stored.why)}.", None, "")
    return None


def limit_clusters(ids: list[int], *, only: bool) -> set[int]:
    """Return the clusters to sum up, as many as MOST_NODES allows, and at least the first (1 query).

    With `only` the limit does not apply, because the request names one cluster.
    """
    counts = dict(
        NodeCapacity.objects.filter(cluster_id__in=ids)
        .values_list("cluster_id")
        .annotate(number=Count("pk"))
    )
    chosen: set[int] = set()
    nodes = 0
    for id_ in ids:
        nodes += counts.get(id_, 0)
        if nodes <= MOST_NODES or only or not chosen:
            chosen.add(id_)
    return chosen


def read_nodes(ids: Iterable[int]) -> dict[int, list[NodeRow]]:
    """Return the nodes of clusters by id (1 query)."""
    nodes: dict[int, list[NodeRow]] = {}
    rows = NodeCapacity.objects.filter(cluster_id__in=ids).values_list(
        *("cluster_id", "labels", "taints", "ready", "cordoned"),
        *("allocatable", "used", "held", "unreadable", "name", "pods"),
    )
    for id_, *columns in rows.iterator(chunk_size=2000):
        nodes.setdefault(id_, []).append(NodeRow(*columns))
    return nodes
