"""PodGroups and queues of a real KAI-Scheduler (0.12) on 1.37, told by a whole gangboard. All at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.controlplane.client import Client, wait
from tests.controlplane.gang_schedulers import kai_queue
from tests.controlplane.grove import Operator, clique, podcliqueset
from tests.groups.real_places import (
    Place,
    below_size,
    each_once,
    lost,
    no_room,
    over_limit,
    queue_gone,
    read,
    whole,
)
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

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
        "Queue kai-queue-gone-gone does not exist, so KAI ignores PodGroup "
        "kai-queue-gone-run.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
}  # fmt: skip


@dataclass
class GrovePlace(PlaceOnBoard):
    """A place of PodCliqueSets. Grove's operator is played; KAI makes a PodGroup of each PodGang and places its pods."""

    kind = "PodCliqueSet"
    operators: dict[str, Operator] = field(default_factory=dict)

    def make(self, name: str) -> Operator:
        """Make one of two PodCliques, and no pod of the second."""
        created = []
        for part in ("web", "decode"):
            obj = clique(part, 1, 1, on={POOL: self.name})
            obj["labels"] = {"kai.scheduler/queue": "kai-open"}
            obj["spec"]["podSpec"]["schedulerName"] = "kai-scheduler"
            created.append(obj)
        operator = self.operators[name] = Operator(self.client)
        operator.create(podcliqueset(name, self.name, created), lacking=1)
        return operator


def _scaled_to_zero(place: GrovePlace) -> None:
    """One of its PodCliques is scaled to zero, and its PodGang needs a pod of that. Twin: the pod is still to come."""
    place.make("run").scale("run-0-decode", 0)
    place.make("twin")


OF_GROVE: dict[str, Situation[GrovePlace]] = {
    "kai-grove-zero": Situation(
        _scaled_to_zero, "below-quorum", "blocked", None,
        {"desired": 1, "created": 1, "scheduled": 0, "quorum": 2}, twin="scheduling-gated",
    ),
}  # fmt: skip

WORDS = {
    "kai-below-size": "2 of 3 members run (quorum 2).",
    "kai-lost": "2 of 3 members run. KAI deletes the rest ",
    "kai-no-room": "KAI has room for 2 of 3 pods that must start together: ",
    "kai-over-limit": "It requests 4 GPUs, and queue kai-over-limit-q allows at most 2 GPUs (",
}
"""Prefixes of sentences whose end has cluster-wide numbers, a time, or an optional part."""


@pytest.fixture(scope="module")
def all_places(gang_plane: Client, board: Installation) -> Iterator[dict[str, PlaceOnBoard]]:
    """Every situation brought about, each in a namespace of its own."""
    for queue in (kai_queue("kai-root"), kai_queue("kai-open", "kai-root")):
        gang_plane.create(queue)
    created: dict[str, PlaceOnBoard] = {name: Place(gang_plane, name, board) for name in SITUATIONS}
    created |= {name: GrovePlace(gang_plane, name, board) for name in OF_GROVE}
    situations: dict[str, Situation] = {**SITUATIONS, **OF_GROVE}  # type: ignore[type-arg]
    with brought_about(situations, created):
        yield created


@pytest.fixture(scope="module")
def places(all_places: dict[str, PlaceOnBoard]) -> dict[str, Place]:
    """Those whose gangs are PodGroups."""
    return {name: place for name, place in all_places.items() if isinstance(place, Place)}


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    read(SITUATIONS[name], places[name], WORDS.get(name, ""))


def test_every_gang_is_listed_once_and_each_pod_is_in_one(places: dict[str, Place]) -> None:
    each_once(places)


def test_the_queue_counts_waiting_and_running_gangs(places: dict[str, Place]) -> None:
    result = places["kai-over-limit"].queue(waiting=1, placed=1)
    assert (result["system"], result["tells_places"]) == ("KAI", False)
    assert [item["name"] for item in result["line"]] == ["kai-over-limit-run"]
    assert [holder["name"] for holder in result["holders"]] == ["kai-over-limit-twin"]
    verdicts = {quota["resource"]: (quota["nominal"], quota["terms"]) for quota in result["quotas"]}
    weight = {"name": "over-quota weight", "amount": "1"}
    assert verdicts["nvidia.com/gpu"] == ("2", [{"name": "limit", "amount": "2"}, weight])
    assert verdicts["cpu"] == (None, [{"name": "limit", "amount": None}, weight])


def test_a_gang_names_the_others_that_wait_in_its_queue(places: dict[str, Place]) -> None:
    def others() -> set[str]:
        (queue_wait,) = places["kai-no-room"].detail()["queue_waits"]
        assert (queue_wait["queue"], queue_wait["position"]) == ("kai-open", None)
        return {place["name"] for place in queue_wait["others"]}

    expected = {"kai-whole-twin", "kai-below-size-twin"}
    wait(lambda: expected <= others(), what="both twins wait in its queue", seen=others)
    assert not others() & {"kai-whole-run", "kai-no-room-run", "kai-no-room-twin"}
    (kept_out,) = places["kai-over-limit"].detail()["queue_waits"]
    assert (kept_out["eligible"], kept_out["in_line"], kept_out["others"]) == (False, 0, [])


def test_a_podclique_that_is_scaled_to_zero(all_places: dict[str, PlaceOnBoard]) -> None:
    """KAI's PodGroup has a subgroup with a minimum for it. The advised minimum lets all pods run."""
    place = all_places["kai-grove-zero"]
    assert isinstance(place, GrovePlace)
    check(OF_GROVE[place.name], place)
    told = place.told()
    assert told["message"].startswith("Group pg-run-0-")
    assert told["message"].endswith(" needs 1 pod of PodClique run-0-decode, which is scaled to 0.")
    assert told["advice"] == ["Scale PodClique run-0-decode to 1."]
    place.operators["run"].scale("run-0-decode", 1)
    place.wait_told("running")
