"""`node-pod-limit`: `Too many pods`."""

from dataclasses import replace

from gangboard.domain.capacity import Requested
from gangboard.domain.health import Health
from tests.rules.evaluation import first, found
from tests.rules.waiting_gangs import ask as asks
from tests.rules.waiting_gangs import big, gang, room_of, told, values
from tests.sentence_values import values_in

SAYS = "0/2 nodes are available: 2 Too many pods."


def crowded(name: str, pods: int) -> object:
    return replace(big(name), now=Requested({"cpu": 100}, pods))


def test_places_are_taken_and_cores_are_free() -> None:
    unit = gang(4, asks(cpu="1"), room_of(crowded("a", 8), crowded("b", 6)), text=SAYS)  # type: ignore[arg-type]
    finding = found("node-pod-limit", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "4 pods need a place, and the 2 usable nodes take 2 more: only 2 of 4 fit."
    )
    assert values(finding, "pods") == ["4 needed, 2 free now, 16 when empty"]
    assert first(unit) == "node-pod-limit"


def test_no_more_at_all() -> None:
    unit = gang(1, asks(cpu="1"), room_of(crowded("a", 8)), text=SAYS)  # type: ignore[arg-type]
    assert values_in(told("node-pod-limit", unit)) == "1"


def test_more_than_the_nodes_ever_take() -> None:
    unit = gang(17, asks(cpu="100e-3"), room_of(big("a"), big("b")), text=SAYS)
    finding = found("node-pod-limit", unit)
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "17 2 16 16 17"


def test_twin_without_cores_is_short() -> None:
    room = room_of(big("a", used=8), big("b", used=8))
    assert first(gang(4, asks(cpu="1"), room, text=SAYS)) == "insufficient-resources"
