"""The Holds that are in the clusters: who holds what, since when, and whether it is in force."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.hold import HOLDS, Hold
from gangboard.domain.owner import Owner
from gangboard.domain.watch_state import WatchState
from gangboard.plugins import registry
from gangboard.readmodels.action_rows import HoldPage, HoldRow, UnseenHolds
from gangboard.readmodels.cursors import CLUSTER_NAME, CursorError, SortKey, read_page
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.group_gangs import GangName, Place, gangs_above
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.unseen import unseen_sentence, unseen_states
from gangboard.readmodels.watched_objects import PlaceName, objects_by_name, select_objects
from gangboard.store.access import Viewer
from gangboard.store.hold_records import HoldKey, ended_records
from gangboard.store.levers import read_all_levers
from gangboard.store.models import Cluster, Gang, HoldCheck, ResourceState
from gangboard.store.objects import unpack
from gangboard.store.uid_lookups import Reference, follow, read_referred

__all__ = ["CursorError", "HoldFilters", "holds"]

JOBS = "jobs.batch"
_KEYS = (SortKey(CLUSTER_NAME), SortKey("namespace"), SortKey("name"), SortKey("uid"))

_ACTION_ID = re.compile("[0-9a-f]{1,32}")
"""Anybody who may edit a Hold can write the annotation: nothing else becomes a link."""

_IN_FORCE = Face("in-force", "In force", "❚❚", "suspended")
_NOT_IN_FORCE = Face("not-in-force", "Not in force", "■", "blocked")
_NOT_KNOWN = Face("not-known", "Not known", "?", "unknown")
_LOST = Face("lost", "Hold lost", "✕", "failed")

_UNSEEN = {
    WatchState.NOT_SERVED: "The Hold is not installed in cluster {cluster}.",
    WatchState.FORBIDDEN: "The reader may not list Holds in cluster {cluster}, so they are unknown.",
    WatchState.LISTING: "The Holds of cluster {cluster} are being listed for the first time.",
    "silent": "Cluster {cluster} {does_not}: its Holds are as last seen.",
    "never": "Cluster {cluster} {has_not_once}, so its Holds are unknown.",
    "not-looked": "The Holds of cluster {cluster} have not been read yet.",
    "": "The Holds of cluster {cluster} cannot be read now; the list may be outdated.",
}


@dataclass(frozen=True, slots=True)
class HoldFilters:
    """Which Holds are asked for. Empty means all."""

    cluster: str = ""
    namespace: str = ""
    q: str = ""
    """Part of the name or namespace."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """What the Holds of one page are seen against."""

    owners: Mapping[Reference, Owner]
    jobs: Mapping[PlaceName, Owner]
    """Those that Holds name, whoever owns them."""
    gangs: Mapping[Place, GangName]
    former: Mapping[Reference, Gang]
    """Gangs of owners that are gone, while they are kept."""
    checks: Mapping[Place, HoldCheck]
    levers: Mapping[int, ClusterLevers]
    blind: frozenset[tuple[int, str]]
    """(cluster, resource) that cannot be read: what is missing there is not gone."""
    ended: frozenset[HoldKey] = frozenset()
    """Holds whose end is over by our own record: gangboard removes these."""


def holds(
    *,
    viewer: Viewer,
    filters: HoldFilters | None = None,
    limit: int = 100,
    cursor: str | None = None,
    now: datetime,
) -> HoldPage:
    """Return one page of Holds, and the clusters whose Holds cannot be seen. Raises CursorError."""
    filters = filters or HoldFilters()
    clusters = read_freshness(viewer=viewer, now=now)
    found = select_objects(
        viewer=viewer,
        resources=(HOLDS,),
        cluster=filters.cluster,
        namespace=filters.namespace,
        q=filters.q,
    )
    stored, following = read_page(found, _KEYS, cursor=cursor, limit=limit, clusters=clusters)
    page = [
        (row.cluster_id, unpack(bytes(row.data), Hold))
        for row in stored
        if row.cluster_id in clusters
    ]
    scene = replace(_look_around(page, viewer), ended=_ended(page, now))
    return HoldPage(
        rows=tuple(_row(clusters[id_], hold, scene, now) for id_, hold in page),
        unseen=_unseen(clusters, filters),
        next_cursor=following,
    )


def _unseen(clusters: Mapping[int, Freshness], filters: HoldFilters) -> tuple[UnseenHolds, ...]:
    """Return the clusters whose Holds are not all in the list, with the reason (1 query)."""
    states = unseen_states((HOLDS,), clusters)
    return tuple(
        UnseenHolds(cluster.cluster, state, unseen_sentence(_UNSEEN, state, cluster))
        for id_, cluster in clusters.items()
        if filters.cluster in ("", cluster.cluster) and (state := states.get((id_, HOLDS)))
    )


def _look_around(page: list[tuple[int, Hold]], viewer: Viewer) -> _Scene:
    if not page:
        return _Scene({}, {}, {}, {}, {}, {}, frozenset())
    ids = {id_ for id_, _ in page}
    above = {
        (id_, hold.meta.ref.uid): {_owner_of(id_, hold)} for id_, hold in page if hold.owner_uid
    }
    named = {reference for owners in above.values() for reference in owners}
    checks = HoldCheck.objects.filter(
        cluster_id__in=ids, hold_uid__in=[hold.meta.ref.uid for _, hold in page]
    )
    blind = ResourceState.objects.filter(cluster_id__in=ids).exclude(state=WatchState.OK)
    owners = read_referred(named, dict.fromkeys(owner_keys(), Owner))
    return _Scene(
        owners=owners,
        jobs=objects_by_name(
            ((id_, hold.meta.ref.namespace, hold.job_name) for id_, hold in page), (JOBS,), Owner
        ),
        gangs=gangs_above(above, viewer=viewer),
        former=_former(named - owners.keys(), viewer),
        checks={(check.cluster_id, check.hold_uid): check for check in checks},
        levers=read_all_levers(Cluster.objects.filter(pk__in=ids)),
        blind=frozenset(blind.values_list("cluster_id", "resource")),
    )


def _owner_of(cluster_id: int, hold: Hold) -> Reference:
    return Reference(cluster_id, hold.meta.ref.namespace, hold.owner_uid)


def _ended(page: Iterable[tuple[int, Hold]], now: datetime) -> frozenset[HoldKey]:
    """Return the Holds that gangboard was told to remove by now (1 or 2 queries, none while no end has passed)."""
    past = [(id_, hold) for id_, hold in page if hold.until is not None and hold.until <= now]
    if not past:
        return frozenset()
    named = {hold.action for _, hold in past if _ACTION_ID.fullmatch(hold.action)}
    return frozenset(record.key for record in ended_records({id_ for id_, _ in past}, named, now))


def _former(references: Set[Reference], viewer: Viewer) -> dict[Reference, Gang]:
    """Return the gangs of owners that are gone, while they are kept (1 query, none without such owners)."""
    rows = Gang.objects.filter(viewer.gang_filter())
    return follow(rows.only("cluster_id", "namespace", "uid", "kind", "name"), references)


def _row(cluster: Freshness, hold: Hold, scene: _Scene, now: datetime) -> HoldRow:
    id_, ref = cluster.cluster_id, hold.meta.ref
    named = _owner_of(id_, hold)
    owner, former = scene.owners.get(named), scene.former.get(named)
    gang = scene.gangs.get((id_, ref.uid))
    job = scene.jobs.get((id_, ref.namespace, hold.job_name))
    check = scene.checks.get((id_, ref.uid))
    lost = _lost(cluster, hold, owner, job, scene)
    in_force = None if lost else _in_force(cluster, check, scene.levers.get(id_))
    kind, name = _owner_word(), ""
    if owner is not None:
        kind, name = owner.meta.ref.kind, owner.meta.ref.name
    elif former is not None:
        kind, name = former.kind, former.name
    return HoldRow(
        cluster=cluster.cluster,
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        uid=ref.uid,
        job=printable(hold.job_name),
        owner_kind=printable(kind),
        owner_name=printable(name),
        owner_uid=printable(hold.owner_uid),
        gang_id=gang.id if gang else "",
        by=printable(hold.by),
        reason=printable(hold.reason),
        action_id=hold.action if _ACTION_ID.fullmatch(hold.action) else "",
        since=hold.meta.created_at,
        until=hold.until,
        in_force=False if lost else in_force,
        checked_at=check.checked_at if check else None,
        lost=bool(lost),
        sentence=lost or _sentence(cluster, hold, job, scene, now),
        face=_LOST if lost else _face(in_force),
        job_uid=job.meta.ref.uid if job is not None else "",
        job_generation=job.meta.generation if job is not None else None,
    )


def _face(in_force: bool | None) -> Face:
    if in_force is None:
        return _NOT_KNOWN
    return _IN_FORCE if in_force else _NOT_IN_FORCE


def _in_force(
    cluster: Freshness, check: HoldCheck | None, levers: ClusterLevers | None
) -> bool | None:
    """Return what is known now: a proof counts as long as its cluster answers and has the policy."""
    if cluster.is_silent:
        return None
    if levers is not None and levers.hold is PolicyState.MISSING:
        return False
    return check.in_force if check is not None else None


def _lost(
    cluster: Freshness, hold: Hold, owner: Owner | None, job: Owner | None, scene: _Scene
) -> str:
    """Return the sentence about a Hold whose owner is gone; empty while it is there or not known."""
    if owner is not None or cluster.is_silent:
        return ""
    if job is not None and hold.owner_uid not in job.meta.owner_uids:
        new = job.meta.controller
        name = f"{new.kind}/{new.name}" if new is not None else f"Job/{hold.job_name}"
        return printable(
            f"Hold lost: this Hold is for uid {hold.owner_uid}, but {name} has another uid. {name} was "
            "re-created, or the Hold names another object."
        )
    if any((cluster.cluster_id, key) in scene.blind for key in owner_keys()):
        return ""
    return printable(
        f"Hold lost: namespace {hold.meta.ref.namespace} has no {_owner_word()} with uid "
        f"{hold.owner_uid}."
    )


def owner_keys() -> tuple[str, ...]:
    """Return the keys of the resources whose Jobs can be held."""
    return tuple(kind.resource.key for kind in registry.kinds_with_holds())


def _owner_word() -> str:
    """Return what an owner is called that is not there any more: its kind, where it can be of one only."""
    kinds = registry.kinds_with_holds()
    return kinds[0].label if len(kinds) == 1 else "owner"


def _sentence(
    cluster: Freshness,
    hold: Hold,
    job: Owner | None,
    scene: _Scene,
    now: datetime,
) -> str:
    """Return what is the matter with a Hold whose owner is there, or empty."""
    key = (cluster.cluster_id, hold.meta.ref.uid)
    check, levers = scene.checks.get(key), scene.levers.get(cluster.cluster_id)
    if cluster.is_silent:
        return f"Cluster {cluster.cluster} {cluster.does_not}, so whether the Hold is in force is unknown."
    if levers is not None and levers.hold in (PolicyState.MISSING, PolicyState.CHANGED):
        fallback = {
            PolicyState.MISSING: "The policy that makes Holds hold is not installed.",
            PolicyState.CHANGED: "The policy that makes Holds hold was changed.",
        }[levers.hold]
        return printable(levers.hold_sentence or fallback)
    if check is not None and check.in_force is not True and check.sentence:
        return printable(check.sentence)
    if hold.meta.deleting_since is not None:
        return "The Hold is being deleted."
    if hold.until is not None and hold.until <= now:
        if key in scene.ended:
            return "The end of the Hold has passed, but it is not released yet."
        return "The end of the Hold has passed. gangboard did not set that end, so a person has to release it."
    return printable(_of_job(hold, job))


def _of_job(hold: Hold, job: Owner | None) -> str:
    if job is None:
        return (
            f"Job {hold.job_name} does not exist now. If it is created again, it starts suspended."
        )
    if job.finish is not None:
        return f"Job {hold.job_name} has {job.finish.outcome.value}."
    if not job.suspended:
        return f"Job {hold.job_name} is not suspended: a Hold does not stop a Job that runs."
    return ""
