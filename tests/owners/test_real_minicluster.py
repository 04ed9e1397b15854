"""MiniClusters as the Flux operator writes them, with a real scheduler and Job controller, told by a whole gangboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.flux import minicluster, play
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

pytestmark = pytest.mark.controlplane

FAIL_AFTER = "test.gangboard.dev/fail-after"
COMPLETE_AFTER = "test.gangboard.dev/complete-after"


class FluxPlace(PlaceOnBoard):
    """Actions in one place."""

    kind = "MiniCluster"

    def run(self, name: str = "run", size: int = 4, **options: Any) -> None:
        """Make a MiniCluster on the node of this place."""
        play(self.client, minicluster(name, self.name, size, on={POOL: self.name}, **options))


def _whole(place: FluxPlace) -> None:
    """Twin: it asks for more than there is on any node."""
    place.run()
    place.run("twin", cpu="65")


def _waits(place: FluxPlace) -> None:
    """Another one has the room. Twin: that other one."""
    place.run("twin", cpu="2")
    place.wait_told("running", "twin")
    place.run(cpu="2")


def _split(place: FluxPlace) -> None:
    """Two of four find room, which Flux would begin with. Twin: it has two."""
    place.run("twin", size=2)
    place.wait_told("running", "twin")
    place.run(cpu="3", minSize=2)


def _ends(place: FluxPlace) -> None:
    """Twin: it fails."""
    place.run(annotations={COMPLETE_AFTER: "1s"})
    place.run("twin", annotations={FAIL_AFTER: "1s"}, backoffLimit=1)


SITUATIONS: dict[str, Situation[FluxPlace]] = {
    "whole": Situation(
        _whole, "running", "running", "All 4 pods are ready.",
        {"desired": 4, "created": 4, "ready": 4, "quorum": None}, twin="no-matching-node",
    ),
    "waits": Situation(
        _waits, "insufficient-resources", "waiting",
        "4 pods need 8 CPUs, and none is free on the only usable node "
        "(test.gangboard.dev/pool=flux-waits).",
        {"desired": 4, "created": 4, "scheduled": 0}, twin="running", cpu="8",
    ),
    "split": Situation(
        _split, "partly-placed", "degraded",
        "2 pods need 6 CPUs, and none is free on the only usable node "
        "(test.gangboard.dev/pool=flux-split); 2 of 4 pods are placed.",
        {"desired": 4, "created": 4, "scheduled": 2, "ready": 2}, twin="running", cpu="8",
    ),
    "ends": Situation(_ends, "succeeded", "succeeded", None, twin="failed"),
}  # fmt: skip


@pytest.fixture(scope="module")
def places(controlplane_kueue: ControlPlane, board: Installation) -> Iterator[dict[str, FluxPlace]]:
    """Every situation brought about, each in a namespace of its own."""
    client = controlplane_kueue.client
    result = {name: FluxPlace(client, f"flux-{name}", board) for name in SITUATIONS}
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, FluxPlace], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_no_lever_suspends_a_minicluster_and_the_cause_is_shown(
    places: dict[str, FluxPlace],
) -> None:
    places["whole"].wait_told("running")
    (job,) = places["whole"].detail()["jobs"]
    suspend = next(action for action in job["actions"] if action["verb"] == "suspend")
    assert not suspend["allowed"]
    assert places["split"].detail()["findings"][0]["code"] == "partly-placed"
