"""Quota that a ClusterQueue can use, in its own right and borrowed in its Cohorts.

Source: pkg/cache/scheduler/resource_node.go and preemption/classical/hierarchical_preemption.go of Kueue v0.19.2. Each
node has a quota, and lends it to its parent except for the part beyond its lending limit. A Cohort need not exist as an
object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueTree, Quota

_NOTHING = Decimal(0)


class FlavorResource(NamedTuple):
    """A resource in a flavor."""

    flavor: str
    resource: str


Usage = Mapping[QueueName, Mapping[FlavorResource, Decimal]]
"""ClusterQueue → amounts in base units."""


class QuotaTree:
    """Quota and usage of all queues that share quota with one ClusterQueue."""

    def __init__(self, tree: QueueTree, held: Usage, added: Usage | None = None) -> None:
        """Read the reserved quota of the queues.

        `held` is the usage by their Workloads. Kueue updates the status of a queue later, so the larger of both
        counts. `added` is further usage, which may be negative.
        """
        self._tree = tree
        self._held = held
        self._added: Usage = added or {}

    def with_usage(self, added: Usage) -> QuotaTree:
        """Return the tree with other additional usage."""
        return QuotaTree(self._tree, self._held, added)

    def available(self, queue: Queue, amount: FlavorResource) -> Decimal:
        """Return the unused amount that the ClusterQueue can use now. Negative if it uses more than it may."""
        return self._available(queue.name, amount)

    def maximum(self, queue: Queue, amount: FlavorResource) -> Decimal:
        """Return the amount that the ClusterQueue could use if all queues were empty."""
        return self._maximum(queue.name, amount)

    def nominal(self, queue: Queue, amount: FlavorResource) -> Decimal:
        """Return the own quota of the ClusterQueue."""
        return self._total(queue.name, amount)

    def borrowing_height(
        self, queue: Queue, amount: FlavorResource, size: Decimal
    ) -> tuple[int, bool]:
        """Return the height of the lowest Cohort whose quota covers the size, and if that Cohort is in another one.

        0 means that the ClusterQueue itself covers it. The second value is then true if it is in a Cohort.
        """
        name = queue.name
        if not self._borrows_with(name, amount, size) or queue.parent is None:
            return 0, queue.parent is not None
        remaining = size - self._unused_local(name, amount)
        cohort = root = queue.parent
        for cohort in self._ancestors(queue.parent):
            root = cohort
            if not self._borrows_with(cohort, amount, remaining):
                return self._height(cohort), self._parent(cohort) is not None
            remaining -= self._unused_local(cohort, amount)
        return self._height(root), False

    def borrowers(self, queue: Queue, amount: FlavorResource) -> tuple[Queue, ...]:
        """Return the other ClusterQueues that share quota with it and use more than their own quota."""
        return tuple(
            other
            for other in self.sharing(queue)
            if other.name != queue.name
            and self._usage(other.name, amount) > self._total(other.name, amount)
        )

    def sharing(self, queue: Queue) -> tuple[Queue, ...]:
        """Return all ClusterQueues that share quota with it, including itself."""
        *_, root = self._ancestors(queue.name)
        names = sorted(self._tree.subtree(root))
        queues = (self._tree.get(name) for name in names)
        return tuple(
            member for member in queues if member is not None and member.level is QueueLevel.QUEUE
        )

    def _available(self, name: QueueName, amount: FlavorResource) -> Decimal:
        parent = self._parent(name)
        used, total = self._usage(name, amount), self._total(name, amount)
        if parent is None:
            return total - used
        from_parent = self._available(parent, amount)
        limit = self._quota(name, amount).borrowing_limit
        if limit is not None:
            local = self._local(name, amount)
            stored = total - local
            from_parent = min(from_parent, stored - max(_NOTHING, used - local) + limit)
        return self._unused_local(name, amount) + from_parent

    def _maximum(self, name: QueueName, amount: FlavorResource) -> Decimal:
        parent = self._parent(name)
        if parent is None:
            return self._total(name, amount)
        maximum = self._local(name, amount) + self._maximum(parent, amount)
        limit = self._quota(name, amount).borrowing_limit
        return maximum if limit is None else min(maximum, self._total(name, amount) + limit)

    def _borrows_with(self, name: QueueName, amount: FlavorResource, size: Decimal) -> bool:
        return self._usage(name, amount) + size > self._total(name, amount)

    def _total(self, name: QueueName, amount: FlavorResource) -> Decimal:
        """Return its quota with the quota that its children lend (SubtreeQuota)."""
        return (self._quota(name, amount).nominal or _NOTHING) + sum(
            (
                self._total(child, amount) - self._local(child, amount)
                for child in self._children(name)
            ),
            _NOTHING,
        )

    def _local(self, name: QueueName, amount: FlavorResource) -> Decimal:
        """Return the part of its quota that it does not lend."""
        limit = self._quota(name, amount).lending_limit
        return _NOTHING if limit is None else max(_NOTHING, self._total(name, amount) - limit)

    def _unused_local(self, name: QueueName, amount: FlavorResource) -> Decimal:
        return max(_NOTHING, self._local(name, amount) - self._usage(name, amount))

    def _usage(self, name: QueueName, amount: FlavorResource) -> Decimal:
        """Return its usage, or for a Cohort the usage beyond the local quota of its children."""
        queue = self._tree.get(name)
        if queue is not None and queue.level is QueueLevel.QUEUE:
            held, added = (
                usage.get(name, {}).get(amount, _NOTHING) for usage in (self._held, self._added)
            )
            return max(self._quota(name, amount).reserved, held) + added
        return sum(
            (
                max(_NOTHING, self._usage(child, amount) - self._local(child, amount))
                for child in self._children(name)
            ),
            _NOTHING,
        )

    def _quota(self, name: QueueName, amount: FlavorResource) -> Quota:
        queue = self._tree.get(name)
        quotas: Iterable[Quota] = queue.quotas if queue is not None else ()
        return next(
            (quota for quota in quotas if (quota.flavor, quota.resource) == amount),
            Quota(amount.flavor, amount.resource),
        )

    def _children(self, name: QueueName) -> tuple[QueueName, ...]:
        """Return the Cohorts and ClusterQueues in a Cohort. LocalQueues have no quota."""
        queue = self._tree.get(name)
        if queue is not None and queue.level is QueueLevel.QUEUE:
            return ()
        return tuple(child.name for child in self._tree.children(name))

    def _parent(self, name: QueueName) -> QueueName | None:
        queue = self._tree.get(name)
        return queue.parent if queue is not None else None

    def _ancestors(self, name: QueueName) -> Iterator[QueueName]:
        """Yield the name and those of its ancestors, nearest first. The caller excludes cycles."""
        current: QueueName | None = name
        while current is not None:
            yield current
            current = self._parent(current)

    def _height(self, name: QueueName) -> int:
        return 1 + max((self._height(child) for child in self._children(name)), default=-1)
