"""`claim-unavailable`: texts of the plugin DynamicResources (1.35 to 1.37)."""

from dataclasses import replace
from decimal import Decimal

import pytest

from gangboard.domain.health import Health
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.facts.unit import Unit
from tests.domain_objects import with_cluster
from tests.placement.making import node
from tests.rules.evaluation import first_code, require_finding
from tests.rules.waiting_gangs import capacity_of, gang, pod_requests, selecting, with_placement

CLAIMS = PodConstraints(unsupported=("resource claims",))
FREE = capacity_of(node("n0"), node("n1"))


def on(unit: Unit, kubernetes: tuple[int, int] | None) -> Unit:
    """The unit in a cluster of that version."""
    return with_placement(replace(unit, gang=with_cluster(unit.gang, kubernetes=kubernetes)))


@pytest.mark.parametrize(
    ("text", "health", "says"),
    [
        (
            '0/2 nodes are available: could not find ResourceClaim "team-a/gpus".',
            Health.BLOCKED,
            "2 pods wait together; 1 pod needs ResourceClaim gpus, which does not exist.",
        ),
        (
            "0/2 nodes are available: request gpu: device class gpu.example.com does not exist.",
            Health.BLOCKED,
            (
                "2 pods wait together; 1 pod claims devices of DeviceClass gpu.example.com, which "
                "does not exist."
            ),
        ),
        (
            "0/2 nodes are available: resourceclaim in use.",
            Health.WAITING,
            "2 pods wait together; 1 pod needs a ResourceClaim that is in use already.",
        ),
        (
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            Health.WAITING,
            (
                "2 pods wait together; 1 pod does not fit on any node: the claimed devices cannot be "
                "allocated on 2 nodes."
            ),
        ),
    ],
)
def test_scheduler_messages_about_claims(text: str, health: Health, says: str) -> None:
    unit = gang(2, pod_requests(4), FREE, needs=CLAIMS, text=text)
    finding = require_finding("claim-unavailable", unit)
    assert finding.health is health
    assert finding.message == says
    assert first_code(unit) == "claim-unavailable"


SERVED = {"example.com/gpu": Decimal(1)}
DEVICES_IN_USE = "0/2 nodes are available: 2 cannot allocate all claims."


@pytest.mark.parametrize("kubernetes", [(1, 37), (1, 36), None])
def test_devices_that_a_driver_serves_as_an_extended_resource(
    kubernetes: tuple[int, int] | None,
) -> None:
    """No node lists the devices, but they exist: `extendedResourceName` of a DeviceClass."""
    unit = on(gang(2, SERVED, FREE, text=DEVICES_IN_USE), kubernetes)
    assert require_finding("claim-unavailable", unit).message == (
        "2 pods wait together; 1 pod does not fit on any node: the claimed devices cannot be "
        "allocated on 2 nodes."
    )
    assert first_code(unit) == "claim-unavailable"


def test_a_driver_may_serve_resources_that_are_not_insufficient() -> None:
    """If a compared resource is on no node, the text names it for each node with a comparison."""
    short = "0/2 nodes are available: 2 Insufficient cpu."
    assert first_code(on(gang(2, SERVED, FREE, text=short), (1, 37))) == "unschedulable"
    full = capacity_of(node("n0", used=4), node("n1", used=4))
    both = {**SERVED, **pod_requests(4)}
    assert first_code(on(gang(2, both, full, text=DEVICES_IN_USE), (1, 37))) == "unschedulable"


def test_resources_without_a_driver_are_on_no_node() -> None:
    assert first_code(on(gang(2, SERVED, FREE, text=DEVICES_IN_USE), (1, 35))) == "no-matching-node"
    text = "0/2 nodes are available: 2 Insufficient cpu, 2 Insufficient example.com/gpu."
    unit = on(gang(2, SERVED, FREE, text=text), (1, 37))
    assert require_finding("no-matching-node", unit).message == (
        "2 pods request 1 example.com/gpu each, and no node has any."
    )


def test_only_some_nodes_have_the_resource_and_the_driver() -> None:
    """As while a cluster moves from device plugins to drivers."""
    driver = {"pool": "driver"}
    room = capacity_of(
        node("n0"), node("n1", gpu=0, labels=driver), node("n2", gpu=0, labels=driver)
    )
    text = (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "2 cannot allocate all claims."
    )
    assert first_code(
        on(gang(2, pod_requests(1), room, needs=selecting(**driver), text=text), (1, 37))
    ) == ("claim-unavailable")


def test_twin_with_full_nodes_is_short() -> None:
    text = "0/2 nodes are available: 1 cannot allocate all claims, 1 Insufficient nvidia.com/gpu."
    full = capacity_of(node("n0", used=4), node("n1"))
    assert (
        first_code(gang(2, pod_requests(4), full, needs=CLAIMS, text=text))
        == "insufficient-resources"
    )
