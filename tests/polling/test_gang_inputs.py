"""A new holder of a cluster assesses the gangs whose inputs have changed, and no others."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from gangboard.decode.events import EVENT
from gangboard.decode.holds import HOLD
from gangboard.decode.nodes import NODE
from gangboard.diagnosis.engine import assess
from gangboard.domain.api_resource import WatchState
from gangboard.domain.autoscaling import Autoscaling
from gangboard.domain.capacity import ClusterCapacity as Capacity
from gangboard.domain.health import Health
from gangboard.domain.measured_use import UseAlert
from gangboard.domain.owner import SuspendChange
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import ClaimProblem, UnusableClaim
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.verdict import UnitMemory, Verdict
from gangboard.facts.cluster_view import CAPACITY_NOT_READ, ClusterView, Unobserved
from gangboard.facts.gang import Gang as GangModel
from gangboard.placement import cluster_plan
from gangboard.polling import assessor, gang_inputs, poll
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.polling.event_index import IndexedEvent
from gangboard.polling.gang_inputs import InputDigests, is_repeatable
from gangboard.polling.visibility import proves_absence
from gangboard.store.gangs import VerdictInputs, pack_memory, unpack_inputs, unpack_memory
from gangboard.store.models import Cluster, ClusterCapacity, Gang, WatchedObject
from gangboard.store.objects import pack
from gangboard.store.observations import writing
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Verdicts = dict[str, tuple[GangModel, Verdict]]
RUNS = "llama-ft"
_OTHER = Unobserved("pods", WatchState.FAILING, "pods: 500")


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """The verdicts made during the test, by the name of the gang."""
    verdicts: Verdicts = {}

    def note(facts: GangModel) -> Verdict:
        verdict = assess(facts)
        verdicts[facts.owner.meta.ref.name] = facts, verdict
        return verdict

    monkeypatch.setattr(assessor, "assess", note)
    return verdicts


def _with_digest() -> set[str]:
    rows = Gang.objects.values_list("name", "memory")
    return {name for name, memory in rows if unpack_inputs(bytes(memory)).digest}


def _names() -> set[str]:
    return set(Gang.objects.values_list("name", flat=True))


# A cluster that changes hands


@pytest.mark.parametrize("fleet", ["east", "west"])
def test_an_unchanged_cluster_is_not_assessed_again(
    watch: Watch, judged: Verdicts, monkeypatch: pytest.MonkeyPatch, fleet: str
) -> None:
    monkeypatch.setattr(cluster_plan, "SECONDS", 60.0)  # a plan that is cut differs each time
    watching = watch(fleet=fleet)
    watching.once()
    assert set(judged) == _names()
    # A verdict that depends on the memory of the gang is assessed once more.
    watching.once()
    rows = list(Gang.objects.order_by("id").values())
    shapes, version = ClusterCapacity.objects.get().shapes, watching.fresh().data_version
    settled = _with_digest()
    assert len(settled) >= 7
    judged.clear()
    watching.once()
    assert set(judged) == _names() - settled
    assert watching.fresh().data_version == version
    assert ClusterCapacity.objects.get().shapes == shapes
    unchanged = [row for row in rows if row["name"] in settled]
    assert list(Gang.objects.order_by("id").filter(name__in=settled).values()) == unchanged


def test_a_change_of_an_object_is_assessed(watch: Watch, judged: Verdicts) -> None:
    watching = watch()
    watching.once()
    watching.once()
    assert RUNS in _with_digest()
    before = watching.gang(RUNS).ready
    pods = watching.simulator.objects.list("v1", "Pod")
    name = next(
        candidate["metadata"]["name"]
        for candidate in pods
        if candidate["metadata"]["name"].startswith(RUNS)
    )
    namespace = watching.gang(RUNS).namespace

    def fail(pod: dict[str, Any]) -> None:
        for condition in pod["status"]["conditions"]:
            condition["status"] = "False" if condition["type"] == "Ready" else condition["status"]

    watching.simulator.objects.update("v1", "Pod", name, fail, namespace=namespace)
    judged.clear()
    watching.once()
    assert RUNS in judged
    assert watching.gang(RUNS).ready == before - 1


def test_another_release_assesses_all(
    watch: Watch, judged: Verdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    watching.once()
    watching.once()
    judged.clear()
    monkeypatch.setattr(gang_inputs, "code_digest", lambda: b"another release")
    watching.once()
    assert set(judged) == _names()
    monkeypatch.setattr(gang_inputs, "code_digest", lambda: b"")
    for _ in range(2):
        judged.clear()
        watching.once()
        assert set(judged) == _names(), "nothing is skipped where the code cannot be compared"


def test_a_due_recheck_is_assessed(watch: Watch, judged: Verdicts) -> None:
    watching = watch()
    watching.once()
    watching.once()
    assert RUNS in _with_digest()
    Gang.objects.filter(name=RUNS).update(recheck_at=datetime.now(UTC) - timedelta(seconds=1))
    judged.clear()
    watching.once()
    assert RUNS in judged


def test_a_change_of_a_node_touches_the_gangs_on_it(watch: Watch) -> None:
    """Their sentences tell its readiness, cordon and taints. Its heartbeats change no verdict."""
    cache, root = _settled_cluster(watch)
    name = min(cache.ownership_graph.nodes_of(cache.ownership_graph.members(root)))
    node = cache.nodes[name]
    tainted = replace(node, taints=(*node.taints, Taint("maintenance", "NoExecute")))
    assert root in cache.put(tainted)
    beat = replace(tainted, meta=replace(node.meta, resource_version="900001"))
    assert cache.put(beat) == set()
    assert root in cache.put(replace(beat, unschedulable=True))


def test_a_stored_change_is_assessed_by_the_next_holder(watch: Watch) -> None:
    cache, root = _settled_cluster(watch)
    (cluster,) = Cluster.objects.all()
    pod = next(
        model
        for model in cache.objects.read(cache.ownership_graph.members(root)).values()
        if isinstance(model, Pod)
    )
    with writing(cache.lease):
        WatchedObject.objects.filter(uid=pod.meta.ref.uid).update(
            data=pack(replace(pod, phase="Failed"))
        )
    fresh = poll._new_cache(cache.lease, cluster)
    assert fresh is not None
    fresh.discovery, fresh.unreadable = cache.discovery, cache.unreadable
    digests = InputDigests(fresh, datetime.now(UTC))
    unchanged = {uid for uid, last in fresh.last_inputs.items() if last.digest == digests.of(uid)}
    assert root in fresh.last_inputs
    assert unchanged == fresh.last_inputs.keys() - {root}


# Each input of a verdict is in the digest, or the verdict has none


def _set(**values: Any) -> Callable[[ClusterCache, str], None]:
    def change(cache: ClusterCache, root: str) -> None:
        for name, value in values.items():
            setattr(cache, name, value)

    return change


def _see(key: str, **values: Any) -> Callable[[ClusterCache, str], None]:
    def change(cache: ClusterCache, root: str) -> None:
        for name, value in values.items():
            setattr(cache.watched[key], name, value)

    return change


def _answer(attribute: str, method: str, value: Any) -> Callable[[ClusterCache, str], None]:
    """Let a method of a part of the cache return something else."""

    def change(cache: ClusterCache, root: str) -> None:
        setattr(getattr(cache, attribute), method, lambda *_: value)

    return change


def _see_queues(cache: ClusterCache, root: str) -> None:
    """Toggle whether the absence of a queue is meaningful."""
    watched = cache.watched["clusterqueues.kueue.x-k8s.io"]
    is_known = proves_absence(watched, datetime.now(UTC))
    watched.state, watched.is_current = WatchState.OK, not is_known


def _other_member(cache: ClusterCache, root: str) -> None:
    uid = cache.ownership_graph.members(root)[-1]
    cache.object_digests[uid] = b"other"


def _fewer_members(cache: ClusterCache, root: str) -> None:
    cache.ownership_graph.remove(
        next(member for member in cache.ownership_graph.members(root) if member != root)
    )


def _event(cache: ClusterCache, root: str) -> None:
    cache.events.by_object[root]["event"] = IndexedEvent(0.0, ("Failed", "kubelet"))
    cache.object_digests["event"] = b"an event"


def _cordon(cache: ClusterCache, root: str) -> None:
    name = min(cache.ownership_graph.nodes_of(cache.ownership_graph.members(root)))
    cache.nodes[name] = replace(cache.nodes[name], unschedulable=True)


def _heartbeat(cache: ClusterCache, root: str) -> None:
    for name, node in cache.nodes.items():
        cache.nodes[name] = replace(node, meta=replace(node.meta, resource_version="900001"))


def _queue(cache: ClusterCache, root: str) -> None:
    cache.queues.is_named_by = lambda uids: True  # type: ignore[method-assign]


def _resume(cache: ClusterCache, root: str) -> None:
    change = SuspendChange(False, "kubectl", datetime.now(UTC))
    cache.suspend_history._changes[root] = (change,)


_CHANGES: dict[str, Callable[[ClusterCache, str], None]] = {
    "a member is another": _other_member,
    "a member is gone": _fewer_members,
    "a pod of another gang in its group": _answer("ownership_graph", "foreign_pods", ("uid",)),
    "a placeholder of a scheduler": _answer("ownership_graph", "placeholders", ("uid",)),
    "an owner of another namespace": _answer("ownership_graph", "is_owned_elsewhere", True),
    "an event": _event,
    "a node": _cordon,
    "a queue": _queue,
    "a change of suspend": _resume,
    "a runtime": _answer(
        "blueprints", "of", [SimpleNamespace(meta=SimpleNamespace(ref=SimpleNamespace(uid="uid")))]
    ),
    "nodes cannot be seen": _see(NODE.key, state=WatchState.FAILING),
    "events cannot be seen": _see(EVENT.key, state=WatchState.FAILING),
    "Holds cannot be seen": _see(HOLD.key, state=WatchState.FORBIDDEN),
    "Holds were not listed": _see(HOLD.key, listed_at=None),
    "groups in another version": _see("podgroups.scheduling.k8s.io", version="v9"),
    "queues cannot be read in full": _see_queues,
    "queues are not known": _see("workloads.kueue.x-k8s.io", state=WatchState.FORBIDDEN),
    "something is unobserved": _set(unobserved=(_OTHER,)),
    "an object is unreadable": _set(unreadable={"team": (_OTHER,)}),
    "Kubernetes is another": _set(discovery=SimpleNamespace(server_version="v1.99.0")),
    "its accelerators are idle": _answer(
        "use_alerts", "of", UseAlert(idle_since=datetime.now(UTC))
    ),
    "the cluster has another name": _set(cluster_name="other"),
}


_CHANGED_PARTS = (
    "watched",
    "ownership_graph",
    "events",
    "object_digests",
    "nodes",
    "queues",
    "suspend_history",
    "blueprints",
    "use_alerts",
)
"""Attributes of a cache that `_CHANGES` modify in place."""


def _copy(cache: ClusterCache) -> ClusterCache:
    """Return a copy of a cache that `_CHANGES` can modify."""
    copied = copy(cache)
    for name in _CHANGED_PARTS:
        setattr(copied, name, deepcopy(getattr(cache, name)))
    return copied


def test_each_input_is_in_the_digest(watch: Watch) -> None:
    cache, root = _settled_cluster(watch)
    before = InputDigests(cache, datetime.now(UTC)).of(root)
    assert before
    missing = []
    for name, change in _CHANGES.items():
        changed = _copy(cache)
        assert InputDigests(changed, datetime.now(UTC)).of(root) == before
        change(changed, root)
        if InputDigests(changed, datetime.now(UTC)).of(root) in (before, b""):
            missing.append(name)
    assert missing == []
    assert InputDigests(cache, datetime.now(UTC)).of(root) == before


def test_fields_that_no_verdict_reads_are_not_in_the_digest(watch: Watch) -> None:
    cache, root = _settled_cluster(watch)
    before = InputDigests(cache, datetime.now(UTC)).of(root)
    _heartbeat(cache, root)
    assert InputDigests(cache, datetime.now(UTC)).of(root) == before


def test_a_gang_with_victims_has_no_digest(watch: Watch) -> None:
    cache, root = _settled_cluster(watch)
    cache.preemptions.victims_for = lambda preemptors: {"pod": root}  # type: ignore[method-assign]
    assert InputDigests(cache, datetime.now(UTC)).of(root) == b""
    assert InputDigests(cache, datetime.now(UTC)).of("nobody") == b""


def _settled_cluster(watch: Watch) -> tuple[ClusterCache, str]:
    watching = watch()
    watching.settle()
    (cache,) = poll._caches.values()
    return cache, watching.gang(RUNS).uid


_OF_OBJECTS = "its objects"
_OF_CLUSTER = "what is seen of the cluster"
_OF_ROW = "the gang's row"
_UNSETTLED = "read only where a pod waits, an owner is stopped, or a preemptor is named"
_OF_CODE = "the code"
_OF_POLICY = "supplied for the policy of actions only"
_INPUTS = {
    **dict.fromkeys(
        ("owner", "jobs", "middle", "groups", "workloads", "pods", "foreign_pods", "placeholders"),
        _OF_OBJECTS,
    ),
    **dict.fromkeys(("events", "holds", "entries", "queues", "nodes", "suspensions"), _OF_OBJECTS),
    **dict.fromkeys(
        ("old_jobs", "old_pods", "odd_references", "creation_failures", "roles_of_pods"),
        _OF_OBJECTS,
    ),
    **dict.fromkeys(("nodes_known", "gang_api_version", "groups_unobserved"), _OF_CLUSTER),
    **dict.fromkeys(("known_kinds", "events_known", "holds_known", "unobserved"), _OF_CLUSTER),
    **dict.fromkeys(("cluster", "queue_visibility", "kubernetes"), _OF_CLUSTER),
    **dict.fromkeys(("now", "memory", "memory_since"), _OF_ROW),
    **dict.fromkeys(("room", "autoscaling", "claims", "recorded_suspends"), _UNSETTLED),
    **dict.fromkeys(("victims", "preemptors"), _UNSETTLED),
    **dict.fromkeys(("queue_systems", "kinds", "pod_reasons", "admission"), _OF_CODE),
    **dict.fromkeys(("maker", "api_versions"), _OF_POLICY),
    "use_alert": "conspicuous readings of its Prometheus",
}


def test_every_input_has_a_test_case() -> None:
    names = {field.name for model in (GangModel, ClusterView) for field in fields(model)}
    assert names == _INPUTS.keys()


@pytest.mark.parametrize("fleet", ["east", "west"])
def test_a_settled_verdict_is_the_same_as_long_as_its_digest(
    watch: Watch, judged: Verdicts, fleet: str
) -> None:
    """The rest of the cluster, time before its recheck, and its memory do not change it."""
    watching = watch(fleet=fleet)
    watching.once()
    first, with_digest = dict(judged), _with_digest()
    watching.once()
    assert len(with_digest) >= 4
    for name, (facts, verdict) in [*first.items(), *judged.items()]:
        if name not in (with_digest if facts is first[name][0] else _with_digest()):
            continue
        due = verdict.recheck_at or facts.now + timedelta(days=30)
        for room in (CAPACITY_NOT_READ, Capacity()):
            cluster = replace(facts.cluster, room=room, autoscaling=Autoscaling({}, "", {}, ""))
            later = replace(
                facts,
                now=due - timedelta(seconds=1),
                memory=verdict.memory,
                cluster=cluster,
                claims={("PersistentVolumeClaim", "a", "b"): UnusableClaim(ClaimProblem.MISSING)},
                recorded_suspends={},
            )
            assert visible_verdict(assess(later)) == visible_verdict(verdict), name


def visible_verdict(verdict: Verdict) -> Verdict:
    return replace(verdict, memory={}, recheck_at=None)


# What is remembered


def test_a_verdict_that_depends_on_memory_is_reassessed() -> None:
    now = datetime.now(UTC)
    memory = {"train": UnitMemory(created=4, created_since=now, whole_at=now)}
    later = {"train": replace(memory["train"], whole_at=now + timedelta(minutes=1))}
    assert is_repeatable(Health.DEGRADED, memory, later)
    assert not is_repeatable(Health.DEGRADED, {}, later)
    assert is_repeatable(Health.RUNNING, {}, later)


def test_inputs_are_packed_beside_the_memory() -> None:
    memory = {"train": UnitMemory(created=4)}
    inputs = VerdictInputs(b"digest", b"pods")
    packed = pack_memory(memory, inputs)
    assert unpack_memory(packed) == memory
    assert unpack_inputs(packed) == inputs
    assert unpack_inputs(pack_memory(memory)) == unpack_inputs(b"") == VerdictInputs(b"")
