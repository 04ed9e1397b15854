"""The capacity that is derived from nodes and pods, and the gangs that hold it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.polling.assessment_index import waiting_pod_sets
from tests.domain_objects import (
    NOW,
    a_group,
    a_job,
    a_pod,
    an_entry,
    pods_of,
    requests,
    succeeded,
)
from tests.polling.usage_cluster import TRAIN, Cluster, node


def test_the_version_increases_with_changes_that_placement_sees() -> None:
    cluster = Cluster(node(), TRAIN)
    first = cluster.usage.version
    cluster.put(replace(node(), meta=replace(node().meta, resource_version="2")))
    cluster.put(a_pod("waits", of=TRAIN))
    assert cluster.usage.version == first
    room = cluster.usage.capacity("")
    assert cluster.usage.capacity("") is room
    cluster.put(a_pod("bound", of=TRAIN, on="n0"))
    assert cluster.usage.version > first
    assert cluster.usage.capacity("") is not room
    assert room.nodes[0].now.pods == 0
    assert cluster.usage.capacity("").nodes[0].now.pods == 1


def test_a_reason_for_unknown_capacity_is_a_change_and_hides_the_nodes() -> None:
    cluster = Cluster(node())
    first = cluster.usage.version
    assert cluster.usage.capacity("nodes: forbidden").nodes == ()
    assert cluster.usage.version == first + 1
    assert [usage_node.name for usage_node in cluster.usage.capacity("").nodes] == ["n0"]
    assert cluster.usage.version == first + 2


def test_a_gang_holds_the_requests_of_its_pods_at_their_highest_priority() -> None:
    low = a_pod("train-0", of=TRAIN, on="n0", requests=requests(cpu="2"), priority=-5)
    high = a_pod("train-1", of=TRAIN, on="n1", requests=requests(cpu="2"), priority=-3)
    cluster = Cluster(node("n0"), node("n1"), TRAIN, low, high)
    held = cluster.running_gangs()["train"]
    assert (held.root, held.priority, held.is_whole) == ("uid-train", -3, True)
    assert {name: dict(load.amounts) for name, load in held.loads.items()} == {
        "n0": {"cpu": 2000},
        "n1": {"cpu": 2000},
    }


def test_deleted_pods_hold_nothing() -> None:
    pods = pods_of(TRAIN, 2, on="n0")
    cluster = Cluster(node(), TRAIN, *pods)
    assert cluster.running_gangs()["train"].loads["n0"].pods == 2
    cluster.put(replace(pods[0], phase="Succeeded"))
    assert cluster.running_gangs()["train"].loads["n0"].pods == 1
    cluster.usage.remove_pod("uid-train-1")
    cluster.usage.mark_stale(cluster.ownership_graph.remove("uid-train-1"))
    assert cluster.running_gangs() == {}


def test_a_single_pod_uses_capacity_and_cannot_free_any() -> None:
    cluster = Cluster(node(), a_pod("alone", on="n0"))
    assert cluster.usage.capacity("").nodes[0].now.pods == 1
    assert cluster.running_gangs() == {}


def test_an_incomplete_gang_lists_its_waiting_members() -> None:
    placed, waits = a_pod("train-0", of=TRAIN, on="n0"), a_pod("train-1", of=TRAIN)
    cluster = Cluster(node(), TRAIN, placed, waits)
    before = cluster.usage.capacity("")
    before.cache["worked out"] = True
    cluster.usage.mark_incomplete("uid-train", waiting_pod_sets((placed, waits), ClusterCapacity()))
    held = cluster.running_gangs()["train"]
    assert not held.is_whole
    assert [(pod_set.count, dict(pod_set.shape.requests)) for pod_set in held.waits] == [
        (1, requests(cpu="1"))
    ]
    assert "worked out" not in cluster.usage.capacity("").cache
    version = cluster.usage.version
    cluster.usage.mark_incomplete("uid-train", waiting_pod_sets((placed, waits), ClusterCapacity()))
    assert cluster.usage.version == version
    cluster.usage.mark_complete("uid-train")
    assert cluster.running_gangs()["train"].is_whole
    assert cluster.usage.version == version + 1


@pytest.mark.parametrize(
    ("root", "suspendable"),
    [
        (TRAIN, True),
        (
            a_job("train", of=Controller("trainer.kubeflow.org", "TrainJob", "run", "uid-run")),
            False,
        ),
        (a_job("train", managed_by="kueue.x-k8s.io/multikueue"), False),
        (a_job("train", queue="gpu-lq"), False),
        (a_job("train", deleting_since=NOW), False),
        (a_job("train", finish=succeeded()), False),
    ],
)
def test_a_gang_records_whether_a_suspend_would_last(root: Owner, suspendable: bool) -> None:
    """Trainer takes a suspend back after 53 to 68 ms, and the pods start again (real-owners.md §1.4)."""
    cluster = Cluster(node(), root, *pods_of(root, 2, on="n0"))
    assert cluster.running_gangs()["train"].suspendable is suspendable


def test_a_group_without_owner_cannot_be_suspended() -> None:
    group = a_group("ring", quorum=2)
    cluster = Cluster(node())
    cluster.refs[group.meta.ref.uid] = group.meta.ref
    cluster.usage.mark_stale(cluster.ownership_graph.put(group))
    for name in ("m-0", "m-1"):
        cluster.put(a_pod(name, group="ring", on="n0"))
    assert not cluster.running_gangs()["ring"].suspendable


def test_a_queue_with_an_entry_decides_about_its_gang() -> None:
    """Kueue can manage Jobs that name no queue."""
    cluster = Cluster(node(), TRAIN, *pods_of(TRAIN, 2, on="n0"))
    assert cluster.running_gangs()["train"].suspendable
    entry = an_entry(TRAIN)
    before = cluster.usage.capacity("")
    cluster.put(entry)
    assert cluster.usage.capacity("") is not before
    assert not cluster.running_gangs()["train"].suspendable
    cluster.usage.remove_owner(entry.meta.ref.uid)
    cluster.usage.mark_stale(cluster.ownership_graph.remove(entry.meta.ref.uid))
    assert cluster.running_gangs()["train"].suspendable


def test_members_waiting_in_a_topology_are_not_known_to_fit() -> None:
    waits = a_pod("train-1", of=TRAIN, group="ring")
    (free,) = waiting_pod_sets((waits,), ClusterCapacity(), (a_group("ring", quorum=2),))
    assert free.shape.unsupported == ()
    bound = a_group("ring", quorum=2, topology_keys=("rack",))
    (pod_set,) = waiting_pod_sets((waits,), ClusterCapacity(), (bound,))
    assert pod_set.shape.unsupported == ("the topology of its group",)
