"""A verdict as the row that pages and API read."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gangboard.domain.facts import GangFacts
from gangboard.domain.health import Health
from gangboard.domain.resources import is_accelerator
from gangboard.domain.verdict import Verdict
from gangboard.store.gangs import Detail, gang_id, pack_detail, pack_memory

_BOOKKEEPING = {"observed_at", "changed_version", "memory", "recheck_at"}
"""Columns that move without any page showing it."""


def gang_row(
    cluster_id: int,
    cluster_name: str,
    facts: GangFacts,
    verdict: Verdict,
    before: dict[str, Any] | None,
    now: datetime,
) -> dict[str, Any]:
    """Return a value for every column of the table; `before` is the row as stored, if any."""
    finding, members = verdict.finding, verdict.members
    meta, owner = facts.owner.meta, facts.owner
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
        "advice": list(finding.advice),
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
        "queue": owner.queue,
        "priority": verdict.priority,
        "priority_value": verdict.priority_value,
        "restarts": verdict.restarts,
        "max_restarts": verdict.max_restarts,
        "created_at": meta.created_at,
        "since": _since(verdict, before, now),
        "observed_at": now,
        "recheck_at": verdict.recheck_at,
        "changed_version": before["changed_version"] if before else 0,
        "gone_at": None,
        "detail": pack_detail(
            Detail(verdict.findings, verdict.jobs, verdict.pods, verdict.groups, verdict.fit)
        ),
        "memory": pack_memory(verdict.memory),
        "first_seen_at": before["first_seen_at"] if before else now,
    }


def _last_known(health: Health, before: dict[str, Any] | None) -> dict[str, Any]:
    """What it was before it became unknown; empty while it is known."""
    if health is not Health.UNKNOWN or before is None:
        return {"last_health": "", "last_code": "", "last_since": None}
    if before["health"] == Health.UNKNOWN.value:
        return {name: before[name] for name in ("last_health", "last_code", "last_since")}
    return {
        "last_health": before["health"],
        "last_code": before["code"],
        "last_since": before["since"],
    }


def _since(verdict: Verdict, before: dict[str, Any] | None, now: datetime) -> datetime:
    """The state's own time where it says one; else the first time that this verdict was given.

    A while in which nobody could look does not begin it anew.
    """
    finding = verdict.finding
    if finding.since is not None:
        return min(finding.since, now)
    said = (finding.code, finding.health.value)
    if before is not None and (before["code"], before["health"]) == said:
        since: datetime = before["since"]
        return since
    if before is not None and (before["last_code"], before["last_health"]) == said:
        return before["last_since"] or now
    return now


def differs(row: dict[str, Any], before: dict[str, Any] | None) -> bool:
    """Whether a page would show the two differently."""
    if before is None:
        return True
    return any(
        value != (bytes(old) if isinstance(old := before[name], memoryview) else old)
        for name, value in row.items()
        if name not in _BOOKKEEPING
    )
