"""The scheduling gate with which Volcano keeps pods until their queue has capacity (v1.15)."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue
from gangboard.domain.verdict import Finding
from gangboard.queues.volcano import VolcanoQueues
from tests.decode.reading import Json, model
from tests.domain_objects import ago, requests
from tests.groups.other_schedulers import member, verdict_of
from tests.groups.volcano_objects import members, queue, ring

GATE = "scheduling.volcano.sh/queue-allocation-gate"
APPROVAL = "example.com/approval"
LARGE = ClusterCapacity((NodeInfo("n0", allocatable={"cpu": 64_000}),))


def used_queue(capability: str, allocated: str, name: str = "research", **spec: Any) -> Queue:
    """Return a queue with these amounts of cpu. Empty: the amount is not stated."""
    spec |= {"capability": {"cpu": capability}} if capability else {}
    status: Json = {"state": "Open", "allocated": {"cpu": allocated} if allocated else {}}
    meta = {"name": name, "uid": f"q-{name}", "resourceVersion": "1"}
    result: Queue = model(
        VolcanoQueues.resources[0], {"metadata": meta, "spec": spec, "status": status}
    )
    return result


def gated(number: int = 3, cpu: str = "2", seconds: float = 300, gates: Any = (GATE,)) -> list[Pod]:
    """Return pods with that request and these gates, created so many seconds ago."""
    group = ring("Inqueue")
    return [
        member(
            group,
            f"p{index}",
            "volcano",
            created_at=ago(seconds),
            gates=gates,
            requests=requests(cpu=cpu),
        )
        for index in range(number)
    ]


def judge(pods: list[Pod], *queues: Queue, phase: str = "Inqueue", **known: Any) -> Finding:
    return verdict_of(ring(phase), *pods, queues=queues, **{"room": LARGE, **known}).finding


FULL = "Queue research has no capacity for 3 of 3 pods, so Volcano keeps them gated."


@pytest.mark.parametrize("allocated", ["8", "7"])
def test_a_full_queue_has_no_capacity(allocated: str) -> None:
    finding = judge(gated(), used_queue("8", allocated))
    assert (finding.code, finding.health, finding.message) == (
        "waiting-for-quota",
        Health.WAITING,
        FULL,
    )
    evidence = {item.label: item.value for item in finding.evidence}
    assert evidence == {
        "spec.schedulingGates": GATE,
        "queue": "research",
        "cpu in spec.capability": "8 CPUs",
        "cpu in status.allocated": f"{allocated} CPUs",
    }
    assert finding.recheck_at == ago(-60)


def test_a_queue_with_capacity_does_not_keep_the_gate() -> None:
    """Near miss: the pods need 2 CPUs each, and exactly 2 are left."""
    finding = judge(gated(), used_queue("8", "6"))
    assert (finding.code, finding.health) == ("queue-evaluating", Health.BLOCKED)
    assert finding.message == (
        "Queue research has room for 3 of 3 pods by its capability, and Volcano keeps them gated."
    )
    assert "log of Volcano's scheduler" in finding.advice_texts[0]
    assert finding.recheck_at == ago(-60)


def test_only_pods_that_fit_are_kept_without_need() -> None:
    """One pod asks for all of the queue."""
    large = gated(3, cpu="7")[2]
    finding = judge([*gated(2), large], used_queue("8", "4"))
    assert (finding.code, finding.message) == (
        "queue-evaluating",
        "Queue research has room for 2 of 3 pods by its capability, and Volcano keeps them gated.",
    )


@pytest.mark.parametrize(
    "queues",
    [(), (used_queue("", "4"),), (used_queue("8", "2"),)],
    ids=["unknown queue", "no capability", "unknown nodes"],
)
def test_unknown_numbers_are_no_shortage(queues: tuple[Queue, ...]) -> None:
    finding = judge(gated(), *queues, room=ClusterCapacity(why="nodes: forbidden"))
    assert (finding.code, finding.health) == ("waiting-for-quota", Health.WAITING)
    assert (
        finding.message
        == "Volcano keeps 3 of 3 pods gated until queue research has capacity for them."
    )


@pytest.mark.parametrize(
    ("seconds", "code", "health"),
    [
        (59, "queue-evaluating", Health.STARTING),
        (61, "queue-evaluating", Health.BLOCKED),
    ],
)
def test_a_young_gate_is_no_fault(seconds: float, code: str, health: Health) -> None:
    finding = judge(gated(seconds=seconds), used_queue("8", ""))
    assert (finding.code, finding.health) == (code, health)


def test_a_young_gate_of_an_unknown_queue() -> None:
    finding = judge(gated(seconds=5))
    assert (finding.code, finding.health) == ("queue-evaluating", Health.STARTING)
    assert finding.message == "Volcano has not removed its gate from 3 of 3 pods yet."
    assert finding.recheck_at == ago(-55)


def test_a_young_gate_in_a_full_queue() -> None:
    """The numbers are known at once."""
    assert judge(gated(seconds=5), used_queue("8", "8")).message == FULL


def test_the_nodes_limit_a_queue() -> None:
    """Volcano takes the allocatable resources of all nodes as limit if they are below the capability."""
    room = ClusterCapacity((NodeInfo("n0", allocatable={"cpu": 8_000}),))
    assert judge(gated(), used_queue("64", "7"), room=room).message == FULL
    assert judge(gated(), used_queue("", "7"), room=room).message == FULL
    assert judge(gated(), used_queue("64", "6"), room=room).health is Health.BLOCKED


def test_a_full_parent_limits_its_queues() -> None:
    queues = [used_queue("8", "", parent="org"), used_queue("16", "15", "org")]
    assert judge(gated(), *queues).message == FULL
    wide = [used_queue("8", "", parent="org"), used_queue("16", "14", "org")]
    assert judge(gated(), *wide).health is Health.BLOCKED


def test_a_refused_member_is_the_nearer_cause() -> None:
    """Volcano tries no other pod of the group then, so the gates stay although the queue has capacity."""
    text = "0/1 nodes are unavailable: 1 Insufficient cpu."
    refused = member(ring("Inqueue"), "p9", "volcano", created_at=ago(300), text=text)
    finding = judge([*gated(2), refused], used_queue("64", ""))
    assert finding.code not in {"queue-evaluating", "waiting-for-quota"}


def test_a_group_that_its_queue_has_not_admitted() -> None:
    """Near miss: no session looks at its pods before that, so the gate is not the cause."""
    finding = judge(gated(), used_queue("8", "8"), phase="Pending")
    assert finding.message == "Queue research has not admitted it yet."


def test_a_second_gate_is_named_first() -> None:
    """Volcano removes its gate only from pods without another gate."""
    finding = judge(gated(gates=(GATE, APPROVAL)), used_queue("8", "8"))
    assert (finding.code, finding.health) == ("scheduling-gated", Health.WAITING)
    assert finding.message == (
        "3 of 3 pods wait for scheduling gate example.com/approval. Volcano removes its own gate only after that."
    )
    assert finding.advice_texts == (
        "Check the controller of example.com: Volcano looks at its queue afterwards.",
    )


def test_a_foreign_gate_alone_is_that_of_its_controller() -> None:
    """Near miss: no gate of Volcano."""
    finding = judge(gated(gates=(APPROVAL,)), used_queue("8", "8"))
    assert finding.code == "scheduling-gated"
    assert "Volcano" not in finding.message


def test_a_closed_queue_precedes_its_gate() -> None:
    group = ring("Inqueue")
    pods = members(group, gates=(GATE,))
    assert verdict_of(group, *pods, queues=[queue("Closed")]).finding.code == "queue-stopped"
