"""Clusters: how each can be reached, what it serves and lets us see, who polls it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Count

from gangboard.domain.action import ClusterLevers
from gangboard.domain.watch_state import WatchState
from gangboard.readmodels.ages import duration_text
from gangboard.readmodels.cluster_levers import LeverBoard, lever_board
from gangboard.readmodels.cluster_reach import ReachStep, problem_sentence, reach_step
from gangboard.readmodels.freshness import Freshness, Level, level_of
from gangboard.readmodels.liveness import Liveness, read_liveness
from gangboard.readmodels.outages import OutageRow, read_outages
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face
from gangboard.store.access import Viewer
from gangboard.store.levers import read_all_levers, read_independent_owners
from gangboard.store.models import Cluster, Gang, Lease, ResourceState

_READ = frozenset({WatchState.OK, WatchState.NOT_SERVED, WatchState.NOT_NEEDED})
"""States in which all objects of a resource are known."""
EXPIRY_WARNING = timedelta(days=7)

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
_SEEN = frozenset({WatchState.OK, WatchState.LISTING, WatchState.NOT_SERVED, WatchState.NOT_NEEDED})
"""States that are no fault of anybody."""


@dataclass(frozen=True, slots=True)
class ObjectProblem:
    """One object that was read and not understood."""

    namespace: str
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """How one resource of a cluster can be seen."""

    resource: str
    version: str
    state: str
    face: Face
    sentence: str
    needed: bool
    """Without it no verdict can be given."""
    kept: int | None
    """Objects that are kept of it, of the last look where it cannot be read now; None for who may
    not know."""
    listed_at: datetime | None
    contact_at: datetime | None
    problems: tuple[ObjectProblem, ...]
    problems_count: int

    @property
    def problems_more(self) -> int:
        """How many objects were not understood beside those that are named."""
        return max(0, self.problems_count - len(self.problems))

    @property
    def objects(self) -> int | None:
        """Objects that are there; None when they cannot be counted now: that is not zero."""
        return self.kept if self.state == WatchState.OK else None

    @property
    def is_fault(self) -> bool:
        """Whether somebody should look at it."""
        return self.state not in _SEEN or self.problems_count > 0


SHOWN_OUTAGES = 10


@dataclass(frozen=True, slots=True)
class Expiry:
    """When the credentials of a cluster end."""

    at: datetime
    sentence: str
    tone: str


@dataclass(frozen=True, slots=True)
class ClusterState:
    """One cluster as a viewer is shown it."""

    name: str
    freshness: Freshness
    reachable: bool
    """It answered lately and nothing keeps us from looking."""
    stale: bool
    contact_at: datetime | None
    problem: str
    """Code of the error that keeps us from looking at all, or empty."""
    sentence: str
    problem_since: datetime | None
    server: str
    server_version: str
    discovered_at: datetime | None
    listed_at: datetime | None
    resources: tuple[ResourceRow, ...]
    expiry: Expiry | None
    actor_expiry: Expiry | None
    """Of the second identity, which acts."""
    levers: LeverBoard
    step: ReachStep | None
    """The step that makes it readable. None if it is read, or the viewer does not see the whole cluster."""
    holder: str
    """The worker that polls it now, or empty."""
    gangs: int | None
    """Gangs of it that the viewer may see; None where there are none and not all could be read: that is not zero."""
    answer_ms: int | None = None
    """How long its API server took for the last small request, in milliseconds; None while it does not answer,
    before the first such request, and for viewers who do not see the whole cluster."""
    events_a_minute: int | None = None
    """Events of its watches in the last minute; None as for `answer_ms`, and in the first minute."""
    outages: tuple[OutageRow, ...] = ()
    """When nothing was seen of it lately, the newest first."""
    claims: tuple[str, ...] | None = None
    """JobSets that ask for Independent, as `namespace/name`; None where that was not looked up."""

    @property
    def headline(self) -> str:
        """One sentence about the cluster, without ages."""
        if self.freshness.level is Level.NEVER:
            return self.sentence or f"It {self.freshness.has_not_once}."
        if self.sentence:
            return self.sentence
        if self.freshness.is_silent:
            return f"It {self.freshness.does_not}: all of its gangs count as unknown."
        if self.freshness.is_stale:
            return f"It {self.freshness.has_not} lately: what is shown may be out of date."
        if self.listed_at is None:
            return "It is being read for the first time: what is missing may only not be read yet."
        faults = [row.resource for row in self.resources if row.is_fault]
        if faults:
            return f"It answers; not everything can be read: {', '.join(faults)}."
        return "It answers and everything that is served can be read."

    @property
    def faults(self) -> tuple[ResourceRow, ...]:
        """The resources that somebody should look at; one failure of all is in the headline."""
        return tuple(
            row
            for row in self.resources
            if row.is_fault and not (row.state == WatchState.FAILING and self.problem)
        )

    @property
    def served(self) -> tuple[ResourceRow, ...]:
        """The resources that it serves, or may serve: those that somebody should look at first."""
        rows = (row for row in self.resources if row.state != WatchState.NOT_SERVED)
        return tuple(sorted(rows, key=lambda row: not row.is_fault))

    @property
    def not_served(self) -> tuple[ResourceRow, ...]:
        """The resources that it does not serve."""
        return tuple(row for row in self.resources if row.state == WatchState.NOT_SERVED)

    @property
    def objects(self) -> int | None:
        """Objects that are kept of it, those of the last look where it cannot be read now; None before that."""
        if self.freshness.level is Level.NEVER:
            return None
        return sum(row.kept or 0 for row in self.resources)

    @property
    def next_command(self) -> str:
        """The command for the next step, or empty: what keeps us from looking goes before the levers."""
        return self.step.command if self.step is not None else self.levers.command


@dataclass(frozen=True, slots=True)
class Slots:
    """Room for polling, when there is too little of it."""

    clusters: int
    slots: int

    @property
    def sentence(self) -> str:
        """What is wrong and what to do."""
        slots = "1 slot" if self.slots == 1 else f"{self.slots} slots"
        return (
            f"{self.clusters} clusters share {slots} of poll workers, so they are read in turns and "
            "changes show late. Start another poll worker or raise GANGBOARD_POLL_SLOTS."
        )


def list_clusters(*, viewer: Viewer, now: datetime) -> tuple[ClusterState, ...]:
    """Return the clusters of which the viewer may see something, by name (8 queries)."""
    return _states(viewer, now, Cluster.objects.filter(viewer.cluster_filter()))


def cluster_detail(name: str, *, viewer: Viewer, now: datetime) -> ClusterState | None:
    """Return one cluster, or None when there is none or the viewer may not see it."""
    found = Cluster.objects.filter(viewer.cluster_filter(), name=name)
    state = next(iter(_states(viewer, now, found)), None)
    if state is None:
        return None
    claims = read_independent_owners(state.freshness.cluster_id, viewer.gang_filter())
    return replace(state, claims=tuple(printable("/".join(claim)) for claim in claims))


def find_slots(*, viewer: Viewer, liveness: Liveness | None = None, now: datetime) -> Slots | None:
    """Return the finding that there are fewer slots than clusters, to who sees all of them."""
    if not viewer.sees_everything:
        return None
    slots = (liveness or read_liveness(now=now)).slots
    clusters = Cluster.objects.count()
    # Without any living worker the banner of liveness says more.
    return Slots(clusters, slots) if 0 < slots < clusters else None


def _states(viewer: Viewer, now: datetime, found: Iterable[Cluster]) -> tuple[ClusterState, ...]:
    clusters = list(found)
    ids = [cluster.pk for cluster in clusters]
    resources: dict[int, list[ResourceRow]] = {id_: [] for id_ in ids}
    for state in ResourceState.objects.filter(cluster_id__in=ids):
        resources[state.cluster_id].append(_resource_row(state, viewer))
    holders = {
        lease.cluster_id: lease.holder
        for lease in Lease.objects.filter(cluster_id__in=ids, expires_at__gt=now)
    }
    gangs = dict(
        Gang.objects.filter(viewer.gang_filter(), cluster_id__in=ids, gone_at=None)
        .values_list("cluster_id")
        .annotate(number=Count("id"))
    )
    levers = read_all_levers(clusters)
    fresh = {cluster.pk: _freshness(cluster, viewer, now) for cluster in clusters}
    outages = read_outages(viewer=viewer, clusters=fresh.values(), most=SHOWN_OUTAGES)
    return tuple(
        replace(
            _state(
                cluster,
                viewer,
                now,
                tuple(resources[cluster.pk]),
                levers[cluster.pk],
                holders,
                gangs,
            ),
            outages=outages[cluster.pk],
        )
        for cluster in clusters
    )


def _state(
    cluster: Cluster,
    viewer: Viewer,
    now: datetime,
    resources: tuple[ResourceRow, ...],
    levers: ClusterLevers,
    holders: Mapping[int, str],
    gangs: Mapping[int, int],
) -> ClusterState:
    wide = viewer.sees_cluster(cluster.pk)
    freshness = _freshness(cluster, viewer, now)
    if cluster.problem:
        # What keeps us from looking at all is said once, of the cluster.
        resources = tuple(
            replace(row, sentence="") if row.state == WatchState.FAILING else row
            for row in resources
        )
    is_measured = wide and not freshness.is_stale and not cluster.problem
    return ClusterState(
        name=cluster.name,
        freshness=freshness,
        reachable=not freshness.is_silent and not cluster.problem,
        stale=freshness.is_stale,
        contact_at=cluster.contact_at,
        problem=cluster.problem,
        sentence=freshness.sentence,
        problem_since=cluster.problem_since,
        server=printable(cluster.server) if wide else "",
        server_version=printable(cluster.server_version),
        discovered_at=cluster.discovered_at,
        listed_at=cluster.listed_at,
        resources=resources,
        expiry=_expiry(cluster.credentials_expire_at, now, "this cluster") if wide else None,
        actor_expiry=_expiry(cluster.actor_expires_at, now, "the actor") if wide else None,
        levers=_lever_board(levers, resources, wide, freshness),
        step=reach_step(cluster.name, cluster.problem) if wide else None,
        holder=holders.get(cluster.pk, "") if wide else "",
        gangs=gangs.get(cluster.pk) or _no_gangs(freshness, resources),
        answer_ms=cluster.answer_ms if is_measured else None,
        events_a_minute=cluster.events_a_minute if is_measured else None,
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
    wide = viewer.sees_cluster(state.cluster_id)
    problems = [
        ObjectProblem(
            printable(str(problem.get("namespace", ""))),
            printable(str(problem.get("name", ""))),
            printable(str(problem.get("sentence", ""))),
        )
        for problem in state.problems
        if wide or viewer.sees(state.cluster_id, str(problem.get("namespace", "")))
    ]
    return ResourceRow(
        resource=printable(state.resource),
        version=printable(state.version),
        state=state.state,
        face=_RESOURCE_FACES.get(state.state, Face(state.state, state.state, "?", "unknown")),
        sentence=printable(state.sentence) if wide else "",
        needed=state.needed,
        # How many pods other people have is not for everybody.
        kept=state.objects_count if wide else None,
        listed_at=state.listed_at,
        contact_at=state.contact_at,
        problems=tuple(problems),
        problems_count=state.problems_count if wide else len(problems),
    )


def _no_gangs(freshness: Freshness, resources: tuple[ResourceRow, ...]) -> int | None:
    """Return 0 if the cluster has no gangs, and None if it could not be read."""
    unread = any(row.needed and row.state not in _READ for row in resources)
    return None if freshness.is_silent or not freshness.listed or unread else 0


def _lever_board(
    levers: ClusterLevers,
    resources: tuple[ResourceRow, ...],
    wide: bool,
    freshness: Freshness,
) -> LeverBoard:
    """Return the levers; the command is for those who look after the whole cluster."""
    if freshness.level is Level.NEVER:
        return LeverBoard(
            (), f"What can be stopped in it is not known: it {freshness.has_not_once}.", ""
        )
    not_served = {row.resource for row in resources if row.state == WatchState.NOT_SERVED}
    board = lever_board(levers, not_served)
    return board if wide else replace(board, command="")


def _expiry(at: datetime | None, now: datetime, whose: str) -> Expiry | None:
    if at is None:
        return None
    left = at - now
    if left <= timedelta():
        return Expiry(at, f"The token of {whose} has expired.", "failed")
    if left <= EXPIRY_WARNING:
        return Expiry(at, f"The token of {whose} expires in {duration_text(left)}.", "degraded")
    if whose == "the actor":
        return Expiry(at, f"The actor's token is good for {duration_text(left)}.", "running")
    return Expiry(at, f"The token is good for {duration_text(left)}.", "running")
