"""PodGroups and queues of a real KAI-Scheduler (0.12) on 1.37, told by a whole gangboard. All at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Client
from tests.controlplane.gang_schedulers import kai_queue
from tests.groups.real_places import (
    Place,
    below_size,
    each_once,
    lost,
    no_room,
    over_limit,
    places_of,
    queue_gone,
    read,
    whole,
)
from tests.installation import Installation
from tests.situations import Situation

pytestmark = pytest.mark.controlplane

SITUATIONS: dict[str, Situation[Place]] = {
    "kai-lost": Situation(
        lost, "lost-members", "degraded", None,
        {"desired": 3, "created": 2, "ready": 2, "quorum": 3}, twin="running",
    ),
    "kai-whole": Situation(
        whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": 3}, twin="unschedulable",
    ),
    "kai-no-room": Situation(
        no_room, "unschedulable", "waiting", None,
        {"desired": 3, "created": 3, "scheduled": 0, "quorum": 3}, twin="running", cpu="12",
    ),
    "kai-below-size": Situation(
        below_size, "below-size", "degraded", None,
        {"desired": 3, "created": 3, "scheduled": 2, "ready": 2, "quorum": 2},
        twin="unschedulable", cpu="10",
    ),
    "kai-over-limit": Situation(
        over_limit, "exceeds-quota", "blocked", None,
        {"desired": 4, "created": 4, "scheduled": 0, "quorum": 4}, twin="running",
    ),
    "kai-queue-gone": Situation(
        queue_gone, "queue-missing", "blocked",
        "Queue kai-queue-gone-gone does not exist, so KAI never looks at PodGroup "
        "kai-queue-gone-run.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
}  # fmt: skip

WORDS = {
    "kai-below-size": "2 of 3 members run (quorum 2).",
    "kai-lost": "2 of 3 members run. KAI deletes the rest ",
    "kai-no-room": "KAI has room for 2 of 3 pods that must start together: ",
    "kai-over-limit": "Queue kai-over-limit-q may have 2 GPUs at most: ",
}
"""How sentences begin whose end has numbers of the whole cluster, a time, or what is not always told."""


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    for queue in (kai_queue("kai-root"), kai_queue("kai-open", "kai-root")):
        gang_plane.create(queue)
    yield from places_of(SITUATIONS, gang_plane, board)


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_person_reads(places: dict[str, Place], name: str) -> None:
    read(SITUATIONS[name], places[name], WORDS.get(name, ""))


def test_no_gang_is_there_twice_and_each_pod_is_in_one(places: dict[str, Place]) -> None:
    each_once(places)


def test_its_queue_tells_who_waits_in_it_and_who_runs(places: dict[str, Place]) -> None:
    found = places["kai-over-limit"].queue(waiting=1, placed=1)
    assert (found["system"], found["tells_places"]) == ("KAI", False)
    assert [one["name"] for one in found["line"]] == ["kai-over-limit-run"]
    assert [one["name"] for one in found["holders"]] == ["kai-over-limit-twin"]
    told = {one["resource"]: (one["nominal"], one["terms"]) for one in found["quotas"]}
    weight = {"name": "over-quota weight", "amount": "1"}
    assert told["nvidia.com/gpu"] == ("2", [{"name": "limit", "amount": "2"}, weight])
    assert told["cpu"] == (None, [{"name": "limit", "amount": None}, weight])
