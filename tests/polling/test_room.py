"""What a session keeps of nodes and pods: room, and who holds it."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.capacity import ClusterRoom
from gangboard.polling.judged import waiting_parties
from tests.diagnosis.building import a_pod, pods_of, requests
from tests.polling.keeping import TRAIN, Cluster, node


def test_the_version_moves_with_what_placement_sees_and_with_nothing_else() -> None:
    cluster = Cluster(node(), TRAIN)
    first = cluster.keeper.version
    cluster.put(replace(node(), meta=replace(node().meta, resource_version="2")))
    cluster.put(a_pod("waits", of=TRAIN))
    assert cluster.keeper.version == first
    room = cluster.keeper.at("")
    assert cluster.keeper.at("") is room
    cluster.put(a_pod("bound", of=TRAIN, on="n0"))
    assert cluster.keeper.version > first
    assert cluster.keeper.at("") is not room
    assert room.nodes[0].now.pods == 0
    assert cluster.keeper.at("").nodes[0].now.pods == 1


def test_why_nothing_can_be_told_is_a_change_and_hides_the_nodes() -> None:
    cluster = Cluster(node())
    first = cluster.keeper.version
    assert cluster.keeper.at("nodes: forbidden").nodes == ()
    assert cluster.keeper.version == first + 1
    assert [one.name for one in cluster.keeper.at("").nodes] == ["n0"]
    assert cluster.keeper.version == first + 2


def test_a_gang_holds_what_its_pods_take_with_their_highest_priority() -> None:
    low = a_pod("train-0", of=TRAIN, on="n0", requests=requests(cpu="2"), priority=-5)
    high = a_pod("train-1", of=TRAIN, on="n1", requests=requests(cpu="2"), priority=-3)
    cluster = Cluster(node("n0"), node("n1"), TRAIN, low, high)
    held = cluster.residents()["train"]
    assert (held.root, held.priority, held.whole) == ("uid-train", -3, True)
    assert {name: dict(load.amounts) for name, load in held.loads.items()} == {
        "n0": {"cpu": 2000},
        "n1": {"cpu": 2000},
    }


def test_what_leaves_is_no_longer_held() -> None:
    pods = pods_of(TRAIN, 2, on="n0")
    cluster = Cluster(node(), TRAIN, *pods)
    assert cluster.residents()["train"].loads["n0"].pods == 2
    cluster.put(replace(pods[0], phase="Succeeded"))
    assert cluster.residents()["train"].loads["n0"].pods == 1
    cluster.keeper.remove_pod("uid-train-1")
    cluster.keeper.touch(cluster.kinship.remove("uid-train-1"))
    assert cluster.residents() == {}


def test_a_pod_of_nobody_is_room_that_is_taken_and_no_gang_that_could_make_some() -> None:
    cluster = Cluster(node(), a_pod("alone", on="n0"))
    assert cluster.keeper.at("").nodes[0].now.pods == 1
    assert cluster.residents() == {}


def test_a_gang_that_is_not_whole_says_so_and_who_of_it_waits() -> None:
    placed, waits = a_pod("train-0", of=TRAIN, on="n0"), a_pod("train-1", of=TRAIN)
    cluster = Cluster(node(), TRAIN, placed, waits)
    before = cluster.keeper.at("")
    before.cache["worked out"] = True
    cluster.keeper.mark_broken("uid-train", waiting_parties((placed, waits), ClusterRoom()))
    held = cluster.residents()["train"]
    assert not held.whole
    assert [(party.count, dict(party.shape.requests)) for party in held.waits] == [
        (1, requests(cpu="1"))
    ]
    assert "worked out" not in cluster.keeper.at("").cache
    version = cluster.keeper.version
    cluster.keeper.mark_broken("uid-train", waiting_parties((placed, waits), ClusterRoom()))
    assert cluster.keeper.version == version
    cluster.keeper.mark_whole("uid-train")
    assert cluster.residents()["train"].whole
    assert cluster.keeper.version == version + 1
