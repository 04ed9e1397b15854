"""Why Volcano has not placed a gang: its queue has not let it in, or there is no room."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.quota import Queue, QueueState
from gangboard.domain.resource_units import units
from gangboard.domain.shell import command
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang_refusal import gang_refusal, lacks_queue, queue_of
from gangboard.facts.grace_periods import ATTEMPT_GRACE
from gangboard.facts.scheduler_rules import (
    exceeds_quota,
    no_room,
    queue_missing,
    queue_stopped,
    waiting_for_quota,
)
from gangboard.facts.unit import Unit
from gangboard.groups.volcano.queue_words import (
    NO_QUOTA,
    OVERUSED,
    held_meanwhile,
    is_back_in_queue,
    label_of_its_group,
    newest_word,
    not_let_in,
    queue_evidence,
    queue_name,
    waits_for_queue,
)
from gangboard.groups.volcano.wire import GROUP, PHASE, REFUSED
from gangboard.placement.amount_words import amount_of
from gangboard.plugins.rule import UnitRule

_QUEUES = f"Queue.{GROUP}"

_SHORT = re.compile(r"^(\d{1,9})/\d{1,9} tasks in gang unschedulable")
_ORIGIN = re.compile(r"Origin reason is [^:]{1,253}: (.*)")


# Its queue has not let it in


def _find_queue_missing(unit: Unit) -> Finding | None:
    if not waits_for_queue(unit) or not lacks_queue(unit, _QUEUES):
        return None
    name = queue_name(unit)
    return unit_finding(
        QUEUE_MISSING,
        unit,
        f"Queue {name} does not exist, so Volcano never looks at {label_of_its_group(unit)}.",
        advice=(
            f"Create Queue {name}, or give the PodGroup another one ({ChangeMethod.RECREATE}).",
        ),
        evidence=queue_evidence(unit),
    )


def _find_queue_stopped(unit: Unit) -> Finding | None:
    queue = queue_of(unit)
    # What is made in a closed queue may be called Inqueue, and is not placed all the same (observed).
    is_in = bool(unit.placed) and not is_back_in_queue(unit)
    if is_in or queue is None or queue.state is not QueueState.STOPPED:
        return None
    name = queue_name(unit)
    return unit_finding(
        QUEUE_STOPPED,
        unit,
        f"Queue {name} is closed and lets nothing in.",
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
    """Return a finding where its minimum is more than the queue may ever have (`capability`)."""
    queue, group = queue_of(unit), unit.group
    if not waits_for_queue(unit) or queue is None or group is None:
        return None
    over = list(_over(group, queue))
    if not over:
        return None
    _, asked, most = over[0]
    return unit_finding(
        EXCEEDS_QUOTA,
        unit,
        f"{label_of_its_group(unit)} needs {asked} at once, and Queue {group.queue} may have at most {most}.",
        advice=(
            f"Raise capability of Queue {group.queue}, or ask for less ({ChangeMethod.RECREATE}).",
        ),
        evidence=(
            *(
                Evidence(f"{name} in spec.minResources", asked, group.meta.ref)
                for name, asked, _ in over
            ),
            *(
                Evidence(f"{name} in spec.capability", most, queue.meta.ref)
                for name, _, most in over
            ),
            *queue_evidence(unit),
        ),
    )


def _over(group: Group, queue: Queue) -> Iterator[tuple[str, str, str]]:
    """Yield (resource, what is asked for, what the queue may have) of which it asks for too much."""
    most = {quota.resource: quota.nominal for quota in queue.quotas if quota.nominal is not None}
    for resource, amount in sorted(group.requests.items()):
        limit = most.get(resource)
        if limit is not None and amount > limit:
            asked, most_of_it = (
                amount_of(resource, units(resource, one)) for one in (amount, limit)
            )
            yield resource, asked, most_of_it


def _find_waiting_for_quota(unit: Unit) -> Finding | None:
    """Return a finding where the scheduler says in an event that the quota does not suffice now."""
    found = newest_word(unit, NO_QUOTA) if waits_for_queue(unit) else None
    if found is None:
        return None
    event, lacking = found
    return unit_finding(
        WAITING_FOR_QUOTA,
        unit,
        f"{not_let_in(unit)}: not enough {lacking} is left in it{held_meanwhile(unit)}.",
        health=_health(unit),
        evidence=(Evidence("Volcano says", event.note, event.regarding), *queue_evidence(unit)),
        since=event.first_seen,
    )


def _find_in_queue(unit: Unit) -> Finding | None:
    """Return a finding while it waits for its queue and nothing else is known; blocked where nobody looks at it."""
    group = unit.group
    if group is None or not waits_for_queue(unit):
        return None
    overused = newest_word(unit, OVERUSED)
    if overused is not None:
        event, lacking = overused
        return unit_finding(
            IN_QUEUE,
            unit,
            f"{not_let_in(unit)}: what the cluster has of {lacking} is spoken for{held_meanwhile(unit)}.",
            health=_health(unit),
            evidence=(Evidence("Volcano says", event.note, event.regarding), *queue_evidence(unit)),
            since=event.first_seen,
        )
    made = group.meta.created_at
    if group.detail[PHASE] or made is None:
        return unit_finding(
            IN_QUEUE,
            unit,
            f"{not_let_in(unit)} yet{held_meanwhile(unit)}.",
            health=_health(unit),
            evidence=queue_evidence(unit),
        )
    is_late = made + ATTEMPT_GRACE <= unit.now
    return unit_finding(
        IN_QUEUE,
        unit,
        f"Volcano has not looked at {label_of_its_group(unit)} yet.",
        health=Health.BLOCKED if is_late else Health.STARTING,
        advice=("Look whether the scheduler of Volcano runs.",) if is_late else (),
        evidence=queue_evidence(unit),
        recheck_at=None if is_late else made + ATTEMPT_GRACE,
        since=made,
    )


def _health(unit: Unit) -> Health:
    """Return `degraded` for one that holds nodes without being whole."""
    return Health.DEGRADED if is_back_in_queue(unit) else Health.WAITING


# It was let in, and there is no room


def _find_no_room(unit: Unit) -> Finding | None:
    group = unit.group
    said = find_condition(group.conditions, REFUSED) if group is not None else None
    if said is None:
        return None
    origin, short = _ORIGIN.search(said.message), _SHORT.search(said.message)
    if short is None:
        return gang_refusal(NO_ROOM, unit, "Volcano", said.message)
    # Often it only counts: `pod group is not ready, …; Pending: 1 Unschedulable, 2 Schedulable` (observed).
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
)
