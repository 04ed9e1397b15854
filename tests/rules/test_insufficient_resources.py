"""`insufficient-resources`: job-unschedulable as captured on 1.37.0, and its twins."""

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.verdict import Finding
from gangboard.facts.scheduler_text import group_refusal
from tests.domain_objects import a_group, a_job, an_event
from tests.domain_objects import placed as said_of_group
from tests.placement.making import GPU, node
from tests.rules import texts
from tests.rules.evaluation import ask, first, found, unit_of
from tests.rules.waiting_gangs import ask as asks
from tests.rules.waiting_gangs import (
    big,
    gang,
    members,
    mixed,
    plain,
    room_of,
    selecting,
    told,
    values,
    with_room,
)
from tests.sentence_values import values_in

FOUR = [node(f"n{index}") for index in range(4)]


def test_three_of_four_gpus_two_nodes_are_half_full() -> None:
    nodes = [node("n0", used=4), node("n1", used=4), node("n2"), node("n3", used=2)]
    unit = gang(3, asks(4), room_of(*nodes))
    finding = found("insufficient-resources", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "3 pods need 12 GPUs, and 6 are free on the 4 usable nodes: only 1 of 3 fits."
    )
    assert values(finding, GPU) == ["12 needed, 6 free now, 16 when empty"]
    assert values(finding, "scheduler says") == [texts.GPU_SHORT]
    assert values(finding, "nodes for train") == ["4 of 4 could host one, 1 can now"]
    assert first(unit) == "insufficient-resources"


def test_occupied_is_said_when_no_member_finds_room() -> None:
    """Twin: a little is free, nowhere enough for one."""
    unit = gang(2, asks(4), room_of(*(node(f"n{i}", used=3) for i in range(4))))
    assert values_in(told("insufficient-resources", unit)) == "2 8 4 4"


def test_nothing_at_all_is_free() -> None:
    unit = gang(2, asks(4), room_of(*(node(f"n{i}", used=4) for i in range(2))))
    assert told("insufficient-resources", unit) == (
        "2 pods need 8 GPUs, and none is free on the 2 usable nodes."
    )


def test_the_quorum_decides_what_is_needed() -> None:
    unit = gang(
        6, asks(4), room_of(*(node(f"n{i}", used=4 if i else 0) for i in range(4))), quorum=2
    )
    assert told("insufficient-resources", unit) == (
        "At least 2 of 6 pods need 8 GPUs, and 4 are free on the 4 usable nodes: only 1 of 6 fits."
    )


def test_cores_and_bytes_are_said_as_people_say_them() -> None:
    cpu = gang(3, asks(cpu="3"), room_of(big("a", used=6), big("b", used=4)))
    assert told("insufficient-resources", cpu) == (
        "3 pods need 9 CPUs, and 6 are free on the 2 usable nodes: only 1 of 3 fits."
    )
    half = room_of(replace(big("a"), now=replace(big("a").now, amounts={"memory": 48 * 2**30})))
    memory = gang(1, asks(memory=str(32 * 2**30)), half)
    assert values_in(told("insufficient-resources", memory)) == "1 32Gi 16Gi"


def test_free_room_elsewhere_is_of_no_use() -> None:
    nodes = [node("gpu", used=4), *(node(f"cpu{i}", gpu=0) for i in range(5))]
    assert told("insufficient-resources", gang(1, asks(4), room_of(*nodes))) == (
        "1 pod needs 4 GPUs, and none is free on the only usable node."
    )


def test_pod_by_pod_too() -> None:
    unit = plain(2, asks(4), room_of(node("n0", used=4), node("n1", used=3)))
    assert first(unit) == "insufficient-resources"


def test_near_misses() -> None:
    assert (
        first(gang(3, asks(2), room_of(*(node(f"n{i}", used=3) for i in range(6))))) == "fragmented"
    )
    assert first(gang(5, asks(4), room_of(*FOUR))) == "exceeds-capacity"


def test_the_scheduler_is_the_judge() -> None:
    """Without a word of the scheduler nothing is said of room, whatever the arithmetic says."""
    job = a_job("train", group_name="ring")
    pods = members(2, asks(4), of=job, group="ring")
    full = room_of(node("n0", used=4), node("n1", used=4))
    unit = with_room(unit_of(job, a_group("ring", quorum=2), *pods, facts={"room": full}))
    assert unit.placing is not None
    assert ask("insufficient-resources", unit) is None


def test_the_group_alone_may_be_the_judge() -> None:
    job = a_job("train", group_name="ring")
    group = a_group("ring", quorum=2, placed=said_of_group("False", texts.GROUP_SHORT))
    pods = members(2, asks(4), of=job, group="ring")
    full = room_of(node("n0", used=4), node("n1", used=4))
    unit = with_room(unit_of(job, group, *pods, facts={"room": full}))
    assert group_refusal(unit) is not None
    assert first(unit) == "insufficient-resources"


def test_an_autoscaler_that_brings_no_node_is_evidence() -> None:
    unit = gang(2, asks(4), room_of(node("n0", used=4), node("n1", used=4)))
    note = "pod didn't trigger scale-up: 1 max node group size reached"
    event = an_event(unit.pods[0], "NotTriggerScaleUp", note)
    finding = found("insufficient-resources", replace(unit, events=(event,)))
    assert values(finding, "cluster-autoscaler says") == [note]


def test_of_two_shapes_the_one_that_lacks_room_is_named() -> None:
    """A driver has plenty of room on nodes where no worker can go."""
    workers = selecting(pool="gpu")
    room = room_of(
        node("gpu", used=4, labels={"pool": "gpu"}),
        *(node(f"big{i}", gpu=8, labels={"pool": "driver"}) for i in range(3)),
    )
    unit = mixed(
        room,
        ("driver", 1, asks(1), selecting(pool="driver")),
        ("workers", 1, asks(4), workers),
    )
    assert values_in(told("insufficient-resources", unit)) == "1 4 pool=gpu"


def _whose(finding: Finding) -> list[str]:
    said = [one.source for one in finding.evidence if one.label == "spec.preemptionPolicy"]
    return [ref.kind for ref in said if ref is not None]


def test_whoever_never_preempts_is_told_so() -> None:
    room = room_of(*(node(f"n{i}", used=4) for i in range(2)))
    by_pods = found("insufficient-resources", gang(2, asks(4), room, preempts=False))
    assert values(by_pods, "spec.preemptionPolicy") == ["Never"]
    assert _whose(by_pods) == ["Pod"]
    unit = gang(2, asks(4), room)
    assert values(found("insufficient-resources", unit), "spec.preemptionPolicy") == []
    assert unit.group is not None
    of_group = replace(unit, group=replace(unit.group, preempts=False))
    by_group = found("insufficient-resources", of_group)
    assert values(by_group, "spec.preemptionPolicy") == ["Never"]
    assert _whose(by_group) == ["PodGroup"]


def test_pods_without_a_group_preempt_each_for_itself() -> None:
    """One of them may still take room for itself."""
    room = room_of(*(node(f"n{i}", used=4) for i in range(2)))
    unit = plain(2, asks(4), room, preempts=False)
    assert values(found("insufficient-resources", unit), "spec.preemptionPolicy") == ["Never"]
    first_of, *others = unit.pods
    mixed_ones = replace(unit, pods=(replace(first_of, preempts=True), *others))
    assert values(found("insufficient-resources", mixed_ones), "spec.preemptionPolicy") == []
