"""Evictions of a gang that its objects and events tell.

- A pod that loses its node for a known cause has the condition `DisruptionTarget` until it is deleted.
- The scheduler reports each preempted pod with an event, which outlives the pod by about an hour.
- A queue entry tells its last eviction.

Pods of one gang that go within a minute are one eviction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta

from gangboard.domain.eviction import EvictionCode, GangEviction
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod
from gangboard.facts.gang import Gang

TOGETHER = timedelta(seconds=60)
"""Pods that go at most this long after another are of the same eviction."""
_BY_SCHEDULER = "PreemptionByScheduler"


def evictions_of(gang: Gang) -> tuple[GangEviction, ...]:
    """Return the known evictions of a gang, the oldest first. Its pods' evictions come before its entries'.

    Clocks differ a little. A time further in the future is not believed until it has come.
    """
    pods = sorted([*_of_pods(gang), *_of_events(gang)], key=lambda eviction: eviction.at)
    evictions = (*_merged(pods), *_of_entries(gang))
    return tuple(item for item in evictions if item.last_at <= gang.now + TOGETHER)


def _of_pods(gang: Gang) -> Iterator[GangEviction]:
    for pod in gang.pods:
        condition = pod.disruption
        if condition is None or not condition.is_true or condition.since is None or not pod.node:
            continue
        is_preempted = condition.reason == _BY_SCHEDULER
        code = EvictionCode.PREEMPTED if is_preempted else EvictionCode.EVICTED
        at, reason = condition.since, "" if is_preempted else condition.reason
        yield GangEviction(code, reason, at, at)


def _of_events(gang: Gang) -> Iterator[GangEviction]:
    staying = {pod.meta.ref.uid for pod in gang.pods if _stays(pod)}
    for event in gang.events:
        if event.reason != "Preempted" or event.regarding.kind != "Pod":
            continue
        at = event.first_seen or event.last_seen
        if at is not None and event.regarding.uid not in staying:
            taker = _taker(gang, event.related)
            yield GangEviction(EvictionCode.PREEMPTED, "", at, at, taker=taker)


def _stays(pod: Pod) -> bool:
    return not pod.is_finished and not pod.is_terminating


def _taker(gang: Gang, related: ObjectRef | None) -> ObjectRef | None:
    """Return the gang of the preemptor, or the object that the event names."""
    if related is None:
        return None
    return gang.preemptors.get(related.uid) or (related if related.name else None)


def _merged(evictions: Iterable[GangEviction]) -> tuple[GangEviction, ...]:
    """Return one eviction for those of the same code that follow each other. `evictions` are sorted by time."""
    merged: dict[EvictionCode, list[GangEviction]] = {}
    for eviction in evictions:
        of_code = merged.setdefault(eviction.code, [])
        if of_code and eviction.at - of_code[-1].last_at <= TOGETHER:
            taker = of_code[-1].taker or eviction.taker
            of_code[-1] = replace(of_code[-1], last_at=eviction.at, taker=taker)
        else:
            of_code.append(eviction)
    return tuple(
        sorted((item for items in merged.values() for item in items), key=lambda item: item.at)
    )


def _of_entries(gang: Gang) -> Iterator[GangEviction]:
    for entry in gang.entries:
        last = entry.evicted
        if last is not None and not entry.is_variant:
            taker = gang.preemptors.get(last.taker)
            yield GangEviction(last.code, last.reason, last.at, last.at, entry.meta.ref.uid, taker)
