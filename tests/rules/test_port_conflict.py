"""`port-conflict`: `node(s) didn't have free ports for the requested pod ports`."""

from dataclasses import replace

from gangboard.domain.capacity import NodeInfo, Requested
from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import HostPort
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import (
    capacity_of,
    cpu_node,
    gang,
    message_of,
    pod_requests,
    with_port,
)
from tests.sentence_values import values_in

SAYS = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."


def held(name: str, *, stays: bool = False) -> NodeInfo:
    load = Requested({"cpu": 100}, 1, frozenset({HostPort(8080)}))
    return replace(cpu_node(name), now=load, pinned=load if stays else Requested())


def test_pods_of_other_gangs_hold_the_port() -> None:
    unit = gang(
        2,
        pod_requests(cpu="1"),
        capacity_of(held("a"), cpu_node("b")),
        needs=with_port(8080),
        text=SAYS,
    )
    finding = require_finding("port-conflict", unit)
    assert finding.health is Health.WAITING
    assert values_in(finding.message) == "2 8080 1 2 1 2"
    assert first_code(unit) == "port-conflict"


def test_more_pods_than_nodes() -> None:
    unit = gang(
        3,
        pod_requests(cpu="1"),
        capacity_of(cpu_node("a"), cpu_node("b")),
        needs=with_port(8080),
        text=SAYS,
    )
    finding = require_finding("port-conflict", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "3 pods need host port 8080 each, and only 2 nodes could host one: only 2 of 3 fit."
    )


def test_a_daemonset_holds_it_on_every_node() -> None:
    room = capacity_of(held("a", stays=True), held("b", stays=True))
    finding = require_finding(
        "port-conflict", gang(1, pod_requests(cpu="1"), room, needs=with_port(8080))
    )
    assert finding.health is Health.BLOCKED
    assert "8080" in finding.message


def test_twin_with_full_nodes_is_short() -> None:
    room = capacity_of(cpu_node("a", used=8), cpu_node("b", used=8))
    assert (
        first_code(gang(2, pod_requests(cpu="1"), room, needs=with_port(8080)))
        == "insufficient-resources"
    )
    assert message_of("insufficient-resources", gang(1, pod_requests(cpu="2"), room)).startswith(
        "1 pod needs 2 CPUs"
    )
