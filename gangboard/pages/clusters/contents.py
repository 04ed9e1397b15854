"""The contents of each cluster: gangs by health, nodes, accelerators."""

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
    """The gangs and nodes of one cluster, as far as the viewer may see them."""

    healths: tuple[HealthCount, ...]
    """The healths that occur, worst first. All gangs of a silent cluster are unknown."""
    nodes_known: bool
    whole: Pool | None
    """All nodes together. None if there are none, or they are not known."""

    @property
    def nodes(self) -> int:
        """How many nodes it has, where that is known."""
        return self.whole.nodes if self.whole is not None else 0


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
    wholes = read_cluster_totals(viewer=viewer, clusters=clusters)
    return {
        row.cluster: ClusterContents(_by_severity(counts[id_]), id_ in wholes, wholes.get(id_))
        for id_, row in clusters.items()
    }


def _by_severity(counts: Mapping[str, int]) -> tuple[HealthCount, ...]:
    order = {health.value: place for place, health in enumerate(Health)}
    words = sorted(counts, key=lambda word: (order.get(word, len(order)), word))
    return tuple(HealthCount(face_of(word), counts[word]) for word in words)
