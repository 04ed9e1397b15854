"""`node-pod-limit`: `Too many pods`."""

from dataclasses import replace

from gangboard.domain.capacity import Requested
from gangboard.domain.health import Health
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    cpu_node,
    evidence_values,
    gang,
    message_of,
    pod_requests,
)
from tests.sentence_values import values_in

SAYS = "0/2 nodes are available: 2 Too many pods."


def crowded(name: str, pods: int) -> object:
    return replace(cpu_node(name), now=Requested({"cpu": 100}, pods))


def test_places_are_taken_and_cores_are_free() -> None:
    unit = gang(4, pod_requests(cpu="1"), capacity_of(crowded("a", 8), crowded("b", 6)), text=SAYS)  # type: ignore[arg-type]
    finding = require_finding("node-pod-limit", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "4 pods need a pod slot, and the 2 usable nodes have 2 free: only 2 of 4 fit."
    )
    assert evidence_values(finding, "pods") == ["4 needed, 2 free now, 16 when empty"]
    assert first_code(unit) == "node-pod-limit"


def test_no_more_at_all() -> None:
    unit = gang(1, pod_requests(cpu="1"), capacity_of(crowded("a", 8)), text=SAYS)  # type: ignore[arg-type]
    assert values_in(message_of("node-pod-limit", unit)) == "1"


def test_more_than_the_nodes_ever_take() -> None:
    unit = gang(
        17, pod_requests(cpu="100e-3"), capacity_of(cpu_node("a"), cpu_node("b")), text=SAYS
    )
    finding = require_finding("node-pod-limit", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "17 2 16 16 17"


def test_twin_without_cores_is_short() -> None:
    room = capacity_of(cpu_node("a", used=8), cpu_node("b", used=8))
    assert first_code(gang(4, pod_requests(cpu="1"), room, text=SAYS)) == "insufficient-resources"
