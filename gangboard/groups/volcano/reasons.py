"""Reasons of Volcano's scheduler: the queue has not admitted a PodGroup, or the group does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.quota import Queue, QueueState
from gangboard.domain.resources import scheduler_units
from gangboard.domain.shell import command
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.grace_periods import ATTEMPT_GRACE
from gangboard.facts.scheduler_rules import (
    exceeds_quota,
    gang_refusal,
    lacks_queue,
    no_room,
    queue_missing,
    queue_of,
    queue_stopped,
    waiting_for_quota,
)
from gangboard.facts.unit import Unit
from gangboard.groups.volcano.allocation_gate import RULES as GATE_RULES
from gangboard.groups.volcano.queue_state import (
    CLUSTER_OVERUSED,
    GROUP,
    PHASE,
    QUOTA_INSUFFICIENT,
    REFUSED,
    group_label,
    held_nodes_text,
    is_back_in_queue,
    newest_quota_event,
    not_admitted_text,
    queue_evidence,
    queue_name,
    waits_for_queue,
)
from gangboard.placement.amounts import format_amount
from gangboard.plugins.rule import UnitRule

_QUEUES = f"Queue.{GROUP}"

_SHORT = re.compile(r"^(\d{1,9})/\d{1,9} tasks in gang unschedulable")
_ORIGIN = re.compile(r"Origin reason is [^:]{1,253}: (.*)")


# Not admitted by the queue


def _find_queue_missing(unit: Unit) -> Finding | None:
    if not waits_for_queue(unit) or not lacks_queue(unit, _QUEUES):
        return None
    name = queue_name(unit)
    return unit_finding(
        QUEUE_MISSING,
        unit,
        f"Queue {name} does not exist, so Volcano ignores {group_label(unit)}.",
        advice=(
            f"Create Queue {name}, or give the PodGroup another one ({ChangeMethod.RECREATE}).",
        ),
        evidence=queue_evidence(unit),
    )


def _find_queue_stopped(unit: Unit) -> Finding | None:
    queue = queue_of(unit)
    # A PodGroup that is created in a closed queue may be Inqueue. It is not placed (observed).
    is_in = bool(unit.placed) and not is_back_in_queue(unit)
    if is_in or queue is None or queue.state is not QueueState.STOPPED:
        return None
    name = queue_name(unit)
    return unit_finding(
        QUEUE_STOPPED,
        unit,
        f"Queue {name} is closed and admits nothing.",
        advice=(
            AdvisedStep(
                f"Open Queue {name}.",
                AdviceKind.OPEN_QUEUE,
                command("vcctl queue operate -a open -n {}", name),
            ),
        ),
        evidence=queue_evidence(unit),
    )


def _find_exceeds_quota(unit: Unit) -> Finding | None:
    """Return a finding if the request of the group is above the queue's `capability`."""
    queue, group = queue_of(unit), unit.group
    if not waits_for_queue(unit) or queue is None or group is None:
        return None
    excesses = list(_requests_over_limit(group, queue))
    if not excesses:
        return None
    _, requested, limit = excesses[0]
    return unit_finding(
        EXCEEDS_QUOTA,
        unit,
        f"{group_label(unit)} needs {requested} at once, and queue {group.queue} allows at most {limit}.",
        advice=(
            f"Raise capability of Queue {group.queue}, or request less ({ChangeMethod.RECREATE}).",
        ),
        evidence=(
            *(
                Evidence(f"{name} in spec.minResources", requested, group.meta.ref)
                for name, requested, _ in excesses
            ),
            *(
                Evidence(f"{name} in spec.capability", limit, queue.meta.ref)
                for name, _, limit in excesses
            ),
            *queue_evidence(unit),
        ),
    )


def _requests_over_limit(group: Group, queue: Queue) -> Iterator[tuple[str, str, str]]:
    """Yield (resource, request, limit) for each request above the limit of the queue."""
    limits = {quota.resource: quota.nominal for quota in queue.quotas if quota.nominal is not None}
    for resource, amount in sorted(group.requests.items()):
        limit = limits.get(resource)
        if limit is not None and amount > limit:
            requested, allowed = (
                format_amount(resource, scheduler_units(resource, size)) for size in (amount, limit)
            )
            yield resource, requested, allowed


def _find_waiting_for_quota(unit: Unit) -> Finding | None:
    """Return a finding if the newest event says that too little quota is left."""
    refusal = newest_quota_event(unit, QUOTA_INSUFFICIENT) if waits_for_queue(unit) else None
    if refusal is None:
        return None
    event, lacking = refusal
    return unit_finding(
        WAITING_FOR_QUOTA,
        unit,
        f"{not_admitted_text(unit)}: not enough {lacking} is left in it{held_nodes_text(unit)}.",
        health=_health(unit),
        evidence=(Evidence("Volcano says", event.note, event.regarding), *queue_evidence(unit)),
        since=event.first_seen,
    )


def _find_in_queue(unit: Unit) -> Finding | None:
    """Return a finding while the group waits for its queue without a known cause.

    It is blocked if the scheduler ignores the group.
    """
    group = unit.group
    if group is None or not waits_for_queue(unit):
        return None
    overused = newest_quota_event(unit, CLUSTER_OVERUSED)
    if overused is not None:
        event, lacking = overused
        return unit_finding(
            IN_QUEUE,
            unit,
            f"{not_admitted_text(unit)}: the cluster has no unassigned {lacking} left{held_nodes_text(unit)}.",
            health=_health(unit),
            evidence=(Evidence("Volcano says", event.note, event.regarding), *queue_evidence(unit)),
            since=event.first_seen,
        )
    created_at = group.meta.created_at
    if group.detail[PHASE] or created_at is None:
        return unit_finding(
            IN_QUEUE,
            unit,
            f"{not_admitted_text(unit)} yet{held_nodes_text(unit)}.",
            health=_health(unit),
            evidence=queue_evidence(unit),
        )
    is_late = created_at + ATTEMPT_GRACE <= unit.now
    return unit_finding(
        IN_QUEUE,
        unit,
        f"Volcano has not processed {group_label(unit)} yet.",
        health=Health.BLOCKED if is_late else Health.STARTING,
        advice=("Check that the scheduler of Volcano runs.",) if is_late else (),
        evidence=queue_evidence(unit),
        recheck_at=None if is_late else created_at + ATTEMPT_GRACE,
        since=created_at,
    )


def _health(unit: Unit) -> Health:
    """Return `degraded` for a PodGroup that holds nodes and waits for its queue again."""
    return Health.DEGRADED if is_back_in_queue(unit) else Health.WAITING


# Admitted, but without nodes


def _find_no_room(unit: Unit) -> Finding | None:
    group = unit.group
    refusal = find_condition(group.conditions, REFUSED) if group is not None else None
    if refusal is None:
        return None
    origin, short = _ORIGIN.search(refusal.message), _SHORT.search(refusal.message)
    if short is None:
        return gang_refusal(NO_ROOM, unit, "Volcano", refusal.message)
    # Often the message only has counts: `pod group is not ready, …; Pending: 1 Unschedulable, 2 Schedulable` (observed).
    cause = origin[1] if origin is not None else ""
    return gang_refusal(NO_ROOM, unit, "Volcano", cause, fits=max(0, unit.needed - int(short[1])))


QUEUE_MISSING = queue_missing(_find_queue_missing)
QUEUE_STOPPED = queue_stopped(_find_queue_stopped)
EXCEEDS_QUOTA = exceeds_quota(_find_exceeds_quota)
WAITING_FOR_QUOTA = waiting_for_quota(_find_waiting_for_quota)
IN_QUEUE = UnitRule(
    "queue-evaluating",
    Stage.ADMISSION,
    "Waits in a queue",
    25,
    _find_in_queue,
    health=Health.WAITING,
)
NO_ROOM = no_room(_find_no_room)
RULES = (
    QUEUE_MISSING,
    QUEUE_STOPPED,
    EXCEEDS_QUOTA,
    WAITING_FOR_QUOTA,
    IN_QUEUE,
    NO_ROOM,
    *GATE_RULES,
)
