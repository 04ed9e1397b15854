"""PodGroups of real schedulers, coscheduling 0.35 and Volcano 1.14 on 1.37, told by a whole gangboard.

All situations play at once, each on a node of its own and with a near miss. Arithmetic says nothing in any of
them: why these schedulers refuse is a matter of rules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Client, wait
from tests.groups.real_places import (
    Place,
    capability,
    decoration,
    lost,
    no_room,
    queue_closed,
    queue_gone,
    quota_taken,
    too_few,
    whole,
)
from tests.installation import Installation
from tests.situations import Situation, brought_about, check

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
    "cosched-too-few": Situation(
        too_few, "below-quorum", "blocked",
        "2 of 3 pods that group run needs exist. Who makes the rest is not known, so a refusal would "
        "not be seen.",
        {"desired": 3, "created": 2, "quorum": 3}, twin="running",
    ),
    "cosched-decoration": Situation(
        decoration, "not-ganged", "degraded",
        "PodGroup run asks for a gang, and default-scheduler, which does not read it, places its pods "
        "one by one: 2 of 3.",
        {"desired": 3, "created": 3, "scheduled": 2, "quorum": None}, twin="running", cpu="10",
    ),
    "cosched-lost": Situation(
        lost, "lost-members", "degraded", "2 of 3 members run. 1 pod is not made yet.",
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
        "Queue volcano-queue-closed-closed is closed and lets nothing in.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-capability": Situation(
        capability, "exceeds-quota", "blocked",
        "PodGroup run needs 6 CPUs at once, and Queue volcano-capability-q may have at most 4 CPUs.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-quota-taken": Situation(
        quota_taken, "waiting-for-quota", "waiting",
        "Queue volcano-quota-taken-q has not let it in: not enough cpu is left in it.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-queue-gone": Situation(
        queue_gone, "queue-missing", "blocked",
        "Queue volcano-queue-gone-gone does not exist, so Volcano never looks at PodGroup run.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": 2}, twin="running",
    ),
    "volcano-lost": Situation(
        lost, "lost-members", "degraded", "2 of 3 members run. 1 pod is not made yet.",
        {"desired": 3, "created": 2, "ready": 2, "quorum": 3}, twin="running",
    ),
}  # fmt: skip

WORDS = {
    "cosched-no-room": "Scheduler scheduler-plugins finds no room for 3 pods",
    "volcano-no-room": "Volcano has room for 2 of 3 pods that must start together",
}
"""How sentences begin whose end has numbers of the whole cluster, a time, or what is not always told."""


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
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
        return {name: (["run", "twin"], pods[name]) for name in places}

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
