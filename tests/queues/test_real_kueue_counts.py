"""Counts of the queue pages in all situations of a real Kueue, against Kueue's own counts."""

from __future__ import annotations

from decimal import Decimal

from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Queue, QueueName
from gangboard.readmodels.queue_lines import QueuesOfCluster
from tests.controlplane.client import wait
from tests.controlplane.objects import JOBSET
from tests.controlplane.queues import KUEUE
from tests.queues.places import CLUSTER_SCOPED, QUEUES, WORKLOADS, Place


def test_positions_and_reservations_equal_the_kueue_counts(places: dict[str, Place]) -> None:
    """For every queue of every situation: waiting gangs, and the reservation of each resource in each flavor."""

    def differing() -> dict[str, object]:
        result = _queues(places)
        return {
            queue.meta.ref.name: (queue, _sums(result, queue))
            for queue in result.tree
            if queue.level == "queue" and queue.meta.ref.name.startswith("kq-")
            if _counted(queue) != _sums(result, queue)
        }

    wait(lambda: not differing(), what="the same numbers", seen=differing, timeout=30)
    result = _queues(places)
    borrower = result.tree.find_entry_queue("kueue.x-k8s.io", "", "kq-borrowed-other")
    assert borrower is not None
    assert [(quota.nominal, quota.reserved, quota.borrowed) for quota in borrower.quotas] == [
        (Decimal(2), Decimal(4), Decimal(2))
    ]
    names = {queue.meta.ref.name for queue in result.sharing(borrower)}
    assert names == {"kq-borrowed-queue", "kq-borrowed-other"}


def _queues(places: dict[str, Place]) -> QueuesOfCluster:
    result = QueuesOfCluster()
    first = next(iter(places.values()))
    for kind in QUEUES:
        if kind.kind in CLUSTER_SCOPED:
            for queue in first.read(kind, KUEUE):
                result.tree.put(queue)
    for place in places.values():
        for kind in QUEUES:
            if kind.kind not in CLUSTER_SCOPED:
                for queue in place.read(kind, KUEUE):
                    result.tree.put(queue)
        for entry in place.read(WORKLOADS, KUEUE):
            result.add(entry)
    return result


Numbers = tuple[int | None, dict[tuple[str, str], Decimal]]
"""Waiting gangs; (flavor, resource) → reserved."""


def _counted(queue: Queue) -> Numbers:
    """As Kueue says."""
    reserved = {
        (quota.flavor, quota.resource): quota.reserved for quota in queue.quotas if quota.reserved
    }
    return queue.pending, reserved


def _sums(result: QueuesOfCluster, queue: Queue) -> Numbers:
    """Return the counts of the entries.

    Kueue does not count gated entries or entries of a stopped LocalQueue as waiting     (observed). Entries
    of a stopped ClusterQueue do wait in it.
    """
    reserved: dict[tuple[str, str], Decimal] = {}
    for entry in result.holders(queue.name):
        for flavor, resource, amount in entry.holds:
            reserved[flavor, resource] = reserved.get((flavor, resource), Decimal(0)) + amount
    return sum(map(_is_counted, result.line(queue.name))), reserved


def _is_counted(entry: QueueEntry) -> bool:
    message = entry.message
    if message is None:
        return True
    of_alias = message.about is not None and message.about.kind == "LocalQueue"
    return message.code != "admission-gated" and not of_alias


def test_the_first_in_line_is_the_first_that_kueue_admits(places: dict[str, Place]) -> None:
    """In `strict` one of high priority stands before an older one: once there is room, it goes first."""
    place = places["strict"]
    line = _queues(places).line(
        QueueName("kueue.x-k8s.io", "ClusterQueue", "", place.cluster_queue)
    )
    owners = {
        obj["metadata"]["uid"]: obj["metadata"]["name"]
        for obj in place.client.list(JOBSET, "JobSet", place.name)
    }
    assert [owners[item.owner_uid] for item in line] == ["queue-before", "run"]
    place.client.delete(JOBSET, "JobSet", "queue-running", place.name)
    place.wait_entry("queue-before", "Admitted")
