"""PodGroups of Volcano (scheduling.volcano.sh/v1beta1): a gang that waits in a queue, then for nodes.

`phase` Pending: its queue has not let it in; Inqueue: it has, and there is no room yet; Unknown: it ran, and
some of its members are gone. A Volcano Job and the jobs of Kubeflow's training operator get their pods only
once it is let in; others have theirs and wait with them.

Both conditions are only ever added, never taken back, so the later one counts (gang.go and session.go of
v1.14.1): `Unschedulable` is True of what cannot be placed, `Scheduled` of what was. Why a queue does not let
a PodGroup in stands in events alone (proportion.go, capacity.go, overcommit.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts, Quantity
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, read_conditions, read_meta
from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.quota import Queue, QueueState
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.gang_refusal import gang_refusal, lacks_queue, queue_of
from gangboard.domain.reading.grace import ATTEMPT_GRACE
from gangboard.domain.reading.wording import label
from gangboard.domain.registry import GroupingAPI, GroupingNotes, Resource, UnitRule
from gangboard.domain.resource_units import units
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.amount_words import amount_of

_GROUP = "scheduling.volcano.sh"
_QUEUES = f"Queue.{_GROUP}"
_REFUSED, _PLACED = "Unschedulable", "Scheduled"
_PHASE = "phase"
_DEFAULT_QUEUE = "default"
_WAITS, _RAN = ("", "Pending"), ("Running", "Unknown", "Completed")
_TASK = "volcano.sh/task-spec"

_SHORT = re.compile(r"^(\d{1,9})/\d{1,9} tasks in gang unschedulable")
_ORIGIN = re.compile(r"Origin reason is [^:]{1,253}: (.*)")
_NO_QUOTA = re.compile(r"queue resource quota insufficient: (?:insufficient )?(.*)")
_OVERUSED = re.compile(r"resource in cluster is overused: (?:overused )?(.*)")


class _WireSpec(Wire):
    min_member: Int32 | None = None
    min_task_member: dict[str, Int32] | None = None
    min_resources: dict[str, Quantity] | None = None
    queue: str | None = None


class _WireStatus(Wire):
    phase: str | None = None
    conditions: list[WireCondition] | None = None


class WirePodGroup(Wire):
    """A PodGroup as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WirePodGroup, version: str) -> Group:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    quorum = spec.min_member or 0
    phase = status.phase or ""
    conditions = read_conditions(status.conditions)
    amounts = Amounts()
    tasks = {name: least for name, least in (spec.min_task_member or {}).items() if least > 0}
    group = Group(
        meta=read_meta(wire.metadata, _GROUP, "PodGroup", version),
        policy=Policy.GANG if quorum > 1 else Policy.BASIC,
        quorum=quorum,
        conditions=conditions,
        placed=_placed(conditions, phase),
        templates=tuple(
            GroupTemplate(name, Policy.GANG, least) for name, least in sorted(tasks.items())
        ),
        part_label=_TASK if tasks else "",
        requests=dict(amounts.each("minResources", spec.min_resources)),
        queue=spec.queue or _DEFAULT_QUEUE,
        detail={_PHASE: phase},
    )
    return deliver(group, tuple(amounts.faults))


def _placed(conditions: tuple[Condition, ...], phase: str) -> Condition | None:
    """Return whether it was placed, by the later of its two conditions; what has run was, whatever came later."""
    refused = find_condition(conditions, _REFUSED)
    placed = find_condition(conditions, _PLACED)
    if placed is not None and (refused is None or phase in _RAN or _is_later(placed, refused)):
        return placed
    if refused is None or not refused.is_true:
        return None
    return Condition(_REFUSED, "False", "Unschedulable", refused.message, refused.since)


def _is_later(one: Condition, other: Condition) -> bool:
    return one.since is not None and other.since is not None and one.since > other.since


# Its queue has not let it in


def _waits_for_queue(unit: Unit) -> bool:
    group = unit.group
    return group is not None and group.detail[_PHASE] in _WAITS and not unit.placed


def _find_queue_missing(unit: Unit) -> Finding | None:
    if not _waits_for_queue(unit) or not lacks_queue(unit, _QUEUES):
        return None
    name = _queue_name(unit)
    return unit_finding(
        QUEUE_MISSING,
        unit,
        f"Queue {name} does not exist, so Volcano never looks at {_whose(unit)}.",
        advice=(f"Create Queue {name}, or give the PodGroup another one (recreate).",),
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
        advice=(f"Open Queue {name} (vcctl queue operate -a open -n {name}).",),
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
        advice=(f"Raise capability of Queue {group.queue}, or ask for less (recreate).",),
        evidence=(
            *(
                Evidence(f"{name} in minResources", asked, group.meta.ref)
                for name, asked, _ in over
            ),
            *(Evidence(f"{name} in capability", most, queue.meta.ref) for name, _, most in over),
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
    if group.detail[_PHASE] or made is None:
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


def _newest(unit: Unit, text: re.Pattern[str]) -> tuple[Event, str] | None:
    """Return the newest event about the group, where its text is of this sort, and what it names."""
    group = unit.group
    uid = group.meta.ref.uid if group is not None else ""
    told = (one for one in unit.events if one.regarding.uid == uid and one.reason == _REFUSED)
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
        Evidence("phase", group.detail[_PHASE] or "none", group.meta.ref),
        Evidence("queue", group.queue, group.meta.ref),
        Evidence("minMember", str(group.quorum), group.meta.ref),
    )


# It was let in, and there is no room


def _find_no_room(unit: Unit) -> Finding | None:
    group = unit.group
    said = find_condition(group.conditions, _REFUSED) if group is not None else None
    if said is None:
        return None
    origin, short = _ORIGIN.search(said.message), _SHORT.search(said.message)
    if short is None:
        return gang_refusal(NO_ROOM, unit, "Volcano", said.message)
    # Often it only counts: `pod group is not ready, …; Pending: 1 Unschedulable, 2 Schedulable` (observed).
    cause = origin[1] if origin is not None else ""
    return gang_refusal(NO_ROOM, unit, "Volcano", cause, fits=max(0, unit.needed - int(short[1])))


QUEUE_MISSING = UnitRule(
    "queue-missing",
    Stage.ADMISSION,
    "Queue missing",
    10,
    _find_queue_missing,
    health=Health.BLOCKED,
)
QUEUE_STOPPED = UnitRule(
    "queue-stopped",
    Stage.ADMISSION,
    "Queue stopped",
    11,
    _find_queue_stopped,
    health=Health.BLOCKED,
)
EXCEEDS_QUOTA = UnitRule(
    "exceeds-quota",
    Stage.ADMISSION,
    "Exceeds the quota",
    14,
    _find_exceeds_quota,
    health=Health.BLOCKED,
)
WAITING_FOR_QUOTA = UnitRule(
    "waiting-for-quota",
    Stage.ADMISSION,
    "Waits for quota",
    17,
    _find_waiting_for_quota,
    health=Health.WAITING,
)
IN_QUEUE = UnitRule(
    "queue-evaluating",
    Stage.ADMISSION,
    "Waits in a queue",
    25,
    _find_in_queue,
    health=Health.WAITING,
)
NO_ROOM = UnitRule(
    "unschedulable",
    Stage.PLACEMENT,
    "No room found",
    80,
    _find_no_room,
    health=Health.WAITING,
)

GROUPING = GroupingAPI(
    label="Volcano",
    group=_GROUP,
    resources=(
        Resource(
            group=_GROUP,
            plural="podgroups",
            kind="PodGroup",
            versions=("v1beta1",),
            wire=WirePodGroup,
            model=Group,
            build=_build,
            needed=True,
        ),
    ),
    annotations={
        "scheduling.k8s.io/group-name": "PodGroup",
        "scheduling.volcano.sh/group-name": "PodGroup",
    },
    schedulers=("volcano",),
    rules=(QUEUE_MISSING, QUEUE_STOPPED, EXCEEDS_QUOTA, WAITING_FOR_QUOTA, IN_QUEUE, NO_ROOM),
    event_reasons=frozenset({"Unschedulable"}),
    notes=GroupingNotes(
        members=(
            "the annotations `scheduling.k8s.io/group-name` and `scheduling.volcano.sh/group-name`; read "
            "by scheduler `volcano` only"
        ),
        limits=(
            "why its queue does not let it in stands in events alone; its conditions are never taken "
            "back, the later one counts"
        ),
        tested="Volcano 1.14 on 1.37",
    ),
)
