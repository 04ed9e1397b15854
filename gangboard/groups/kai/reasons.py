"""Reasons of KAI's scheduler, from conditions, events and annotations of a PodGroup."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from gangboard.decode.quantities import read_duration
from gangboard.decode.wire import read_time
from gangboard.domain.advice import ChangeMethod
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.text import count, label, plural
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.lost_members import running_members_text
from gangboard.facts.scheduler_rules import (
    exceeds_quota,
    gang_refusal,
    no_room,
    queue_missing,
    queue_of,
    waiting_for_quota,
)
from gangboard.facts.scheduler_text import quote_refusal
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.plugins.rule import UnitRule

GROUP = "scheduling.run.ai"
REASON, STALE = "reason", "stale"
"""Keys in `Group.detail`: the first reason of its condition, and the time since which it is below its minimum."""
STALE_GRACE, PREEMPTION_DELAY = "stalenessGracePeriod", "preemptionDelay"
"""Keys in `Group.detail` of durations in its spec (v0.17)."""
_QUEUES = f"Queue.{GROUP}"
EVICTED_BY = "Evict"
"""Reason of KAI's events about evicted pods."""
_OVER_LIMIT, _OVER_QUOTA = "OverLimit", "NonPreemptibleOverQuota"
_NO_QUEUE, _DELAYED = "QueueDoesNotExist", "PreemptionDelayNotElapsed"
"""Reasons of v0.17."""
_DEFAULT_GRACE = timedelta(seconds=60)
"""Time before KAI deletes a gang below its minimum, unless its spec or the scheduler sets another one
(`stalenessGracePeriod`, `defaultStalenessGracePeriod`). The rest was deleted after 61 s (observed)."""

_LONGEST_GRACE = timedelta(days=3650)

_TOO_FEW_RESOURCES = re.compile(
    r"Resources were found for (\d{1,9}) pods? while (\d{1,9}) (?:is|are) required for gang scheduling\. "
    r"Additional pods cannot be scheduled due to: (.*)",
    re.DOTALL,  # each reason is a line of its own (pod_errors.go of v0.12.0)
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


def _condition_text(unit: Unit, reason: str = "") -> str:
    """Return the message of its condition while the unit waits for nodes. Empty: another reason, or no condition."""
    group = unit.group
    if group is None or group.placed is None or not lacks_nodes(unit):
        return ""
    return group.placed.message if reason in ("", group.detail.get(REASON)) else ""


def _find_queue_missing(unit: Unit) -> Finding | None:
    """Return a finding if the queue or its parent does not exist.

    KAI before v0.17 does not report this (observed). If queues cannot be read, the condition of the group decides.
    """
    group, queue = unit.group, queue_of(unit)
    if group is None or unit.placed or not group.queue:
        return None
    text = _condition_text(unit, _NO_QUEUE)
    if _QUEUES not in unit.gang.cluster.known_kinds and not text:
        return None
    above = queue.parent if queue is not None else None
    if queue is not None and (above is None or unit.gang.queues.get(above) is not None):
        return None
    name = group.queue if queue is None or above is None else above.name
    of_child = "" if name == group.queue else f", the parent of Queue {group.queue},"
    told_by_kai = (Evidence("KAI says", text, group.meta.ref),) if text else ()
    return unit_finding(
        QUEUE_MISSING,
        unit,
        f"Queue {name}{of_child} does not exist, so KAI ignores {label(group.meta.ref)}.",
        advice=(
            f"Create Queue {name}, or give its owner another one (label kai.scheduler/queue).",
        ),
        evidence=(*told_by_kai, *_evidence(unit)),
    )


def _find_exceeds_quota(unit: Unit) -> Finding | None:
    return _find_quota(unit, EXCEEDS_QUOTA)


def _find_waiting_for_quota(unit: Unit) -> Finding | None:
    return _find_quota(unit, WAITING_FOR_QUOTA)


def _find_quota(unit: Unit, rule: UnitRule) -> Finding | None:
    """Return a finding if the group exceeds the quota of its queue, or waits for quota."""
    limit, quota = _condition_text(unit, _OVER_LIMIT), _condition_text(unit, _OVER_QUOTA)
    if not (limit or quota) or unit.group is None:
        return None
    name = unit.group.queue
    advice: tuple[str, ...] = ()
    if match := _LIMIT.search(limit):
        most, used, requested = map(_amount, (match[1], match[2], match[3].rstrip(". ")))
        message = (
            f"It requests {requested}, and queue {name} allows at most {most} ({_in_use(used)})."
        )
        raise_it = f"Raise the limit of Queue {name}"
    elif match := _QUOTA.search(quota):
        requested, most, used = map(_amount, match.groups())
        message = (
            f"It requests {requested}, and queue {name} allows at most {most} ({_in_use(used)}) "
            "for pods that cannot be preempted."
        )
        raise_it = f"Give its owner a preemptible priorityClassName ({ChangeMethod.RECREATE}), raise the quota of Queue {name}"
    else:
        return None if rule is EXCEEDS_QUOTA else _quoting_finding(unit, rule, limit or quota)
    never = _first_number(requested) > _first_number(most)
    if never is not (rule is EXCEEDS_QUOTA):
        return None
    advice = (f"{raise_it}, or request less ({ChangeMethod.RECREATE}).",) if never else ()
    evidence = Evidence("KAI says", limit or quota, unit.group.meta.ref)
    return unit_finding(rule, unit, message, advice=advice, evidence=(evidence, *_evidence(unit)))


def _quoting_finding(unit: Unit, rule: UnitRule, text: str) -> Finding:
    """Return a finding with KAI's text, if the patterns do not match the text of this version."""
    return unit_finding(rule, unit, text, evidence=_evidence(unit))


def _amount(text: str) -> str:
    """Return KAI's amount of a resource with the right plural. KAI writes `1 GPUs`."""
    return text.removesuffix("s") if text.startswith("1 ") else text


def _in_use(amount: str) -> str:
    return f"{amount} in use" if _first_number(amount) else "none in use"


def _first_number(text: str) -> float:
    number = _NUMBER.search(text)
    return float(number[0]) if number is not None else 0.0


def _find_no_room(unit: Unit) -> Finding | None:
    text = _condition_text(unit)
    if _condition_text(unit, _DELAYED):
        return _preemption_delay_finding(unit, text)
    if _condition_text(unit, _NO_QUEUE):
        # The queue exists now, because otherwise `queue-missing` is reported.
        return gang_refusal(NO_ROOM, unit, "KAI", "its queue did not exist at the last attempt")
    match = _TOO_FEW_RESOURCES.search(text)
    if match is None:
        return gang_refusal(NO_ROOM, unit, "KAI", text.rstrip(". "))
    return gang_refusal(NO_ROOM, unit, "KAI", match[3].rstrip(". "), fits=int(match[1]))


def _preemption_delay_finding(unit: Unit, text: str) -> Finding | None:
    """Return a finding while the preemptionDelay of the group has not passed."""
    delay = unit.group.detail.get(PREEMPTION_DELAY) if unit.group is not None else None
    if not delay:
        return gang_refusal(NO_ROOM, unit, "KAI", text.rstrip(". "))
    cause = f"it does not preempt for them until their preemptionDelay of {delay} has passed"
    return gang_refusal(NO_ROOM, unit, "KAI", cause)


def _find_evicted(unit: Unit) -> Finding | None:
    """Return a finding if a workload of higher priority preempted all pods of the group."""
    group = unit.group
    if group is None or unit.placed or not lacks_nodes(unit):
        return None
    events = (item for item in unit.events if item.regarding.uid == group.meta.ref.uid)
    for event in events:
        match = _EVICTED.search(event.note) if event.reason == EVICTED_BY else None
        if match is None:
            continue
        namespace, name = match[1], match[2]
        by = ObjectRef(GROUP, "PodGroup", namespace, name, "")
        number = len(unit.unplaced)
        cause = _TOO_FEW_RESOURCES.search(_condition_text(unit))
        why = f"{count(number, 'pod')} {plural(number, 'wait')} for capacity"
        if cause is not None:
            why = quote_refusal(cause[3])
        return unit_finding(
            EVICTED,
            unit,
            f"Its pods were preempted by {namespace}/{name}; {why}.",
            evidence=(
                Evidence("preempted by", f"{namespace}/{name}", by),
                Evidence("KAI says", event.note, event.regarding),
                *_evidence(unit),
            ),
            since=event.last_seen,
        )
    return None


def _find_stale(unit: Unit) -> Finding | None:
    """Return a finding if the group fell below its minimum, because KAI then deletes the rest."""
    since = _stale_since(unit)
    if since is None or not unit.placed or len(unit.placed) >= unit.needed:
        return None
    due = _deletion_due(unit, since)
    is_soon = due is not None and due > unit.now
    return unit_finding(
        BELOW_MINIMUM,
        unit,
        f"{running_members_text(unit)}. {_outlook_text(unit, due)}.",
        evidence=(
            Evidence("members placed", f"{len(unit.placed)} of {unit.wanted}", unit.owner.meta.ref),
            *_evidence(unit),
        ),
        recheck_at=due if is_soon else None,
        since=since,
    )


def _deletion_due(unit: Unit, since: datetime) -> datetime | None:
    """Return the time at which KAI deletes a group below its minimum. None: its spec says never."""
    text = unit.group.detail.get(STALE_GRACE) if unit.group is not None else None
    grace = read_duration(text)
    if grace is None:
        grace = _DEFAULT_GRACE
    return None if grace < timedelta(0) else since + min(grace, _LONGEST_GRACE)


def _outlook_text(unit: Unit, due: datetime | None) -> str:
    if due is None and unit.group is not None:
        return f"KAI leaves the rest running ({STALE_GRACE} {unit.group.detail[STALE_GRACE]})"
    is_soon = due is not None and due > unit.now
    when = f"at about {due:%H:%M:%S} UTC" if is_soon else "now"
    return f"KAI deletes the rest {when}, unless the lost members are placed again"


def _stale_since(unit: Unit) -> datetime | None:
    return read_time(unit.group.detail.get(STALE)) if unit.group is not None else None


def _evidence(unit: Unit) -> tuple[Evidence, ...]:
    group = unit.group
    if group is None:
        return ()
    ref = group.meta.ref
    return Evidence("queue", group.queue or "none", ref), Evidence("quorum", str(group.quorum), ref)


QUEUE_MISSING = queue_missing(_find_queue_missing)
EXCEEDS_QUOTA = exceeds_quota(_find_exceeds_quota)
WAITING_FOR_QUOTA = waiting_for_quota(_find_waiting_for_quota)
EVICTED = UnitRule(
    "preempted", Stage.PLACEMENT, "Preempted", 74, _find_evicted, health=Health.WAITING
)
NO_ROOM = no_room(_find_no_room)
BELOW_MINIMUM = UnitRule(
    "lost-members",
    Stage.RUN,
    "Lost members",
    19,
    _find_stale,
    overrides=True,
    health=Health.DEGRADED,
)
RULES = (QUEUE_MISSING, EXCEEDS_QUOTA, WAITING_FOR_QUOTA, EVICTED, NO_ROOM, BELOW_MINIMUM)
