"""A verdict as the row that pages and API read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gangboard.domain.health import Health
from gangboard.domain.resources import is_accelerator
from gangboard.domain.text import is_or_are, names
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Gang
from gangboard.facts.owner_references import unread_owners
from gangboard.facts.stored_verdict import bottleneck_of
from gangboard.plugins import registry
from gangboard.store.gangs import (
    Detail,
    VerdictInputs,
    gang_id,
    pack_advice,
    pack_detail,
    pack_memory,
)

_BOOKKEEPING = {"observed_at", "changed_version", "memory", "recheck_at"}
"""Columns that move without any page showing it."""
_YOUNG = timedelta(seconds=30)
"""What is no older than this cannot have been so for much longer than since it was seen."""


def gang_row(
    cluster_id: int,
    cluster_name: str,
    gang: Gang,
    verdict: Verdict,
    before: dict[str, Any] | None,
    now: datetime,
    *,
    watched: bool,
    inputs: VerdictInputs | None = None,
) -> dict[str, Any]:
    """Return a value for every column of the table; `before` is the row as stored, if any.

    `watched`: every change since `before` was seen as it happened. `inputs`: of this verdict.
    """
    finding, members = verdict.finding, verdict.members
    begin = _begin(verdict, before, gang.owner.meta.created_at, now, watched=watched)
    meta, owner = gang.owner.meta, gang.owner
    return {
        "id": gang_id(cluster_name, meta.ref.uid),
        "cluster_id": cluster_id,
        "api_group": meta.ref.group,
        "api_version": meta.api_version,
        "kind": meta.ref.kind,
        "namespace": meta.ref.namespace,
        "name": meta.ref.name,
        "uid": meta.ref.uid,
        "generation": meta.generation,
        "health": finding.health.value,
        **_last_known(finding.health, before),
        "severity": finding.health.severity,
        "stage": finding.stage.value,
        "code": finding.code,
        "title": finding.title,
        "message": finding.message,
        "advice": pack_advice(finding.advice),
        "desired": members.desired,
        "quorum": members.quorum,
        "created": members.created,
        "scheduled": members.scheduled,
        "ready": members.ready,
        "succeeded": members.succeeded,
        "failed": members.failed,
        "held": members.held,
        "requests": verdict.requests,
        "accelerators": sum(
            float(amount) for name, amount in verdict.requests.items() if is_accelerator(name)
        ),
        "bottleneck": bottleneck_of(verdict.fit),
        "queue": gang.queue.queue or owner.queue or _queue_of_groups(gang) or _queue_of_pods(gang),
        "priority": verdict.priority,
        "priority_value": verdict.priority_value,
        "labels": dict(owner.labels),
        "submitter": owner.submitter,
        "restarts": verdict.restarts,
        "max_restarts": verdict.max_restarts,
        "created_at": meta.created_at,
        "since": begin.at,
        "since_first_seen": begin.is_first_sight,
        "observed_at": now,
        "recheck_at": verdict.recheck_at,
        "changed_version": before["changed_version"] if before else 0,
        "gone_at": None,
        "detail": pack_detail(
            Detail(
                verdict.findings,
                verdict.jobs,
                verdict.pods,
                verdict.groups,
                verdict.fit,
                _kind_facts(gang),
                verdict.gang_mode,
                verdict.domains,
            )
        ),
        "memory": pack_memory(verdict.memory, inputs),
        "first_seen_at": before["first_seen_at"] if before else now,
    }


def _queue_of_pods(gang: Gang) -> str:
    """Return the queue of their scheduler that its pods name, where it is the same of all that name any."""
    queues = {pod.queue for pod in gang.pods if pod.queue}
    return queues.pop() if len(queues) == 1 else ""


def _kind_facts(gang: Gang) -> dict[str, str]:
    """Return what only its kind knows of a gang, and what owns it that nobody reads."""
    ref = gang.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    found = dict(kind.facts(gang.owner)) if kind is not None else {}
    if unread := unread_owners(gang):
        found["Owned by"] = f"{names(unread)}, which {is_or_are(len(unread))} not read"
    return found


_LAST = ("last_health", "last_code", "last_since", "last_since_first_seen")


def _last_known(health: Health, before: dict[str, Any] | None) -> dict[str, Any]:
    """Return what it was before it became unknown; empty while it is known."""
    if health is not Health.UNKNOWN or before is None:
        return dict(zip(_LAST, ("", "", None, False), strict=True))
    if before["health"] == Health.UNKNOWN.value:
        return {name: before[name] for name in _LAST}
    return {name: before[name.removeprefix("last_")] for name in _LAST}


@dataclass(frozen=True, slots=True)
class _Beginning:
    """Since when a verdict is the one it is."""

    at: datetime
    is_first_sight: bool = False
    """It may be older: nobody saw it begin, and no object says when it did."""


def _begin(
    verdict: Verdict,
    before: dict[str, Any] | None,
    created_at: datetime | None,
    now: datetime,
    *,
    watched: bool,
) -> _Beginning:
    """Return when it began: by the objects, else as it was watched, else when it was seen first.

    A verdict that is given again keeps its time, also over a while in which nobody could look, unless
    the objects say that it began before it was seen first, or anew while nobody looked.
    """
    own, told = _own(verdict, created_at, now), _told(verdict, before)
    if told is None or before is None:
        if own is not None:
            return _Beginning(own)
        was_watched = watched and before is not None and _was_seen(before)
        is_young = created_at is not None and now - created_at < _YOUNG
        is_known = was_watched or is_young or verdict.finding.health is Health.UNKNOWN
        return _Beginning(now, is_first_sight=not is_known)
    if own is None:
        return told
    is_older = told.is_first_sight and own <= told.at
    is_anew = not watched and own > before["observed_at"]
    return _Beginning(own) if is_older or is_anew else told


def _own(verdict: Verdict, created_at: datetime | None, now: datetime) -> datetime | None:
    """Return what the objects say; a cluster has a clock of its own, and what it keeps can be older."""
    since = verdict.finding.since
    if since is None:
        return None
    return min(since if created_at is None else max(since, created_at), now)


def _told(verdict: Verdict, before: dict[str, Any] | None) -> _Beginning | None:
    """Return since when it is, if this verdict was the last one that was given."""
    said = (verdict.finding.code, verdict.finding.health.value)
    if before is None:
        return None
    if (before["code"], before["health"]) == said:
        return _Beginning(before["since"], before["since_first_seen"])
    if (before["last_code"], before["last_health"]) == said and before["last_since"] is not None:
        return _Beginning(before["last_since"], before["last_since_first_seen"])
    return None


def _was_seen(before: dict[str, Any]) -> bool:
    return before["gone_at"] is None and before["health"] != Health.UNKNOWN.value


def differs(row: dict[str, Any], before: dict[str, Any] | None) -> bool:
    """Whether a page would show the two differently."""
    if before is None:
        return True
    return any(
        value != (bytes(old) if isinstance(old := before[name], memoryview) else old)
        for name, value in row.items()
        if name not in _BOOKKEEPING
    )


def _queue_of_groups(gang: Gang) -> str:
    """Return the queue of its scheduler that its groups wait in; empty for none, and where they name several."""
    queues = {group.queue for group in gang.groups if group.queue}
    return queues.pop() if len(queues) == 1 else ""
