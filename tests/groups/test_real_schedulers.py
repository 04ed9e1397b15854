"""PodGroups of real schedulers, coscheduling 0.35 and Volcano 1.14 on 1.37, under a complete gangboard.

All situations play at once, each on a node of its own and with a near miss. Placement is not computed in
any of them, because these schedulers have their own rules.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Client
from tests.groups.real_places import (
    Place,
    below_size,
    capability,
    decoration,
    each_once,
    let_in_again,
    lost,
    no_room,
    places_of,
    queue_closed,
    queue_gone,
    quota_taken,
    read,
    too_few,
    whole,
)
from tests.installation import Installation
from tests.situations import Situation

pytestmark = pytest.mark.controlplane

SITUATIONS: dict[str, Situation[Place]] = {
    "cosched-whole": Situation(
        whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": 3}, twin="unschedulable",
    ),
    "cosched-no-room": Situation(
        no_room, "unschedulable", "waiting",
        None,
        {"desired": 3, "created": 3, "scheduled": 0, "quorum": 3}, twin="running", cpu="12",
    ),
    "cosched-below-size": Situation(
        below_size, "below-size", "degraded", None,
        {"desired": 3, "created": 3, "scheduled": 2, "ready": 2, "quorum": 2},
        twin="unschedulable", cpu="10",
    ),
    "cosched-too-few": Situation(
        too_few, "below-quorum", "blocked",
        "Group run has 2 of the 3 pods that it needs; no known controller creates the rest.",
        {"desired": 3, "created": 2, "quorum": 3}, twin="running",
    ),
    "cosched-decoration": Situation(
        decoration, "not-ganged", "degraded",
        "PodGroup run requests a gang, but default-scheduler ignores it and places its pods "
        "one by one: 2 of 3.",
        {"desired": 3, "created": 3, "scheduled": 2, "quorum": None}, twin="running", cpu="10",
    ),
    "cosched-lost": Situation(
        lost, "lost-members", "degraded", "2 of 3 members run. 1 pod has not been created yet.",
        {"desired": 3, "created": 2, "ready": 2, "quorum": 3}, twin="running",
    ),
    "volcano-whole": Situation(
        whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": 3}, twin="unschedulable",
    ),
    "volcano-no-room": Situation(
        no_room, "unschedulable", "waiting",
        None,
        {"desired": 3, "created": 3, "scheduled": 0, "quorum": 3}, twin="running", cpu="12",
    ),
    "volcano-queue-closed": Situation(
        queue_closed, "queue-stopped", "blocked",
        "Queue volcano-queue-closed-closed is closed and admits nothing.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-capability": Situation(
        capability, "exceeds-quota", "blocked",
        "PodGroup run needs 6 CPUs at once, and queue volcano-capability-q allows at most 4 CPUs.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-quota-taken": Situation(
        quota_taken, "waiting-for-quota", "waiting",
        "Queue volcano-quota-taken-q has not admitted it: not enough cpu is left in it.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-queue-gone": Situation(
        queue_gone, "queue-missing", "blocked",
        "Queue volcano-queue-gone-gone does not exist, so Volcano ignores PodGroup run.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-let-in-again": Situation(
        let_in_again, "exceeds-quota", "blocked",
        "Queue volcano-let-in-again-run allows at most 2 CPUs, and PodGroup run requests 2 CPUs "
        "besides the 1 CPU of pod run-p-1.",
        {"desired": 2, "created": 2, "scheduled": 1, "ready": 0, "quorum": 2}, twin="starting",
    ),
    "volcano-lost": Situation(
        lost, "lost-members", "degraded", "2 of 3 members run. 1 pod has not been created yet.",
        {"desired": 3, "created": 2, "ready": 2, "quorum": 3}, twin="running",
    ),
}  # fmt: skip

WORDS = {
    "cosched-below-size": "2 of 3 members run (quorum 2).",
    "cosched-no-room": "Scheduler scheduler-plugins cannot place 3 pods",
    "volcano-no-room": "Volcano has room for 2 of 3 pods that must start together",
}
"""Prefixes of sentences whose end has cluster-wide numbers, a time, or an optional part."""


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    yield from places_of(SITUATIONS, gang_plane, board)


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    read(SITUATIONS[name], places[name], WORDS.get(name, ""))


def test_every_gang_is_listed_once_and_each_pod_is_in_one(places: dict[str, Place]) -> None:
    each_once(places)


def test_a_volcano_queue_counts_waiting_and_running_gangs(places: dict[str, Place]) -> None:
    name = "volcano-quota-taken"
    read(SITUATIONS[name], places[name], WORDS.get(name, ""))
    result = places[name].queue(waiting=1, placed=1)
    assert (result["system"], result["tells_places"]) == ("Volcano", False)
    (waiting,) = result["line"]
    assert (waiting["name"], waiting["position"]) == ("run", None)
    assert "Pending" in waiting["message"]
    assert [holder["name"] for holder in result["holders"]] == ["twin"]
    # Volcano 1.14 writes no counts into the status of its queues.
    assert (result["pending"], result["admitted"]) == (None, None)
    assert {"name": "weight", "amount": "1"} in result["terms"]


def test_the_advice_admits_a_group_that_blocks_itself(
    places: dict[str, Place],
) -> None:
    """Volcano adds the usage of its pod to its request."""
    place = places["volcano-let-in-again"]
    place.wait_told("exceeds-quota")
    assert place.told()["advice"] == [
        "Raise capability of Queue volcano-let-in-again-run to 3 CPUs at least.",
        "Delete pod run-p-1 and re-create it: then all of PodGroup run is admitted at once.",
    ]
    place.client.delete("v1", "Pod", "run-p-1", place.name, grace=0)
    place.pod(1, never_ready="pending")
    place.wait_placed(2)
    place.wait_told("starting")
