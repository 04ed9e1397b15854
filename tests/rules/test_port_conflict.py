"""`port-conflict`: `node(s) didn't have free ports for the requested pod ports`."""

from dataclasses import replace

from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import HostPort
from tests.rules.evaluation import first, found
from tests.rules.waiting_gangs import ask as asks
from tests.rules.waiting_gangs import big, gang, room_of, told, with_port
from tests.sentence_values import values_in

SAYS = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."


def held(name: str, *, stays: bool = False) -> NodeInfo:
    load = Requested({"cpu": 100}, 1, frozenset({HostPort(8080)}))
    return replace(big(name), now=load, pinned=load if stays else Requested())


def test_others_hold_the_port() -> None:
    unit = gang(2, asks(cpu="1"), room_of(held("a"), big("b")), needs=with_port(8080), text=SAYS)
    finding = found("port-conflict", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "2 8080 1 2 1 2"
    assert first(unit) == "port-conflict"


def test_more_pods_than_nodes() -> None:
    unit = gang(3, asks(cpu="1"), room_of(big("a"), big("b")), needs=with_port(8080), text=SAYS)
    finding = found("port-conflict", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "3 pods need host port 8080 each, and only 2 nodes could host one: only 2 of 3 fit."
    )


def test_a_daemonset_holds_it_on_every_node() -> None:
    room = room_of(held("a", stays=True), held("b", stays=True))
    finding = found("port-conflict", gang(1, asks(cpu="1"), room, needs=with_port(8080)))
    assert finding.health is Health.BLOCKED
    assert "8080" in finding.message


def test_twin_without_room_is_short() -> None:
    room = room_of(big("a", used=8), big("b", used=8))
    assert first(gang(2, asks(cpu="1"), room, needs=with_port(8080))) == "insufficient-resources"
    assert told("insufficient-resources", gang(1, asks(cpu="2"), room)).startswith(
        "1 pod needs 2 CPUs"
    )
