"""`fragmented`: job-fragmented as captured on 1.37.0, and its twins."""

from dataclasses import replace
from decimal import Decimal

import pytest

from gangboard.domain.capacity import Requested
from gangboard.domain.health import Health
from gangboard.domain.placement_result import PlacementCause
from gangboard.domain.pod_constraints import PodConstraints
from tests.placement.making import GPU, node
from tests.rules import texts
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    cpu_node,
    evidence_values,
    fitting_for,
    gang,
    message_of,
    mixed_gang,
    pod_requests,
    refused_again,
)
from tests.sentence_values import values_in


def test_free_in_pieces_that_are_too_small() -> None:
    unit = gang(2, pod_requests(8), capacity_of(*(node(f"n{i}", gpu=8, used=4) for i in range(4))))
    finding = require_finding("fragmented", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "2 8 16 8 4 4"
    assert evidence_values(finding, "nvidia.com/gpu") == ["16 needed, 16 free now, 32 when empty"]
    assert evidence_values(finding, "scheduler says") == [texts.GPU_SHORT]
    assert first_code(unit) == "fragmented"


def test_some_members_fit_and_the_rest_is_fragmented() -> None:
    nodes = [node("n0", gpu=8, used=3), node("n1", gpu=8, used=6), node("n2", gpu=8, used=6)]
    assert message_of("fragmented", gang(3, pod_requests(3), capacity_of(*nodes))) == (
        "3 pods need 3 GPUs each, and 9 are free, but fragmented: only 1 of 3 fits (1 node "
        "has 5 and 2 nodes have 2 each)."
    )


def test_twin_with_fewer_free_gpus_is_short() -> None:
    nodes = [node("n0", gpu=8, used=4), node("n1", gpu=8, used=5)]
    assert first_code(gang(1, pod_requests(8), capacity_of(*nodes))) == "insufficient-resources"
    nodes = [node("n0", gpu=8, used=4), node("n1", gpu=8, used=4)]
    assert first_code(gang(1, pod_requests(8), capacity_of(*nodes))) == "fragmented"


def test_cores_and_gpus_are_free_on_different_nodes() -> None:
    """Each is enough in total; where GPUs are free, no core is."""
    gpu = node("gpu", gpu=8)
    busy = node("busy", gpu=8, used=8)
    no_cores = replace(gpu, now=Requested({"cpu": 8000}, 1))
    unit = gang(1, pod_requests(4, cpu="4"), capacity_of(no_cores, busy))
    assert first_code(unit) == "fragmented"
    assert values_in(message_of("fragmented", unit)) == "1 4 4 8 8"


def test_either_member_fits_on_the_same_node() -> None:
    """Enough of each in total; one node has no GPU free, another no cores."""
    nodes = (
        replace(node("cores"), now=Requested({GPU: 4}, 1)),
        node("both"),
        replace(node("gpus"), now=Requested({"cpu": 6000}, 1)),
    )
    unit = gang(2, pod_requests(4, cpu="4"), capacity_of(*nodes))
    assert message_of("fragmented", unit) == (
        "2 pods need 4 CPUs and 4 GPUs each, and 18 CPUs and 8 GPUs are free, "
        "but not on the same nodes: only 1 of 2 fits."
    )


def test_a_placement_the_scheduler_misses_is_reported() -> None:
    """Pods of 3 and 5 fit on 5 + 3 free; the scheduler put the small one on the large piece."""
    room = capacity_of(node("n0", gpu=8, used=3), node("n1", gpu=8, used=5))
    shapes = (
        ("large", 1, pod_requests(5), PodConstraints()),
        ("small", 1, pod_requests(3), PodConstraints()),
    )
    unit = refused_again(fitting_for(mixed_gang(room, *shapes)), 30)
    assert unit.placing is not None
    assert unit.placing.assessment is not None
    assert unit.placing.assessment.cause is PlacementCause.FITS
    finding = require_finding("fragmented", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "2"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods.", "fragmented"),
        (
            "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated "
            "taint(s), 1 node(s) didn't match Pod's node affinity/selector.",
            "fragmented",
        ),
        (texts.POD_OF_GROUP, "fragmented"),
        (texts.PERMIT_TIMEOUT, "fragmented"),
        # plugins/nodedeclaredfeatures (on since 1.36), plugins of others, extenders.
        (
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't match Pod's "
            "required features.",
            "unschedulable",
        ),
        ("0/2 nodes are available: 2 node(s) rejected by my-plugin.", "unschedulable"),
        ("0/2 nodes are available: the licence server is away.", "unschedulable"),
    ],
)
def test_another_filter_is_not_a_missed_placement(text: str, code: str) -> None:
    room = capacity_of(node("n0", gpu=8, used=3), node("n1", gpu=8, used=5))
    shapes = (
        ("large", 1, pod_requests(5), PodConstraints()),
        ("small", 1, pod_requests(3), PodConstraints()),
    )
    assert first_code(fitting_for(mixed_gang(room, *shapes, text=text), 600)) == code


def test_equal_pods_cannot_miss_a_placement() -> None:
    unit = gang(2, pod_requests(4), capacity_of(node("n0"), node("n1")))
    assert first_code(fitting_for(unit)) == "unschedulable"


def test_several_shapes_in_pieces() -> None:
    nodes = [node(f"n{i}", gpu=8, used=4) for i in range(3)]
    unit = mixed_gang(
        capacity_of(*nodes),
        ("large", 1, pod_requests(8), PodConstraints()),
        ("small", 1, pod_requests(4), PodConstraints()),
    )
    assert message_of("fragmented", unit) == (
        "Enough is free in total for 2 pods on the 3 usable nodes, but fragmented: they do "
        "not fit together."
    )


def test_fragmented_memory_is_shown_in_gi() -> None:
    room = capacity_of(cpu_node("a"), cpu_node("b"))
    need = {"memory": Decimal(48 * 2**30)}
    half = capacity_of(
        *(replace(item, now=Requested({"memory": 32 * 2**30}, 1)) for item in room.nodes)
    )
    assert message_of("fragmented", gang(1, need, half)) == (
        "1 pod needs 48Gi of memory, and 64Gi is free, but no node has 48Gi (2 nodes have 32Gi "
        "each)."
    )
