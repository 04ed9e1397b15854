"""The nodes of each cluster by pool, and how many pods of each shape fit on them now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gangboard.pages.capacity.pools import (
    LabelChoices,
    make_pools,
    with_node_names,
    without_taints,
)
from gangboard.pages.capacity.rows import Capacity, ClusterCapacityRow, ShapeRow
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.node_amounts import NodeRow
from gangboard.readmodels.node_pools import (
    AgedSentence,
    limit_clusters,
    read_nodes,
    sum_nodes,
    unknown_nodes_sentence,
)
from gangboard.store.access import Viewer
from gangboard.store.models import ClusterCapacity, Gang
from gangboard.store.objects import BATCH


def read_capacity(
    *, viewer: Viewer, cluster: str, by: str, clusters: Mapping[int, Freshness]
) -> Capacity:
    """Return the clusters (3 queries, and 1 for 500 gangs on the nodes).

    `by` is a label of nodes; empty for pools by their well-known labels. `clusters` are all that the viewer
    sees. A viewer of some namespaces gets the numbers of the whole cluster.
    """
    chosen = {id_: row for id_, row in clusters.items() if not cluster or row.cluster == cluster}
    stored = {
        row.cluster_id: row
        for row in ClusterCapacity.objects.filter(
            cluster_id__in=[id_ for id_ in chosen if viewer.counts_nodes(id_)]
        )
    }
    blind = {id_: unknown_nodes_sentence(row, stored.get(id_)) for id_, row in chosen.items()}
    known = [id_ for id_ in chosen if blind[id_] is None]
    counted = limit_clusters(known, only=bool(cluster))
    nodes = read_nodes(counted)
    named = {id_: nodes.get(id_, []) for id_ in counted if viewer.names_nodes(id_)}
    gangs = _gang_names(viewer, named)
    labels = LabelChoices()
    rows = []
    for id_, freshness in chosen.items():
        if id_ not in counted:
            too_large = blind[id_] is None
            rows.append(_without_nodes(freshness, blind[id_], choose=too_large))
        elif id_ in named:
            labels.add(named[id_])
            rows.append(_row(freshness, stored[id_], named[id_], by, gangs))
        else:
            rows.append(_numbers_only(freshness, stored[id_], nodes.get(id_, [])))
    return Capacity(tuple(rows), labels.choices, labels.default)


def _without_nodes(
    freshness: Freshness, blind: AgedSentence | None, *, choose: bool
) -> ClusterCapacityRow:
    return ClusterCapacityRow(
        cluster=freshness.cluster, freshness=freshness, blind=blind, choose=choose
    )


def _numbers_only(
    freshness: Freshness, stored: ClusterCapacity, nodes: Sequence[NodeRow]
) -> ClusterCapacityRow:
    return ClusterCapacityRow(
        cluster=freshness.cluster,
        freshness=freshness,
        observed_at=stored.observed_at,
        whole=without_taints(sum_nodes("", "", nodes)) if nodes else None,
        numbers_only=True,
    )


def _gang_names(viewer: Viewer, nodes: Mapping[int, Iterable[NodeRow]]) -> dict[str, str]:
    """Return uid → name of the gangs on the nodes, of those that the viewer may see."""
    roots = {root for rows in nodes.values() for row in rows for root in row.roots.values()}
    uids = sorted(roots - {""})
    gangs = Gang.objects.filter(viewer.gang_filter(), cluster_id__in=nodes, gone_at=None)
    names: dict[str, str] = {}
    for start in range(0, len(uids), BATCH):
        batch = gangs.filter(uid__in=uids[start : start + BATCH])
        names.update((uid, printable(name)) for uid, name in batch.values_list("uid", "name"))
    return names


def _row(
    freshness: Freshness,
    stored: ClusterCapacity,
    nodes: Sequence[NodeRow],
    by: str,
    gangs: Mapping[str, str],
) -> ClusterCapacityRow:
    return ClusterCapacityRow(
        cluster=freshness.cluster,
        freshness=freshness,
        observed_at=stored.observed_at,
        whole=with_node_names(sum_nodes("", "", nodes), nodes) if nodes else None,
        pools=make_pools(nodes, by, gangs),
        shapes=tuple(_shape(shape) for shape in stored.shapes),
    )


def _shape(shape: Mapping[str, Any]) -> ShapeRow:
    why = printable(str(shape.get("why", "")))
    return ShapeRow(
        requests=tuple(
            (printable(name), printable(str(text))) for name, text in shape["requests"].items()
        ),
        where=printable(str(shape.get("where", ""))),
        waiting=shape["waiting"],
        fits_now=None if why else shape["fits_now"],
        fits_empty=None if why else shape["fits_empty"],
        unsupported=tuple(printable(str(text)) for text in shape.get("unsupported", ())),
        why=why,
    )
