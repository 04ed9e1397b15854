"""Inspection and proofs of a cluster: by one worker at a time, and with a time limit for hanging clusters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gangboard.actions import dispatch, drift_detection, hold_proofs, tasks
from gangboard.actions.actor_client import ActorClient
from gangboard.actions.worker_slots import WORKER_SLOTS, WorkerSlots
from gangboard.domain.hold import Hold
from gangboard.domain.objects import Meta
from gangboard.kube.errors import KubeError
from gangboard.kube.write_client import Answer
from gangboard.ops import processes
from gangboard.ops.supervisor import Child
from gangboard.store import actions, row_leases
from gangboard.store.models import Action, Chore, Cluster, HoldCheck, LeverRecord, WatchedObject
from tests.actions.site import QuickClock
from tests.actions.stored_holds import record
from tests.factories import make_cluster, make_ref, store_object
from tests.recorded_actions import make_action

pytestmark = pytest.mark.django_db
HOLDS = "holds.gangboard.dev"
TIMEOUT = "east did not complete PATCH within 10 s."


class FakeCluster:
    """A cluster that answers that the Hold is in force, or with the given answer for a Job."""

    def __init__(self, clock: QuickClock) -> None:
        self.clock = clock
        self.asked: list[str] = []
        self.faults: dict[str, KubeError] = {}
        self.meanwhile: Callable[[], object] = lambda: None
        self.seconds = 0.0

    def open(self, _cluster: Cluster, _action: str) -> ActorClient:
        return cast("ActorClient", self)

    def merge_patch(self, path: str, _body: bytes) -> Answer:
        name = path.rsplit("/", 1)[1]
        self.asked.append(name)
        self.clock.advance(self.seconds)
        self.meanwhile()
        if name in self.faults:
            raise self.faults[name]
        owner = {"controller": True, "uid": "js"}
        job = {"metadata": {"ownerReferences": [owner]}, "spec": {"suspend": True}}
        return Answer(json.dumps(job).encode(), 200, "")

    def get(self, path: str, _query: Any = None) -> bytes:
        name = path.rsplit("/", 1)[1]
        self.asked.append(name)
        self.meanwhile()
        raise self.faults.get(name) or KubeError("timeout", TIMEOUT)

    def close(self) -> None:
        pass


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster("east", actor_credentials=b"sealed")


@pytest.fixture
def fake_cluster() -> FakeCluster:
    return FakeCluster(QuickClock())


def hold(cluster: Cluster, names: Iterable[str]) -> None:
    for name in names:
        ref = make_ref("Hold", name, group="gangboard.dev", uid=name)
        meta = Meta("v1alpha1", ref, "1", 1, None)
        cluster_hold = Hold(meta, name, "js", action=f"{cluster.name}-{name}")
        store_object(cluster, HOLDS, cluster_hold)
        if not Action.objects.filter(pk=cluster_hold.action).exists():
            record(cluster, cluster_hold, None, id=cluster_hold.action)


def prove(cluster: Cluster, fake_cluster: FakeCluster) -> dict[str, bool | None]:
    return hold_proofs.prove_all(cluster.pk, fake_cluster.clock, fake_cluster.open)


def checks() -> dict[str, tuple[bool | None, str]]:
    rows = HoldCheck.objects.values_list("hold_uid", "in_force", "sentence")
    return {uid: (in_force, sentence) for uid, in_force, sentence in rows}


@pytest.mark.parametrize("code", ["timeout", "unreachable", "throttled", "server-error"])
def test_a_prover_stops_where_the_cluster_does_not_answer(
    cluster: Cluster, fake_cluster: FakeCluster, code: str
) -> None:
    hold(cluster, "abc")
    assert prove(cluster, fake_cluster) == {"a": True, "b": True, "c": True}
    looked_at = dict(HoldCheck.objects.values_list("hold_uid", "checked_at"))
    fake_cluster.clock.advance(61)
    fake_cluster.asked.clear()
    fake_cluster.faults["a"] = KubeError(code, TIMEOUT)
    assert prove(cluster, fake_cluster) == {"a": None}
    assert fake_cluster.asked == ["a"]
    # The untried Holds are unknown, because no worker has checked them.
    untested = (None, f"Not tested again: the cluster did not answer a dry run. {TIMEOUT}")
    assert checks() == {
        "a": (None, f"It could not be proved: {TIMEOUT}"),
        "b": untested,
        "c": untested,
    }
    assert HoldCheck.objects.get(hold_uid="b").checked_at == looked_at["b"]
    # The cluster rests with due work left. Then clusters that had no turn go first.
    assert hold_proofs.due_clusters(fake_cluster.clock.now()) == [cluster.pk]
    fake_cluster.clock.advance(59)
    assert prove(cluster, fake_cluster) == {}
    fake_cluster.clock.advance(2)
    assert prove(cluster, fake_cluster) == {"b": True, "c": True, "a": None}
    assert fake_cluster.asked == ["a", "b", "c", "a"]
    # It was proved once and never refuted. A missing answer is no refutation.
    assert LeverRecord.objects.get().refuted_at is None


def test_a_failure_of_one_hold_stops_no_other(cluster: Cluster, fake_cluster: FakeCluster) -> None:
    hold(cluster, "ab")
    fake_cluster.faults["a"] = KubeError("forbidden", "east forbids it.")
    assert prove(cluster, fake_cluster) == {"a": None, "b": True}
    assert checks()["a"] == (None, "It could not be proved: east forbids it.")


def test_a_cluster_has_one_prover_at_a_time(cluster: Cluster, fake_cluster: FakeCluster) -> None:
    west = make_cluster("west", actor_credentials=b"sealed")
    hold(cluster, "ab")
    results: list[dict[str, bool | None]] = []

    def prove_too() -> None:
        fake_cluster.meanwhile = lambda: None
        results.append(prove(cluster, fake_cluster))
        ref = make_ref("Hold", "w", group="gangboard.dev", uid="w")
        store_object(west, HOLDS, Hold(Meta("v1alpha1", ref, "1", 1, None), "w", "js"))
        results.append(prove(west, fake_cluster))

    fake_cluster.meanwhile = prove_too
    assert prove(cluster, fake_cluster) == {"a": True, "b": True}
    assert results == [{}, {"w": True}]
    assert fake_cluster.asked == ["a", "w", "b"]


def oversleep(cluster: Cluster, fake_cluster: FakeCluster, chore: str) -> None:
    """Let the next request outlast the lease, and another worker take the chore over meanwhile."""

    def sleep() -> None:
        fake_cluster.meanwhile = lambda: None
        fake_cluster.clock.advance(row_leases.CHORE_SECONDS + 1)
        with row_leases.lock_chore(cluster.pk, chore, fake_cluster.clock) as taken:
            assert taken is not None
            # The other worker still has the chore when this one wakes up.
            Chore.objects.update(holder="another")

    fake_cluster.meanwhile = sleep


def test_a_prover_stopped_past_its_lease_ends(
    cluster: Cluster, fake_cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise its turn is over by then, with any holder of the lease.
    monkeypatch.setattr(hold_proofs, "TURN_SECONDS", row_leases.CHORE_SECONDS * 4)
    hold(cluster, "ab")
    oversleep(cluster, fake_cluster, hold_proofs.CHORE)
    assert prove(cluster, fake_cluster) == {"a": True}


def test_a_slow_cluster_is_left_after_its_time(cluster: Cluster, fake_cluster: FakeCluster) -> None:
    hold(cluster, "abcdefgh")
    fake_cluster.seconds = 9.0
    assert len(prove(cluster, fake_cluster)) == 4
    fake_cluster.asked.clear()
    assert list(prove(cluster, fake_cluster)) == ["e", "f", "g", "h"]


def test_a_chore_of_a_removed_cluster_ends(cluster: Cluster, fake_cluster: FakeCluster) -> None:
    cluster_id, _ = cluster.pk, cluster.delete()
    assert hold_proofs.prove_all(cluster_id, fake_cluster.clock, fake_cluster.open) == {}
    assert drift_detection.inspect_all(cluster_id, fake_cluster.clock, fake_cluster.open) == {}
    assert not Chore.objects.exists()


def act(cluster: Cluster, name: str, **columns: Any) -> Action:
    now = columns.pop("now")
    subject = {
        "path": f"/apis/batch/v1/namespaces/research/jobs/{name}",
        "uid": f"uid-of-{name}",
        "generation": 1,
        "wanted": {"/spec/suspend": True},
    }
    values = {
        "id": f"{cluster.name}-{name}",
        "name": name,
        "uid": f"uid-of-{name}",
        "context": {"subjects": [subject]},
        "requested_at": now,
        "expires_at": now + timedelta(minutes=5),
        "sent_at": None,
        "finished_at": None,
    }
    return make_action(cluster, **{**values, **columns})


def test_an_inspector_stops_if_the_cluster_does_not_answer(
    cluster: Cluster, fake_cluster: FakeCluster
) -> None:
    now = fake_cluster.clock.now()
    for name in ("a", "b", "c"):
        act(cluster, name, now=now, finished_at=now, guarded=True)
    assert drift_detection.find_suspicious() == {cluster.pk: ["east-c", "east-b", "east-a"]}
    for _ in range(3):
        assert drift_detection.inspect_all(cluster.pk, fake_cluster.clock, fake_cluster.open) == {}
    assert len(fake_cluster.asked) == 1
    fake_cluster.clock.advance(drift_detection.REST_SECONDS + 1)
    drift_detection.inspect_all(cluster.pk, fake_cluster.clock, fake_cluster.open)
    assert len(fake_cluster.asked) == 2


def test_an_inspector_stopped_past_its_lease_ends(
    cluster: Cluster, fake_cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Otherwise its turn is over by then, with any holder of the lease.
    monkeypatch.setattr(drift_detection, "TURN_SECONDS", row_leases.CHORE_SECONDS * 4)
    now = fake_cluster.clock.now()
    for name in ("a", "b"):
        act(cluster, name, now=now, finished_at=now, guarded=True)
        # An error of one object. The next object is inspected.
        fake_cluster.faults[name] = KubeError("forbidden", "east forbids it.")
    oversleep(cluster, fake_cluster, drift_detection.CHORE)
    assert drift_detection.inspect_all(cluster.pk, fake_cluster.clock, fake_cluster.open) == {}
    assert len(fake_cluster.asked) == 1


def queue_of(worker: Child) -> str:
    """Return the queue from which a worker takes its orders."""
    return worker.argv[worker.argv.index("--queues") + 1]


def test_prove_workers_get_the_verification_work(
    cluster: Cluster, fake_cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = fake_cluster.clock.now()
    hold(cluster, "a")
    act(cluster, "b", now=now, finished_at=now, guarded=True)
    ordered: dict[str, str] = {}

    def order(name: str) -> Callable[..., None]:
        return lambda _arguments, *, queue, **_: ordered.update({name: queue})

    monkeypatch.setattr(dispatch, "send", lambda *_, **__: None)
    for task in (tasks.prove, tasks.inspect):
        monkeypatch.setattr(task, "apply_async", order(task.name.rsplit(".", 1)[1]))
    tasks.sweep()
    own = queue_of(processes.prove_worker(folder=Path()))
    assert ordered == {"prove": own, "inspect": own}
    assert own != queue_of(processes.act_worker(folder=Path()))


def test_many_actions_of_one_cluster_do_not_hide_those_of_another(cluster: Cluster) -> None:
    clock = QuickClock()
    west = make_cluster("west")
    for number in range(10):
        due = clock.now() - timedelta(seconds=100 - number)
        act(cluster, f"n{number}", now=due, due_at=due, state="requested")
    due = clock.now() - timedelta(seconds=5)
    act(west, "one", now=due, due_at=due, state="requested")
    assert actions.due_actions(clock, most=3) == ["east-n0", "west-one", "east-n1"]
    assert actions.due_actions(clock, most=2, cluster_id=cluster.pk) == ["east-n0", "east-n1"]


def test_a_cluster_takes_half_of_the_slots_and_the_next_half_of_the_rest() -> None:
    slots = WorkerSlots()
    taken = {
        cluster_id: [slots.acquire(cluster_id) for _ in range(WORKER_SLOTS)].count(True)
        for cluster_id in (1, 2, 3)
    }
    assert taken == {1: 8, 2: 4, 3: 2}


def test_an_unresponsive_cluster_gets_one_slot_until_it_answers() -> None:
    slots = WorkerSlots(8)
    assert slots.acquire(1)
    slots.release(1, answered=False)
    assert [slots.acquire(1), slots.acquire(1)] == [True, False]
    assert slots.acquire(2)
    # A refused cluster is called once when a slot is free.
    assert slots.admit_waiting() == []
    slots.release(1, answered=True)
    assert slots.admit_waiting() == [1]
    assert slots.admit_waiting() == []
    assert [slots.acquire(1), slots.acquire(1)] == [True, True]


def test_only_due_work_is_unpacked(cluster: Cluster, fake_cluster: FakeCluster) -> None:
    hold(cluster, "abcd")
    assert len(prove(cluster, fake_cluster)) == 4
    looked_at = fake_cluster.clock.now()
    fake_cluster.clock.advance(61)
    HoldCheck.objects.exclude(hold_uid__in="bd").update(checked_at=fake_cluster.clock.now())
    HoldCheck.objects.filter(hold_uid="b").update(checked_at=looked_at - timedelta(seconds=5))
    # Rows that are not due could not even be decoded.
    WatchedObject.objects.filter(uid__in="ac").update(data=b"of another shape")
    fake_cluster.asked.clear()
    assert prove(cluster, fake_cluster) == {"b": True, "d": True}
    assert fake_cluster.asked == ["b", "d"]


def test_a_proof_costs_the_same_for_any_number_of_holds(
    cluster: Cluster, fake_cluster: FakeCluster
) -> None:
    """For each Hold: the lock, a transaction with the proof, the lever's, and no news."""
    hold(cluster, "ab")
    prove(cluster, fake_cluster)
    fake_cluster.clock.advance(61)
    with CaptureQueriesContext(connection) as few:
        prove(cluster, fake_cluster)
    hold(cluster, "cdefgh")
    prove(cluster, fake_cluster)
    fake_cluster.clock.advance(61)
    with CaptureQueriesContext(connection) as many:
        assert len(prove(cluster, fake_cluster)) == 8
    per_hold = (len(many) - len(few)) / 6
    assert per_hold == 5, [query["sql"] for query in many.captured_queries]


def test_seemingly_undone_actions_add_one_query_per_cluster(
    cluster: Cluster, fake_cluster: FakeCluster
) -> None:
    now = fake_cluster.clock.now()
    act(cluster, "a", now=now, finished_at=now, guarded=True)
    with CaptureQueriesContext(connection) as few:
        assert set(drift_detection.find_suspicious()) == {cluster.pk}
    clusters = {
        make_cluster(name, actor_credentials=b"sealed") for name in ("west", "north", "south")
    }
    for member in clusters:
        for name in "bcd":
            act(member, name, now=now, finished_at=now, guarded=True)
    with CaptureQueriesContext(connection) as many:
        assert len(drift_detection.find_suspicious()) == 4
    assert len(many) - len(few) == 3
