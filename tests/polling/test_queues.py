"""A change of a queue touches the gangs that wait in it."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.queue import LabelSources, QueueEntry
from gangboard.domain.quota import Flavor, QueueState, Quota
from gangboard.polling.queues import QueueTracker
from tests.domain_objects import (
    SCHEDULING,
    a_group,
    a_jobset,
    a_meta,
    a_queue,
    an_alias,
    an_entry,
    shared_quota,
)

RUN = a_jobset("run", suspended=True, queue="gpu-lq")
OTHER = a_jobset("other", suspended=True, queue="gpu-lq", namespace="team-b")
ALIAS, QUEUE, COHORT = (
    an_alias("gpu-lq", to="gpu"),
    a_queue("gpu", cohort="all"),
    shared_quota("all"),
)


def tracker(*entries: QueueEntry) -> QueueTracker:
    graph = OwnershipGraph()
    for owner in (RUN, OTHER):
        graph.put(owner)
    queue_tracker = QueueTracker(graph)
    for entry in entries:
        graph.put(entry)
        queue_tracker.put_member(entry)
    return queue_tracker


def roots(uids: Iterable[str]) -> set[str]:
    return {uid.removeprefix("uid-") for uid in uids}


def test_a_queue_touches_the_gangs_that_wait_in_it() -> None:
    queues = tracker(an_entry(RUN), an_entry(OTHER, namespace="team-b"))
    assert roots(queues.put(ALIAS)) == {"run"}
    assert roots(queues.put(QUEUE)) == {"run"}
    assert roots(queues.put(an_alias("gpu-lq", to="gpu", namespace="team-b"))) == {"other"}
    assert roots(queues.put(COHORT)) == {"run", "other"}


def test_usage_touches_no_gang_and_a_stop_does() -> None:
    queues = tracker(an_entry(RUN))
    queues.put(ALIAS)
    queues.put(QUEUE)
    used = replace(QUEUE, quotas=(Quota("h100", "cpu", used=Decimal(3)),), pending=9)
    assert queues.put(used) == set()
    assert roots(queues.put(replace(used, state=QueueState.STOPPED))) == {"run"}
    assert roots(queues.remove(QUEUE.meta.ref.uid)) == {"run"}
    assert queues.remove(QUEUE.meta.ref.uid) == set()


@pytest.mark.parametrize("fields", [{"has_quota": True}, {"active": False}, {"is_variant": True}])
def test_gangs_that_do_not_wait_are_not_touched(fields: dict[str, Any]) -> None:
    queues = tracker(an_entry(RUN))
    queues.put_member(an_entry(RUN, **fields))
    assert queues.put(ALIAS) == set()


def test_the_deletion_of_an_older_queue_of_the_same_name_is_ignored() -> None:
    queues = tracker(an_entry(RUN))
    queues.put(ALIAS)
    queues.put(QUEUE)
    recreated = a_queue("gpu", uid="uid-anew")
    queues.put(recreated)
    assert queues.remove(QUEUE.meta.ref.uid) == set()
    assert queues.named_by([an_entry(RUN)]).get(QUEUE.name) is recreated


def test_an_entry_has_its_queues_and_their_ancestors_even_in_a_cycle() -> None:
    queues = tracker()
    for queue in (
        ALIAS,
        QUEUE,
        shared_quota("all", cohort="more"),
        shared_quota("more", cohort="all"),
    ):
        queues.put(queue)
    queues.put(a_queue("another"))
    names = [queue.meta.ref.name for queue in queues.named_by([an_entry(RUN)])]
    assert names == ["gpu-lq", "gpu", "all", "more"]
    assert list(queues.named_by([an_entry(RUN, queue="nowhere")])) == []


def test_a_group_in_a_scheduler_queue_is_touched() -> None:
    """Near miss: one without a queue."""
    group = replace(a_group("ring"), queue="research")
    meta = a_meta(SCHEDULING, "Queue", "research", namespace="")
    graph, queue = OwnershipGraph(), replace(a_queue("research"), meta=meta)
    graph.put(group)
    queues = QueueTracker(graph)
    queues.put_member(group)
    assert roots(queues.put(queue)) == {"ring"}
    assert [obj.name for obj in queues.named_by((group,))] == [queue.name]
    larger = replace(queue, quotas=(Quota("", "cpu", Decimal(8)),))
    assert roots(queues.put(larger)) == {"ring"}
    queues.put_member(replace(group, queue=""))
    assert queues.put(replace(larger, state=QueueState.STOPPED)) == set()


def test_a_flavor_touches_the_gangs_whose_pods_get_its_labels() -> None:
    used = LabelSources("set", "main", flavors=("gpu",))
    entry = an_entry(RUN, has_quota=True, label_sources=(used,))
    queues = tracker(entry, an_entry(OTHER, namespace="team-b"))
    group = entry.meta.ref.group
    flavor = Flavor(a_meta(group, "ResourceFlavor", "gpu", namespace=""), {"gpu": "a"})
    assert roots(queues.put_flavor(flavor)) == {"run"}
    assert roots(queues.put_flavor(replace(flavor, topology="racks"))) == set()
    assert roots(queues.put_flavor(replace(flavor, node_labels={"gpu": "b"}))) == {"run"}
    assert queues.named_by((entry,)).flavors[group, "gpu"].node_labels == {"gpu": "b"}
    assert roots(queues.remove(flavor.meta.ref.uid)) == {"run"}
    assert queues.named_by((entry,)).flavors == {}
    queues.remove(entry.meta.ref.uid)
    assert roots(queues.put_flavor(flavor)) == set()


def test_a_recreated_flavor_stays() -> None:
    used = LabelSources("set", "main", flavors=("gpu",))
    entry = an_entry(RUN, has_quota=True, label_sources=(used,))
    queues, group = tracker(entry), entry.meta.ref.group
    old, new = (
        Flavor(a_meta(group, "ResourceFlavor", "gpu", namespace="", uid=uid), {"gpu": "a"})
        for uid in ("old", "new")
    )
    queues.put_flavor(old)
    queues.put_flavor(new)
    assert queues.remove("old") == set()
    assert queues.named_by((entry,)).flavors[group, "gpu"] is new
