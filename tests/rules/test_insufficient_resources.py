"""`insufficient-resources`: job-unschedulable as captured on 1.37.0, and its twins."""

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.verdict import Finding
from gangboard.facts.scheduler_text import group_refusal
from tests.domain_objects import a_group, a_job, an_event
from tests.domain_objects import placed as said_of_group
from tests.placement.making import GPU, node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.rules.waiting_gangs import (
    capacity_of,
    cpu_node,
    evidence_values,
    gang,
    members,
    message_of,
    mixed_gang,
    pod_requests,
    selecting,
    ungrouped_gang,
    with_placement,
)
from tests.sentence_values import values_in

FOUR = [node(f"n{index}") for index in range(4)]


def test_three_of_four_gpus_two_nodes_are_half_full() -> None:
    nodes = [node("n0", used=4), node("n1", used=4), node("n2"), node("n3", used=2)]
    unit = gang(3, pod_requests(4), capacity_of(*nodes))
    finding = require_finding("insufficient-resources", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "3 pods need 12 GPUs, and 6 are free on the 4 usable nodes: only 1 of 3 fits."
    )
    assert evidence_values(finding, GPU) == ["12 needed, 6 free now, 16 when empty"]
    assert evidence_values(finding, "scheduler says") == [texts.GPU_SHORT]
    assert evidence_values(finding, "nodes for train") == ["4 of 4 could host one, 1 can now"]
    assert first_code(unit) == "insufficient-resources"


def test_the_shortage_is_occupied_when_no_member_fits() -> None:
    """Twin: a little is free, but no node has enough for one."""
    unit = gang(2, pod_requests(4), capacity_of(*(node(f"n{i}", used=3) for i in range(4))))
    assert values_in(message_of("insufficient-resources", unit)) == "2 8 4 4"


def test_no_capacity_is_free() -> None:
    unit = gang(2, pod_requests(4), capacity_of(*(node(f"n{i}", used=4) for i in range(2))))
    assert message_of("insufficient-resources", unit) == (
        "2 pods need 8 GPUs, and none is free on the 2 usable nodes."
    )


def test_the_quorum_decides_the_demand() -> None:
    unit = gang(
        6,
        pod_requests(4),
        capacity_of(*(node(f"n{i}", used=4 if i else 0) for i in range(4))),
        quorum=2,
    )
    assert message_of("insufficient-resources", unit) == (
        "At least 2 of 6 pods need 8 GPUs, and 4 are free on the 4 usable nodes: only 1 of 6 fits."
    )


def test_cores_and_bytes_have_readable_units() -> None:
    cpu = gang(3, pod_requests(cpu="3"), capacity_of(cpu_node("a", used=6), cpu_node("b", used=4)))
    assert message_of("insufficient-resources", cpu) == (
        "3 pods need 9 CPUs, and 6 are free on the 2 usable nodes: only 1 of 3 fits."
    )
    half = capacity_of(
        replace(cpu_node("a"), now=replace(cpu_node("a").now, amounts={"memory": 48 * 2**30}))
    )
    memory = gang(1, pod_requests(memory=str(32 * 2**30)), half)
    assert values_in(message_of("insufficient-resources", memory)) == "1 32Gi 16Gi"


def test_free_capacity_on_other_nodes_does_not_help() -> None:
    nodes = [node("gpu", used=4), *(node(f"cpu{i}", gpu=0) for i in range(5))]
    assert message_of("insufficient-resources", gang(1, pod_requests(4), capacity_of(*nodes))) == (
        "1 pod needs 4 GPUs, and none is free on the only usable node."
    )


def test_pod_by_pod_too() -> None:
    unit = ungrouped_gang(2, pod_requests(4), capacity_of(node("n0", used=4), node("n1", used=3)))
    assert first_code(unit) == "insufficient-resources"


def test_near_misses_have_other_codes() -> None:
    assert (
        first_code(
            gang(3, pod_requests(2), capacity_of(*(node(f"n{i}", used=3) for i in range(6))))
        )
        == "fragmented"
    )
    assert first_code(gang(5, pod_requests(4), capacity_of(*FOUR))) == "exceeds-capacity"


def test_the_scheduler_is_the_judge() -> None:
    """Without a text of the scheduler there is no finding about room, for any result of the arithmetic."""
    job = a_job("train", group_name="ring")
    pods = members(2, pod_requests(4), of=job, group="ring")
    full = capacity_of(node("n0", used=4), node("n1", used=4))
    unit = with_placement(unit_of(job, a_group("ring", quorum=2), *pods, facts={"room": full}))
    assert unit.placing is not None
    assert evaluate("insufficient-resources", unit) is None


def test_the_group_condition_alone_is_enough() -> None:
    job = a_job("train", group_name="ring")
    group = a_group("ring", quorum=2, placed=said_of_group("False", texts.GROUP_SHORT))
    pods = members(2, pod_requests(4), of=job, group="ring")
    full = capacity_of(node("n0", used=4), node("n1", used=4))
    unit = with_placement(unit_of(job, group, *pods, facts={"room": full}))
    assert group_refusal(unit) is not None
    assert first_code(unit) == "insufficient-resources"


def test_an_autoscaler_that_brings_no_node_is_evidence() -> None:
    unit = gang(2, pod_requests(4), capacity_of(node("n0", used=4), node("n1", used=4)))
    note = "pod didn't trigger scale-up: 1 max node group size reached"
    event = an_event(unit.pods[0], "NotTriggerScaleUp", note)
    finding = require_finding("insufficient-resources", replace(unit, events=(event,)))
    assert evidence_values(finding, "cluster-autoscaler says") == [note]


def test_the_short_shape_of_two_is_named() -> None:
    """A driver has plenty of room on nodes where no worker can go."""
    workers = selecting(pool="gpu")
    room = capacity_of(
        node("gpu", used=4, labels={"pool": "gpu"}),
        *(node(f"big{i}", gpu=8, labels={"pool": "driver"}) for i in range(3)),
    )
    unit = mixed_gang(
        room,
        ("driver", 1, pod_requests(1), selecting(pool="driver")),
        ("workers", 1, pod_requests(4), workers),
    )
    assert values_in(message_of("insufficient-resources", unit)) == "1 4 pool=gpu"


def _whose(finding: Finding) -> list[str]:
    reported = [item.source for item in finding.evidence if item.label == "spec.preemptionPolicy"]
    return [ref.kind for ref in reported if ref is not None]


def test_pods_that_never_preempt_are_reported() -> None:
    room = capacity_of(*(node(f"n{i}", used=4) for i in range(2)))
    by_pods = require_finding(
        "insufficient-resources", gang(2, pod_requests(4), room, preempts=False)
    )
    assert evidence_values(by_pods, "spec.preemptionPolicy") == ["Never"]
    assert _whose(by_pods) == ["Pod"]
    unit = gang(2, pod_requests(4), room)
    assert (
        evidence_values(require_finding("insufficient-resources", unit), "spec.preemptionPolicy")
        == []
    )
    assert unit.group is not None
    of_group = replace(unit, group=replace(unit.group, preempts=False))
    by_group = require_finding("insufficient-resources", of_group)
    assert evidence_values(by_group, "spec.preemptionPolicy") == ["Never"]
    assert _whose(by_group) == ["PodGroup"]


def test_pods_without_a_group_preempt_each_for_itself() -> None:
    """One of them may still take room for itself."""
    room = capacity_of(*(node(f"n{i}", used=4) for i in range(2)))
    unit = ungrouped_gang(2, pod_requests(4), room, preempts=False)
    assert evidence_values(
        require_finding("insufficient-resources", unit), "spec.preemptionPolicy"
    ) == ["Never"]
    first_of, *rest = unit.pods
    mixed_ones = replace(unit, pods=(replace(first_of, preempts=True), *rest))
    assert (
        evidence_values(
            require_finding("insufficient-resources", mixed_ones), "spec.preemptionPolicy"
        )
        == []
    )
