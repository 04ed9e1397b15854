"""How many of how many members fit, at the end of the sentences about room."""

from dataclasses import replace
from typing import Any

from gangboard.domain.capacity import Requested
from gangboard.domain.pod_constraints import PodConstraints
from tests.placement.making import node
from tests.rules.test_pod_anti_affinity import ZONED, in_zone
from tests.rules.waiting_gangs import capacity_of as room_of
from tests.rules.waiting_gangs import cpu_node as big
from tests.rules.waiting_gangs import gang, selecting
from tests.rules.waiting_gangs import message_of as told
from tests.rules.waiting_gangs import mixed_gang as mixed
from tests.rules.waiting_gangs import pod_requests as asks

SHORT, LARGE, PIECES = "insufficient-resources", "exceeds-capacity", "fragmented"
FOUR = room_of(*(node(f"n{index}") for index in range(4)))
MOUNTS = PodConstraints(unsupported=("volumes",))
RACKED = replace(ZONED, name="/app=db by rack", topology_key="rack")


def test_all_waiting_pods_count_to_a_quorum() -> None:
    """Three nodes of four are free, the last has one left."""
    room = room_of(*(node(f"n{index}") for index in range(3)), node("n3", used=3))
    assert told(SHORT, gang(6, asks(4), room, quorum=4)) == (
        "At least 4 of 6 pods need 16 GPUs, and 13 are free on the 4 usable nodes: only 3 of 6 fit."
    )


def test_pod_slots_limit_the_fit() -> None:
    """One place on a node, two on another, where there are cores for one pod."""
    one = replace(big("a"), now=Requested({"cpu": 0}, 7))
    two = replace(big("b"), now=Requested({"cpu": 6000}, 6))
    text = "0/2 nodes are available: 2 Too many pods."
    assert told("node-pod-limit", gang(4, asks(cpu="2"), room_of(one, two), text=text)) == (
        "4 pods need a pod slot, and the 2 usable nodes have 3 free: only 2 of 4 fit."
    )


def test_a_gang_with_no_fit_gets_no_additional_count() -> None:
    nodes = [node(f"n{index}", used=3) for index in range(4)]
    assert told(SHORT, gang(2, asks(4), room_of(*nodes))).endswith(
        ", but no node has enough for one."
    )
    full = room_of(node("n0", used=4), node("n1", used=4))
    assert told(SHORT, gang(2, asks(4), full)).endswith(", and none is free on the 2 usable nodes.")
    halves = room_of(*(node(f"n{index}", gpu=8, used=4) for index in range(4)))
    assert told(PIECES, gang(2, asks(8), halves)).endswith(
        ", but no node has 8 (4 nodes have 4 each)."
    )


def test_a_single_pod_has_no_partial_fit() -> None:
    assert told(SHORT, gang(1, asks(4), room_of(node("n0", used=1)))) == (
        "1 pod needs 4 GPUs, and 3 are free on the only usable node."
    )


def test_the_sentence_is_about_a_single_shape() -> None:
    """One of the two workers fits. The driver fits on other nodes."""
    room = room_of(
        node("g0", labels={"pool": "gpu"}),
        node("g1", used=4, labels={"pool": "gpu"}),
        *(node(f"d{index}", gpu=8, labels={"pool": "driver"}) for index in range(2)),
    )
    driver = ("driver", 1, asks(1), selecting(pool="driver"))
    workers = ("workers", 2, asks(4), selecting(pool="gpu"))
    assert told(SHORT, mixed(room, driver, workers)) == (
        "2 pods of workers need 8 GPUs, and 4 are free on the 2 usable nodes (pool=gpu)."
    )
    many = ("workers", 3, asks(4), selecting(pool="gpu"))
    assert told(LARGE, mixed(room, driver, many)) == (
        "3 pods of workers need 12 GPUs, but the 2 usable nodes (pool=gpu) have 8 even when empty."
    )


def test_uncomputed_constraints_can_exclude_nodes() -> None:
    """Volumes may be out of reach of nodes that have room."""
    half = room_of(node("n0"), node("n1", used=2))
    assert told(SHORT, gang(2, asks(4), half, needs=MOUNTS)).endswith(": at most 1 of 2 fits.")
    assert told(LARGE, gang(6, asks(4), FOUR, needs=MOUNTS)).endswith(": at most 4 of 6 fit.")
    assert told(LARGE, gang(5, asks(3), FOUR, needs=MOUNTS)) == (
        "5 pods need 3 GPUs each, but at most 4 of 5 fit on the 4 usable nodes even when empty."
    )
    pieces = room_of(node("n0", gpu=8, used=3), node("n1", gpu=8, used=6))
    assert told(PIECES, gang(2, asks(3), pieces, needs=MOUNTS)).endswith(
        "but fragmented: at most 1 of 2 fits (1 node has 5 and 1 node has 2)."
    )


def test_a_rack_limits_the_fit() -> None:
    """Four nodes take one each; two of them are in each rack."""
    nodes = [node(f"n{index}", labels={"rack": f"r{index % 2}"}) for index in range(4)]
    assert told(LARGE, gang(5, asks(4), room_of(*nodes), keys=("rack",))).endswith(
        "have 16 even when empty: at most 4 of 5 fit."
    )


def test_anti_affinity_by_zone_allows_one_pod_per_zone() -> None:
    """Two zones of two nodes, and room for one pod on each."""
    zones = [in_zone(zone, big(f"{zone}{index}")) for zone in "ab" for index in range(2)]
    like: dict[str, Any] = {
        "labels": {"app": "db"},
        "text": "0/4 nodes are available: 4 Insufficient cpu.",
    }
    unit = gang(
        5, asks(cpu="6"), room_of(*zones), needs=PodConstraints(anti_affinity=(ZONED,)), **like
    )
    assert told(LARGE, unit) == (
        "5 pods need 6 CPUs each, but only 2 of 5 fit on the 4 usable nodes even when empty."
    )
    # By two labels it is not worked out: how many have room is all that is known.
    both = PodConstraints(anti_affinity=(ZONED, RACKED))
    racks = room_of(*(replace(zone, labels={**zone.labels, "rack": "r"}) for zone in zones))
    unit = gang(5, asks(cpu="6"), racks, needs=both, **like)
    assert "but at most 4 of 5 fit on the 4 usable nodes even when empty" in told(LARGE, unit)
