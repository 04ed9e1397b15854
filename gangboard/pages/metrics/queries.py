"""Counts of the whole installation, made by the database and never object by object."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Count, Min, Sum

from gangboard.domain.api_resource import WatchState
from gangboard.pages.metrics.rows import (
    AcceleratorCount,
    ActionCount,
    Expiry,
    GangCount,
    Metrics,
    NamespaceCount,
    ResourceCount,
)
from gangboard.pages.metrics.start_waits import read_start_waits
from gangboard.readmodels.freshness import Freshness, read_freshness, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.hold_counts import hold_counts
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.store.models import Action, Cluster, ResourceState, TrendPoint

CAPACITY_MAX_AGE = timedelta(minutes=5)
"""Older points of a curve do not count as current."""
_CAPACITY_STATES = ("used", "held", "free", "away")


def read_metrics(*, viewer: Viewer, now: datetime, namespaces: int = 0) -> Metrics:
    """Return the figures (11 queries; 5 more for Holds, 2 for gangs that began to run, 1 for namespaces).

    `namespaces` is how many namespaces are named, by the accelerators of their gangs. A cluster that is removed
    meanwhile is in some figures and not in others.
    """
    clusters = read_freshness(viewer=viewer, now=now)
    return Metrics(
        clusters=tuple(clusters.values()),
        expiries=_expiries(viewer),
        gangs=_gangs(viewer, clusters),
        resources=_resources(clusters),
        holds=hold_counts(viewer=viewer, clusters=clusters),
        actions=_actions(viewer, clusters),
        liveness=read_liveness(now=now),
        accelerators=_accelerators(clusters, now),
        start_waits=read_start_waits(viewer=viewer, clusters=clusters, now=now),
        namespaces=_namespaces(viewer, clusters, namespaces) if namespaces else (),
    )


def _expiries(viewer: Viewer) -> tuple[Expiry, ...]:
    rows = Cluster.objects.filter(viewer.cluster_filter()).values_list(
        "name", "credentials_expire_at", "actor_expires_at"
    )
    return tuple(
        Expiry(name, identity, expires_at)
        for name, reader, actor in rows
        for identity, expires_at in (("reader", reader), ("actor", actor))
        if expires_at is not None
    )


def _gangs(viewer: Viewer, clusters: dict[int, Freshness]) -> tuple[GangCount, ...]:
    silent = silent_ids(clusters)
    rows = (
        select_gangs(viewer=viewer, filters=GangFilters(), silent=silent)
        .values_list("cluster_id", "shown_health", "shown_code")
        .annotate(gangs=Count("id"), devices=Sum("accelerators"), oldest=Min("since"))
        .order_by()
    )
    return tuple(
        GangCount(
            cluster=clusters[id_].cluster,
            health=health,
            code=code,
            gangs=gangs,
            accelerators=devices,
            oldest_since=None if id_ in silent else oldest,
        )
        for id_, health, code, gangs, devices, oldest in rows
        if id_ in clusters
    )


def _resources(clusters: dict[int, Freshness]) -> tuple[ResourceCount, ...]:
    heard = [id_ for id_, cluster in clusters.items() if not cluster.is_silent]
    rows = ResourceState.objects.filter(cluster_id__in=heard).exclude(
        state__in=(WatchState.NOT_SERVED, WatchState.NOT_NEEDED)
    )
    return tuple(
        ResourceCount(
            cluster=clusters[id_].cluster,
            resource=resource,
            state=state,
            is_readable=state == WatchState.OK and listed_at is not None,
            objects=objects,
            problems=problems,
        )
        for id_, resource, state, listed_at, objects, problems in rows.values_list(
            "cluster_id", "resource", "state", "listed_at", "objects_count", "problems_count"
        )
    )


def _actions(viewer: Viewer, clusters: dict[int, Freshness]) -> tuple[ActionCount, ...]:
    """Return the actions on watched clusters. Names of removed clusters would pile up.

    Actions are never deleted: grouped as the index has them, their rows are not read.
    """
    rows = (
        Action.objects.filter(viewer.gang_filter(), cluster_id__in=list(clusters))
        .values_list("cluster_id", "verb", "state")
        .annotate(actions=Count("*"))
        .order_by()
    )
    return tuple(
        ActionCount(clusters[id_].cluster, verb, state, number) for id_, verb, state, number in rows
    )


def _accelerators(clusters: dict[int, Freshness], now: datetime) -> tuple[AcceleratorCount, ...]:
    """Return the sums of the newest minute of each cluster. A minute in which the nodes could not be read has none."""
    heard = [id_ for id_, cluster in clusters.items() if not cluster.is_silent]
    rows = TrendPoint.objects.filter(
        cluster_id__in=heard, at__gt=now - CAPACITY_MAX_AGE, at__lte=now
    ).order_by("at")
    newest = {id_: sums for id_, *sums in rows.values_list("cluster_id", *_CAPACITY_STATES)}
    return tuple(
        AcceleratorCount(clusters[id_].cluster, state, number - (sums[1] if state == "used" else 0))
        for id_, sums in newest.items()
        for state, number in zip(_CAPACITY_STATES, sums, strict=True)
        if number is not None
    )


def _namespaces(
    viewer: Viewer, clusters: dict[int, Freshness], most: int
) -> tuple[NamespaceCount, ...]:
    rows = (
        select_gangs(viewer=viewer, filters=GangFilters(), silent=silent_ids(clusters))
        .values_list("cluster_id", "namespace", "shown_health")
        .annotate(gangs=Count("id"), devices=Sum("accelerators"))
        .order_by()
    )
    by_namespace: dict[tuple[int, str], list[NamespaceCount]] = {}
    for id_, namespace, health, gangs, devices in rows:
        if id_ in clusters:
            count = NamespaceCount(clusters[id_].cluster, namespace, health, gangs, devices)
            by_namespace.setdefault((id_, namespace), []).append(count)
    chosen = sorted(by_namespace.values(), key=_largest_first)[:most]
    return tuple(count for counts in chosen for count in counts)


def _largest_first(counts: list[NamespaceCount]) -> tuple[float, int, str, str]:
    devices, gangs = (
        sum(count.accelerators for count in counts),
        sum(count.gangs for count in counts),
    )
    return (-devices, -gangs, counts[0].cluster, counts[0].namespace)
