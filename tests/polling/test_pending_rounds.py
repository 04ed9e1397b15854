"""Pending gangs, their waiting pods, and the rounds in which they are assessed again."""

from __future__ import annotations

import pytest

from gangboard.domain.capacity import ClusterCapacity, PodSet
from gangboard.facts.stored_verdict import is_whole
from gangboard.polling.assessment_index import AssessmentIndex, PendingRounds, waiting_pod_sets
from tests.domain_objects import NOW, a_pod, requests
from tests.polling.usage_cluster import Cluster, node


def test_nominated_gated_and_finished_members_do_not_wait() -> None:
    pods = (
        a_pod("bound", on="n0"),
        a_pod("nominated", nominated_node="n0"),
        a_pod("gated", gates=("kueue.x-k8s.io/admission",)),
        a_pod("done", phase="Failed"),
        a_pod("leaving", deleting_since=NOW),
    )
    assert waiting_pod_sets(pods, ClusterCapacity()) == ()
    (pod_set,) = waiting_pod_sets((*pods, a_pod("a")), ClusterCapacity())
    assert pod_set == PodSet(pod_set.shape, 1)


@pytest.mark.parametrize(
    ("stage", "code", "complete"),
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
def test_completeness_follows_from_stage_and_code(stage: str, code: str, complete: bool) -> None:
    assert is_whole(stage, code) is complete


def pending_gang(index: AssessmentIndex, root: str, version: int) -> None:
    index.record(root, [a_pod(f"{root}-0")], ClusterCapacity(), version=version, pending=True)


def rounds(pending: PendingRounds) -> list[str]:
    names: list[str] = []
    while (batch := pending.take(2)) is not None:
        names += batch[0]
    return names


def test_a_round_takes_each_outdated_pending_gang_once() -> None:
    index = AssessmentIndex()
    for root, version in (("a", 1), ("b", 2), ("c", 1), ("d", 1)):
        pending_gang(index, root, version)
    index.record("runs", [a_pod("runs-0", on="n0")], ClusterCapacity(), version=0, pending=False)
    pending, room = PendingRounds(index), Cluster(node()).usage.capacity("")
    assert not pending.begin(room, 1, at_once=False)
    assert pending.begin(room, 2, at_once=False)
    first = pending.take(1)
    assert first is not None
    assert first[0] == ["a"]
    pending_gang(index, "a", 2)
    pending_gang(index, "c", 3)  # updated meanwhile, but assessed with the earlier state
    assert rounds(pending) == ["d"]


def test_rounds_pause_and_include_the_last_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [100.0]
    monkeypatch.setattr("gangboard.polling.assessment_index.time.monotonic", lambda: clock[0])
    index, room = AssessmentIndex(), Cluster(node()).usage.capacity("")
    pending_gang(index, "a", 1)
    pending = PendingRounds(index)
    assert pending.begin(room, 2, at_once=False)
    assert rounds(pending) == ["a"]
    pending_gang(index, "a", 2)
    clock[0] += 4.9
    assert not pending.begin(room, 3, at_once=False)
    clock[0] += 0.2
    assert pending.begin(room, 3, at_once=False)
    assert rounds(pending) == ["a"]
    pending_gang(index, "a", 3)
    assert not pending.begin(room, 4, at_once=False)
    assert pending.begin(room, 4, at_once=True)


def test_kinds_of_pods_are_counted_over_all_gangs_waiting_ones_first() -> None:
    index = AssessmentIndex()
    small, large = requests(cpu="1"), requests(cpu="4", gpu="8")
    index.record(
        "a",
        [a_pod(f"a-{number}", on="n0", requests=small) for number in range(5)],
        ClusterCapacity(),
        version=1,
        pending=False,
    )
    index.record("b", [a_pod("b-0", requests=large)], ClusterCapacity(), version=1, pending=True)
    common = [(dict(kind.requests), waiting) for kind, waiting in index.common_pod_kinds(20)]
    assert common == [(large, 1), (small, 0)]
    assert len(index.common_pod_kinds(1)) == 1
    version = index.version
    index.record("b", [a_pod("b-0", requests=large)], ClusterCapacity(), version=2, pending=True)
    assert index.version == version
    index.remove("b")
    index.remove("a")
    assert index.common_pod_kinds(20) == []
    assert index.version > version
