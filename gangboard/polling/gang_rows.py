"""The stored row of a gang, made from its verdict for pages and API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gangboard.domain.health import Health
from gangboard.domain.text import is_or_are, names
from gangboard.domain.verdict import Verdict
from gangboard.facts.accelerator_use import accelerators_of
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

_HIDDEN_COLUMNS = {"observed_at", "changed_version", "memory", "recheck_at"}
"""Columns that no page shows."""
_YOUNG = timedelta(seconds=30)
"""An object of at most this age has had its state since about its creation."""


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
    """Return a value for every column of the table. `before` is the stored row, if any.

    `watched`: every change since `before` was seen as it happened. `inputs`: of this verdict.
    """
    finding, members = verdict.finding, verdict.members
    start = _verdict_start(verdict, before, gang.owner.meta.created_at, now, watched=watched)
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
        "accelerators": accelerators_of(verdict.requests),
        "bottleneck": bottleneck_of(verdict.fit),
        "queue": gang.queue.queue or owner.queue or _queue_of_groups(gang) or _queue_of_pods(gang),
        "priority": verdict.priority,
        "priority_value": verdict.priority_value,
        "labels": dict(owner.labels),
        "submitter": owner.submitter,
        "submitter_source": owner.submitter_source or "",
        "restarts": verdict.restarts,
        "max_restarts": verdict.max_restarts,
        "created_at": meta.created_at,
        "since": start.at,
        "since_first_seen": start.is_first_seen,
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
    """Return the scheduler queue that the pods name. Empty if they name none or several."""
    queues = {pod.queue for pod in gang.pods if pod.queue}
    return queues.pop() if len(queues) == 1 else ""


def _kind_facts(gang: Gang) -> dict[str, str]:
    """Return facts that only its kind knows, and the names of its owners that are not read."""
    ref = gang.owner.meta.ref
    kind = registry.owner_kind(ref.group, ref.kind)
    facts = dict(kind.facts(gang.owner)) if kind is not None else {}
    if unread := unread_owners(gang):
        facts["Owned by"] = f"{names(unread)}, which {is_or_are(len(unread))} not read"
    return facts


_LAST_COLUMNS = ("last_health", "last_code", "last_since", "last_since_first_seen")


def _last_known(health: Health, before: dict[str, Any] | None) -> dict[str, Any]:
    """Return the last known health of a gang whose health is unknown. Empty values for other gangs."""
    if health is not Health.UNKNOWN or before is None:
        return dict(zip(_LAST_COLUMNS, ("", "", None, False), strict=True))
    if before["health"] == Health.UNKNOWN.value:
        return {name: before[name] for name in _LAST_COLUMNS}
    return {name: before[name.removeprefix("last_")] for name in _LAST_COLUMNS}


@dataclass(frozen=True, slots=True)
class _VerdictStart:
    """The time at which a verdict started."""

    at: datetime
    is_first_seen: bool = False
    """The real start may be earlier: it was not watched, and no object records it."""


def _verdict_start(
    verdict: Verdict,
    before: dict[str, Any] | None,
    created_at: datetime | None,
    now: datetime,
    *,
    watched: bool,
) -> _VerdictStart:
    """Return the start of the verdict: by the objects, else as it was watched, else the first time it was seen.

    A repeated verdict keeps its start, even after a while in which the cluster was not watched. There are two
    exceptions: the objects show that it started before it was first seen, or that it started again while the cluster
    was not watched.
    """
    recorded, stored = _recorded_start(verdict, created_at, now), _stored_start(verdict, before)
    if stored is None or before is None:
        if recorded is not None:
            return _VerdictStart(recorded)
        was_watched = watched and before is not None and _was_observed(before)
        is_young = created_at is not None and now - created_at < _YOUNG
        is_known = was_watched or is_young or verdict.finding.health is Health.UNKNOWN
        return _VerdictStart(now, is_first_seen=not is_known)
    if recorded is None:
        return stored
    is_older = stored.is_first_seen and recorded <= stored.at
    is_new = not watched and recorded > before["observed_at"]
    return _VerdictStart(recorded) if is_older or is_new else stored


def _recorded_start(
    verdict: Verdict, created_at: datetime | None, now: datetime
) -> datetime | None:
    """Return the start by the objects, between the creation of the gang and now.

    The clock of the cluster may be ahead, and a recorded time may be older than the gang.
    """
    since = verdict.finding.since
    if since is None:
        return None
    return min(since if created_at is None else max(since, created_at), now)


def _stored_start(verdict: Verdict, before: dict[str, Any] | None) -> _VerdictStart | None:
    """Return the stored start, if the verdict is the same as the stored one or as the last known one."""
    current = (verdict.finding.code, verdict.finding.health.value)
    if before is None:
        return None
    if (before["code"], before["health"]) == current:
        return _VerdictStart(before["since"], before["since_first_seen"])
    if (before["last_code"], before["last_health"]) == current and before["last_since"] is not None:
        return _VerdictStart(before["last_since"], before["last_since_first_seen"])
    return None


def _was_observed(before: dict[str, Any]) -> bool:
    return before["gone_at"] is None and before["health"] != Health.UNKNOWN.value


def differs(row: dict[str, Any], before: dict[str, Any] | None) -> bool:
    """Return whether a page would show the two rows differently."""
    if before is None:
        return True
    return any(
        value != (bytes(old) if isinstance(old := before[name], memoryview) else old)
        for name, value in row.items()
        if name not in _HIDDEN_COLUMNS
    )


def _queue_of_groups(gang: Gang) -> str:
    """Return the scheduler queue of its groups. Empty if they name none or several."""
    queues = {group.queue for group in gang.groups if group.queue}
    return queues.pop() if len(queues) == 1 else ""
