"""The figures of the whole installation, for `/metrics`: counted by the database, never object by object."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min, Sum

from gangboard.domain.watch_state import WatchState
from gangboard.readmodels.freshness import Freshness, read_freshness, silent_ids
from gangboard.readmodels.gang_query import GangFilters, select_gangs
from gangboard.readmodels.hold_counts import HoldCount, hold_counts
from gangboard.readmodels.liveness import Liveness, read_liveness
from gangboard.store.access import Viewer
from gangboard.store.models import Action, Cluster, ResourceState


@dataclass(frozen=True, slots=True)
class GangCount:
    """Gangs of one cluster with one health and code, as pages and API show them."""

    cluster: str
    health: str
    code: str
    gangs: int
    accelerators: float
    oldest_since: datetime | None
    """Since when the first of them has been so; None when nobody looks at it now."""


@dataclass(frozen=True, slots=True)
class ResourceCount:
    """One resource that a cluster serves, or may serve."""

    cluster: str
    resource: str
    state: str
    """See `store.models.ResourceState`."""
    is_readable: bool
    objects: int
    problems: int
    """Those of the objects that could not be understood."""


@dataclass(frozen=True, slots=True)
class ActionCount:
    """Actions on one cluster that have come equally far."""

    cluster: str
    verb: str
    state: str
    actions: int


@dataclass(frozen=True, slots=True)
class Expiry:
    """When the credentials of one identity of a cluster end."""

    cluster: str
    identity: str
    """reader or actor."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Metrics:
    """All of it at one time."""

    clusters: tuple[Freshness, ...]
    expiries: tuple[Expiry, ...]
    """Of credentials whose end is known."""
    gangs: tuple[GangCount, ...]
    resources: tuple[ResourceCount, ...]
    """None of silent clusters: how they can be seen now nobody knows."""
    holds: tuple[HoldCount, ...]
    actions: tuple[ActionCount, ...]
    liveness: Liveness


def read_metrics(*, viewer: Viewer, now: datetime) -> Metrics:
    """Return the figures (8 queries, and 5 more where there are Holds).

    A cluster that is removed meanwhile is in some of them and not in others.
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
    )


def _expiries(viewer: Viewer) -> tuple[Expiry, ...]:
    rows = Cluster.objects.filter(viewer.cluster_filter()).values_list(
        "name", "credentials_expire_at", "actor_expires_at"
    )
    return tuple(
        Expiry(name, identity, at)
        for name, reader, actor in rows
        for identity, at in (("reader", reader), ("actor", actor))
        if at is not None
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
    """Return the actions on clusters that are watched: names of removed ones would pile up.

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
