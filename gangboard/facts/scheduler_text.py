"""Messages of the scheduler about a unit, and when it tries refused members again.

Formats as written by kube-scheduler 1.35 to 1.37 (framework/types.go, schedule_one_podgroup.go) and as observed. A
text is no API: reasons of conditions decide, and texts are only quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.domain.bounded_cache import MEBIBYTE, bounded_cache
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.placement_result import PlacementCause
from gangboard.domain.pod import GROUP_WAIT_TEXTS, Pod
from gangboard.domain.text import quote, quote_list
from gangboard.facts.attempts import latest
from gangboard.facts.unit import Unit, lacks_nodes

LONGEST_CACHED = 4096
"""Longest text in characters whose result is cached, so that no cluster can fill the cache with a few texts."""
_PREFIX = "pod group is unschedulable"
_PREFIXES = re.compile(rf"^(?:{_PREFIX}, )+")
_NODES = re.compile(r"\d{1,9}/\d{1,9} nodes are available|no nodes available to schedule pods")
# Text after five minutes at the gate. Its count of nodes is always 1 (1.35, 1.36).
_TIMEOUT = re.compile(r"rejected due to timeout after waiting .{1,40} at plugin GangScheduling")
# With the feature gate TopologyAwareWorkloadScheduling every text has this prefix, even without topology.
_ONE_PLACEMENT = re.compile(r"0/1 placements are available, (?:first|reported) placement status: ")
# `0/6 nodes are available: ` and reasons with their numbers of nodes, or one reason without.
_REASONS = re.compile(
    r"\d{1,9}/\d{1,9} nodes are available: (.*?)(?:; (?:Saturated|Excluded) nodes \(.*)?$"
)
_NEXT_REASON = re.compile(r"[,.] (?=\d+ )")
# Lists of all schedulers, such as `0/6 nodes are unavailable: …` and `no nodes with enough resources were found: …`.
_NODE_LIST = re.compile(
    r"((?:\d{1,9}/\d{1,9}|all|no) nodes (?:are (?:un)?available|with enough resources were found): )(?=\d)"
)
_NODE_NAMES = re.compile(r"; (?:Saturated|Excluded) nodes \(.*")
"""Last lines of later releases (kubernetes#142315). The line before them has the cause."""
_LONGEST_BEGINNING = 50
"""Longest text in characters before the reasons. A longer one would leave too few characters for them."""
_REPEATED = re.compile(r" \(\d{1,9}x\)$")
"""A reason with its number of nodes behind it: `Insufficient cpu (3x)`, in a list with semicolons."""
UNSCHEDULABLE = "Unschedulable"
"""Reason with which the scheduler reports that it found no node."""
ONE_SCHEDULER = "should have the same .spec.schedulerName"
"""Part of the error about pods of a group that name several schedulers (schedule_one_podgroup.go, 1.36 and 1.37)."""
_NO_ATTEMPT = frozenset({"", "SchedulingGated"})
"""Reasons without a failed attempt: an empty one, and the gates of a pod."""
_LACKS = ("Insufficient ", "didn't have enough ")
"""Parts of reasons about resources, as schedulers write them."""
_COUNTED = re.compile(r"(\d{1,9}) (.*)")
_PREEMPTION = re.compile(r"(?:no new claims to deallocate, )?(?:pod group )?preemption: .*")
_INFORMATIVE = ("preemptionPolicy=Never", "terminating pod on the nominated node")
_EMPTY_TAILS = (
    "No preemption victims found for incoming preemptor",
    "one or more plugins asked to wait and no plugin rejected pod",
    "workload aware preemption is not supported for pod groups with scheduling constraints",
    "default preemption plugin is not registered, workload aware preemption is disabled",
)


@dataclass(frozen=True, slots=True)
class SchedulerMessage:
    """A text of the scheduler."""

    text: str
    """Cleaned, without a full stop."""
    raw: str
    source: ObjectRef
    since: datetime | None

    @property
    def quoted(self) -> str:
        """Its text for a sentence, see `quote_refusal`."""
        return quote_refusal(self.text)

    @property
    def quoted_reasons(self) -> str:
        """Its reasons for a sentence, without the total number of nodes. Without reasons, the quoted text."""
        counted = node_reasons(self.text)
        if not counted:
            return self.quoted
        return _quote_reasons(
            "", [f"{nodes} {reason}" if nodes else reason for reason, nodes in counted]
        )


def quote_refusal(text: str) -> str:
    """Return the text with which a scheduler refuses pods, for a sentence.

    In a list of reasons why nodes are not available, insufficient resources come first, because other reasons are
    often about nodes for other workloads. Any other text keeps its end.
    """
    whole = " ".join(text.split()).rstrip(" .,;")
    line = _NODE_NAMES.sub("", whole)
    if match := _NODE_LIST.search(line):
        beginning = line[: match.end()]
        return _quote_reasons(
            beginning if len(beginning) <= _LONGEST_BEGINNING else match[1],
            _NEXT_REASON.split(line[match.end() :]),
        )
    reasons = line.split("; ")
    if all(map(_REPEATED.search, reasons)):
        return _quote_reasons("", reasons, "; ")
    return quote(whole) if line == whole else quote_list(line)


def _quote_reasons(beginning: str, reasons: Iterable[str], separator: str = ", ") -> str:
    ordered = sorted(reasons, key=lambda reason: not any(lack in reason for lack in _LACKS))
    return quote_list(f"{beginning}{separator.join(ordered)}")


def clean(text: str) -> str:
    """Return the text without empty preemption tails, doubled prefixes and a trailing comma."""
    return _cached(text) if len(text) <= LONGEST_CACHED else _cleaned(text)


def _cleaned(text: str) -> str:
    """Clean each line. Later releases write several (kubernetes#142315)."""
    return "; ".join(filter(None, map(_cleaned_line, text.splitlines())))


def _cleaned_line(text: str) -> str:
    line = " ".join(text.split())
    tail = _PREEMPTION.search(line)
    if tail is not None and not any(phrase in tail.group() for phrase in _INFORMATIVE):
        line = line[: tail.start()]
    line = _PREFIXES.sub("", _strip_tails(line))
    return _ONE_PLACEMENT.sub("", line).rstrip(" .,")


_cached = bounded_cache(4096, 16 * MEBIBYTE)(_cleaned)


def _strip_tails(line: str) -> str:
    for tail in _EMPTY_TAILS:
        line = line.rstrip(" .,").removesuffix(tail)
    return line.rstrip(" ,")


def is_failed_attempt(reason: str) -> bool:
    """Return whether a pod or group with that reason and the status False had a failed attempt.

    An unknown reason counts as well, because schedulers get new ones.
    """
    return reason not in _NO_ATTEMPT


def is_error(reason: str) -> bool:
    """Return whether the reason of a failed attempt is an error instead of a lack of room."""
    return is_failed_attempt(reason) and reason != UNSCHEDULABLE


def rejected_pods(unit: Unit) -> tuple[Pod, ...]:
    """Return current pods without a node whose last attempt failed, for whatever reason."""
    return tuple(
        pod for pod in unit.unplaced if is_failed_attempt(unit.gang.failed_scheduling(pod))
    )


def has_rejected_pods(unit: Unit) -> bool:
    """Return whether any pod is in `rejected_pods`. It stops at the first."""
    return any(is_failed_attempt(unit.gang.failed_scheduling(pod)) for pod in unit.unplaced)


def group_refusal(unit: Unit) -> Condition | None:
    """Return the condition with which the scheduler refuses the group, if it is current.

    It stays False with its old text while a gang is suspended (observed on 1.36.3). So it is outdated if all waiting
    pods are younger and untried.
    """
    placed = unit.group.placed if unit.group is not None else None
    if placed is None or not placed.is_false or not lacks_nodes(unit):
        return None
    if not all(pod.is_untried for pod in unit.unplaced) or placed.since is None:
        return placed
    created = [pod.meta.created_at for pod in unit.unplaced if pod.meta.created_at is not None]
    return None if created and min(created) > placed.since else placed


def scheduler_messages(unit: Unit, reason: str = UNSCHEDULABLE) -> tuple[SchedulerMessage, ...]:
    """Return the messages with that reason about waiting pods, and about their group."""
    return _messages(unit, lambda candidate: candidate == reason)


def scheduler_errors(unit: Unit) -> tuple[SchedulerMessage, ...]:
    """Return the errors with which the last attempts for waiting pods, or their group, ended."""
    return _messages(unit, is_error)


def _messages(unit: Unit, is_meant: Callable[[str], bool]) -> tuple[SchedulerMessage, ...]:
    messages = [
        _scheduler_message(pod.scheduled, pod.meta.ref)
        for pod in unit.unplaced
        if pod.scheduled is not None and is_meant(unit.gang.failed_scheduling(pod))
    ]
    condition = group_refusal(unit)
    if condition is not None and unit.group is not None and is_meant(condition.reason):
        messages.append(_scheduler_message(condition, unit.group.meta.ref))
    return tuple(messages)


def has_scheduler_messages(unit: Unit, reason: str) -> bool:
    """Return whether `scheduler_messages` has any. It stops at the first."""
    if any(unit.gang.failed_scheduling(pod) == reason for pod in unit.unplaced):
        return True
    condition = group_refusal(unit)
    return condition is not None and condition.reason == reason


def _scheduler_message(condition: Condition, source: ObjectRef) -> SchedulerMessage:
    text = condition.message or condition.reason
    return SchedulerMessage(clean(text), text, source, condition.since)


def best_scheduler_message(messages: tuple[SchedulerMessage, ...]) -> SchedulerMessage | None:
    """Return the most specific message: `0/4 nodes are available: …` before any text of the group.

    If several are equally specific, it is the message of most pods.
    """
    often = Counter(message.text for message in messages)
    ranked = sorted(
        messages,
        key=lambda message: (
            -_rank(message.text),
            -often[message.text],
            message.text,
            message.source.name,
        ),
    )
    return next((message for message in ranked if message.text), None)


def node_reasons(text: str) -> tuple[tuple[str, int], ...]:
    """Return the reasons why nodes are not available, each with its number of nodes.

    `text` is a cleaned text. A reason for which the scheduler looked at no node (a claim that does not exist) has the
    number 0 and is alone.
    """
    match = _REASONS.search(text)
    if match is None:
        return ()
    counted = [_COUNTED.fullmatch(reason) for reason in _NEXT_REASON.split(match[1])]
    return tuple(
        (counted_reason[2], int(counted_reason[1])) for counted_reason in counted if counted_reason
    ) or ((match[1], 0),)


def _rank(text: str) -> int:
    if any(innocent in text for innocent in GROUP_WAIT_TEXTS):
        return -1
    if text == _PREFIX:
        return 0
    if _TIMEOUT.search(text):
        return 2
    if _NODES.search(text):
        return 4
    return 1 if "minCount" in text or "placements are available" in text else 3


RETRY_GRACE = timedelta(seconds=30)
"""Time in which the scheduler retries a refused pod or group after pods left or nodes were added.

The backoff is at most 10 s (`podMaxBackoffSeconds`). The rest allows for a busy scheduler and the delay of the poll."""


def fits_now(unit: Unit) -> bool:
    """Return whether the members that wait for a node fit now, by arithmetic."""
    assessment = unit.placing.assessment if unit.placing is not None else None
    return assessment is not None and assessment.cause is PlacementCause.FITS


def fits_since(unit: Unit) -> datetime | None:
    """Return since when the waiting members fit by arithmetic, or None if they do not.

    When gangboard sees a unit first, it did not observe when the nodes became free. The members then count as fitting
    since they were refused.
    """
    if not fits_now(unit):
        return None
    if unit.memory.fits_since is not None:
        return unit.memory.fits_since
    is_first_sight = unit.memory.created_since is None
    return (_refused_at(unit) if is_first_sight else None) or unit.now


def retry_due(unit: Unit) -> datetime | None:
    """Return until when a scheduler may still retry refused members that fit now.

    None if no retry is due: it did not refuse them, they do not fit, the time is over, or it refused them since.
    """
    since = fits_since(unit)
    if since is None or since + RETRY_GRACE <= unit.now:
        return None
    if not (has_rejected_pods(unit) or group_refusal(unit) is not None):
        return None
    return None if is_refused_since(unit) else since + RETRY_GRACE


def is_refused_since(unit: Unit) -> bool:
    """Return whether the scheduler was seen to refuse members since they fit.

    It may have tried again unseen, because a repeated refusal often has no event.
    """
    since, last = fits_since(unit), _refused_at(unit)
    return since is not None and last is not None and last > since


def _refused_at(unit: Unit) -> datetime | None:
    return unit.placing.refused_at if unit.placing is not None else None


def last_refusal(unit: Unit) -> datetime | None:
    """Return when members were refused last, as far as known."""
    return latest(_refusals(unit))


def _refusals(unit: Unit) -> Iterator[datetime | None]:
    """Yield the known times of refusals.

    A condition keeps its time while it stays False, and a repeated refusal rarely has a new event. So the last
    attempt can be later, never earlier.
    """
    yield from (pod.scheduled.since for pod in rejected_pods(unit) if pod.scheduled is not None)
    group = group_refusal(unit)
    if group is not None:
        yield group.since
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    for event in unit.events:
        # Karpenter uses the same reason for pods for which it provisions no node.
        if event.reason == "FailedScheduling" and event.reporter != "karpenter":
            yield event.last_seen if event.regarding.uid in waiting else None
