"""`spread-constraints`: `node(s) didn't match pod topology spread constraints`."""

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    gang,
    pod_requests,
    ungrouped_gang,
)

SPREAD = PodConstraints(unsupported=("topology spread constraints",))
FREE = capacity_of(node("n0"), node("n1"))
SAYS = (
    "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match pod topology "
    "spread constraints."
)


def test_the_amounts_would_fit() -> None:
    unit = gang(2, pod_requests(4), FREE, needs=SPREAD, text=SAYS)
    finding = require_finding("spread-constraints", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "2 pods wait together; 1 pod does not fit on any node: topology spread constraints "
        "are not met on 1 node."
    )
    assert evidence_values(finding, "scheduler says") == [SAYS]
    assert first_code(unit) == "spread-constraints"


def test_the_labels_by_which_they_go_are_named() -> None:
    both = PodConstraints(
        unsupported=("spread constraints",), spread_keys=("kubernetes.io/hostname", "zone")
    )
    unit = gang(2, pod_requests(4), FREE, needs=both, text=SAYS)
    assert require_finding("spread-constraints", unit).message.endswith(
        "topology spread constraints are not met on 1 node (by kubernetes.io/hostname and zone)."
    )


def test_nodes_without_the_label_do_not_get_it_by_themselves() -> None:
    text = (
        "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints (missing "
        "required label)."
    )
    finding = require_finding(
        "spread-constraints", ungrouped_gang(2, pod_requests(4), FREE, needs=SPREAD, text=text)
    )
    assert finding.health is Health.BLOCKED


def test_twin_with_full_nodes_is_short() -> None:
    full = capacity_of(node("n0", used=4), node("n1"))
    assert (
        first_code(gang(2, pod_requests(4), full, needs=SPREAD, text=SAYS))
        == "insufficient-resources"
    )


def test_twin_with_another_scheduler_message() -> None:
    text = "0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [Custom]."
    unit = gang(2, pod_requests(4), FREE, needs=SPREAD, text=text)
    assert first_code(unit) == "unschedulable"
