"""What a session keeps of nodes and pods: room, who holds it, and what cannot be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.decode.nodes import NODE
from gangboard.decode.page import Problem
from gangboard.decode.pods import POD
from gangboard.diagnosis.kinship import Kinship
from gangboard.domain.capacity import ClusterRoom, Party, Resident
from gangboard.domain.node import Node
from gangboard.domain.objects import Controller, ObjectRef
from gangboard.domain.owner import FailureRule, Owner, Policies
from gangboard.domain.pod import Pod
from gangboard.polling.judged import Judged, is_whole, waiting_parties
from gangboard.polling.pending import Pending
from gangboard.polling.room import RoomKeeper
from gangboard.polling.sight import kubernetes_minor, why_no_room
from gangboard.polling.watched import Watched
from tests.diagnosis.building import (
    NOW,
    a_job,
    a_jobset,
    a_node,
    a_part,
    a_pod,
    ago,
    child_jobs,
    pods_of,
    requests,
)

ROOMY = {"cpu": 8000, "pods": 110}
TRAIN = a_job("train", pods=2, ask="2")


class Cluster:
    """Feeds a keeper as a session does."""

    def __init__(self, *things: Node | Pod | Owner) -> None:
        self.refs: dict[str, ObjectRef] = {}
        self.kinship = Kinship()
        self.keeper = RoomKeeper(self.kinship, self.refs.get)
        for thing in things:
            self.put(thing)

    def put(self, thing: Node | Pod | Owner) -> None:
        self.keeper.put(thing)
        self.refs[thing.meta.ref.uid] = thing.meta.ref
        self.keeper.touch(self.kinship.put(thing))

    def residents(self) -> dict[str, Resident]:
        return {one.ref.name: one for one in self.keeper.at("").residents()}


def node(name: str = "n0") -> Node:
    return a_node(name, allocatable=ROOMY)


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


# What ends by itself


def ends_of(held: Resident) -> list[tuple[float, int, bool]]:
    """(seconds from now, pods, whether they are being deleted)."""
    return [((one.at - NOW).total_seconds(), one.pods, one.deleted) for one in held.ends]


def placed_job(*, pods: int = 2, **fields: Any) -> tuple[Owner, list[Pod]]:
    """A Job that ran for a minute on n0 and makes no failed pod anew; pods have 10 s to end."""
    job = a_job("train", pods=pods, **{"max_retries": 0, "started_at": ago(60), **fields})
    return job, list(pods_of(job, pods, on="n0", start_time=ago(50), stop_seconds=10))


def test_the_deadline_of_a_job_ends_its_pods() -> None:
    """It counts from the start of the Job, and its pods may use their grace period then."""
    job, pods = placed_job(deadline_seconds=600)
    cluster = Cluster(node(), job, *pods)
    assert ends_of(cluster.residents()["train"]) == [(550, 2, False)]
    # While it is suspended no deadline runs; it starts anew when it is resumed.
    cluster.put(replace(job, suspended=True, started_at=None))
    assert cluster.residents()["train"].ends == ()
    cluster.put(replace(job, started_at=NOW))
    assert ends_of(cluster.residents()["train"]) == [(610, 2, False)]


def test_the_deadline_of_a_child_job_ends_its_pods_only() -> None:
    jobset = a_jobset("run", a_part("a"), a_part("b"))
    first, second = child_jobs(jobset, started_at=ago(60))
    first = replace(first, deadline_seconds=120)
    pods = [*pods_of(first, 2, on="n0", stop_seconds=0), *pods_of(second, 2, on="n0")]
    cluster = Cluster(node(), jobset, first, second, *pods)
    assert ends_of(cluster.residents()["run"]) == [(60, 2, False)]
    # It fails then, and the JobSet would begin anew at once.
    cluster.put(replace(jobset, max_restarts=3, counted_restarts=2))
    assert cluster.residents()["run"].ends == ()
    cluster.put(replace(jobset, max_restarts=3, counted_restarts=3))
    assert ends_of(cluster.residents()["run"]) == [(60, 2, False)]
    again = Policies(failure_rules=(FailureRule("RestartJobSetAndIgnoreMaxRestarts"),))
    cluster.put(replace(jobset, policies=again))
    assert cluster.residents()["run"].ends == ()


def test_pods_end_at_their_own_deadlines_whatever_the_others_do() -> None:
    job, (first, second, third) = placed_job(pods=3)
    cluster = Cluster(node(), job, third)
    cluster.put(replace(first, deadline_seconds=600))
    cluster.put(replace(second, deadline_seconds=60))
    assert ends_of(cluster.residents()["train"]) == [(20, 1, False), (560, 1, False)]
    # A Job that tries again makes a pod that fails anew.
    cluster.put(replace(job, max_retries=6))
    assert cluster.residents()["train"].ends == ()
    cluster.put(replace(job, max_retries=None))
    assert cluster.residents()["train"].ends == ()


def test_a_pod_of_nobody_with_a_deadline_is_known_to_end() -> None:
    alone = a_pod("alone", on="n0", start_time=ago(60), deadline_seconds=90, stop_seconds=30)
    cluster = Cluster(node(), alone)
    held = cluster.residents()["alone"]
    assert (held.ref.kind, ends_of(held)) == ("Pod", [(60, 1, False)])
    # Until it has started nobody knows.
    cluster.put(replace(alone, start_time=None))
    assert cluster.residents() == {}


def test_pods_that_are_being_deleted_are_gone_when_their_grace_period_is_over() -> None:
    job, (first, second) = placed_job()
    going = replace(first, meta=replace(first.meta, deleting_since=ago(-30)))
    cluster = Cluster(node(), job, first, second)
    room = cluster.keeper.at("")
    cluster.put(going)
    assert cluster.keeper.at("") is not room
    held = cluster.residents()["train"]
    assert ends_of(held) == [(30, 1, True)]
    # All of it takes room; suspending the gang would free the other pod only.
    assert held.loads["n0"].pods == 2
    assert held.by_suspending is not None
    assert held.by_suspending["n0"].pods == 1
    cluster.put(replace(second, meta=replace(second.meta, deleting_since=ago(-30))))
    assert cluster.residents()["train"].by_suspending == {}


def test_a_gang_that_is_suspended_already_frees_nothing_by_it() -> None:
    job, pods = placed_job()
    cluster = Cluster(node(), job, *pods)
    room = cluster.keeper.at("")
    assert cluster.residents()["train"].by_suspending is None
    cluster.put(replace(job, suspended=True))
    assert cluster.keeper.at("") is not room
    assert cluster.residents()["train"].by_suspending == {}
    jobset = a_jobset("run")
    (child,) = child_jobs(jobset, suspended=True)
    cluster = Cluster(node(), jobset, child, *pods_of(child, 2, on="n0"))
    assert cluster.residents()["run"].by_suspending == {}


def test_what_comes_back_does_not_end() -> None:
    controller = Controller("apps", "StatefulSet", "db", "uid-db")
    pod = a_pod("db-0", of=controller, on="n0", deleting_since=ago(-30))
    assert Cluster(node(), pod).residents() == {}


def test_ends_of_one_minute_are_one() -> None:
    first = a_pod("train-0", of=TRAIN, on="n0", deleting_since=ago(-5))
    last = a_pod("train-1", of=TRAIN, on="n0", deleting_since=ago(-50))
    (end,) = Cluster(node(), TRAIN, first, last).residents()["train"].ends
    assert (end.at, end.told, end.pods) == (ago(-50), ago(-60), 2)


def test_members_with_a_node_kept_for_them_a_gate_or_an_end_do_not_wait() -> None:
    pods = (
        a_pod("bound", on="n0"),
        a_pod("nominated", nominated_node="n0"),
        a_pod("gated", gates=("kueue.x-k8s.io/admission",)),
        a_pod("done", phase="Failed"),
        a_pod("leaving", deleting_since=NOW),
    )
    assert waiting_parties(pods, ClusterRoom()) == ()
    (party,) = waiting_parties((*pods, a_pod("a")), ClusterRoom())
    assert party == Party(party.shape, 1)


@pytest.mark.parametrize(
    ("stage", "code", "whole"),
    [
        ("formation", "below-quorum", False),
        ("formation", "quorum-lost", False),
        ("placement", "partly-placed", False),
        ("start", "image-pull", True),
        ("run", "running", True),
        ("run", "lost-members", True),
        ("admission", "suspended", True),
    ],
)
def test_which_gangs_hold_room_without_being_whole(stage: str, code: str, whole: bool) -> None:
    assert is_whole(stage, code) is whole


# What waits for a round


def pending_gang(judged: Judged, root: str, version: int) -> None:
    judged.note(root, [a_pod(f"{root}-0")], ClusterRoom(), version=version, pending=True)


def rounds(pending: Pending) -> list[str]:
    found: list[str] = []
    while (part := pending.take(2)) is not None:
        found += part[0]
    return found


def test_a_round_takes_each_pending_gang_that_was_judged_on_an_older_room_once() -> None:
    judged = Judged()
    for root, version in (("a", 1), ("b", 2), ("c", 1), ("d", 1)):
        pending_gang(judged, root, version)
    judged.note("runs", [a_pod("runs-0", on="n0")], ClusterRoom(), version=0, pending=False)
    pending, room = Pending(judged), Cluster(node()).keeper.at("")
    assert not pending.begin(room, 1, at_once=False)
    assert pending.begin(room, 2, at_once=False)
    first = pending.take(1)
    assert first is not None
    assert first[0] == ["a"]
    pending_gang(judged, "a", 2)
    pending_gang(judged, "c", 3)  # touched meanwhile, and judged on what was known then
    assert rounds(pending) == ["d"]


def test_between_two_rounds_there_is_a_rest_and_the_last_change_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr("gangboard.polling.pending.time.monotonic", lambda: clock[0])
    judged, room = Judged(), Cluster(node()).keeper.at("")
    pending_gang(judged, "a", 1)
    pending = Pending(judged)
    assert pending.begin(room, 2, at_once=False)
    assert rounds(pending) == ["a"]
    pending_gang(judged, "a", 2)
    clock[0] += 4.9
    assert not pending.begin(room, 3, at_once=False)
    clock[0] += 0.2
    assert pending.begin(room, 3, at_once=False)
    assert rounds(pending) == ["a"]
    pending_gang(judged, "a", 3)
    assert not pending.begin(room, 4, at_once=False)
    assert pending.begin(room, 4, at_once=True)


def test_kinds_of_pods_are_counted_over_all_gangs_those_that_wait_first() -> None:
    judged = Judged()
    small, large = requests(cpu="1"), requests(cpu="4", gpu="8")
    judged.note(
        "a",
        [a_pod(f"a-{at}", on="n0", requests=small) for at in range(5)],
        ClusterRoom(),
        version=1,
        pending=False,
    )
    judged.note("b", [a_pod("b-0", requests=large)], ClusterRoom(), version=1, pending=True)
    found = [(dict(kind.requests), waiting) for kind, waiting in judged.kinds(20)]
    assert found == [(large, 1), (small, 0)]
    assert len(judged.kinds(1)) == 1
    version = judged.version
    judged.note("b", [a_pod("b-0", requests=large)], ClusterRoom(), version=2, pending=True)
    assert judged.version == version
    judged.drop("b")
    judged.drop("a")
    assert judged.kinds(20) == []
    assert judged.version > version


# What cannot be told


def sight(nodes: Watched | None = None, pods: Watched | None = None) -> dict[str, Watched]:
    return {NODE.key: nodes or seen(NODE.key), POD.key: pods or seen(POD.key)}


def seen(key: str, state: str = "ok", *, current: bool = True, contact: float = 1) -> Watched:
    return Watched(
        NODE if key == NODE.key else POD,
        version="v1",
        state=state,
        listed_at=ago(60),
        contact_at=ago(contact),
        is_current=current,
    )


@pytest.mark.parametrize(
    ("state", "current", "contact", "clause"),
    [
        ("ok", True, 1, ""),
        ("failing", True, 60, ""),
        ("failing", True, 130, "failing"),
        ("failing", False, 1, "failing"),
        ("forbidden", True, 1, "forbidden"),
        ("not-served", False, 1, "not served"),
        ("listing", False, 1, "not read yet"),
        ("ok", False, 1, "not read yet"),
        ("unknown-version", True, 1, "served in versions that this release cannot read"),
    ],
)
@pytest.mark.parametrize("key", ["nodes", "pods"])
def test_why_nothing_can_be_said_of_room(
    key: str, state: str, current: bool, contact: float, clause: str
) -> None:
    watched = seen(key, state, current=current, contact=contact)
    found = why_no_room(sight(**{key: watched}), NOW)
    assert found == (f"{key}: {clause}" if clause else "")


def test_one_node_that_cannot_be_read_may_be_the_one_with_room() -> None:
    watched = seen(NODE.key)
    watched.take_problem(Problem(NODE.key, "", "n7", "uid", "Node n7 is read only in part.", False))
    assert why_no_room(sight(watched), NOW) == ""
    watched.take_problem(Problem(NODE.key, "", "n7", "uid", "Node n7 cannot be read."))
    assert why_no_room(sight(watched), NOW) == "nodes: 1 cannot be read"
    assert watched.drop_problem(("", "n7"))
    assert why_no_room(sight(watched), NOW) == ""


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("v1.37.0", (1, 37)),
        ("v1.35.2+k3s1", (1, 35)),
        ("v1.36.1-gke.1000", (1, 36)),
        ("1.37", (1, 37)),
        ("", None),
        ("unknown", None),
    ],
)
def test_the_version_of_the_server(text: str, minor: tuple[int, int] | None) -> None:
    assert kubernetes_minor(text) == minor
