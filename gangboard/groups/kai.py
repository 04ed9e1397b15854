"""PodGroups of KAI-Scheduler (scheduling.run.ai/v2alpha2): gangs in queues with quotas, made by its podgrouper.

The podgrouper makes one for whatever it knows to be a gang. For what it does not know, such as a JobSet, and for
each pod of a Job of Kubernetes, it makes one with `minMember` 1, which keeps nobody together (observed on
v0.12.0). Its owner reference names the topmost owner and is no controller's.

What its scheduler says stands in `schedulingConditions`, one for each node pool, the newest last. Before v0.17 it is
not taken back when all run (observed), and none is written where the queue does not exist, or while some member
has a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts, Quantity
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta, read_text, read_time
from gangboard.domain.facts import Unit
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.gang_refusal import gang_refusal, lacks_queue, queue_of
from gangboard.domain.reading.losses import how_many_run
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.wording import count, label, plural
from gangboard.domain.registry import GroupingAPI, GroupingNotes, Resource, UnitRule
from gangboard.domain.verdict import Evidence, Finding

_GROUP = "scheduling.run.ai"
_QUEUES = f"Queue.{_GROUP}"
_UNSCHEDULABLE = "UnschedulableOnNodePool"
_OVER_LIMIT, _OVER_QUOTA = "OverLimit", "NonPreemptibleOverQuota"
_REASON, _STALE = "reason", "stale"
"""Names in `detail` of a group: the first of its reasons, and since when it is below its minimum."""
_STALE_GRACE = timedelta(seconds=60)
"""How long one that fell below its minimum may go on, unless its scheduler is told otherwise
(`defaultStalenessGracePeriod`); the rest was deleted after 61 s (observed)."""

_FOUND = re.compile(
    r"Resources were found for (\d{1,9}) pods? while (\d{1,9}) (?:is|are) required for gang scheduling\. "
    r"Additional pods cannot be scheduled due to: (.*)"
)
_LIMIT = re.compile(
    r"Limit is (.{1,60}?), currently (.{1,60}?) allocated and workload requested (.*)"
)
_QUOTA = re.compile(
    r"Workload requested (.{1,60}?), but .{1,253}? quota is (.{1,60}?), while (.{1,60}?) (?:is|are) already"
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_EVICTED = re.compile(
    r"Pod \S{1,507} was preempted by higher priority workload ([^/\s]{1,253})/([^\s.]{1,253})"
)


class _WireSubGroup(Wire):
    name: str = ""
    min_member: Int32 | None = None
    min_sub_group: Int32 | None = None
    parent: str | None = None


class _WireTopology(Wire):
    required_topology_level: str | None = None


class _WireSpec(Wire):
    min_member: Int32 | None = None
    min_sub_group: Int32 | None = None
    queue: str | None = None
    sub_groups: list[_WireSubGroup] | None = None
    topology_constraint: _WireTopology | None = None


class _WireReason(Wire):
    reason: str | None = None
    message: str | None = None


class _WireCondition(Wire):
    type: str = ""
    status: str = ""
    message: str | None = None
    reasons: list[_WireReason] | None = None
    last_transition_time: str | None = None


class _WireResources(Wire):
    requested: dict[str, Quantity] | None = None


class _WireStatus(Wire):
    scheduling_conditions: list[_WireCondition] | None = None
    resources_status: _WireResources | None = None


class _WireAnnotations(Wire):
    stale: str | None = msgspec.field(default=None, name="kai.scheduler/stale-podgroup-timestamp")


class _WireMeta(WireMeta):
    annotations: _WireAnnotations | None = None


class WirePodGroup(Wire):
    """A PodGroup as narrow as it is kept."""

    metadata: _WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WirePodGroup, version: str) -> Group:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    parts = spec.sub_groups or []
    leaves = [one for one in parts if all(other.parent != one.name for other in parts)]
    quorum = _minimum(spec, parts)
    condition, reason = _refused(status.scheduling_conditions)
    amounts = Amounts()
    stale = (wire.metadata.annotations or _WireAnnotations()).stale
    found = {_REASON: reason, _STALE: stale or ""}
    topology = spec.topology_constraint or _WireTopology()
    group = Group(
        meta=read_meta(wire.metadata, _GROUP, "PodGroup", version),
        policy=Policy.GANG if quorum > 1 else Policy.BASIC,
        quorum=quorum,
        topology_keys=(topology.required_topology_level,)
        if topology.required_topology_level
        else (),
        conditions=(condition,) if condition is not None else (),
        placed=condition,
        templates=tuple(
            GroupTemplate(one.name, Policy.GANG, one.min_member)
            for one in leaves
            if (one.min_member or 0) > 0
        ),
        part_label="kai.scheduler/subgroup-name" if leaves else "",
        requests=dict(
            amounts.each(
                "requested resources", (status.resources_status or _WireResources()).requested
            )
        ),
        queue=spec.queue or "",
        detail={name: text for name, text in found.items() if text},
    )
    return deliver(group, tuple(amounts.faults))


def _minimum(spec: _WireSpec, parts: list[_WireSubGroup]) -> int:
    """Return how many pods must start together: of its subgroups all, or as many as are asked for."""
    if not parts:
        return max(0, spec.min_member or 0)

    def of(one: _WireSubGroup, above: tuple[str, ...]) -> int:
        below = [
            of(other, (*above, one.name))
            for other in parts
            if other.parent == one.name and other.name not in (*above, one.name)
        ]
        return _of_all(below, one.min_sub_group) if below else max(0, one.min_member or 0)

    names = {one.name for one in parts}
    top = [of(one, ()) for one in parts if one.parent is None or one.parent not in names]
    return max(_of_all(top, spec.min_sub_group), spec.min_member or 0)


def _of_all(minima: Iterable[int], wanted: int | None) -> int:
    found = sorted(minima)
    return sum(found if wanted is None else found[: max(0, wanted)])


def _refused(conditions: list[_WireCondition] | None) -> tuple[Condition | None, str]:
    """Return how the newest condition refuses the gang, as one of `placed`, and its first reason."""
    told = [one for one in conditions or () if one.type == _UNSCHEDULABLE]
    if not told or told[-1].status != "True":
        return None, ""
    newest = told[-1]
    first = next(iter(newest.reasons or ()), _WireReason())
    message = read_text(first.message or newest.message)
    since = read_time(newest.last_transition_time)
    return Condition(_UNSCHEDULABLE, "False", "Unschedulable", message, since), first.reason or ""


# What its scheduler says


def _text(unit: Unit, reason: str = "") -> str:
    """Return the text of its condition while it waits, where that has this reason; empty for none."""
    group = unit.group
    if group is None or group.placed is None or not lacks_room(unit):
        return ""
    return group.placed.message if reason in ("", group.detail.get(_REASON)) else ""


def _find_queue_missing(unit: Unit) -> Finding | None:
    """Return a finding where its queue, or the one above, does not exist: KAI says nothing then (observed)."""
    group, queue = unit.group, queue_of(unit)
    if group is None or unit.placed or _QUEUES not in unit.facts.known_kinds or not group.queue:
        return None
    above = queue.parent if queue is not None else None
    if queue is not None and (above is None or unit.facts.queues.get(above) is not None):
        return None
    name = group.queue if lacks_queue(unit, _QUEUES) or above is None else above.name
    whose = "" if name == group.queue else f", the parent of Queue {group.queue},"
    return unit_finding(
        QUEUE_MISSING,
        unit,
        f"Queue {name}{whose} does not exist, so KAI never looks at {label(group.meta.ref)}.",
        advice=(
            f"Create Queue {name}, or give its owner another one (label kai.scheduler/queue).",
        ),
        evidence=_evidence(unit),
    )


def _find_exceeds_quota(unit: Unit) -> Finding | None:
    return _find_quota(unit, EXCEEDS_QUOTA)


def _find_waiting_for_quota(unit: Unit) -> Finding | None:
    return _find_quota(unit, WAITING_FOR_QUOTA)


def _find_quota(unit: Unit, rule: UnitRule) -> Finding | None:
    """Return a finding where its queue keeps it from running: for good, or until others leave."""
    limit, quota = _text(unit, _OVER_LIMIT), _text(unit, _OVER_QUOTA)
    if not (limit or quota) or unit.group is None:
        return None
    name = unit.group.queue
    advice: tuple[str, ...] = ()
    if found := _LIMIT.search(limit):
        most, used, asked = found[1], found[2], found[3].rstrip(". ")
        message = f"Queue {name} may have {most} at most: {used} in use, and it asks for {asked}."
        raise_it = f"Raise the limit of Queue {name}"
    elif found := _QUOTA.search(quota):
        asked, most, used = found[1], found[2], found[3]
        message = (
            f"Queue {name} has a quota of {most} for pods that cannot be preempted: {used} in use, and "
            f"it asks for {asked}."
        )
        raise_it = f"Give its owner a preemptible priorityClassName (recreate), raise the quota of Queue {name}"
    else:
        return None if rule is EXCEEDS_QUOTA else _quoted(unit, rule, limit or quota)
    never = _number(asked) > _number(most)
    if never is not (rule is EXCEEDS_QUOTA):
        return None
    advice = (f"{raise_it}, or ask for less (recreate).",) if never else ()
    said = Evidence("KAI says", limit or quota, unit.group.meta.ref)
    return unit_finding(rule, unit, message, advice=advice, evidence=(said, *_evidence(unit)))


def _quoted(unit: Unit, rule: UnitRule, text: str) -> Finding:
    """Return a finding in KAI's own words, where it has changed them."""
    return unit_finding(rule, unit, text, evidence=_evidence(unit))


def _number(text: str) -> float:
    found = _NUMBER.search(text)
    return float(found[0]) if found is not None else 0.0


def _find_no_room(unit: Unit) -> Finding | None:
    text = _text(unit)
    found = _FOUND.search(text)
    if found is None:
        return gang_refusal(NO_ROOM, unit, "KAI", text.rstrip(". "))
    return gang_refusal(NO_ROOM, unit, "KAI", found[3].rstrip(". "), fits=int(found[1]))


def _find_evicted(unit: Unit) -> Finding | None:
    """Return a finding where all of its pods were taken away for a workload of higher priority."""
    group = unit.group
    if group is None or unit.placed or not lacks_room(unit):
        return None
    told = (one for one in unit.events if one.regarding.uid == group.meta.ref.uid)
    for event in told:
        found = _EVICTED.search(event.note) if event.reason == "Evict" else None
        if found is None:
            continue
        namespace, name = found[1], found[2]
        by = ObjectRef(_GROUP, "PodGroup", namespace, name, "")
        number = len(unit.unplaced)
        cause = _FOUND.search(_text(unit))
        why = f": {cause[3].rstrip('. ')}" if cause is not None else " for room"
        return unit_finding(
            EVICTED,
            unit,
            f"Its pods were preempted by {namespace}/{name}, and {count(number, 'pod')} "
            f"{plural(number, 'wait')}{why}.",
            evidence=(
                Evidence("preempted by", f"{namespace}/{name}", by),
                Evidence("KAI says", event.note, event.regarding),
                *_evidence(unit),
            ),
            since=event.last_seen,
        )
    return None


def _find_stale(unit: Unit) -> Finding | None:
    """Return a finding where it ran and fell below its minimum: KAI soon deletes what is left of it."""
    since = _stale_since(unit)
    if since is None or not unit.placed or len(unit.placed) >= unit.needed:
        return None
    due = since + _STALE_GRACE
    is_soon = due > unit.now
    end = (
        f"KAI deletes the rest at about {due:%H:%M:%S} UTC"
        if is_soon
        else "KAI deletes the rest now"
    )
    return unit_finding(
        STALE,
        unit,
        f"{how_many_run(unit)}. {end}, unless the lost members are placed again.",
        evidence=(
            Evidence("members placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref),
            *_evidence(unit),
        ),
        recheck_at=due if is_soon else None,
        since=since,
    )


def _stale_since(unit: Unit) -> datetime | None:
    return read_time(unit.group.detail.get(_STALE)) if unit.group is not None else None


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    group = unit.group
    if group is None:
        return ()
    ref = group.meta.ref
    return Evidence("queue", group.queue or "none", ref), Evidence(
        "minimum", str(group.quorum), ref
    )


QUEUE_MISSING = UnitRule(
    "queue-missing",
    Stage.ADMISSION,
    "Queue missing",
    10,
    _find_queue_missing,
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
EVICTED = UnitRule(
    "preempted", Stage.PLACEMENT, "Preempted", 74, _find_evicted, health=Health.WAITING
)
NO_ROOM = UnitRule(
    "unschedulable", Stage.PLACEMENT, "No room found", 80, _find_no_room, health=Health.WAITING
)
STALE = UnitRule(
    "lost-members",
    Stage.RUN,
    "Lost members",
    19,
    _find_stale,
    overrides=True,
    health=Health.DEGRADED,
)

GROUPING = GroupingAPI(
    label="KAI",
    group=_GROUP,
    resources=(
        Resource(
            group=_GROUP,
            plural="podgroups",
            kind="PodGroup",
            versions=("v2alpha2",),
            wire=WirePodGroup,
            model=Group,
            build=_build,
            needed=True,
        ),
    ),
    annotations={"pod-group-name": "PodGroup"},
    schedulers=("kai-scheduler",),
    rules=(QUEUE_MISSING, EXCEEDS_QUOTA, WAITING_FOR_QUOTA, EVICTED, NO_ROOM, STALE),
    event_reasons=frozenset({"Evict"}),
    notes=GroupingNotes(
        members="the annotation `pod-group-name`, which its podgrouper writes; read by `kai-scheduler` only",
        limits=(
            "what it has not got a grouper for, such as a JobSet, it places pod by pod. Of a queue that "
            "does not exist it says nothing. A gang that falls below its minimum it deletes after a minute"
        ),
        tested="KAI-Scheduler 0.12 on 1.37",
    ),
)
