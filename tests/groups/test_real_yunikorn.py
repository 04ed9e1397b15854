"""Applications of a real YuniKorn (1.9.0) on 1.37, told by a whole gangboard. All at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.controlplane.client import Client, wait
from tests.groups.yunikorn_places import SITUATIONS, Place, place_class
from tests.installation import Installation
from tests.situations import brought_about, check

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    result = {name: place_class(name)(gang_plane, name, board) for name in SITUATIONS}
    with brought_about(SITUATIONS, result):
        yield result


@pytest.mark.parametrize("name", SITUATIONS)
def test_users_see_the_expected_verdict(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_near_misses_have_their_own_messages(places: dict[str, Place]) -> None:
    assert places["yunikorn-whole"].told("twin")["message"] == (
        "YuniKorn cannot place 2 pods, and does not say why."
    )
    # How much the whole cluster has left is that of all places.
    message = places["yunikorn-no-quota"].told("twin")["message"]
    begun = "YuniKorn cannot place 2 pods: 3,000 CPUs requested, and "
    assert message.replace("3000", "3,000").startswith(begun), message
    assert message.endswith(" was left for queue root.data."), message


def test_the_gang_shows_the_cause_of_waiting_placeholders(places: dict[str, Place]) -> None:
    place = places["yunikorn-placeholders"]
    started = (
        "YuniKorn holds 3 pods back until the placeholders of application yunikorn-placeholders-{name} "
        "are placed, and {number} cannot be placed: node(s) didn't match Pod's node affinity/selector ("
    )
    for name, number in {"run": "3 placeholders", "twin": "1 placeholder"}.items():

        def message_of(name: str = name) -> str:
            return str(place.told(name)["message"])

        wait(
            partial(_begins, message_of, started.format(name=name, number=number)),
            what=name,
            seen=message_of,
        )


def _begins(verdicts: Callable[[], str], words: str) -> bool:
    return verdicts().startswith(words)


def test_a_placeholder_is_in_no_gang(places: dict[str, Place]) -> None:
    place = places["yunikorn-placeholders"]
    result = place.installation.gangs(namespace=place.name)
    assert sorted(gang["name"] for gang in result) == ["run", "twin"]
    assert sum(gang["members"]["created"] for gang in result) == 6
    assert len(place.client.list("v1", "Pod", place.name)) == 12


def test_the_queue_is_that_of_the_pods(places: dict[str, Place]) -> None:
    queues = {name: place.told()["queue"] for name, place in places.items()}
    assert queues["yunikorn-no-quota"] == "root.small"
    assert queues["yunikorn-bare-queue"] == "root.absent"


def test_a_pod_without_an_owner_cannot_be_suspended(places: dict[str, Place]) -> None:
    offers = places["yunikorn-bare"].detail("twin")["actions"]
    assert {offer["verb"]: (offer["allowed"], offer["why_not"]) for offer in offers}["suspend"] == (
        False,
        "Pod twin cannot be suspended: no controller would re-create it.",
    )


def test_a_job_of_an_application_is_suspended_by_its_own_field(places: dict[str, Place]) -> None:
    place = places["yunikorn-whole"]
    action = place.act("suspend")
    assert (action["state"], action["lever"]) == ("verified", "suspend"), action
    place.wait_told("suspended")
    assert place.client.list("v1", "Pod", place.name, labels="job-name=run") == []
