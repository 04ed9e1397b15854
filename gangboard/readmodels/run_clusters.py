"""Watched clusters in which an admission system runs a gang that is mirrored here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gangboard.domain.verdict import Finding
from gangboard.plugins import registry
from gangboard.readmodels.freshness import Freshness
from gangboard.store.access import Viewer
from gangboard.store.models import Gang


@dataclass(frozen=True, slots=True)
class RunCluster:
    """A watched cluster that runs a gang."""

    name: str
    gang_id: str = ""
    """The gang of the same kind, namespace and name there. Empty if none is known."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """How a sentence names the cluster."""
        return re.compile(rf"\bcluster {re.escape(self.name)}(?![\w-]|\.\w)")


def read_run_clusters(
    findings: Iterable[Finding], gang: Gang, *, viewer: Viewer, clusters: Mapping[int, Freshness]
) -> tuple[RunCluster, ...]:
    """Return the watched clusters by which findings say that the gang runs there (at most 1 query).

    A dispatcher has names of its own for clusters, so the name of a watched cluster must equal that name.
    """
    labels = registry.run_cluster_fields()
    named = {
        item.value for finding in findings for item in finding.evidence if item.label in labels
    }
    watched = {
        found.cluster: id_
        for id_, found in clusters.items()
        if found.cluster in named and id_ != gang.cluster_id
    }
    if not watched:
        return ()
    same = Gang.objects.filter(
        viewer.gang_filter(),
        cluster__in=watched.values(),
        api_group=gang.api_group,
        kind=gang.kind,
        namespace=gang.namespace,
        name=gang.name,
        gone_at=None,
    )
    ids = dict(same.values_list("cluster_id", "pk"))
    return tuple(RunCluster(name, ids.get(id_, "")) for name, id_ in sorted(watched.items()))
