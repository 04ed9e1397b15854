"""The gangs of the Board as a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from gangboard.readmodels.csv_lines import write_csv
from gangboard.readmodels.freshness import read_freshness, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs, sort_keys
from gangboard.readmodels.gangs import GangRow, build_rows
from gangboard.store.access import Viewer
from gangboard.store.models import Gang

COLUMNS = (
    "id",
    "cluster",
    "namespace",
    "api_group",
    "kind",
    "name",
    "health",
    "since",
    "since_first_seen",
    "stage",
    "code",
    "title",
    "message",
    "next_step",
    "members_known",
    "members.desired",
    "members.quorum",
    "members.created",
    "members.scheduled",
    "members.ready",
    "members.succeeded",
    "members.failed",
    "members.held",
    "accelerators",
    "queue",
    "priority",
    "restarts",
    "created_at",
    "observed_at",
    "stale",
    "gone_at",
)
"""Attributes of a GangRow; the headings are their last names."""
BATCH = 500
"""Gangs that are read at once."""


def gang_csv_lines(rows: Iterable[GangRow]) -> Iterator[str]:
    """Yield the lines of a CSV file, the heading first; no cell is a formula."""
    return write_csv(rows, COLUMNS)


def export_gangs(viewer: Viewer, filters: GangFilters, *, now: datetime) -> Iterator[GangRow]:
    """Yield every gang that the viewer may see and asked for, in the order asked.

    Which these are is read at once: verdicts change while the file is sent, and a gang that moves in the
    order would be in it twice or never. Their rows are read in batches; those gone meanwhile are left out.
    """
    clusters = read_freshness(viewer=viewer, now=now)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent_ids(clusters))
    order = (key.order_by for key in sort_keys(filters))
    ids = list(gangs.order_by(*order).values_list("id", flat=True))
    unread = ("memory", "detail") if viewer.sees_everything else ("memory",)
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        found = Gang.objects.filter(viewer.gang_filter(), gone_at__isnull=not filters.gone).defer(
            *unread
        )
        rows = found.in_bulk(batch)
        present = [rows[id_] for id_ in batch if id_ in rows]
        yield from build_rows(present, viewer=viewer, clusters=clusters, now=now)
