"""Nodes of clusters as they are stored, and why those of a cluster are not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Count

from gangboard.readmodels.freshness import Freshness, Level
from gangboard.readmodels.node_amounts import NodeRow
from gangboard.readmodels.pools import Pool, sum_nodes
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.models import ClusterCapacity, NodeCapacity

MOST_NODES = 10_000
"""Nodes that one page adds up. Further clusters are added up if the request names them."""
Blind = tuple[str, datetime | None, str]
"""A sentence around an age: the text before it, the time from which it counts, the text after it."""


def read_wholes(*, viewer: Viewer, clusters: Mapping[int, Freshness]) -> dict[int, Pool | None]:
    """Return all nodes of each cluster together, None if it has none (3 queries).

    Not in it: clusters whose nodes are not known or are too many, and those that the viewer may not count.
    """
    ids = [id_ for id_ in clusters if viewer.counts_nodes(id_)]
    stored = {row.cluster_id: row for row in ClusterCapacity.objects.filter(cluster_id__in=ids)}
    known = [id_ for id_ in ids if blind_of(clusters[id_], stored.get(id_)) is None]
    chosen = within_bound(known, only=False)
    nodes = read_nodes(chosen)
    return {id_: sum_nodes("", "", nodes[id_]) if id_ in nodes else None for id_ in chosen}


def blind_of(cluster: Freshness, stored: ClusterCapacity | None) -> Blind | None:
    """Return why the nodes of a cluster are not known; None if they are known."""
    if cluster.level is Level.NEVER:
        once = f"This cluster {cluster.has_not_once}: what its nodes offer is not known."
        return (once, None, "")
    if cluster.level is Level.SILENT:
        after = ": what is free on its nodes now is not known."
        return (f"This cluster {cluster.has_not} for ", cluster.contact_at, after)
    if stored is None:
        return ("The nodes of this cluster have not been read yet.", None, "")
    if stored.why:
        return (f"Nothing can be said of room in this cluster: {printable(stored.why)}.", None, "")
    return None


def within_bound(ids: list[int], *, only: bool) -> set[int]:
    """Return the clusters that are added up (1 query): all within the bound, and always the first.

    With `only` there is no bound, because the request names one cluster.
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
