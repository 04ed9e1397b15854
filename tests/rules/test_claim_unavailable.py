"""`claim-unavailable`: texts of the plugin DynamicResources (1.35 to 1.37)."""

import pytest

from gangboard.domain.capacity import Needs
from gangboard.domain.health import Health
from tests.placement.making import node
from tests.rules.asking import first, found
from tests.rules.waiting import ask as asks
from tests.rules.waiting import gang, room_of

CLAIMS = Needs(unsupported=("resource claims",))
FREE = room_of(node("n0"), node("n1"))


@pytest.mark.parametrize(
    ("text", "health", "says"),
    [
        (
            '0/2 nodes are available: could not find ResourceClaim "team-a/gpus".',
            Health.BLOCKED,
            "2 pods wait for a place together, and 1 pod needs the ResourceClaim gpus, and it does not exist.",
        ),
        (
            "0/2 nodes are available: request gpu: device class gpu.example.com does not exist.",
            Health.BLOCKED,
            "2 pods wait for a place together, and 1 pod claims devices of the DeviceClass gpu.example.com, and it does not exist.",
        ),
        (
            "0/2 nodes are available: resourceclaim in use.",
            Health.WAITING,
            "2 pods wait for a place together, and 1 pod needs a ResourceClaim that others use.",
        ),
        (
            "0/2 nodes are available: 2 cannot allocate all claims. still not schedulable, "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
            Health.WAITING,
            "2 pods wait for a place together, and 1 pod finds no node: on 2 nodes the claimed devices cannot be allocated.",
        ),
    ],
)
def test_what_the_scheduler_says_of_claims(text: str, health: Health, says: str) -> None:
    unit = gang(2, asks(4), FREE, needs=CLAIMS, text=text)
    finding = found("claim-unavailable", unit)
    assert finding.health is health
    assert finding.message == says
    assert first(unit) == "claim-unavailable"


def test_twin_without_room_for_the_rest_is_short() -> None:
    text = "0/2 nodes are available: 1 cannot allocate all claims, 1 Insufficient nvidia.com/gpu."
    full = room_of(node("n0", used=4), node("n1"))
    assert first(gang(2, asks(4), full, needs=CLAIMS, text=text)) == "insufficient-resources"
