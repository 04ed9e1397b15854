"""Waits of the gangs that began to run in the last hour, as a histogram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Min

from gangboard.domain.health import Health
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.time_to_start import MOST_SPANS_READ, whole_waits
from gangboard.store.access import Viewer
from gangboard.store.models import VerdictSpan

WINDOW = timedelta(hours=1)
MOST_STARTS = 300
"""The newest starts of the window. More would make one scrape slow."""
BOUNDS = (10, 30, 60, 300, 900, 1800, 3600, 10_800, 43_200, 86_400)
"""Seconds."""


@dataclass(frozen=True, slots=True)
class StartWaits:
    """Waits of the gangs of one cluster."""

    cluster: str
    at_most: tuple[int, ...]
    """Number of gangs that waited at most as long, for each of BOUNDS."""
    gangs: int
    seconds: float
    """All waits together."""


def read_start_waits(
    *, viewer: Viewer, clusters: Mapping[int, Freshness], now: datetime
) -> tuple[StartWaits, ...]:
    """Return the waits by cluster (2 queries, 2 more where gangs began to run).

    A gang counts if it ran for the first time, and its whole wait was seen. Silent clusters are left out.
    """
    ids = [id_ for id_, cluster in clusters.items() if not cluster.is_silent]
    cluster_of = _started(viewer, ids, now - WINDOW)
    first_runs = _first_runs(cluster_of, now - WINDOW)
    waits: dict[int, list[float]] = {id_: [] for id_ in ids}
    if first_runs:
        for gang_id, seconds in whole_waits(first_runs).items():
            waits[cluster_of[gang_id]].append(seconds)
    return tuple(
        StartWaits(
            cluster=clusters[id_].cluster,
            at_most=tuple(sum(wait <= bound for wait in seconds) for bound in BOUNDS),
            gangs=len(seconds),
            seconds=sum(seconds),
        )
        for id_, seconds in waits.items()
    )


def _started(viewer: Viewer, ids: list[int], begin: datetime) -> dict[str, int]:
    """Return id of gang → cluster of the newest gangs that began to run, perhaps not for the first time."""
    newest = VerdictSpan.objects.aggregate(pk=Max("pk"))["pk"] or 0
    rows = VerdictSpan.objects.filter(
        viewer.gang_filter(),
        pk__gt=newest - MOST_SPANS_READ,
        cluster_id__in=ids,
        health=Health.RUNNING.value,
        began_at__gte=begin,
    ).order_by("-pk")
    return dict(rows.values_list("gang_id", "cluster_id")[:MOST_STARTS])


def _first_runs(cluster_of: Mapping[str, int], begin: datetime) -> dict[str, datetime]:
    if not cluster_of:
        return {}
    rows = (
        VerdictSpan.objects.filter(gang_id__in=list(cluster_of), health=Health.RUNNING.value)
        .values_list("gang_id")
        .annotate(first=Min("began_at"))
        .order_by()
    )
    return {gang_id: first for gang_id, first in rows if first >= begin}
