"""How many gangs are how, over everything that a viewer may see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Sum

from gangboard.domain.health import Health
from gangboard.readmodels.freshness import (
    Freshness,
    knows_zero,
    read_freshness,
    silent_ids,
)
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.unseen import Unseen, find_unseen
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class Tally:
    """Gangs of one health, code or cluster."""

    key: str
    gangs: int | None = 0
    """None, as the accelerators: no gang was seen, and where they would be could not be read."""
    accelerators: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts that add up: every gang is in one line of each of the three lists."""

    by_health: tuple[Tally, ...]
    """Every health word, worst first, with zeros where they are known."""
    by_code: tuple[Tally, ...]
    """Codes that occur, most gangs first."""
    by_cluster: tuple[Tally, ...]
    """Every cluster that the viewer sees, by name."""
    gangs: int | None
    """None, as the accelerators: no gang was seen, and no cluster was read yet."""
    accelerators: float | None
    observed_at: datetime | None
    """The oldest of the clusters' last contacts: nothing here is older. None when it is not known."""
    stale: bool
    """Some cluster has not answered for a while; its gangs may count as unknown."""
    unseen: tuple[Unseen, ...]
    """Clusters that could not be looked at, or not fully: their counts may be too low."""


def summary(*, viewer: Viewer, now: datetime, cluster: str = "", namespace: str = "") -> Summary:
    """Return the counts (2 queries), of one cluster or namespace if one is given."""
    clusters = {
        id_: found
        for id_, found in read_freshness(viewer=viewer, now=now).items()
        if cluster in ("", found.cluster)
    }
    filters = GangFilters(cluster=cluster, namespace=namespace)
    gangs = select_gangs(viewer=viewer, filters=filters, silent=silent_ids(clusters))
    rows = gangs.values_list("shown_health", "shown_code", "cluster_id").annotate(
        gangs=Count("*"), devices=Sum("accelerators")
    )
    read = knows_zero(clusters.values())
    health = {word.value: _nothing(word.value, known=read) for word in Health}
    codes: dict[str, Tally] = {}
    places = {
        id_: _nothing(cluster.cluster, known=cluster.was_read and not cluster.is_silent)
        for id_, cluster in clusters.items()
    }
    total = _nothing("", known=read)
    unknown: dict[int, int] = {}
    for word, code, cluster_id, number, devices in rows:
        if word == Health.UNKNOWN.value:
            unknown[cluster_id] = unknown.get(cluster_id, 0) + number
        health[word] = _more(health.get(word, Tally(word)), number, devices)
        codes[code] = _more(codes.get(code, Tally(code)), number, devices)
        places[cluster_id] = _more(places.get(cluster_id, Tally("")), number, devices)
        total = _more(total, number, devices)
    return Summary(
        by_health=tuple(health.values()),
        by_code=tuple(sorted(codes.values(), key=lambda count: (-(count.gangs or 0), count.key))),
        by_cluster=tuple(places.values()),
        gangs=total.gangs,
        accelerators=total.accelerators,
        observed_at=_oldest_contact(clusters.values()),
        stale=any(cluster.is_stale for cluster in clusters.values()),
        unseen=find_unseen(clusters, unknown),
    )


def _more(count: Tally, gangs: int, accelerators: float) -> Tally:
    return Tally(count.key, (count.gangs or 0) + gangs, (count.accelerators or 0.0) + accelerators)


def _nothing(key: str, *, known: bool) -> Tally:
    """Return a tally without gangs: of zero, or of an unknown number."""
    return Tally(key) if known else Tally(key, None, None)


def _oldest_contact(clusters: Iterable[Freshness]) -> datetime | None:
    times = [cluster.contact_at for cluster in clusters]
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None
