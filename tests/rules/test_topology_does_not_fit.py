"""`topology-does-not-fit`: job-topology-does-not-fit as captured on 1.37.0 (key `rack`)."""

from dataclasses import replace

from gangboard.domain.health import Health
from tests.domain_objects import ago
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    fitting_for,
    gang,
    message_of,
    pod_requests,
    with_placement,
)
from tests.sentence_values import values_in

SAYS = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


def racks(*per_rack: int, used: int = 0) -> list[object]:
    return [
        node(f"r{rack}-{index}", used=used, labels={"rack": f"r{rack}"})
        for rack, count in enumerate(per_rack)
        for index in range(count)
    ]


def test_no_rack_is_large_enough() -> None:
    unit = gang(3, pod_requests(4), capacity_of(*racks(2, 2)), keys=("rack",), text=SAYS)  # type: ignore[arg-type]
    finding = require_finding("topology-does-not-fit", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "3 pods must share one rack, and the best (r0) has room for 2 of 3 when empty."
    )
    assert evidence_values(finding, "best rack") == ["r0"]
    assert evidence_values(finding, "scheduler says") == [SAYS]
    assert first_code(unit) == "topology-does-not-fit"


def test_a_rack_would_do_if_it_were_empty() -> None:
    nodes = [*racks(3, 0), node("r1-0", labels={"rack": "r1"}), node("r1-1", labels={"rack": "r1"})]
    nodes[0] = node("r0-0", used=4, labels={"rack": "r0"})
    unit = gang(3, pod_requests(4), capacity_of(*nodes), keys=("rack",))  # type: ignore[arg-type]
    finding = require_finding("topology-does-not-fit", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "3 pods must share one rack, and the best (r0) has room for 2 of 3 now."
    )


def test_members_have_chosen_their_rack() -> None:
    nodes = [
        node("r0-0", used=4, labels={"rack": "r0"}),
        node("r0-1", used=4, labels={"rack": "r0"}),
        node("r1-0", labels={"rack": "r1"}),
        node("r1-1", labels={"rack": "r1"}),
    ]
    unit = gang(2, pod_requests(4), capacity_of(*nodes), keys=("rack",), on=("r0-0",))
    assert values_in(message_of("topology-does-not-fit", unit)) == "1 rack=r0"


def test_a_rack_stays_chosen_until_its_members_are_deleted() -> None:
    """GeneratePlacements (plugins/topologyaware, 1.36 and 1.37) asks all pods with a node."""
    nodes = [
        *(node(f"r0-{index}", used=4, labels={"rack": "r0"}) for index in range(2)),
        *(node(f"r1-{index}", labels={"rack": "r1"}) for index in range(2)),
    ]
    unit = gang(
        4, pod_requests(4), capacity_of(*nodes), quorum=2, keys=("rack",), on=("r0-0", "r0-1")
    )
    leave = [
        replace(pod, meta=replace(pod.meta, deleting_since=ago(300))) if pod.node else pod
        for pod in unit.pods
    ]
    unit = fitting_for(with_placement(replace(unit, pods=tuple(leave))), 600)
    assert values_in(message_of("topology-does-not-fit", unit)) == "2 rack=r0"
    assert first_code(unit) == "topology-does-not-fit"


def test_other_topology_shortages_have_their_own_codes() -> None:
    small = capacity_of(*racks(2, 2))  # type: ignore[arg-type]
    assert first_code(gang(5, pod_requests(4), small, keys=("rack",))) == "exceeds-capacity"
    full = capacity_of(*racks(2, 2, used=4))  # type: ignore[arg-type]
    assert first_code(gang(2, pod_requests(4), full, keys=("rack",))) == "insufficient-resources"
    assert (
        first_code(fitting_for(gang(2, pod_requests(4), small, keys=("rack",)))) == "unschedulable"
    )


def test_a_host_domain_is_shown_as_a_node_reference() -> None:
    """So that its name is shown only to who may see nodes."""
    room = capacity_of(node("n0"), node("n1"))
    unit = gang(2, pod_requests(4), room, keys=("kubernetes.io/hostname",))
    finding = require_finding("topology-does-not-fit", unit)
    (best,) = [item for item in finding.evidence if item.label == "best kubernetes.io/hostname"]
    assert best.source is not None
    assert (best.source.kind, best.source.name) == ("Node", "n0")
