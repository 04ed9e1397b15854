"""What the scheduler says about a unit: the most specific of its texts, without what says nothing.

Formats as written by kube-scheduler 1.35 to 1.37 (framework/types.go, schedule_one_podgroup.go) and
as observed. Text is no API: reasons of conditions decide, text is only quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.pod import INNOCENT, Pod
from gangboard.facts.unit import Unit
from gangboard.facts.unit_counts import lacks_room

LONGEST_KEPT = 4096
"""Characters of a text whose reading is kept: no cluster drives out all others' with a few texts."""
_PREFIX = "pod group is unschedulable"
_PREFIXES = re.compile(rf"^(?:{_PREFIX}, )+")
_NODES = re.compile(r"\d{1,9}/\d{1,9} nodes are available|no nodes available to schedule pods")
# After five minutes at the gate; the count before it is 1 whatever the cluster's size (1.35, 1.36).
_TIMEOUT = re.compile(r"rejected due to timeout after waiting .{1,40} at plugin GangScheduling")
# With the gate TopologyAwareWorkloadScheduling every text has this part, topology or not.
_ONE_PLACEMENT = re.compile(r"0/1 placements are available, (?:first|reported) placement status: ")
# `0/6 nodes are available: ` and reasons with their numbers of nodes, or one reason without.
_REASONS = re.compile(
    r"\d{1,9}/\d{1,9} nodes are available: (.*?)(?:; (?:Saturated|Excluded) nodes \(.*)?$"
)
_NEXT_REASON = re.compile(r"[,.] (?=\d+ )")
NO_ROOM = "Unschedulable"
"""The reason by which the scheduler says that it found no place."""
ONE_SCHEDULER = "should have the same .spec.schedulerName"
"""Part of the error about pods of a group that name several schedulers (schedule_one_podgroup.go, 1.36 and 1.37)."""
_NO_ATTEMPT = frozenset({"", "SchedulingGated"})
"""Reasons that tell of no failed attempt: none, and the gates of a pod."""
_LACK = "Insufficient "
_COUNTED = re.compile(r"(\d{1,9}) (.*)")
_PREEMPTION = re.compile(r"(?:no new claims to deallocate, )?(?:pod group )?preemption: .*")
_TELLING = ("preemptionPolicy=Never", "terminating pod on the nominated node")
_EMPTY_TAILS = (
    "No preemption victims found for incoming preemptor",
    "one or more plugins asked to wait and no plugin rejected pod",
    "workload aware preemption is not supported for pod groups with scheduling constraints",
    "default preemption plugin is not registered, workload aware preemption is disabled",
)


@dataclass(frozen=True, slots=True)
class SchedulerMessage:
    """One text of the scheduler."""

    text: str
    """Cleaned, without a full stop."""
    raw: str
    source: ObjectRef
    since: datetime | None

    @property
    def reasons(self) -> str:
        """Its reasons with their numbers of nodes, without how many nodes there are; else the text.

        What nodes lack comes first: most of the others are often not meant for such pods at all.
        """
        counted = sorted(node_reasons(self.text), key=lambda one: not one[0].startswith(_LACK))
        return ", ".join(f"{nodes} {one}" if nodes else one for one, nodes in counted) or self.text


def clean(text: str) -> str:
    """Return the text without empty preemption tails, doubled prefixes and a trailing comma."""
    return _kept(text) if len(text) <= LONGEST_KEPT else _cleaned(text)


def _cleaned(text: str) -> str:
    """Clean each line. Later releases write several (kubernetes#142315)."""
    return "; ".join(filter(None, map(_cleaned_line, text.splitlines())))


def _cleaned_line(text: str) -> str:
    line = " ".join(text.split())
    tail = _PREEMPTION.search(line)
    if tail is not None and not any(word in tail.group() for word in _TELLING):
        line = line[: tail.start()]
    line = _PREFIXES.sub("", _strip_tails(line))
    return _ONE_PLACEMENT.sub("", line).rstrip(" .,")


_kept = bounded_cache(4096, 16 * MEBIBYTE)(_cleaned)


def _strip_tails(line: str) -> str:
    for tail in _EMPTY_TAILS:
        line = line.rstrip(" .,").removesuffix(tail)
    return line.rstrip(" ,")


def is_rejection(reason: str) -> bool:
    """Whether a pod or group with that reason, and the status False, was tried in vain.

    Also for a reason that this release does not know: schedulers get new ones.
    """
    return reason not in _NO_ATTEMPT


def is_error(reason: str) -> bool:
    """Whether the reason of a failed attempt tells of an error instead of a lack of room."""
    return is_rejection(reason) and reason != NO_ROOM


def rejected_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return current pods without a node whose last attempt failed, for whatever reason."""
    return tuple(pod for pod in unit.unplaced if is_rejection(unit.gang.failed_scheduling(pod)))


def has_rejected_pods(unit: Unit) -> bool:
    """Whether there are any `rejected_pods`; the first that is found tells."""
    return any(is_rejection(unit.gang.failed_scheduling(pod)) for pod in unit.unplaced)


def group_refusal(unit: Unit) -> Condition | None:
    """Return the condition by which the scheduler refuses the group as it is now.

    It stays False with its old text while a gang is suspended (observed on 1.36.3). So it says
    nothing when all pods that wait are younger and none of them has been tried.
    """
    placed = unit.group.placed if unit.group is not None else None
    if placed is None or not placed.is_false or not lacks_room(unit):
        return None
    if not all(pod.is_untried for pod in unit.unplaced) or placed.since is None:
        return placed
    made = [pod.meta.created_at for pod in unit.unplaced if pod.meta.created_at is not None]
    return None if made and min(made) > placed.since else placed


def scheduler_messages(unit: Unit, reason: str = NO_ROOM) -> tuple[SchedulerMessage, ...]:
    """Return what is said with that reason of the pods that wait, and of their group."""
    return _messages(unit, lambda said: said == reason)


def scheduler_errors(unit: Unit) -> tuple[SchedulerMessage, ...]:
    """Return the errors in which attempts to place the pods that wait, or their group, have ended."""
    return _messages(unit, is_error)


def _messages(unit: Unit, is_meant: Callable[[str], bool]) -> tuple[SchedulerMessage, ...]:
    found = [
        _scheduler_message(pod.scheduled, pod.meta.ref)
        for pod in unit.unplaced
        if pod.scheduled is not None and is_meant(unit.gang.failed_scheduling(pod))
    ]
    condition = group_refusal(unit)
    if condition is not None and unit.group is not None and is_meant(condition.reason):
        found.append(_scheduler_message(condition, unit.group.meta.ref))
    return tuple(found)


def has_scheduler_messages(unit: Unit, reason: str) -> bool:
    """Whether there are any `scheduler_messages`; the first that is found tells."""
    if any(unit.gang.failed_scheduling(pod) == reason for pod in unit.unplaced):
        return True
    condition = group_refusal(unit)
    return condition is not None and condition.reason == reason


def _scheduler_message(condition: Condition, source: ObjectRef) -> SchedulerMessage:
    said = condition.message or condition.reason
    return SchedulerMessage(clean(said), said, source, condition.since)


def best_scheduler_message(said: tuple[SchedulerMessage, ...]) -> SchedulerMessage | None:
    """Return the most specific text: `0/4 nodes are available: …` before any text of the group.

    It is the one said of most pods when several are equally specific.
    """
    often = Counter(message.text for message in said)
    ranked = sorted(
        said, key=lambda one: (-_rank(one.text), -often[one.text], one.text, one.source.name)
    )
    return next((message for message in ranked if message.text), None)


def node_reasons(text: str) -> tuple[tuple[str, int], ...]:
    """Return the reasons why nodes are not available, each with its number of nodes.

    `text` is a cleaned one. A reason for which the pod was turned away before any node was looked
    at (a claim that does not exist) has the number 0 and is the only one.
    """
    found = _REASONS.search(text)
    if found is None:
        return ()
    counted = [_COUNTED.fullmatch(part) for part in _NEXT_REASON.split(found[1])]
    return tuple((one[2], int(one[1])) for one in counted if one) or ((found[1], 0),)


def _rank(text: str) -> int:
    if any(one in text for one in INNOCENT):
        return -1
    if text == _PREFIX:
        return 0
    if _TIMEOUT.search(text):
        return 2
    if _NODES.search(text):
        return 4
    return 1 if "minCount" in text or "placements are available" in text else 3
