"""Which gangs wait, for what, and when they are judged again."""

from __future__ import annotations

import pytest

from gangboard.domain.capacity import ClusterRoom, Party
from gangboard.polling.judged import Judged, is_whole, waiting_parties
from gangboard.polling.pending import Pending
from tests.diagnosis.building import NOW, a_pod, requests
from tests.polling.keeping import Cluster, node


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
