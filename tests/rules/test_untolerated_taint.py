"""`untolerated-taint`."""

import pytest

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints, Taint, Toleration
from gangboard.domain.suspension import FieldWriter
from tests.domain_objects import ago
from tests.placement.making import CORDON, node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, evidence_values, gang, message_of, pod_requests
from tests.sentence_values import values_in

RESERVED = Taint("gpu", "NoSchedule", "reserved")
SAYS = "0/3 nodes are available: 3 node(s) had untolerated taint(s)."


def test_all_nodes_have_it() -> None:
    unit = gang(
        2,
        pod_requests(4),
        capacity_of(*(node(f"n{i}", taints=(RESERVED,)) for i in range(3))),
        text=SAYS,
    )
    finding = require_finding("untolerated-taint", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "3 2 gpu=reserved:NoSchedule"
    assert evidence_values(finding, "node: untolerated taint") == ["n0", "n1", "n2"]
    assert {
        item.source.kind
        for item in finding.evidence
        if item.label.startswith("node:") and item.source
    } == {"Node"}
    assert evidence_values(finding, "scheduler says") == [SAYS]


def test_the_only_node_has_it() -> None:
    room = capacity_of(node("n0", taints=(RESERVED,)), node("cpu", gpu=0))
    assert message_of("untolerated-taint", gang(1, pod_requests(4), room)) == (
        "The only node that could host 1 pod has the untolerated taint gpu=reserved:NoSchedule."
    )


def test_the_filter_that_removes_most_nodes_wins() -> None:
    cordoned = node("c", unschedulable=True, taints=(CORDON,))
    tainted = [node(f"t{index}", taints=(RESERVED,)) for index in range(2)]
    unit = gang(1, pod_requests(4), capacity_of(cordoned, *tainted))
    assert message_of("untolerated-taint", unit) == (
        "Of 3 nodes for 1 pod, 1 is cordoned (c) and 2 have the untolerated taint "
        "gpu=reserved:NoSchedule."
    )
    extra = [node(f"c{index}", unschedulable=True, taints=(CORDON,)) for index in range(3)]
    assert (
        first_code(gang(1, pod_requests(4), capacity_of(*extra, *tainted))) == "nodes-unschedulable"
    )


def test_twin_that_tolerates_it_is_short() -> None:
    needs = PodConstraints(tolerations=(Toleration("gpu", "Exists"),))
    full = capacity_of(node("n0", used=4, taints=(RESERVED,)))
    assert first_code(gang(1, pod_requests(4), full, needs=needs)) == "insufficient-resources"


def test_a_preferred_taint_keeps_no_pod_away() -> None:
    soft = Taint("gpu", "PreferNoSchedule", "reserved")
    assert first_code(
        gang(1, pod_requests(4), capacity_of(node("n0", used=4, taints=(soft,))))
    ) == ("insufficient-resources")


@pytest.mark.parametrize(
    ("manager", "wanted"),
    [
        ("kubectl-taint", " (changed with kubectl at 2026-11-21 11:58 UTC or before)"),
        # It owns the whole list after a cordon, and may have set none of the others.
        ("kube-controller-manager", ""),
        ("karpenter", ""),
    ],
)
def test_the_user_who_last_changed_the_taints_is_named(manager: str, wanted: str) -> None:
    by = FieldWriter(manager, ago(120))
    finding = require_finding(
        "untolerated-taint",
        gang(1, pod_requests(4), capacity_of(node("n0", taints=(RESERVED,), tainted_by=by))),
    )
    assert finding.message == (
        "The only node that could host 1 pod has the untolerated taint "
        f"gpu=reserved:NoSchedule{wanted}."
    )
    assert len(evidence_values(finding, "spec.taints")) == bool(wanted)
