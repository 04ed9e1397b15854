"""Preemptions join two gangs, in whatever order the events arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.event import Event
from gangboard.domain.objects import ObjectRef
from gangboard.polling import event_index
from gangboard.polling.event_index import Preemptions
from gangboard.store.gangs import unpack_detail
from simulator import Simulator
from tests.domain_objects import a_group, a_job, a_pod, an_event
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Json = dict[str, Any]

DEVICE = "example.com/device"
REFUSED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": f"0/1 nodes are available: 1 Insufficient {DEVICE}.",
}
LOW, URGENT = a_job("low", pods=1), a_job("urgent", pods=1)
VICTIM, TAKER = a_pod("low-0", of=LOW, on="n0"), a_pod("urgent-0", of=URGENT)


def preempted(victim: str = "uid-low-0", taker: str = "uid-urgent-0", uid: str = "e0") -> Event:
    event = an_event(a_pod("low-0", uid=victim), "Preempted", uid=uid)
    return replace(event, related=ObjectRef("", "Pod", "", "", taker))


def joined(*objects: Any) -> tuple[OwnershipGraph, Preemptions]:
    graph = OwnershipGraph()
    for obj in objects:
        graph.put(obj)
    return graph, Preemptions(graph)


def test_the_event_of_a_victim_affects_the_gang_of_the_preemptor() -> None:
    _, known = joined(LOW, URGENT, VICTIM, TAKER)
    assert known.put(preempted(), "uid-low-0") == {"uid-urgent"}
    assert known.victims_for(["uid-urgent", "uid-urgent-0"]) == {"uid-low-0": "uid-urgent-0"}
    assert known.affected_gangs("uid-low-0", {"uid-low"}) == {"uid-urgent"}
    assert known.affected_gangs("uid-low-1", {"uid-low"}) == set()
    assert known.remove("uid-low-0") == {"uid-urgent"}
    assert known.victims_for(["uid-urgent-0"]) == {}


def test_a_group_can_be_the_preemptor() -> None:
    group = a_group("ring", of=URGENT)
    _, known = joined(LOW, URGENT, VICTIM, group)
    assert known.put(preempted(taker="uid-ring"), "uid-low-0") == {"uid-urgent"}
    assert known.victims_for(["uid-ring"]) == {"uid-low-0": "uid-ring"}


def test_the_preemptor_may_appear_after_the_event() -> None:
    graph, known = joined(LOW, VICTIM)
    assert known.put(preempted(), "uid-low-0") == set()
    assert known.gang_of("uid-urgent-0") is None
    # The pod first, then its owner: each time the victim's gang has another name to tell.
    assert known.affected_gangs("uid-urgent-0", graph.put(TAKER)) == {"uid-low"}
    assert known.gang_of("uid-urgent-0") == "uid-urgent-0"
    assert known.affected_gangs("uid-urgent", graph.put(URGENT)) == {"uid-low"}
    assert known.gang_of("uid-urgent-0") == "uid-urgent"
    assert known.affected_gangs("uid-urgent", graph.put(URGENT)) == set()


def test_the_gang_of_a_deleted_pod_is_remembered(monkeypatch: Any) -> None:
    monkeypatch.setattr(event_index, "MAX_DELETED_OBJECTS", 1)
    graph, known = joined(LOW, URGENT, VICTIM, TAKER)
    for uid in ("uid-low-0", "uid-urgent-0"):
        known.remove(uid)
        graph.remove(uid)
    assert known.gang_of("uid-urgent-0") == "uid-urgent"
    assert known.gang_of("uid-low-0") is None


def test_a_pod_that_outlives_its_owner_is_no_gang_of_its_own() -> None:
    graph, known = joined(LOW, URGENT, VICTIM, TAKER)
    known.put(preempted(), "uid-low-0")
    assert known.affected_gangs("uid-urgent", graph.remove("uid-urgent")) == set()
    assert known.gang_of("uid-urgent-0") == "uid-urgent"


def test_a_dropped_event_is_removed_from_all_indexes() -> None:
    _, known = joined(LOW, URGENT, VICTIM, TAKER)
    known.put(preempted(), "uid-low-0")
    known.drop(["e0", "never-seen"])
    assert known.victims_for(["uid-urgent-0"]) == {}
    assert known.affected_gangs("uid-low-0", {"uid-low"}) == set()
    indexes = (
        known._preemptions,
        known._events_by_preemptor,
        known._events_by_victim,
        known._roots,
        known._preemptors_by_root,
    )
    assert not any(indexes)


# From the cluster to the sentence


def _job(name: str) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"completions": 1, "parallelism": 1, "template": {"spec": {"containers": []}}},
        "status": {"active": 1},
    }


def _pod(job: str, name: str, *, node: str = "", refused: bool = False) -> Json:
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job,
        "uid": f"uid-{job}",
        "controller": True,
    }
    container = {"name": "main", "resources": {"requests": {DEVICE: "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": [owner],
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [container],
            **({"nodeName": node} if node else {}),
        },
        "status": {
            "phase": "Running" if node else "Pending",
            "conditions": [REFUSED] if refused else [],
        },
    }


def _event() -> Json:
    """Event text of kube-scheduler 1.37 for a pod that another pod preempts."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "low-a.1", "namespace": "default", "uid": "uid-event"},
        "reason": "Preempted",
        "note": "Preempted by pod uid-usurper-0 on node n0",
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "default",
            "name": "low-a",
            "uid": "uid-low-a",
        },
        "eventTime": "2099-11-21T19:53:06.992691Z",
        "reportingController": "default-scheduler",
    }


def two_jobs(simulator: Simulator) -> str:
    """Two Jobs on a node with one device, the only one of the cluster; return the node's name."""
    name: str = min(node["metadata"]["name"] for node in simulator.objects.list("v1", "Node"))

    def give(node: Json) -> None:
        node["status"]["allocatable"][DEVICE] = "1"
        node["spec"].pop("taints", None)
        node["spec"].pop("unschedulable", None)

    simulator.objects.update("v1", "Node", name, give)
    simulator.objects.put(_job("low"))
    simulator.objects.put(_pod("low", "low-a", node=name))
    simulator.objects.put(_job("usurper"))
    simulator.objects.put(_pod("usurper", "usurper-0", node=name))
    return name


def lose(simulator: Simulator) -> None:
    simulator.objects.delete("v1", "Pod", "low-a", "default")


def report_preemption(simulator: Simulator) -> None:
    simulator.objects.put(_event())


def try_again(simulator: Simulator) -> None:
    simulator.objects.put(_pod("low", "low-b", refused=True))


def play(watching: Watching, *acts: Callable[[Simulator], None]) -> None:
    """Let things happen one by one; each is seen and judged before the next."""
    for act in acts:
        act(watching.simulator)
        watching.settle()


def is_shown(watching: Watching) -> None:
    gang = watching.gang("low")
    assert gang.code == "preempted"
    assert "preempted by default/usurper; " in gang.message
    (finding, *_) = unpack_detail(bytes(gang.detail)).findings
    (preemptor,) = [item for item in finding.evidence if item.label == "preempted by Job"]
    assert preemptor.source is not None
    assert (preemptor.source.namespace, preemptor.source.name) == ("default", "usurper")


def test_the_event_may_precede_the_deletion_of_the_pod(watch: Watch) -> None:
    watching = watch()
    two_jobs(watching.simulator)
    watching.settle()
    play(watching, report_preemption, lose, try_again)
    is_shown(watching)


def test_the_event_may_follow_the_deletion_of_the_pod(watch: Watch) -> None:
    watching = watch()
    two_jobs(watching.simulator)
    watching.settle()
    play(watching, lose, report_preemption, try_again)
    is_shown(watching)


def test_another_worker_can_take_over_before_new_pods_exist(watch: Watch) -> None:
    watching = watch()
    two_jobs(watching.simulator)
    watching.settle()
    play(watching, report_preemption, lose)
    watching.forget()
    play(watching, try_again)
    is_shown(watching)
    # The same holds after the pod that took the capacity is deleted together with its Job.
    watching.simulator.objects.delete("v1", "Pod", "usurper-0", "default")
    watching.simulator.objects.delete("batch/v1", "Job", "usurper", "default")
    watching.forget()
    watching.settle()
    is_shown(watching)


def test_a_terminating_victim_is_shown_at_the_gang_that_waits_for_it(watch: Watch) -> None:
    watching = watch()
    node = two_jobs(watching.simulator)
    watching.simulator.objects.delete("v1", "Pod", "usurper-0", "default")
    watching.simulator.objects.put(_pod("usurper", "usurper-0", refused=True))
    victim = _pod("low", "low-a", node=node)
    victim["metadata"]["deletionTimestamp"] = "2099-11-21T19:53:30Z"

    def leave(simulator: Simulator) -> None:
        simulator.objects.put(victim)

    watching.settle()
    assert watching.gang("usurper").code != "preempting"
    # The preemptor's own objects stay the same. Its victim and the event about it change.
    play(watching, report_preemption, leave)
    gang = watching.gang("usurper")
    assert gang.code == "preempting"
    assert "until 1 pod of lower priority is gone" in gang.message
    (finding, *_) = unpack_detail(bytes(gang.detail)).findings
    assert ("makes room", "default/low-a") in [
        (item.label, item.value) for item in finding.evidence
    ]
    play(watching, lose)
    assert watching.gang("usurper").code != "preempting"
