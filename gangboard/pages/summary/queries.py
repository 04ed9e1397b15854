"""Gangs by health, code and cluster, of all clusters that a viewer may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from django.db.models import Count, Sum

from gangboard.domain.health import Health
from gangboard.pages.summary.rows import UNKNOWN, Summary, Tally
from gangboard.readmodels.cluster_visibility import unobserved_clusters
from gangboard.readmodels.freshness import Freshness, knows_zero, read_freshness, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.store.access import Viewer


def read_summary(
    *, viewer: Viewer, now: datetime, cluster: str = "", namespace: str = ""
) -> Summary:
    """Return the counts (2 queries), of one cluster or namespace if one is given."""
    clusters = {
        id_: row
        for id_, row in read_freshness(viewer=viewer, now=now).items()
        if cluster in ("", row.cluster)
    }
    filters = GangFilters(cluster=cluster, namespace=namespace)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent_ids(clusters))
    rows = gangs.values_list("shown_health", "shown_code", "cluster_id").annotate(
        gangs=Count("*"), devices=Sum("accelerators")
    )
    empty = _empty(is_known=knows_zero(clusters.values()))
    by_health = {health.value: empty for health in Health}
    by_code: dict[str, Tally] = {}
    by_cluster = {
        row.cluster: _empty(is_known=row.was_read and not row.is_silent)
        for row in clusters.values()
    }
    total = empty
    unknown: Counter[int] = Counter()
    for health, code, cluster_id, number, devices in rows:
        if health == Health.UNKNOWN.value:
            unknown[cluster_id] += number
        # A cluster that was added after the first query has no name here.
        name = clusters[cluster_id].cluster if cluster_id in clusters else ""
        for tallies, key in ((by_health, health), (by_code, code), (by_cluster, name)):
            tallies[key] = _add(tallies.get(key, Tally()), number, devices)
        total = _add(total, number, devices)
    return Summary(
        gangs=total.gangs,
        accelerators=total.accelerators,
        by_health=by_health,
        by_code=dict(sorted(by_code.items(), key=_most_first)),
        by_cluster=by_cluster,
        observed_at=_oldest_contact(clusters.values()),
        stale=any(row.is_stale for row in clusters.values()),
        unseen=unobserved_clusters(clusters, unknown),
    )


def _add(tally: Tally, gangs: int, accelerators: float) -> Tally:
    return Tally((tally.gangs or 0) + gangs, (tally.accelerators or 0.0) + accelerators)


def _empty(*, is_known: bool) -> Tally:
    """Return a tally without gangs: of zero, or of an unknown number."""
    return Tally() if is_known else UNKNOWN


def _most_first(item: tuple[str, Tally]) -> tuple[int, str]:
    code, tally = item
    return -(tally.gangs or 0), code


def _oldest_contact(clusters: Iterable[Freshness]) -> datetime | None:
    """Return the oldest last contact; None if a cluster has never answered, or without clusters."""
    times = [cluster.contact_at for cluster in clusters]
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None
