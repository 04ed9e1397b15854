"""`no-matching-node`: job-no-matching-node as captured, and the other things an owner can ask for."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.capacity import Requested
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints, PodTerm, Requirement, Taint, Term
from tests.domain_objects import a_job, a_pod
from tests.placement.making import CORDON, node
from tests.rules import texts
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    cpu_node,
    evidence_values,
    gang,
    message_of,
    mixed_gang,
    pod_requests,
    selecting,
    with_placement,
)
from tests.sentence_values import values_in

H100 = {"gpu": "h100"}
ROOM = capacity_of(node("n0", labels=H100), node("n1", labels=H100), node("n2", gpu=0))


def affine(*expressions: Requirement) -> PodConstraints:
    return PodConstraints(affinity=(Term(expressions),))


def test_a_label_that_no_node_has() -> None:
    unit = gang(
        3, pod_requests(4), ROOM, needs=selecting(gpu="h100", zone="moon"), text=texts.NO_MATCH_136
    )
    finding = require_finding("no-matching-node", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "3 pods need a node with the label zone=moon, and none of the 3 nodes has it."
    )
    assert evidence_values(finding, "node selector") == ["gpu=h100", "zone=moon"]
    assert evidence_values(finding, "scheduler says") == [texts.NO_MATCH_136]
    assert first_code(unit) == "no-matching-node"


def test_labels_that_no_node_has_together() -> None:
    room = capacity_of(node("n0", labels={"a": "1"}), node("n1", labels={"b": "2"}))
    assert message_of(
        "no-matching-node", gang(1, pod_requests(4), room, needs=selecting(a="1", b="2"))
    ) == (
        "1 pod needs a node with the labels a=1 and b=2, and none of the 2 nodes has all of them."
    )


def test_required_affinity_matches_no_node() -> None:
    needs = affine(Requirement("zone", "In", ("moon", "mars")))
    assert message_of("no-matching-node", gang(2, pod_requests(4), ROOM, needs=needs)) == (
        "2 pods need a node by required affinity (zone In (moon, mars)), and none of the 3 "
        "nodes matches."
    )


def test_no_node_has_the_resource() -> None:
    text = "0/3 nodes are available: 3 Insufficient amd.com/gpu."
    unit = gang(2, {"amd.com/gpu": Decimal(1)}, ROOM, text=text)
    assert values_in(message_of("no-matching-node", unit)) == "2 1 amd.com/gpu"


def test_a_resource_that_no_matching_node_has() -> None:
    room = capacity_of(node("n0"), node("n1", gpu=0, labels={"pool": "a"}))
    assert (
        values_in(
            message_of(
                "no-matching-node", gang(1, pod_requests(4), room, needs=selecting(pool="a"))
            )
        )
        == "1 4 nvidia.com/gpu pool=a"
    )


def test_a_pod_exceeds_the_largest_node() -> None:
    room = capacity_of(node("n0", gpu=8, used=8), node("n1", gpu=4), node("n2", gpu=0))
    assert message_of("no-matching-node", gang(2, pod_requests(16), room)) == (
        "2 pods request 16 GPUs each, and the largest node has 8."
    )


def test_the_resource_is_named_if_nodes_have_gpus_of_two_vendors() -> None:
    other = replace(
        node("n1", gpu=0), allocatable={**node("n1", gpu=0).allocatable, "amd.com/gpu": 16}
    )
    assert message_of(
        "no-matching-node", gang(1, pod_requests(16), capacity_of(node("n0", gpu=8), other))
    ) == ("1 pod requests 16 nvidia.com/gpu, and the largest node has 8.")


def test_the_largest_is_sought_among_those_that_match() -> None:
    room = capacity_of(*(node(f"n{i}", gpu=2 + i, labels=H100) for i in range(2)), node("z", gpu=8))
    assert message_of(
        "no-matching-node", gang(1, pod_requests(4), room, needs=selecting(gpu="h100"))
    ) == (
        "1 pod requests 4 GPUs, and the largest of the 2 nodes that match its node selector "
        "(gpu=h100) has 3."
    )


def test_permanent_pods_on_the_largest_node_count() -> None:
    room = capacity_of(node("n0", gpu=8, pinned=1))
    assert message_of("no-matching-node", gang(1, pod_requests(8), room)) == (
        "1 pod requests 8 GPUs, and the largest node has 8, 1 of it taken by pods that stay."
    )


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"unschedulable": True, "taints": (CORDON,)}, "nodes-unschedulable"),
        ({"taints": (Taint("gpu", "NoSchedule", "reserved"),)}, "untolerated-taint"),
    ],
)
def test_twins_of_which_a_node_would_match(bad: dict[str, Any], code: str) -> None:
    """Most nodes do not match, and the matching one has another problem. The sentence names that problem."""
    nodes = [node(f"n{index}") for index in range(4)]
    room = capacity_of(*nodes, node("match", labels=H100, **bad))
    assert first_code(gang(1, pod_requests(4), room, needs=selecting(gpu="h100"))) == code


def test_a_blocked_shape_precedes_a_waiting_one() -> None:
    """Two causes: the workers' nodes are full, and the driver's label is nowhere."""
    room = capacity_of(node("n0", used=4), node("n1", used=4))
    unit = mixed_gang(
        room,
        ("driver", 1, pod_requests(1), selecting(zone="moon")),
        ("workers", 2, pod_requests(4), PodConstraints()),
    )
    finding = require_finding("no-matching-node", unit)
    assert values_in(finding.message) == "1 zone=moon 2"
    assert evidence_values(finding, "nodes for workers") == ["2 of 2 could host one, 0 can now"]
    assert evidence_values(finding, "nodes for driver") == [
        "0 of 2 could host one, 0 can now; excluded: 2 node selector or required node affinity"
    ]


CACHE = PodTerm("near team-a/app=cache", None, (Requirement("app", "In", ("cache",)),))
BESIDE = PodConstraints(pod_affinity=CACHE)
NEAR_TEXT = "0/2 nodes are available: 2 node(s) didn't match pod affinity rules."


def test_the_pod_of_a_required_affinity_is_missing() -> None:
    unit = gang(
        2,
        pod_requests(cpu="1"),
        capacity_of(cpu_node("a"), cpu_node("b")),
        needs=BESIDE,
        text=NEAR_TEXT,
    )
    assert first_code(unit) == "no-matching-node"
    assert message_of("no-matching-node", unit) == (
        "2 pods need the node of a pod with app=cache (pod affinity), and no node that suits has "
        "such a pod."
    )


def test_zone_affinity_accepts_any_node_of_the_zone() -> None:
    zoned = PodConstraints(
        pod_affinity=replace(CACHE, name="near team-a/app=cache by zone", topology_key="zone")
    )
    here = replace(cpu_node("a", used=8), labels={"zone": "x"})
    existing = replace(here, now=replace(here.now, matched_terms={zoned.pod_affinity: 1}))  # type: ignore[dict-item] # it has one
    same, other = (
        replace(cpu_node("b"), labels={"zone": "x"}),
        replace(cpu_node("c"), labels={"zone": "y"}),
    )
    short = gang(
        2, pod_requests(cpu="6"), capacity_of(existing, same, other), needs=zoned, text=NEAR_TEXT
    )
    assert values_in(message_of("insufficient-resources", short)) == "2 12 8 2 1 2 1"
    none = gang(
        2, pod_requests(cpu="6"), capacity_of(here, same, other), needs=zoned, text=NEAR_TEXT
    )
    assert message_of("no-matching-node", none) == (
        "2 pods need the value of zone of a pod with app=cache (pod affinity), and no node that "
        "suits has such a pod near."
    )


def test_the_pod_of_a_required_affinity_is_on_a_full_node() -> None:
    full = replace(cpu_node("a", used=8), now=Requested({"cpu": 8000}, 1, matched_terms={CACHE: 1}))
    unit = gang(
        2, pod_requests(cpu="2"), capacity_of(full, cpu_node("b")), needs=BESIDE, text=NEAR_TEXT
    )
    assert first_code(unit) == "insufficient-resources"


def test_mutual_pod_affinity_is_not_computed() -> None:
    """The first may go anywhere, and the others go where it is."""
    room = capacity_of(cpu_node("a"), cpu_node("b"))
    unit = gang(
        2, pod_requests(cpu="1"), room, needs=BESIDE, text=NEAR_TEXT, labels={"app": "cache"}
    )
    assert first_code(unit) == "unschedulable"
    assert "pod affinity" in message_of("unschedulable", unit)


def test_the_pod_of_a_required_affinity_is_pending() -> None:
    """The reason why that pod waits is the cause, so the sentence claims nothing about the others."""
    cache = a_pod(
        "cache", of=a_job("train"), labels={"app": "cache"}, requests=pod_requests(cpu="1")
    )
    unit = gang(
        2,
        pod_requests(cpu="1"),
        capacity_of(cpu_node("a"), cpu_node("b")),
        needs=BESIDE,
        text=NEAR_TEXT,
    )
    facts = replace(unit.gang, pods=(*unit.gang.pods, cache))
    assert first_code(with_placement(replace(unit, gang=facts))) == "unschedulable"
