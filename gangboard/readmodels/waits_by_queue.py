"""Waits of gangs before they ran, by queue and size: the median and the 90th percentile.

They come from the newest gangs that ran and that the viewer may see. A gang counts if its whole wait was seen,
from its creation on. Time in which it was suspended on purpose does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import Max

from gangboard.domain.health import Health
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import duration_text, printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.time_to_start import FEWEST_CASES, MOST_SPANS_READ, whole_waits
from gangboard.store.access import Viewer
from gangboard.store.models import VerdictSpan

MOST_GANGS = 300
"""The newest gangs that ran."""
FEWEST_FOR_90 = 10
"""Fewest gangs for the 90th percentile. With fewer, the longest wait alone would decide it."""


@dataclass(frozen=True, slots=True)
class SizeRow:
    """A class of gangs by the accelerators that they ask for."""

    label: str
    more_than: int | None = shown("More than", "Null: they ask for none.")
    at_most: int | None = shown("At most", "Null: no limit.")


SIZES = (
    SizeRow("none", None, 0),
    SizeRow("up to 8", 0, 8),
    SizeRow("9 to 64", 8, 64),
    SizeRow("65 to 512", 64, 512),
    SizeRow("more than 512", 512, None),
)


@dataclass(frozen=True, slots=True)
class QueueWaitsRow:
    """The gangs of one queue and size."""

    cluster: str = shown("Cluster")
    queue: str = shown(
        "Queue", "The queue that their owners name. Null if they name none.", empty_is_null=True
    )
    size: SizeRow = shown("Accelerators", api_name="accelerators")
    gangs: int = shown("Gangs", "Number of gangs behind the two times.")
    median_seconds: int | None = shown("Median", "Null: fewer than 5 gangs.")
    p90_seconds: int | None = shown(
        "Nine of ten", "The time that nine of ten did not exceed. Null with fewer than 10 gangs."
    )

    @property
    def median_text(self) -> str:
        """The median in words."""
        return _text(self.median_seconds)

    @property
    def most_text(self) -> str:
        """The 90th percentile in words."""
        return _text(self.p90_seconds)


@dataclass(frozen=True, slots=True)
class WaitsByQueue:
    """The waits of a viewer, by cluster, queue and size."""

    rows: tuple[QueueWaitsRow, ...]
    gangs: int
    """The gangs of all rows."""


def read_waits_by_queue(
    *, viewer: Viewer, clusters: Mapping[int, Freshness], cluster: str = ""
) -> WaitsByQueue:
    """Return the waits of one cluster, or of all `clusters`, which the viewer sees (at most 3 queries)."""
    cluster_ids = [id_ for id_, freshness in clusters.items() if cluster in ("", freshness.cluster)]
    spans = _newest_runs(viewer, cluster_ids)
    waits = (
        whole_waits({gang_id: span.began_at for gang_id, span in spans.items()}) if spans else {}
    )
    groups: dict[tuple[int, str, SizeRow], list[float]] = {}
    for gang_id, seconds in waits.items():
        span = spans[gang_id]
        key = (span.cluster_id, span.queue, size_of(span.accelerators))
        groups.setdefault(key, []).append(seconds)
    rows = [
        _row(clusters[id_].cluster, queue, size, sorted(group_waits))
        for (id_, queue, size), group_waits in groups.items()
    ]
    rows.sort(key=lambda row: (row.cluster, row.queue, SIZES.index(row.size)))
    return WaitsByQueue(tuple(rows), len(waits))


def size_of(accelerators: float) -> SizeRow:
    """Return the size class of a gang with this number of accelerators."""
    return next(size for size in SIZES if size.at_most is None or accelerators <= size.at_most)


@dataclass(frozen=True, slots=True)
class _Run:
    """The first observed run of a gang."""

    cluster_id: int
    queue: str
    accelerators: float
    began_at: datetime


def _newest_runs(viewer: Viewer, cluster_ids: Sequence[int]) -> dict[str, _Run]:
    """Return the newest runs by gang id (2 queries)."""
    newest = VerdictSpan.objects.aggregate(pk=Max("pk"))["pk"] or 0
    rows = (
        VerdictSpan.objects.filter(
            viewer.gang_filter(),
            pk__gt=newest - MOST_SPANS_READ,
            cluster_id__in=cluster_ids,
            health=Health.RUNNING.value,
        )
        .order_by("-pk")
        .values_list("gang_id", "cluster_id", "queue", "accelerators", "began_at")
    )
    runs: dict[str, _Run] = {}
    for gang_id, cluster_id, queue, accelerators, began_at in rows[: MOST_GANGS * 4]:
        if len(runs) < MOST_GANGS:
            runs.setdefault(gang_id, _Run(cluster_id, queue, accelerators, began_at))
    return runs


def _row(cluster: str, queue: str, size: SizeRow, waits: Sequence[float]) -> QueueWaitsRow:
    """Return one row. `waits` are sorted, the shortest first."""
    count = len(waits)
    ninth = waits[-(-9 * count // 10) - 1]
    return QueueWaitsRow(
        cluster=cluster,
        queue=printable(queue),
        size=size,
        gangs=count,
        median_seconds=round(median(waits)) if count >= FEWEST_CASES else None,
        p90_seconds=round(ninth) if count >= FEWEST_FOR_90 else None,
    )


def _text(seconds: int | None) -> str:
    return "too few gangs" if seconds is None else duration_text(timedelta(seconds=seconds))
