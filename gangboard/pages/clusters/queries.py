"""Clusters: their freshness, their resources, their levers, and the workers that poll them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count

from gangboard.domain.action import ClusterLevers
from gangboard.domain.api_resource import WatchState
from gangboard.pages.clusters.lever_board import LeverBoard, lever_board
from gangboard.pages.clusters.rows import ClusterRow, Expiry, ObjectProblem, ResourceRow, Slots
from gangboard.readmodels.formatting import duration_text, printable
from gangboard.readmodels.freshness import Freshness, Level, level_of, problem_sentence, reach_step
from gangboard.readmodels.liveness import Liveness, read_liveness
from gangboard.readmodels.measured_use import source_states
from gangboard.readmodels.outages import OutageRow, read_outages
from gangboard.readmodels.state_labels import Face
from gangboard.store.access import Viewer
from gangboard.store.levers import read_all_levers, read_independent_owners
from gangboard.store.models import Cluster, Gang, Lease, ResourceState

SHOWN_OUTAGES = 10
EXPIRY_WARNING = timedelta(days=7)
_READ = frozenset({WatchState.OK, WatchState.NOT_SERVED, WatchState.NOT_NEEDED})
"""States in which all objects of a resource are known."""
_RESOURCE_FACES: Mapping[str, Face] = {
    WatchState.OK: Face("ok", "Read", "✓", "running"),
    WatchState.LISTING: Face("listing", "Being listed", "◌", "starting"),
    WatchState.NOT_SERVED: Face("not-served", "Not served", "–", "unknown"),
    WatchState.NOT_NEEDED: Face("not-needed", "Not needed", "–", "unknown"),
    WatchState.FORBIDDEN: Face("forbidden", "Forbidden", "✕", "blocked"),
    WatchState.FAILING: Face("failing", "Failing", "✕", "failed"),
    WatchState.UNKNOWN_VERSION: Face("unknown-version", "Unknown version", "?", "degraded"),
    WatchState.UNDECODABLE: Face("undecodable", "Not understood", "?", "degraded"),
}


def list_clusters(*, viewer: Viewer, now: datetime) -> tuple[ClusterRow, ...]:
    """Return the clusters in which the viewer may see a namespace, by name (8 queries)."""
    return _rows(viewer, now, Cluster.objects.filter(viewer.cluster_filter()))


def cluster_detail(name: str, *, viewer: Viewer, now: datetime) -> ClusterRow | None:
    """Return one cluster, or None if it does not exist or the viewer may not see it."""
    clusters = Cluster.objects.filter(viewer.cluster_filter(), name=name)
    row = next(iter(_rows(viewer, now, clusters)), None)
    if row is None:
        return None
    claims = read_independent_owners(row.freshness.cluster_id, viewer.gang_filter())
    return replace(row, claims=tuple(printable("/".join(claim)) for claim in claims))


def find_slot_shortage(
    *, viewer: Viewer, liveness: Liveness | None = None, now: datetime
) -> Slots | None:
    """Return the slots of poll workers if there are fewer slots than clusters, else None.

    The result is None for viewers who may not see all clusters.
    """
    if not viewer.sees_everything:
        return None
    slots = (liveness or read_liveness(now=now)).slots
    clusters = Cluster.objects.count()
    # Without a living worker the liveness banner explains the problem.
    return Slots(clusters, slots) if 0 < slots < clusters else None


@dataclass(frozen=True, slots=True)
class _Related:
    """Rows of other tables, by cluster id."""

    freshness: Mapping[int, Freshness]
    resources: Mapping[int, tuple[ResourceRow, ...]]
    levers: Mapping[int, ClusterLevers]
    holders: Mapping[int, str]
    gangs: Mapping[int, int]
    outages: Mapping[int, tuple[OutageRow, ...]]
    use_sources: Mapping[int, str]


def _rows(viewer: Viewer, now: datetime, rows: Iterable[Cluster]) -> tuple[ClusterRow, ...]:
    clusters = list(rows)
    ids = [cluster.pk for cluster in clusters]
    freshness = {cluster.pk: _freshness(cluster, viewer, now) for cluster in clusters}
    holders = Lease.objects.filter(cluster_id__in=ids, expires_at__gt=now)
    gangs = Gang.objects.filter(viewer.gang_filter(), cluster_id__in=ids, gone_at=None)
    related = _Related(
        freshness=freshness,
        resources=_resources(clusters, viewer),
        levers=read_all_levers(clusters),
        holders=dict(holders.values_list("cluster_id", "holder")),
        gangs=dict(gangs.values_list("cluster_id").annotate(number=Count("id"))),
        use_sources=source_states(
            {cluster.pk: cluster.name for cluster in clusters if viewer.sees_cluster(cluster.pk)},
            now,
        ),
        outages=read_outages(viewer=viewer, clusters=freshness.values(), most=SHOWN_OUTAGES),
    )
    return tuple(_row(cluster, viewer, now, related) for cluster in clusters)


def _resources(clusters: Iterable[Cluster], viewer: Viewer) -> dict[int, tuple[ResourceRow, ...]]:
    """Return the resources by cluster id (1 query)."""
    rows: dict[int, list[ResourceRow]] = {cluster.pk: [] for cluster in clusters}
    for state in ResourceState.objects.filter(cluster_id__in=list(rows)):
        rows[state.cluster_id].append(_resource_row(state, viewer))
    return {
        # The headline of the cluster already has this error.
        cluster.pk: tuple(
            replace(row, sentence="")
            if cluster.problem and row.state == WatchState.FAILING
            else row
            for row in rows[cluster.pk]
        )
        for cluster in clusters
    }


def _row(cluster: Cluster, viewer: Viewer, now: datetime, related: _Related) -> ClusterRow:
    id_, sees_all = cluster.pk, viewer.sees_cluster(cluster.pk)
    freshness, resources = related.freshness[id_], related.resources[id_]
    is_measured = sees_all and not freshness.is_stale and not cluster.problem
    return ClusterRow(
        name=cluster.name,
        freshness=freshness,
        reachable=not freshness.is_silent and not cluster.problem,
        problem_since=cluster.problem_since,
        server=printable(cluster.server) if sees_all else "",
        server_version=printable(cluster.server_version),
        discovered_at=cluster.discovered_at,
        listed_at=cluster.listed_at,
        resources=resources,
        expiry=_expiry(cluster.credentials_expire_at, now, "this cluster") if sees_all else None,
        actor_expiry=_expiry(cluster.actor_expires_at, now, "the actor") if sees_all else None,
        levers=_lever_board(related.levers[id_], resources, freshness, sees_all=sees_all),
        step=reach_step(cluster.name, cluster.problem) if sees_all else None,
        holder=related.holders.get(id_, "") if sees_all else "",
        gangs=related.gangs.get(id_) or _no_gangs(freshness, resources),
        answer_ms=cluster.answer_ms if is_measured else None,
        events_a_minute=cluster.events_a_minute if is_measured else None,
        accelerator_use=related.use_sources.get(id_, ""),
        outages=related.outages[id_],
    )


def _freshness(cluster: Cluster, viewer: Viewer, now: datetime) -> Freshness:
    return Freshness(
        cluster_id=cluster.pk,
        cluster=cluster.name,
        level=level_of(cluster.contact_at, now),
        contact_at=cluster.contact_at,
        problem=cluster.problem,
        sentence=problem_sentence(cluster.pk, cluster.sentence, viewer=viewer),
        data_version=cluster.data_version,
        listed=cluster.listed_at is not None,
        context=cluster.context,
    )


def _resource_row(state: ResourceState, viewer: Viewer) -> ResourceRow:
    sees_all = viewer.sees_cluster(state.cluster_id)
    problems = [
        ObjectProblem(
            printable(str(problem.get("namespace", ""))),
            printable(str(problem.get("name", ""))),
            printable(str(problem.get("sentence", ""))),
        )
        for problem in state.problems
        if sees_all or viewer.sees(state.cluster_id, str(problem.get("namespace", "")))
    ]
    return ResourceRow(
        resource=printable(state.resource),
        version=printable(state.version),
        state=state.state,
        face=_RESOURCE_FACES.get(state.state, Face(state.state, state.state, "?", "unknown")),
        sentence=printable(state.sentence) if sees_all else "",
        needed=state.needed,
        # Only viewers of the whole cluster may know how many pods other people have.
        stored_objects=state.objects_count if sees_all else None,
        listed_at=state.listed_at,
        contact_at=state.contact_at,
        problems=tuple(problems),
        problems_count=state.problems_count if sees_all else len(problems),
    )


def _no_gangs(freshness: Freshness, resources: tuple[ResourceRow, ...]) -> int | None:
    """Return 0 if the cluster has no gangs, and None if it could not be read."""
    has_unread = any(row.needed and row.state not in _READ for row in resources)
    return None if freshness.is_silent or not freshness.listed or has_unread else 0


def _lever_board(
    levers: ClusterLevers,
    resources: tuple[ResourceRow, ...],
    freshness: Freshness,
    *,
    sees_all: bool,
) -> LeverBoard:
    """Return the levers, with the command only for viewers of the whole cluster."""
    if freshness.level is Level.NEVER:
        sentence = f"The levers are unknown: the cluster {freshness.has_not_once}."
        return LeverBoard((), sentence, "")
    not_served = {row.resource for row in resources if row.state == WatchState.NOT_SERVED}
    board = lever_board(levers, not_served)
    return board if sees_all else replace(board, command="")


def _expiry(expires_at: datetime | None, now: datetime, owner: str) -> Expiry | None:
    if expires_at is None:
        return None
    remaining = expires_at - now
    if remaining <= timedelta():
        return Expiry(expires_at, f"The token of {owner} has expired.", "failed")
    duration = duration_text(remaining)
    if remaining <= EXPIRY_WARNING:
        return Expiry(expires_at, f"The token of {owner} expires in {duration}.", "degraded")
    if owner == "the actor":
        return Expiry(expires_at, f"The actor's token is good for {duration}.", "running")
    return Expiry(expires_at, f"The token is good for {duration}.", "running")
