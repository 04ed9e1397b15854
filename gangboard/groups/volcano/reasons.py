"""Why Volcano has not placed a gang: its queue has not let it in, or there is no room."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gangboard.domain.advice import AdviceKind, AdvisedStep, ChangeMethod
from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.group import Group
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.quota import Queue, QueueState
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.gang_refusal import gang_refusal, lacks_queue, queue_of
from gangboard.domain.reading.grace import ATTEMPT_GRACE
from gangboard.domain.reading.losses import how_many_run
from gangboard.domain.reading.progress import missing
from gangboard.domain.reading.scheduler_rules import (
    exceeds_quota,
    no_room,
    queue_missing,
    queue_stopped,
    waiting_for_quota,
)
from gangboard.domain.reading.wording import label
from gangboard.domain.registry import UnitRule
from gangboard.domain.resource_units import units
from gangboard.domain.shell import command
from gangboard.domain.verdict import Evidence, Finding
from gangboard.groups.volcano.wire import GROUP, PHASE, REFUSED
from gangboard.placement.amount_words import amount_of

_QUEUES = f"Queue.{GROUP}"
_WAITS = ("", "Pending")

_SHORT = re.compile(r"^(\d{1,9})/\d{1,9} tasks in gang unschedulable")
_ORIGIN = re.compile(r"Origin reason is [^:]{1,253}: (.*)")
_NO_QUOTA = re.compile(r"queue resource quota insufficient: (?:insufficient )?(.*)")
_OVERUSED = re.compile(r"resource in cluster is overused: (?:overused )?(.*)")


# Its queue has not let it in


def _waits_for_queue(unit: Unit) -> bool:
    group = unit.group
    return group is not None and group.detail[PHASE] in _WAITS and not unit.placed


def _find_queue_missing(unit: Unit) -> Finding | None:
    if not _waits_for_queue(unit) or not lacks_queue(unit, _QUEUES):
        return None
    name = _queue_name(unit)
    return unit_finding(
        QUEUE_MISSING,
        unit,
        f"Queue {name} does not exist, so Volcano never looks at {_whose(unit)}.",
        advice=(
            f"Create Queue {name}, or give the PodGroup another one ({ChangeMethod.RECREATE}).",
        ),
        evidence=_evidence(unit),
    )


def _find_queue_stopped(unit: Unit) -> Finding | None:
    queue = queue_of(unit)
    # What is made in a closed queue may be called Inqueue, and is not placed all the same (observed).
    if unit.placed or queue is None or queue.state is not QueueState.STOPPED:
        return None
    name = _queue_name(unit)
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
        evidence=_evidence(unit),
    )


def _find_exceeds_quota(unit: Unit) -> Finding | None:
    """Return a finding where its minimum is more than the queue may ever have (`capability`)."""
    queue, group = queue_of(unit), unit.group
    if not _waits_for_queue(unit) or queue is None or group is None:
        return None
    over = list(_over(group, queue))
    if not over:
        return None
    _, asked, most = over[0]
    return unit_finding(
        EXCEEDS_QUOTA,
        unit,
        f"{_whose(unit)} needs {asked} at once, and Queue {group.queue} may have at most {most}.",
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
            *_evidence(unit),
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
    found = _newest(unit, _NO_QUOTA) if _waits_for_queue(unit) else None
    if found is None:
        return None
    event, lacking = found
    return unit_finding(
        WAITING_FOR_QUOTA,
        unit,
        f"Queue {_queue_name(unit)} has not let it in: not enough {lacking} is left in it.",
        evidence=(Evidence("Volcano says", event.note, event.regarding), *_evidence(unit)),
        since=event.first_seen,
    )


def _find_in_queue(unit: Unit) -> Finding | None:
    """Return a finding while it waits for its queue and nothing else is known; blocked where nobody looks at it."""
    group = unit.group
    if group is None or not _waits_for_queue(unit):
        return None
    name = _queue_name(unit)
    overused = _newest(unit, _OVERUSED)
    if overused is not None:
        event, lacking = overused
        return unit_finding(
            IN_QUEUE,
            unit,
            f"Queue {name} has not let it in: what the cluster has of {lacking} is spoken for.",
            evidence=(Evidence("Volcano says", event.note, event.regarding), *_evidence(unit)),
            since=event.first_seen,
        )
    made = group.meta.created_at
    if group.detail[PHASE] or made is None:
        return unit_finding(
            IN_QUEUE, unit, f"Queue {name} has not let it in yet.", evidence=_evidence(unit)
        )
    is_late = made + ATTEMPT_GRACE <= unit.now
    return unit_finding(
        IN_QUEUE,
        unit,
        f"Volcano has not looked at {_whose(unit)} yet.",
        health=Health.BLOCKED if is_late else Health.STARTING,
        advice=("Look whether the scheduler of Volcano runs.",) if is_late else (),
        evidence=_evidence(unit),
        recheck_at=None if is_late else made + ATTEMPT_GRACE,
        since=made,
    )


def _find_let_in_again(unit: Unit) -> Finding | None:
    """Return a finding where it waits for its queue once more while some of its pods run.

    Volcano admits a PodGroup again after it went back to Pending, for example when its Job restarts. Pods that are gone
    are not made before (job_controller_actions.go of v1.14.1).
    """
    group = unit.group
    if group is None or group.detail[PHASE] != "Pending" or not unit.placed:
        return None
    number = missing(unit)
    if not number:
        return None
    rest = "the other pod is" if number == 1 else f"the other {number} pods are"
    return unit_finding(
        LET_IN_AGAIN,
        unit,
        f"{how_many_run(unit)}; {rest} not made before Queue {_queue_name(unit)} lets {_whose(unit)} in.",
        evidence=_evidence(unit),
    )


def _newest(unit: Unit, text: re.Pattern[str]) -> tuple[Event, str] | None:
    """Return the newest event about the group, where its text is of this sort, and what it names."""
    group = unit.group
    uid = group.meta.ref.uid if group is not None else ""
    told = (one for one in unit.events if one.regarding.uid == uid and one.reason == REFUSED)
    for event in told:  # newest first; the gang's own count of pods is told in between
        found = text.search(event.note)
        if found is not None:
            return event, found[1].rstrip(". ").replace("insufficient ", "").replace(
                "overused ", ""
            )
        if _NO_QUOTA.search(event.note) or _OVERUSED.search(event.note):
            return None
    return None


def _queue_name(unit: Unit) -> str:
    return unit.group.queue if unit.group is not None else ""


def _whose(unit: Unit) -> str:
    return label(unit.group.meta.ref) if unit.group is not None else ""


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    group = unit.group
    if group is None:
        return ()
    return (
        Evidence("status.phase", group.detail[PHASE] or "none", group.meta.ref),
        Evidence("queue", group.queue, group.meta.ref),
        Evidence("spec.minMember", str(group.quorum), group.meta.ref),
    )


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
LET_IN_AGAIN = UnitRule(
    "lost-members",
    Stage.RUN,
    "Lost members",
    15,
    _find_let_in_again,
    overrides=True,
    health=Health.DEGRADED,
)
NO_ROOM = no_room(_find_no_room)
RULES = (
    LET_IN_AGAIN,
    QUEUE_MISSING,
    QUEUE_STOPPED,
    EXCEEDS_QUOTA,
    WAITING_FOR_QUOTA,
    IN_QUEUE,
    NO_ROOM,
)
