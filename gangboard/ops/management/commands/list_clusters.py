"""`manage.py list_clusters [--json]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from gangboard.ops.list_command import SERVER, ListCommand
from gangboard.pages.clusters.queries import list_clusters
from gangboard.pages.clusters.rows import ClusterRow
from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.declarations import shown


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """A cluster in one line."""

    name: str = shown("Cluster")
    server: str = shown("Server")
    version: str | None = shown("Version")
    contact_at: datetime | None = shown("Contact")
    gangs: int | None = shown("Gangs")
    sentence: str = shown("State")
    cluster: ClusterRow | None = None


class Command(ListCommand):
    help = "List the watched clusters and whether they answer. The JSON is that of the API's clusters/."
    row = ClusterLine
    nothing = "No cluster is watched. Add one with manage.py add_cluster."

    def rows(self) -> Iterable[ClusterLine]:
        """Return the clusters by name."""
        for cluster in list_clusters(viewer=SERVER, now=timezone.now()):
            yield ClusterLine(
                cluster.name,
                cluster.server,
                cluster.server_version or None,
                cluster.contact_at,
                cluster.gangs,
                cluster.sentence,
                cluster,
            )

    def documents(self, rows: Sequence[ClusterLine]) -> Any:
        """Return the clusters as the API sends them."""
        return serializer_of(ClusterRow)([row.cluster for row in rows], many=True).data
