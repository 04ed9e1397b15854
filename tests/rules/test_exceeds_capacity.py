"""`exceeds-capacity`: more than the nodes have even when every pod that can leave had left."""

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    evidence_values,
    gang,
    message_of,
    mixed_gang,
    pod_requests,
    ungrouped_gang,
)
from tests.sentence_values import values_in

FOUR = capacity_of(*(node(f"n{index}") for index in range(4)))


def test_six_pods_of_four_gpus_on_four_nodes_of_four() -> None:
    unit = gang(6, pod_requests(4), FOUR)
    finding = require_finding("exceeds-capacity", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "6 pods need 24 GPUs, but the 4 usable nodes have 16 even when empty: only 4 of 6 fit."
    )
    assert evidence_values(finding, "nvidia.com/gpu") == ["24 needed, 16 free now, 16 when empty"]
    assert first_code(unit) == "exceeds-capacity"


def test_twin_that_fits_on_empty_nodes_waits() -> None:
    full = capacity_of(*(node(f"n{index}", used=4) for index in range(4)))
    assert first_code(gang(4, pod_requests(4), full)) == "insufficient-resources"
    assert first_code(gang(5, pod_requests(4), full)) == "exceeds-capacity"


def test_pods_of_daemonsets_stay() -> None:
    taken = capacity_of(*(node(f"n{index}", pinned=1) for index in range(4)))
    assert message_of("exceeds-capacity", gang(7, pod_requests(2), taken)) == (
        "7 pods need 14 GPUs, but the 4 usable nodes have 12 even when empty: only 4 of 7 fit."
    )


def test_an_empty_cluster_would_still_be_fragmented() -> None:
    assert values_in(message_of("exceeds-capacity", gang(5, pod_requests(3), FOUR))) == "5 3 4 5 4"


def test_the_gang_needs_one_more_node_than_exist() -> None:
    assert message_of("exceeds-capacity", gang(2, pod_requests(4), capacity_of(node("n0")))) == (
        "2 pods need 8 GPUs, but the only usable node has 4 even when empty: only 1 of 2 fits."
    )


def test_pod_by_pod_each_pod_more_than_any_node_can_ever_take() -> None:
    """The nodes have pods of other gangs, and the Job has no placed pod."""
    crowd = capacity_of(*(node(f"n{index}", used=4) for index in range(4)))
    assert first_code(ungrouped_gang(5, pod_requests(4), crowd)) == "exceeds-capacity"


def test_the_blocked_shape_precedes_the_short_one() -> None:
    """Two causes: the workers can never fit, the driver waits for a core."""
    room = capacity_of(node("n0"), node("n1", used=4))
    unit = mixed_gang(
        room,
        ("workers", 3, pod_requests(4), PodConstraints()),
        ("driver", 1, pod_requests(cpu="1"), PodConstraints()),
    )
    finding = require_finding("exceeds-capacity", unit)
    assert finding.health is Health.BLOCKED
    assert "12 GPUs" in finding.message
    assert evidence_values(finding, "nodes for driver")
