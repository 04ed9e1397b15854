"""`preempted`: the scheduler took all of its members away for somebody of higher priority.

The victims' PodGroup stays True and no condition of the group tells (observed on 1.37.0): only the
event `Preempted` of pods that are gone does, whose related object is the pod or group that took the
room, and `DisruptionTarget` of those that are not gone yet. What is blocked for good is nearer to the
cause. While some member still runs it is `lost-members`.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.attempt import attempt_start
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.scheduler_text import sayings
from gangboard.domain.reading.wording import count, plural
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.sentences.cause import obstacle
from gangboard.placement.sentences.finding import advice_of, evidence_of, said_evidence

# API servers, kubelets and gangboard have clocks of their own.
_SKEW = timedelta(seconds=60)


def find(unit: Unit) -> Finding | None:
    """Return a finding for a unit of which nothing is left running after a preemption."""
    if not lacks_room(unit) or unit.placed or unit.ready:
        return None
    events = _events(unit)
    since = _time(events) or _of_victims(unit)
    if since is None:
        return None
    why = obstacle(unit)
    if why is not None and why.blocked:
        return None
    said = sayings(unit, "Unschedulable")
    who, source = _by_whom(events)
    advice, named = advice_of(unit)
    waiting = count(len(unit.unplaced), "pod")
    message = (
        f"Its pods were preempted by {who}, and {waiting} {plural(len(unit.unplaced), 'wait')}"
    )
    message = f"{message}: {why.text}." if why is not None else f"{message} for a node."
    return unit_finding(
        RULE,
        unit,
        message,
        advice=advice,
        evidence=(
            *source,
            *evidence_of(unit, why),
            *said_evidence(unit, said),
            *named,
        ),
        since=since,
    )


def _events(unit: Unit) -> tuple[Event, ...]:
    """Return preemptions of its pods in this attempt since it was last whole, newest first."""
    start, whole = attempt_start(unit), unit.memory.whole_at
    alive = {pod.meta.ref.uid for pod in unit.current}
    found = [
        event
        for event in unit.events
        if event.reason == "Preempted"
        and event.regarding.kind == "Pod"
        and event.regarding.uid not in alive
        and event.last_seen is not None
        and (start is None or event.last_seen >= start - _SKEW)
        and (whole is None or event.last_seen >= whole - _SKEW)
        and _is_of(unit, event)
    ]
    return tuple(sorted(found, key=lambda one: one.last_seen or unit.now, reverse=True))


def _is_of(unit: Unit, event: Event) -> bool:
    """Whether the pod, which may be gone, was one of this unit: pods are named after their Job."""
    name = event.regarding.name
    if any(pod.meta.ref.uid == event.regarding.uid for pod in unit.pods):
        return True
    if len(unit.facts.jobs) < 2:
        return True
    return any(name.startswith(f"{job.meta.ref.name}-") for job in unit.jobs)


def _time(events: tuple[Event, ...]) -> datetime | None:
    return events[0].last_seen if events else None


def _of_victims(unit: Unit) -> datetime | None:
    """Return when pods that are still going were preempted, where no event tells."""
    times = [
        pod.disruption.since
        for pod in unit.pods
        if (pod.is_terminating or pod.is_finished)
        and pod.disruption is not None
        and pod.disruption.is_true
        and pod.disruption.reason == "PreemptionByScheduler"
    ]
    return max((time for time in times if time is not None), default=None)


def _by_whom(events: tuple[Event, ...]) -> tuple[str, tuple[Evidence, ...]]:
    """Return who took the room, and the reference by which the name is shown or hidden."""
    for event in events:
        ref = event.related
        if ref is not None and ref.name:
            name = f"{ref.namespace}/{ref.name}"
            return name, (Evidence(f"preempted by {ref.kind}", name, ref),)
    told = tuple(Evidence("Preempted", event.note, event.regarding) for event in events[:1])
    return "the scheduler for pods of higher priority", told


RULE = UnitRule("preempted", Stage.PLACEMENT, "Preempted", 74, find, health=Health.WAITING)
