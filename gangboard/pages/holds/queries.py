"""The Holds in the clusters: who holds which Job, since when, and whether the Hold is in force."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.api_resource import WatchState
from gangboard.domain.hold import HOLDS, Hold
from gangboard.domain.owner import Owner
from gangboard.pages.holds.rows import HoldOwnerRow, HoldPage, HoldRow, UnseenHoldsRow
from gangboard.plugins import registry
from gangboard.readmodels.cluster_visibility import unobserved_sentence, unobserved_states
from gangboard.readmodels.cursors import CLUSTER_NAME, SortKey, read_page
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.group_gangs import GangName, Place, find_owner_gangs
from gangboard.readmodels.hold_counts import owner_keys
from gangboard.readmodels.state_labels import Face
from gangboard.readmodels.watched_objects import PlaceName, objects_by_name, select_objects
from gangboard.store.access import Viewer
from gangboard.store.levers import read_all_levers
from gangboard.store.models import Cluster, Gang, HoldCheck, ResourceState
from gangboard.store.objects import unpack
from gangboard.store.suspend_records import HoldKey, expired_hold_records
from gangboard.store.uid_lookups import Reference, read_referenced, resolve_references

JOBS = "jobs.batch"
_KEYS = (SortKey(CLUSTER_NAME), SortKey("namespace"), SortKey("name"), SortKey("uid"))

_ACTION_ID = re.compile("[0-9a-f]{1,32}")
"""The annotation becomes a link only if it matches, because everyone who may edit a Hold can write it."""

_IN_FORCE = Face("in-force", "In force", "❚❚", "suspended")
_NOT_IN_FORCE = Face("not-in-force", "Not in force", "■", "blocked")
_NOT_KNOWN = Face("not-known", "Not known", "?", "unknown")
_LOST = Face("lost", "Hold lost", "✕", "failed")

_UNLISTED_SENTENCES = {
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
    """Filters of the list of Holds. An empty filter matches all Holds."""

    cluster: str = ""
    namespace: str = ""
    q: str = ""
    """Words that must all occur in name or namespace."""


@dataclass(frozen=True, slots=True)
class _Related:
    """Stored objects and records to which the Holds of one page refer."""

    owners: Mapping[Reference, Owner]
    jobs: Mapping[PlaceName, Owner]
    """Jobs that Holds name, with any owner."""
    gangs: Mapping[Place, GangName]
    former: Mapping[Reference, Gang]
    """Stored gangs of deleted owners."""
    checks: Mapping[Place, HoldCheck]
    levers: Mapping[int, ClusterLevers]
    unreadable: frozenset[tuple[int, str]]
    """(cluster id, resource key) pairs that cannot be read. A missing object of these may exist."""
    ended: frozenset[HoldKey] = frozenset()
    """Holds whose end in the record of an action has passed. gangboard removes these."""


def read_holds(
    *,
    viewer: Viewer,
    filters: HoldFilters | None = None,
    limit: int = 100,
    cursor: str | None = None,
    now: datetime,
) -> HoldPage:
    """Return one page of Holds, and the clusters whose Holds cannot be listed. Raises CursorError."""
    filters = filters or HoldFilters()
    clusters = read_freshness(viewer=viewer, now=now)
    selected = select_objects(
        viewer=viewer,
        resources=(HOLDS,),
        cluster=filters.cluster,
        namespace=filters.namespace,
        q=filters.q,
    )
    stored, next_cursor = read_page(selected, _KEYS, cursor=cursor, limit=limit, clusters=clusters)
    page = [
        (row.cluster_id, unpack(bytes(row.data), Hold))
        for row in stored
        if row.cluster_id in clusters
    ]
    related = replace(_read_related(page, viewer), ended=_ended_holds(page, now))
    return HoldPage(
        rows=tuple(_row(clusters[id_], hold, related, now) for id_, hold in page),
        unseen=_unlisted_clusters(clusters, filters),
        next_cursor=next_cursor,
    )


def _unlisted_clusters(
    clusters: Mapping[int, Freshness], filters: HoldFilters
) -> tuple[UnseenHoldsRow, ...]:
    """Return the clusters whose Holds are not all in the list, with the reason (1 query)."""
    states = unobserved_states((HOLDS,), clusters)
    return tuple(
        UnseenHoldsRow(
            cluster.cluster, state, unobserved_sentence(_UNLISTED_SENTENCES, state, cluster)
        )
        for id_, cluster in clusters.items()
        if filters.cluster in ("", cluster.cluster) and (state := states.get((id_, HOLDS)))
    )


def _read_related(page: list[tuple[int, Hold]], viewer: Viewer) -> _Related:
    if not page:
        return _Related({}, {}, {}, {}, {}, {}, frozenset())
    ids = {id_ for id_, _ in page}
    above = {
        (id_, hold.meta.ref.uid): {_owner_of(id_, hold)} for id_, hold in page if hold.owner_uid
    }
    references = {reference for owners in above.values() for reference in owners}
    checks = HoldCheck.objects.filter(
        cluster_id__in=ids, hold_uid__in=[hold.meta.ref.uid for _, hold in page]
    )
    unreadable = ResourceState.objects.filter(cluster_id__in=ids).exclude(state=WatchState.OK)
    owners = read_referenced(references, dict.fromkeys(owner_keys(), Owner))
    return _Related(
        owners=owners,
        jobs=objects_by_name(
            ((id_, hold.meta.ref.namespace, hold.job_name) for id_, hold in page), (JOBS,), Owner
        ),
        gangs=find_owner_gangs(above, viewer=viewer),
        former=_former_gangs(references - owners.keys(), viewer),
        checks={(check.cluster_id, check.hold_uid): check for check in checks},
        levers=read_all_levers(Cluster.objects.filter(pk__in=ids)),
        unreadable=frozenset(unreadable.values_list("cluster_id", "resource")),
    )


def _owner_of(cluster_id: int, hold: Hold) -> Reference:
    return Reference(cluster_id, hold.meta.ref.namespace, hold.owner_uid)


def _ended_holds(page: Iterable[tuple[int, Hold]], now: datetime) -> frozenset[HoldKey]:
    """Return the Holds that gangboard should have removed by now (no query if no end has passed, else 1 or 2)."""
    past = [(id_, hold) for id_, hold in page if hold.until is not None and hold.until <= now]
    if not past:
        return frozenset()
    action_ids = {hold.action for _, hold in past if _ACTION_ID.fullmatch(hold.action)}
    records = expired_hold_records({id_ for id_, _ in past}, action_ids, now)
    return frozenset(record.key for record in records)


def _former_gangs(references: Set[Reference], viewer: Viewer) -> dict[Reference, Gang]:
    """Return the stored gangs of deleted owners (1 query, none without such owners)."""
    rows = Gang.objects.filter(viewer.gang_filter())
    return resolve_references(
        rows.only("cluster_id", "namespace", "uid", "kind", "name"), references
    )


def _row(cluster: Freshness, hold: Hold, related: _Related, now: datetime) -> HoldRow:
    id_, ref = cluster.cluster_id, hold.meta.ref
    owner = related.owners.get(_owner_of(id_, hold))
    gang = related.gangs.get((id_, ref.uid))
    job = related.jobs.get((id_, ref.namespace, hold.job_name))
    check = related.checks.get((id_, ref.uid))
    lost = _lost_sentence(cluster, hold, owner, job, related)
    in_force = None if lost else _in_force(cluster, check, related.levers.get(id_))
    return HoldRow(
        cluster=cluster.cluster,
        namespace=printable(ref.namespace),
        name=printable(ref.name),
        uid=ref.uid,
        job=printable(hold.job_name),
        owner=_owner_row(hold, owner, related.former.get(_owner_of(id_, hold))),
        gang_id=gang.id if gang else "",
        by=printable(hold.by),
        reason=printable(hold.reason),
        action_id=hold.action if _ACTION_ID.fullmatch(hold.action) else "",
        since=hold.meta.created_at,
        until=hold.until,
        in_force=False if lost else in_force,
        checked_at=check.checked_at if check else None,
        lost=bool(lost),
        message=lost or _message(cluster, hold, job, related, now),
        face=_LOST if lost else _face(in_force),
        job_uid=job.meta.ref.uid if job is not None else "",
        job_generation=job.meta.generation if job is not None else None,
    )


def _owner_row(hold: Hold, owner: Owner | None, former: Gang | None) -> HoldOwnerRow:
    kind, name = _owner_noun(), ""
    if owner is not None:
        kind, name = owner.meta.ref.kind, owner.meta.ref.name
    elif former is not None:
        kind, name = former.kind, former.name
    return HoldOwnerRow(printable(kind), printable(name), printable(hold.owner_uid))


def _face(in_force: bool | None) -> Face:
    if in_force is None:
        return _NOT_KNOWN
    return _IN_FORCE if in_force else _NOT_IN_FORCE


def _in_force(
    cluster: Freshness, check: HoldCheck | None, levers: ClusterLevers | None
) -> bool | None:
    """Return the result of the last check. It counts only while the cluster answers and has the policy."""
    if cluster.is_silent:
        return None
    if levers is not None and levers.hold is PolicyState.MISSING:
        return False
    return check.in_force if check is not None else None


def _lost_sentence(
    cluster: Freshness, hold: Hold, owner: Owner | None, job: Owner | None, related: _Related
) -> str:
    """Return a sentence if the owner of a Hold is gone. Empty if the owner exists or may exist."""
    if owner is not None or cluster.is_silent:
        return ""
    if job is not None and hold.owner_uid not in job.meta.owner_uids:
        new = job.meta.controller
        name = f"{new.kind}/{new.name}" if new is not None else f"Job/{hold.job_name}"
        return printable(
            f"Hold lost: this Hold is for uid {hold.owner_uid}, but {name} has another uid. {name} was "
            "re-created, or the Hold names another object."
        )
    if any((cluster.cluster_id, key) in related.unreadable for key in owner_keys()):
        return ""
    return printable(
        f"Hold lost: namespace {hold.meta.ref.namespace} has no {_owner_noun()} with uid "
        f"{hold.owner_uid}."
    )


def _owner_noun() -> str:
    """Return the noun for a deleted owner: the kind if only one kind has Holds, else `owner`."""
    kinds = registry.kinds_with_holds()
    return kinds[0].label if len(kinds) == 1 else "owner"


def _message(
    cluster: Freshness,
    hold: Hold,
    job: Owner | None,
    related: _Related,
    now: datetime,
) -> str:
    """Return a sentence about a problem of a Hold whose owner exists, or an empty string."""
    key = (cluster.cluster_id, hold.meta.ref.uid)
    check, levers = related.checks.get(key), related.levers.get(cluster.cluster_id)
    if cluster.is_silent:
        return f"Cluster {cluster.cluster} {cluster.does_not}, so whether the Hold is in force is unknown."
    if levers is not None and levers.hold in (PolicyState.MISSING, PolicyState.CHANGED):
        fallback = {
            PolicyState.MISSING: "The policy that enforces Holds is not installed.",
            PolicyState.CHANGED: "The policy that enforces Holds was changed.",
        }[levers.hold]
        return printable(levers.hold_sentence or fallback)
    if check is not None and check.in_force is not True and check.sentence:
        return printable(check.sentence)
    if hold.meta.deleting_since is not None:
        return "The Hold is being deleted."
    if hold.until is not None and hold.until <= now:
        if key in related.ended:
            return "The end of the Hold has passed, but it is not released yet."
        return "The end of the Hold has passed. gangboard did not set that end, so a person has to release it."
    return printable(_job_message(hold, job))


def _job_message(hold: Hold, job: Owner | None) -> str:
    if job is None:
        return (
            f"Job {hold.job_name} does not exist now. If it is created again, it starts suspended."
        )
    if job.finish is not None:
        return f"Job {hold.job_name} has {job.finish.outcome.value}."
    if not job.suspended:
        return f"Job {hold.job_name} is not suspended: a Hold does not stop a Job that runs."
    return ""
