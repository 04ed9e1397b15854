"""`unschedulable`."""

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.placement_result import PlacementCause
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.facts.unit import Unit
from tests.domain_objects import a_group, a_job, a_pod, ago, an_event, placed, pods_of
from tests.placement.making import GPU, node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    fitting_for,
    message_of,
    pod_requests,
    refused_again,
)
from tests.rules.waiting_gangs import gang as waiting_gang
from tests.sentence_values import values_in


def gang(*reported: str, message: str = texts.GROUP_SHORT, keys: tuple[str, ...] = ()) -> Unit:
    job = a_job("train", pods=len(reported), group_name="ring")
    group = a_group(
        "ring", quorum=len(reported), placed=placed("False", message), topology_keys=keys
    )
    pods = [a_pod(f"train-{n}", of=job, group="ring", text=text) for n, text in enumerate(reported)]
    return unit_of(job, group, *pods)


def test_the_pod_with_a_cause_is_quoted() -> None:
    unit = gang(texts.POD_OF_GROUP, texts.GPU_SHORT, *[texts.POD_OF_GROUP] * 4)
    finding = require_finding("unschedulable", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "The scheduler cannot place 6 pods: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu."
    )
    assert [(item.label, item.value) for item in finding.evidence] == [
        ("pods placed", "0 of 6"),
        ("quorum", "6"),
        ("scheduler says", texts.GPU_SHORT),
        ("scheduler says of the group", texts.GROUP_SHORT),
    ]
    assert finding.since == ago(60)
    assert first_code(unit) == "unschedulable"


def test_a_group_message_alone_is_quoted() -> None:
    assert require_finding("unschedulable", gang("", "", message=texts.GROUP_SHORT)).message == (
        "The scheduler cannot place 2 pods: minCount (6) cannot be satisfied: 4 scheduled, 1 "
        "remaining."
    )


def test_messages_of_kubernetes_136() -> None:
    unit = gang(texts.NO_MATCH_136, texts.WAITS_136, message=texts.GROUP_136)
    assert values_in(require_finding("unschedulable", unit).message) == "2 0/2 2 affinity/selector"


def test_topology_messages_count_the_nodes_of_one_placement() -> None:
    text = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    unit = gang(text, texts.POD_OF_GROUP, keys=("topology.kubernetes.io/rack",))
    assert require_finding("unschedulable", unit).message == (
        "The scheduler cannot place 2 pods within one topology.kubernetes.io/rack: 0/1 nodes "
        "are available: 1 node(s) had untolerated taint(s)."
    )


def test_a_gang_of_which_some_were_placed_again() -> None:
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=4, placed=placed())
    pods = [a_pod(f"train-{n}", of=job, group="ring", on="n0", ready=False) for n in range(2)]
    pods += [a_pod(f"train-{n}", of=job, group="ring", text=texts.GPU_SHORT) for n in (2, 3)]
    assert require_finding("unschedulable", unit_of(job, group, *pods)).message.startswith(
        "The scheduler cannot place 2 of 4 pods: "
    )


def test_a_gang_at_its_quorum_is_below_its_size() -> None:
    job = a_job("train", pods=4, group_name="ring")
    group = a_group("ring", quorum=2, placed=placed())
    pods = (*pods_of(job, 2, on="n0"), a_pod("x", of=job, group="ring", text=texts.GPU_SHORT))
    unit = unit_of(job, group, *pods, a_pod("y", of=job, group="ring", text=texts.GPU_SHORT))
    assert evaluate("unschedulable", unit) is None
    assert first_code(unit) == "below-size"


def test_a_lost_member_precedes_the_shortage() -> None:
    job = a_job("train", pods=4, group_name="ring", retries=1)
    group = a_group("ring", quorum=4, placed=placed())
    lost = a_pod("train-3", of=job, group="ring", text=texts.GPU_SHORT, created_at=ago(20))
    unit = unit_of(job, group, *pods_of(job, 3, on="n0"), lost, memory=whole_memory())
    assert first_code(unit) == "lost-members"
    assert evaluate("unschedulable", unit) is not None


def test_old_events_of_a_running_gang_are_ignored() -> None:
    job = a_job("train")
    pods = pods_of(job, 2, on="n0")
    unit = unit_of(job, *pods, an_event(pods[0], "FailedScheduling", texts.GPU_SHORT))
    assert first_code(unit) == "running"


def test_the_group_was_refused_before_it_was_suspended() -> None:
    job = a_job("train", group_name="ring", resumed_at=ago(5))
    group = a_group("ring", quorum=2, placed=placed("False", texts.GROUP_136))
    unit = unit_of(job, group, *pods_of(job, 2, created_at=ago(5)))
    assert evaluate("unschedulable", unit) is None
    assert first_code(unit) == "starting"


def test_nodes_are_forbidden() -> None:
    unit = waiting_gang(2, pod_requests(4), capacity_of(why="nodes: forbidden"))
    finding = require_finding("unschedulable", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "The scheduler cannot place 2 pods: 4 Insufficient nvidia.com/gpu; gangboard cannot "
        "tell why (nodes: forbidden)."
    )
    assert evidence_values(finding, "not worked out") == ["nodes: forbidden"]
    assert evidence_values(finding, "scheduler says") == [texts.GPU_SHORT]
    assert first_code(unit) == "unschedulable"


def test_a_node_of_which_the_amount_could_not_be_read() -> None:
    broken = node("n1", gpu=0, unreadable=frozenset({GPU}))
    finding = require_finding(
        "unschedulable", waiting_gang(2, pod_requests(4), capacity_of(node("n0"), broken))
    )
    assert "; gangboard cannot tell " in finding.message
    (why,) = evidence_values(finding, "not worked out")
    assert "could not be read" in why


def test_uncomputed_constraints_are_mentioned() -> None:
    needs = PodConstraints(unsupported=("required pod affinity",))
    text = "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."
    room = capacity_of(node("n0"), node("n1"))
    assert message_of(
        "unschedulable", waiting_gang(2, pod_requests(4), room, needs=needs, text=text)
    ) == (
        "The scheduler cannot place 2 pods: 2 node(s) didn't match pod affinity rules; "
        "gangboard cannot tell why."
    )


def test_both_sides_are_shown_if_arithmetic_contradicts_the_scheduler() -> None:
    unit = waiting_gang(2, pod_requests(4), capacity_of(node("n0"), node("n1")))
    unit = refused_again(fitting_for(unit), 30)
    assert first_code(unit) == "unschedulable"
    finding = require_finding("unschedulable", unit)
    assert finding.message == (
        "The scheduler cannot place 2 pods: 4 Insufficient nvidia.com/gpu; by gangboard's "
        "count they fit now."
    )
    assert {
        item.source.kind
        for item in finding.evidence
        if item.label == "would fit on" and item.source
    } == {"Node"}


def test_a_gang_does_not_fit_now_and_its_future_fit_is_unknown() -> None:
    unit = waiting_gang(2, pod_requests(4), capacity_of(node("n0", used=4), node("n1", used=4)))
    assert unit.placing is not None
    assert unit.placing.assessment is not None
    why = "too many ways to place different members together to try them all"
    hard = replace(unit.placing.assessment, cause=PlacementCause.CANNOT_TELL, why=why)
    unit = replace(unit, placing=replace(unit.placing, assessment=hard))
    assert first_code(unit) == "unschedulable"
    finding = require_finding("unschedulable", unit)
    assert values_in(finding.message) == "2 4 nvidia.com/gpu"
    assert evidence_values(finding, "not worked out") == [why]
    assert evidence_values(finding, GPU) == ["8 needed, 0 free now, 8 when empty"]
