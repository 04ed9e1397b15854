"""What the nodes of each cluster offer, what is taken, and how large a gang would fit now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count

from gangboard.readmodels.fit import asks_text
from gangboard.readmodels.freshness import Freshness, Level, joined
from gangboard.readmodels.node_amounts import NodeRow
from gangboard.readmodels.pools import (
    LabelChoices,
    Pool,
    make_pools,
    name_nodes,
    sum_nodes,
    without_taints,
)
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.models import ClusterCapacity, Gang, NodeCapacity
from gangboard.store.objects import BATCH

MOST_NODES = 10_000
"""Nodes that one page adds up; further clusters are added up when they are asked for by name."""


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """How many pods that ask for so much fit, each shape by itself."""

    asks: str
    requests: tuple[tuple[str, str], ...]
    """The same as (resource, quantity in base units)."""
    where: str
    """Which nodes it asks for, such as `pool=h100`; empty for any."""
    waiting: int
    fits_now: int | None
    """None when it cannot be told; `why` says why."""
    fits_empty: int | None
    unsupported: tuple[str, ...]
    """What else a pod asks for and was not worked out: the numbers are at most so many."""
    why: str

    @property
    def is_short(self) -> bool:
        """Whether more of it waits than fits now, or fits at most."""
        return self.fits_now is not None and self.fits_now < self.waiting

    @property
    def room_short(self) -> str:
        """What one pod asks for and how many of these fit now, in a line; for a shape that can be told."""
        where = f" on nodes with {self.where}" if self.where else ""
        times = f"{'at most ' if self.unsupported else ''}{self.fits_now or 0:,}"
        return f"{times} with {self.asks}{where}"


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster. With `blind` nothing else means anything."""

    cluster: str
    freshness: Freshness
    blind: tuple[str, datetime | None, str] | None
    """Why nothing can be said, around an age in it."""
    observed_at: datetime | None = None
    whole: Pool | None = None
    """All nodes together; None when it has none."""
    pools: tuple[Pool, ...] = ()
    shapes: tuple[ShapeRow, ...] = ()
    choose: bool = False
    """It is too large to be shown beside others."""
    numbers_only: bool = False
    """The viewer may not see the whole cluster: nothing by labels, which can tell one node from another,
    and no shapes, which are of all gangs."""

    @property
    def nodes(self) -> int | None:
        """How many nodes it has; None when that is not known or not added up."""
        if self.blind or self.choose:
            return None
        return self.whole.nodes if self.whole is not None else 0

    def why(self, now: datetime) -> str:
        """Return why there are no numbers, for those who cannot follow a link; empty when there are."""
        if self.choose:
            return (
                "This cluster is too large to be added up beside others: "
                f"ask for it with cluster={self.cluster}."
            )
        return joined(self.blind, now) if self.blind is not None else ""

    @property
    def accelerator_pools(self) -> tuple[Pool, ...]:
        """The pools that somebody looks for first."""
        return tuple(pool for pool in self.pools if pool.accelerators)

    @property
    def short_shapes(self) -> int:
        """How many shapes there are of which more pods wait than fit now."""
        return sum(shape.is_short for shape in self.shapes)

    @property
    def unknown_shapes(self) -> int:
        """How many shapes there are of which it cannot be told how many pods fit."""
        return sum(bool(shape.why) for shape in self.shapes)

    @property
    def dearest_with_room(self) -> ShapeRow | None:
        """The shape that asks for the most and of which a pod fits now; None when none does."""
        return next((shape for shape in self.shapes if shape.fits_now), None)

    @property
    def nodes_without(self) -> int:
        """How many nodes are in pools that offer no accelerators."""
        return sum(pool.nodes for pool in self.pools if not pool.accelerators)

    @property
    def pool_label(self) -> str:
        """The label by which all of its pools stand together; empty when they have different ones."""
        labels = {pool.label for pool in self.pools}
        return labels.pop() if len(labels) == 1 else ""

    @property
    def shown(self) -> tuple[object, ...]:
        """All that is printed, without what a clock changes."""
        blind = self.blind
        numbers = (self.whole, self.pools, self.shapes, self.numbers_only)
        return (self.freshness.shown, blind, *numbers, self.choose)


@dataclass(frozen=True, slots=True)
class Capacity:
    """Everything on the Capacity page but the frame around every page."""

    clusters: tuple[ClusterRow, ...]
    labels: tuple[str, ...]
    """Labels by which nodes can be put together, the most telling first; without the default."""
    default_label: str = ""
    """The label by which they stand together when nobody chooses one. Empty if there are several, or none."""

    @property
    def accelerators(self) -> dict[str, float | None]:
        """The accelerators of all clusters now: used, held, away and free, without a part that is in two.

        None where the nodes of a cluster are not known or not added up. Clusters that never answered
        are in no sum; the page names them.
        """
        names = ("used", "held", "away", "free")
        counted = [row for row in self.clusters if row.freshness.level is not Level.NEVER]
        if not counted or any(row.blind or row.choose for row in counted):
            return dict.fromkeys(names)
        amounts = [one.exact for row in counted if row.whole for one in row.whole.accelerators]
        sums = {name: float(sum(Decimal(getattr(one, name)) for one in amounts)) for name in names}
        return {**sums, "used": sums["used"] - sums["held"]}


def read_capacity(
    *, viewer: Viewer, cluster: str, by: str, clusters: Mapping[int, Freshness]
) -> Capacity:
    """Return the page (3 queries, 1 more for 500 gangs on the nodes). `by`: a label of nodes; empty for pools by their well-known labels.

    `clusters` are all that the viewer sees. Who sees only some namespaces of one gets its numbers.
    """
    asked = {id_: one for id_, one in clusters.items() if not cluster or one.cluster == cluster}
    told = {
        row.cluster_id: row
        for row in ClusterCapacity.objects.filter(
            cluster_id__in=[id_ for id_ in asked if viewer.counts_nodes(id_)]
        )
    }
    blind = {id_: blind_of(one, told.get(id_)) for id_, one in asked.items()}
    chosen = _within_bound([id_ for id_ in asked if blind[id_] is None], only=bool(cluster))
    nodes = _nodes(chosen)
    gangs = _gang_names(
        viewer, {id_: nodes.get(id_, []) for id_ in chosen if viewer.names_nodes(id_)}
    )
    labels = LabelChoices()
    rows = []
    for id_, one in asked.items():
        if blind[id_] is not None:
            rows.append(ClusterRow(one.cluster, one, blind[id_]))
        elif id_ not in chosen:
            rows.append(ClusterRow(one.cluster, one, None, choose=True))
        else:
            here = nodes.get(id_, [])
            if viewer.names_nodes(id_):
                labels.add(here)
                rows.append(_row(one, told[id_], here, by, gangs))
            else:
                whole = without_taints(sum_nodes("", "", here)) if here else None
                at = told[id_].observed_at
                rows.append(ClusterRow(one.cluster, one, None, at, whole, numbers_only=True))
    return Capacity(tuple(rows), labels.choices, labels.default)


def read_wholes(*, viewer: Viewer, clusters: Mapping[int, Freshness]) -> dict[int, Pool | None]:
    """Return all nodes of each cluster together, None if it has none (3 queries).

    Not in it: clusters whose nodes are not known or are too many, and those that the viewer may not count.
    """
    ids = [id_ for id_ in clusters if viewer.counts_nodes(id_)]
    told = {row.cluster_id: row for row in ClusterCapacity.objects.filter(cluster_id__in=ids)}
    known = [id_ for id_ in ids if blind_of(clusters[id_], told.get(id_)) is None]
    chosen = _within_bound(known, only=False)
    nodes = _nodes(chosen)
    return {id_: sum_nodes("", "", nodes[id_]) if id_ in nodes else None for id_ in chosen}


def blind_of(
    cluster: Freshness, told: ClusterCapacity | None
) -> tuple[str, datetime | None, str] | None:
    """Return why nothing can be said of a cluster, or None."""
    if cluster.level is Level.NEVER:
        once = f"This cluster {cluster.has_not_once}: what its nodes offer is not known."
        return (once, None, "")
    if cluster.level is Level.SILENT:
        after = ": what is free on its nodes now is not known."
        return (f"This cluster {cluster.has_not} for ", cluster.contact_at, after)
    if told is None:
        return ("The nodes of this cluster have not been read yet.", None, "")
    if told.why:
        return (f"Nothing can be said of room in this cluster: {printable(told.why)}.", None, "")
    return None


def _within_bound(ids: list[int], *, only: bool) -> set[int]:
    """Return the clusters that are added up (1 query): all within the bound, the first one always."""
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


def _nodes(ids: Iterable[int]) -> dict[int, list[NodeRow]]:
    found: dict[int, list[NodeRow]] = {}
    rows = NodeCapacity.objects.filter(cluster_id__in=ids).values_list(
        *("cluster_id", "labels", "taints", "ready", "cordoned"),
        *("allocatable", "used", "held", "unreadable", "name", "pods"),
    )
    for id_, *columns in rows.iterator(chunk_size=2000):
        found.setdefault(id_, []).append(NodeRow(*columns))
    return found


def _gang_names(viewer: Viewer, nodes: Mapping[int, Iterable[NodeRow]]) -> dict[str, str]:
    """Return uid → name of the gangs on the nodes, of those that the viewer may see."""
    roots = {root for rows in nodes.values() for row in rows for root in row.roots.values()}
    uids = sorted(roots - {""})
    gangs = Gang.objects.filter(viewer.gang_filter(), cluster_id__in=nodes, gone_at=None)
    found: dict[str, str] = {}
    for start in range(0, len(uids), BATCH):
        here = gangs.filter(uid__in=uids[start : start + BATCH])
        found.update((uid, printable(name)) for uid, name in here.values_list("uid", "name"))
    return found


def _row(
    cluster: Freshness,
    told: ClusterCapacity,
    nodes: list[NodeRow],
    by: str,
    gangs: Mapping[str, str],
) -> ClusterRow:
    return ClusterRow(
        cluster.cluster,
        cluster,
        None,
        observed_at=told.observed_at,
        whole=name_nodes(sum_nodes("", "", nodes), nodes) if nodes else None,
        pools=make_pools(nodes, by, gangs),
        shapes=tuple(_shape(shape) for shape in told.shapes),
    )


def _shape(shape: Mapping[str, Any]) -> ShapeRow:
    why = printable(str(shape.get("why", "")))
    requests = tuple(
        (printable(name), printable(str(text))) for name, text in shape["requests"].items()
    )
    return ShapeRow(
        asks=asks_text(requests) or "nothing in particular",
        requests=requests,
        where=printable(str(shape.get("where", ""))),
        waiting=shape["waiting"],
        fits_now=None if why else shape["fits_now"],
        fits_empty=None if why else shape["fits_empty"],
        unsupported=tuple(printable(str(text)) for text in shape.get("unsupported", ())),
        why=why,
    )
