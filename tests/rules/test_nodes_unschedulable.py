"""`nodes-unschedulable`: job-nodes-cordoned as captured on 1.37.0."""

from typing import Any

import pytest

from gangboard.domain.capacity import NodeInfo
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.suspension import FieldWriter
from tests.domain_objects import a_condition, ago
from tests.placement.making import CORDON, node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, evidence_values, gang, message_of, pod_requests
from tests.sentence_values import values_in

SAYS = "0/2 nodes are available: 2 node(s) were unschedulable."
GONE = Taint("node.kubernetes.io/unreachable", "NoSchedule")


def test_all_nodes_are_cordoned() -> None:
    """A cordon is also a taint; it counts as cordon."""
    room = capacity_of(*(node(f"n{i}", unschedulable=True, taints=(CORDON,)) for i in range(2)))
    unit = gang(3, pod_requests(4), room, text=SAYS)
    finding = require_finding("nodes-unschedulable", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2 3 n0 n1"
    assert evidence_values(finding, "node: cordoned") == ["n0", "n1"]
    assert evidence_values(finding, "scheduler says") == [SAYS]
    assert first_code(unit) == "nodes-unschedulable"


def test_nodes_without_their_taint_yet() -> None:
    assert (
        values_in(
            message_of(
                "nodes-unschedulable",
                gang(1, pod_requests(4), capacity_of(node("n0", unschedulable=True))),
            )
        )
        == "1 n0"
    )


def test_nodes_that_are_not_ready() -> None:
    room = capacity_of(*(node(f"n{i}", ready=False, taints=(GONE,)) for i in range(2)))
    assert message_of("nodes-unschedulable", gang(1, pod_requests(4), room)) == (
        "2 nodes could host 1 pod, and all are not ready (n0 and n1)."
    )


def test_twin_with_an_open_node_is_short() -> None:
    cordoned = node("n0", unschedulable=True, taints=(CORDON,))
    assert first_code(gang(1, pod_requests(4), capacity_of(cordoned, node("n1", used=4)))) == (
        "insufficient-resources"
    )
    assert (
        values_in(
            message_of(
                "exceeds-capacity", gang(2, pod_requests(4), capacity_of(cordoned, node("n1")))
            )
        )
        == "2 8 4 1 2 1"
    )


DRAINING = (a_condition("DrainInProgress", reason="Upgrade", message="firmware 2.1"),)
PLANNED = (a_condition("MaintenancePlanned"),)


def test_maintenance_annotations_of_a_node_are_evidence() -> None:
    """KEP-5683. Twin: nodes without such a condition (above)."""
    nodes = [
        node("n0", unschedulable=True, taints=(CORDON,), lifecycle=DRAINING),
        node("n1", unschedulable=True, taints=(CORDON,), lifecycle=PLANNED),
        node("n2", unschedulable=True, taints=(CORDON,)),
    ]
    finding = require_finding(
        "nodes-unschedulable", gang(3, pod_requests(4), capacity_of(*nodes), text=SAYS)
    )
    texts = [(item.label, item.value, item.source.name) for item in finding.evidence if item.source]
    assert ("DrainInProgress", "n0: Upgrade: firmware 2.1", "n0") in texts
    assert ("MaintenancePlanned", "n1", "n1") in texts
    assert not [item for item in texts if item[2] == "n2" and item[0] != "node: cordoned"]


def test_a_node_condition_alone_does_not_block_pods() -> None:
    """The scheduler reads no condition, so it is no evidence of a node that takes pods."""
    room = capacity_of(node("n0", used=4, lifecycle=DRAINING))
    finding = require_finding("insufficient-resources", gang(1, pod_requests(4), room))
    assert evidence_values(finding, "DrainInProgress") == []


def cordoned(name: str, manager: str = "", seconds: int = 120, **extra: Any) -> NodeInfo:
    by = FieldWriter(manager, ago(seconds), is_exact=True) if manager else None
    return node(name, unschedulable=True, taints=(CORDON,), cordoned_by=by, **extra)


@pytest.mark.parametrize(
    ("nodes", "wanted"),
    [
        (
            (cordoned("n0", "kubectl"), cordoned("n1", "kubectl", 100)),
            "all are cordoned (n0 and n1, with kubectl at 2026-11-21 11:58 UTC).",
        ),
        (
            (cordoned("n0", "kubectl"), cordoned("n1", "kubectl", 3600)),
            "all are cordoned (n0 and n1, with kubectl, the last at 2026-11-21 11:58 UTC).",
        ),
        (
            (cordoned("n0", "drainer"), cordoned("n1", "kubectl")),
            "all are cordoned (n0 and n1).",
        ),
        ((cordoned("n0"), cordoned("n1", "kubectl")), "all are cordoned (n0 and n1)."),
        (
            tuple(cordoned(f"n{index}", "kubectl") for index in range(4)),
            "all are cordoned (n0, n1 and 2 more).",
        ),
    ],
)
def test_the_cordoning_user_and_time_are_shown(nodes: tuple[NodeInfo, ...], wanted: str) -> None:
    unit = gang(1, pod_requests(4), capacity_of(*nodes))
    finding = require_finding("nodes-unschedulable", unit)
    assert finding.message.endswith(wanted)
    known = [item for item in nodes[:3] if item.cordoned_by is not None]
    assert len(evidence_values(finding, "spec.unschedulable")) == len(known)


def test_the_uncordon_step_names_the_cordoning_user() -> None:
    unit = gang(1, pod_requests(4), capacity_of(cordoned("n0", "kubectl"), node("n1", gpu=0)))
    assert require_finding("nodes-unschedulable", unit).advice_texts[0] == (
        "Uncordon node n0 (cordoned with kubectl at 2026-11-21 11:58 UTC): then the pod fits."
    )
