"""`manage.py list_clusters [--json]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from gangboard.api.serializers.clusters import ClusterSerializer
from gangboard.ops.list_command import SERVER, ListCommand
from gangboard.pages.core.rows import shown
from gangboard.readmodels.clusters import ClusterState, list_clusters


@dataclass(frozen=True, slots=True)
class ClusterLine:
    """A cluster in one line."""

    name: str = shown("Cluster")
    server: str = shown("Server")
    version: str | None = shown("Version")
    contact_at: datetime | None = shown("Contact")
    gangs: int | None = shown("Gangs")
    sentence: str = shown("State")
    state: ClusterState | None = None


class Command(ListCommand):
    help = "List the watched clusters and whether they answer. The JSON is that of the API's clusters/."
    row = ClusterLine
    nothing = "No cluster is watched. Add one with manage.py add_cluster."

    def rows(self) -> Iterable[ClusterLine]:
        """Return the clusters by name."""
        for state in list_clusters(viewer=SERVER, now=timezone.now()):
            yield ClusterLine(
                state.name,
                state.server,
                state.server_version or None,
                state.contact_at,
                state.gangs,
                state.sentence,
                state,
            )

    def documents(self, rows: Sequence[ClusterLine]) -> Any:
        """Return the clusters as the API sends them."""
        return ClusterSerializer([row.state for row in rows], many=True).data
