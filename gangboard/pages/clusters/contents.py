"""The contents of each cluster: gangs by health, nodes and accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from gangboard.domain.health import Health
from gangboard.readmodels.freshness import Freshness, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.node_pools import Pool, read_cluster_totals
from gangboard.readmodels.state_labels import HealthCount, face_of
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class ClusterContents:
    """The gangs and nodes of one cluster that the viewer may see."""

    healths: tuple[HealthCount, ...]
    """Gangs by health, worst first. All gangs of a silent cluster are unknown."""
    nodes_known: bool
    totals: Pool | None
    """All nodes together, or None without nodes or if they are unknown."""

    @property
    def nodes(self) -> int:
        """The number of nodes, 0 if it is unknown."""
        return self.totals.nodes if self.totals is not None else 0


def read_contents(
    *, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> dict[str, ClusterContents]:
    """Return the contents of the clusters by name (4 queries)."""
    counts: dict[int, dict[str, int]] = {id_: {} for id_ in clusters}
    gangs = select_gangs(
        viewer=viewer, filters=GangFilters(show_finished=True), silent=silent_ids(clusters)
    )
    rows = gangs.filter(cluster_id__in=clusters).values_list("cluster_id", "shown_health")
    for id_, health, number in rows.annotate(gangs=Count("*")):
        counts[id_][health] = number
    totals = read_cluster_totals(viewer=viewer, clusters=clusters)
    return {
        row.cluster: ClusterContents(_by_severity(counts[id_]), id_ in totals, totals.get(id_))
        for id_, row in clusters.items()
    }


def _by_severity(counts: Mapping[str, int]) -> tuple[HealthCount, ...]:
    order = {health.value: place for place, health in enumerate(Health)}
    healths = sorted(counts, key=lambda health: (order.get(health, len(order)), health))
    return tuple(HealthCount(face_of(health), counts[health]) for health in healths)
