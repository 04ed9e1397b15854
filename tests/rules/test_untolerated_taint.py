"""`untolerated-taint`."""

import pytest

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints, Taint, Toleration
from gangboard.domain.suspension import FieldWriter
from tests.domain_objects import ago
from tests.placement.making import CORDON, node
from tests.rules.asking import first, found
from tests.rules.waiting import ask as asks
from tests.rules.waiting import gang, room_of, told, values
from tests.sentence_values import values_in

RESERVED = Taint("gpu", "NoSchedule", "reserved")
SAYS = "0/3 nodes are available: 3 node(s) had untolerated taint(s)."


def test_all_nodes_have_it() -> None:
    unit = gang(
        2, asks(4), room_of(*(node(f"n{i}", taints=(RESERVED,)) for i in range(3))), text=SAYS
    )
    finding = found("untolerated-taint", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "3 2 gpu=reserved:NoSchedule"
    assert values(finding, "node: untolerated taint") == ["n0", "n1", "n2"]
    assert {
        one.source.kind for one in finding.evidence if one.label.startswith("node:") and one.source
    } == {"Node"}
    assert values(finding, "scheduler says") == [SAYS]


def test_the_only_node_has_it() -> None:
    room = room_of(node("n0", taints=(RESERVED,)), node("cpu", gpu=0))
    assert told("untolerated-taint", gang(1, asks(4), room)) == (
        "The only node that could host 1 pod has the untolerated taint gpu=reserved:NoSchedule."
    )


def test_the_filter_that_removes_most_nodes_wins() -> None:
    cordoned = node("c", unschedulable=True, taints=(CORDON,))
    tainted = [node(f"t{index}", taints=(RESERVED,)) for index in range(2)]
    unit = gang(1, asks(4), room_of(cordoned, *tainted))
    assert told("untolerated-taint", unit) == (
        "Of 3 nodes for 1 pod, 1 is cordoned (c) and 2 have the untolerated taint "
        "gpu=reserved:NoSchedule."
    )
    more = [node(f"c{index}", unschedulable=True, taints=(CORDON,)) for index in range(3)]
    assert first(gang(1, asks(4), room_of(*more, *tainted))) == "nodes-unschedulable"


def test_twin_that_tolerates_it_is_short() -> None:
    needs = PodConstraints(tolerations=(Toleration("gpu", "Exists"),))
    full = room_of(node("n0", used=4, taints=(RESERVED,)))
    assert first(gang(1, asks(4), full, needs=needs)) == "insufficient-resources"


def test_a_preference_keeps_nobody_away() -> None:
    soft = Taint("gpu", "PreferNoSchedule", "reserved")
    assert first(gang(1, asks(4), room_of(node("n0", used=4, taints=(soft,))))) == (
        "insufficient-resources"
    )


@pytest.mark.parametrize(
    ("manager", "wanted"),
    [
        ("kubectl-taint", " (taints last changed with kubectl at 2026-11-21 11:58 UTC or before)"),
        # It owns the whole list after a cordon, and may have set none of the others.
        ("kube-controller-manager", ""),
        ("karpenter", ""),
    ],
)
def test_a_person_who_changed_the_taints_last(manager: str, wanted: str) -> None:
    by = FieldWriter(manager, ago(120))
    finding = found(
        "untolerated-taint",
        gang(1, asks(4), room_of(node("n0", taints=(RESERVED,), tainted_by=by))),
    )
    assert finding.message == (
        "The only node that could host 1 pod has the untolerated taint "
        f"gpu=reserved:NoSchedule{wanted}."
    )
    assert len(values(finding, "spec.taints")) == bool(wanted)
