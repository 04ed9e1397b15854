"""Workloads that compete with a new one: those before it in line, and those that Kueue may preempt for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from gangboard.domain.forecast import AdmissionState
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_policy import PreemptionPolicy
from gangboard.domain.quota import Queue, QueueLevel, QueueName
from gangboard.queues.kueue.queues import GROUP
from gangboard.queues.kueue.quota_tree import FlavorResource, QuotaTree, Usage
from gangboard.queues.kueue.workloads import POD_CLASS, WORKLOAD_CLASS

_LABEL = "kueue.x-k8s.io/priority-class"
_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_PREEMPTS = "Pending the preemption of"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class Priority:
    """Priority of a new Workload."""

    value: int | None
    """None if the class is unknown."""
    source: str = ""
    """Kind and name of its class, or empty."""
    name: str = ""


def find_priority(owner: Owner, state: AdmissionState) -> Priority:
    """Return the priority that Kueue would give to the owner (pkg/util/priority).

    gangboard does not read the classes. The Workloads of a class show its value. Without a class the priority is 0, unless
    the cluster has a default class.
    """
    label = dict(owner.labels).get(_LABEL, "")
    name = label or owner.priority_class
    if not name:
        return Priority(0)
    source = f"{WORKLOAD_CLASS if label else POD_CLASS} {name}"
    values = {
        entry.priority
        for entry in state.entries
        if entry.priority_source == source and entry.is_in_use
    }
    if len(values) == 1:
        return Priority(values.pop(), source, name)
    is_known = not label and not values
    return Priority(_SYSTEM.get(name) if is_known else None, source, name)


def held_quota(state: AdmissionState) -> Usage:
    """Return the quota that the Workloads of each ClusterQueue use."""
    held: defaultdict[QueueName, dict[FlavorResource, Decimal]] = defaultdict(dict)
    for entry in state.entries:
        if entry.meta.ref.group != GROUP or not entry.is_in_use or not entry.has_quota:
            continue
        of_queue = held[QueueName(GROUP, "ClusterQueue", "", entry.admitted_by)]
        for flavor, resource, amount in entry.holds:
            key = FlavorResource(flavor, resource)
            of_queue[key] = of_queue.get(key, _NOTHING) + amount
    return held


class QueueLine:
    """The waiting Workloads of a ClusterQueue, and the admitted Workloads of all that share quota with it."""

    def __init__(
        self, state: AdmissionState, queue: Queue, priority: int | None, quota: QuotaTree
    ) -> None:
        """Sort the entries. `priority` is that of the new Workload, or None if it is unknown."""
        self._state = state
        self._queue = queue
        self._priority = priority
        self._quota = quota
        self._lines: defaultdict[QueueName, list[QueueEntry]] = defaultdict(list)
        self._holders: defaultdict[str, list[QueueEntry]] = defaultdict(list)
        for entry in state.entries:
            if entry.meta.ref.group != GROUP or not entry.is_in_use:
                continue
            if entry.has_quota:
                self._holders[entry.admitted_by].append(entry)
            elif entry.stands_in_line and (name := self._queue_of(entry)) is not None:
                self._lines[name].append(entry)
        for line in self._lines.values():
            line.sort(key=_place)

    @property
    def waiting(self) -> list[QueueEntry]:
        """Workloads in line in the queue, in order."""
        return self._lines.get(self._queue.name, [])

    @property
    def ahead(self) -> list[QueueEntry]:
        """Workloads before the new one, which is the youngest of its priority."""
        priority = self._priority
        return [entry for entry in self.waiting if priority is None or entry.priority >= priority]

    @property
    def shows_order(self) -> bool:
        """Whether the place of the new Workload is known."""
        return not self._queue.is_by_usage and self._priority is not None

    @property
    def undecided(self) -> list[QueueEntry]:
        """Workloads that Kueue may still admit before the new one, in all queues that share quota."""
        return [
            entry
            for queue in self._quota.sharing(self._queue)
            for entry in self._served(queue)
            if _is_undecided(entry)
        ]

    def reserved_by_strict_queues(self) -> Usage | None:
        """Return the quota that Kueue may keep for the first Workloads of strict queues that share quota.

        Such a Workload is evaluated in each cycle, and the quota that it waits for is then kept
        (reserveCapacityForUnreclaimablePreempt). None if its requests are unknown.
        """
        reserved: dict[QueueName, dict[FlavorResource, Decimal]] = {}
        for queue in self._quota.sharing(self._queue):
            if queue.name == self._queue.name or not queue.is_strict:
                continue
            for entry in self._served(queue):
                if not entry.asks:
                    return None
                sizes = {amount.resource: amount.amount for amount in entry.asks}
                reserved[queue.name] = {
                    FlavorResource(quota.flavor, quota.resource): sizes[quota.resource]
                    for quota in queue.quotas
                    if quota.resource in sizes
                }
        return reserved

    def can_preempt(self, amount: FlavorResource, size: Decimal) -> bool:
        """Return whether the request fits after the preemption of all Workloads that Kueue may preempt for it.

        Kueue may still preempt none, because it has further conditions.
        """
        freed: dict[QueueName, dict[FlavorResource, Decimal]] = {}
        for queue in (self._queue, *self._quota.borrowers(self._queue, amount)):
            total = sum(
                (
                    held.amount
                    for entry in self._victims(queue)
                    for held in entry.holds
                    if (held.flavor, held.resource) == amount
                ),
                _NOTHING,
            )
            freed[queue.name] = {amount: -total}
        if not any(total for amounts in freed.values() for total in amounts.values()):
            return False
        return size <= self._quota.with_usage(freed).available(self._queue, amount)

    def _victims(self, queue: Queue) -> Iterator[QueueEntry]:
        policy = self._queue.policy
        if policy is None:
            return
        allowed = policy.within_queue if queue.name == self._queue.name else policy.reclaim
        for entry in self._holders[queue.meta.ref.name]:
            if allowed in (PreemptionPolicy.ANY, PreemptionPolicy.UNKNOWN) or (
                allowed is not PreemptionPolicy.NEVER
                and (self._priority is None or entry.priority < self._priority)
            ):
                yield entry

    def _served(self, queue: Queue) -> list[QueueEntry]:
        """Return the Workloads that Kueue considers, and that can come before the new one."""
        line = self.ahead if queue.name == self._queue.name else self._lines.get(queue.name, [])
        return line[:1] if queue.is_strict and not queue.is_by_usage else line

    def _queue_of(self, entry: QueueEntry) -> QueueName | None:
        queues, ref = self._state.queues, entry.meta.ref
        local = queues.find_entry_queue(GROUP, ref.namespace, entry.queue)
        return local.parent if local is not None and local.level is QueueLevel.ALIAS else None


def _place(entry: QueueEntry) -> tuple[int, datetime, str]:
    return -entry.priority, entry.in_line_since or _LONG_AGO, entry.meta.ref.uid


def _is_undecided(entry: QueueEntry) -> bool:
    """Return whether Kueue has not evaluated a Workload, or waits for the end of those that it preempts for it."""
    reserved = find_condition(entry.conditions, "QuotaReserved")
    return reserved is None or _PREEMPTS in reserved.message
