"""PodGroups and queues of a real KAI-Scheduler (0.12) on 1.37, told by a whole gangboard. All at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Client, wait
from tests.controlplane.gang_schedulers import kai_queue
from tests.groups.real_places import Place, lost, no_room, over_limit, queue_gone, whole
from tests.installation import Installation
from tests.situations import Situation, brought_about, check

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
    "kai-lost": "2 of 3 members run. KAI deletes the rest ",
    "kai-no-room": "KAI has room for 2 of 3 pods that must start together: ",
    "kai-over-limit": "Queue kai-over-limit-q may have 2 GPUs at most: ",
}
"""How sentences begin whose end has numbers of the whole cluster, a time, or what is not always told."""


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    for queue in (kai_queue("kai-root"), kai_queue("kai-open", "kai-root")):
        gang_plane.create(queue)
    found = {name: Place(gang_plane, name, board) for name in SITUATIONS}
    with brought_about(SITUATIONS, found):
        yield found


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_person_reads(places: dict[str, Place], name: str) -> None:
    situation, place = SITUATIONS[name], places[name]
    check(situation, place)
    words = WORDS.get(name, "")
    wait(lambda: place.told()["message"].startswith(words), what=words, seen=place.told)
    if situation.code == "unschedulable":
        # Neither what would fit nor what would help is worked out for a scheduler with rules of its own.
        assert place.detail()["fit"][0]["why"].endswith("places pods by rules of its own")
        assert place.said()["advice"] == []


def test_no_gang_is_there_twice_and_each_pod_is_in_one(places: dict[str, Place]) -> None:
    """All four kinds called PodGroup are served here; those of one namespace are of one API."""
    place = next(iter(places.values()))

    def told() -> dict[str, tuple[list[str], int]]:
        return {name: _listed(place.installation, name) for name in places}

    def there() -> dict[str, tuple[list[str], int]]:
        pods = {name: len(place.client.list("v1", "Pod", name)) for name in places}
        return {name: ([f"{name}-run", f"{name}-twin"], pods[name]) for name in places}

    wait(
        lambda: told() == there(),
        what="each gang and each pod once",
        seen=lambda: (told(), there()),
    )


def _listed(installation: Installation, namespace: str) -> tuple[list[str], int]:
    """Return the names of the gangs of a namespace, and how many pods they have together."""
    found = installation.gangs(namespace=namespace)
    pods = sum(gang["members"]["created"] for gang in found)
    return sorted(gang["name"] for gang in found), pods
