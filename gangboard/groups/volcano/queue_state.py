"""The state of a PodGroup in its queue, from its phase and its events."""

from __future__ import annotations

import re

from gangboard.domain.event import Event
from gangboard.domain.text import label, out_of, plural
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit

GROUP = "scheduling.volcano.sh"
PHASE = "phase"
"""Key in `Group.detail`: `status.phase`."""
REFUSED = "Unschedulable"
"""Type of a condition, and reason of events."""
QUOTA_INSUFFICIENT = re.compile(r"queue resource quota insufficient: (?:insufficient )?(.*)")
CLUSTER_OVERUSED = re.compile(r"resource in cluster is overused: (?:overused )?(.*)")
_PENDING = "Pending"
_WAITING_PHASES = ("", _PENDING)


def waits_for_queue(unit: Unit) -> bool:
    """Return whether the queue has to admit the PodGroup, for the first time or again."""
    group = unit.group
    if group is None or group.detail[PHASE] not in _WAITING_PHASES:
        return False
    return not unit.placed or is_back_in_queue(unit)


def is_back_in_queue(unit: Unit) -> bool:
    """Return whether the PodGroup waits for its queue again while some of its pods hold nodes.

    Volcano sets a PodGroup back to Pending if it falls below its minimum before any pod runs (`getPodGroupPhase` in
    session.go of v1.14.1, observed). A Volcano Job that restarts gets a new one (`killPods` in
    job_controller_actions.go).
    """
    group = unit.group
    return (
        group is not None
        and group.detail[PHASE] == _PENDING
        and bool(unit.placed)
        and bool(unit.missing or unit.unplaced)
    )


def not_admitted_text(unit: Unit) -> str:
    """Return `Queue research has not admitted it`, with `again` for a second admission."""
    suffix = " again" if is_back_in_queue(unit) else ""
    return f"Queue {queue_name(unit)} has not admitted it{suffix}"


def held_nodes_text(unit: Unit) -> str:
    """Return `; 1 of 2 pods holds a node meanwhile`. Empty: no pod has a node."""
    number = len(unit.placed)
    if not number:
        return ""
    return f"; {out_of(number, unit.wanted, 'pod')} {plural(number, 'hold')} a node meanwhile"


def newest_quota_event(unit: Unit, text: re.Pattern[str]) -> tuple[Event, str] | None:
    """Return the newest event about the group's quota, and the resources in it. None: its text does not match."""
    group = unit.group
    uid = group.meta.ref.uid if group is not None else ""
    refusals = (
        item for item in unit.events if item.regarding.uid == uid and item.reason == REFUSED
    )
    for event in refusals:  # newest first, mixed with events that count pods
        match = text.search(event.note)
        if match is not None:
            return event, match[1].rstrip(". ").replace("insufficient ", "").replace(
                "overused ", ""
            )
        if QUOTA_INSUFFICIENT.search(event.note) or CLUSTER_OVERUSED.search(event.note):
            return None
    return None


def queue_name(unit: Unit) -> str:
    """Return the name of the group's queue."""
    return unit.group.queue if unit.group is not None else ""


def group_label(unit: Unit) -> str:
    """Return `PodGroup ring`."""
    return label(unit.group.meta.ref) if unit.group is not None else ""


def queue_evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the phase, the queue and the minimum of the group."""
    group = unit.group
    if group is None:
        return ()
    return (
        Evidence("status.phase", group.detail[PHASE] or "none", group.meta.ref),
        Evidence("queue", group.queue, group.meta.ref),
        Evidence("spec.minMember", str(group.quorum), group.meta.ref),
    )
