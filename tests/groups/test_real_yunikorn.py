"""Applications of YuniKorn in the real API server of 1.37, told by a whole gangboard. All at once.

Its scheduler is played (`tests/controlplane/yunikorn.py`), Jobs and pods are those of the real controllers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.controlplane.client import Client
from tests.groups.yunikorn_places import SITUATIONS, Place, place_class
from tests.installation import Installation
from tests.situations import brought_about, check

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def places(gang_plane: Client, board: Installation) -> Iterator[dict[str, Place]]:
    """Every situation brought about, each in a namespace of its own."""
    found = {name: place_class(name)(gang_plane, name, board) for name in SITUATIONS}
    with brought_about(SITUATIONS, found):
        yield found


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_a_person_reads(places: dict[str, Place], name: str) -> None:
    check(SITUATIONS[name], places[name])


def test_the_near_misses_are_told_in_words_of_their_own(places: dict[str, Place]) -> None:
    told = {name: place.told("twin")["message"] for name, place in places.items()}
    assert told == {
        "yunikorn-whole": "YuniKorn finds no room for 2 pods, and does not say what is lacking.",
        "yunikorn-no-quota": "YuniKorn finds no room for 2 pods, and does not say what is lacking.",
        "yunikorn-given-up": (
            "YuniKorn holds 3 pods back until the placeholders of application twin all have a node."
        ),
        "yunikorn-bare": (
            "Queue root.data has no room for 1 pod: it asks for 1 CPU, and 0 is left."
        ),
    }


def test_a_placeholder_is_in_no_gang(places: dict[str, Place]) -> None:
    place = places["yunikorn-given-up"]
    found = place.installation.gangs(namespace=place.name)
    assert sorted(gang["name"] for gang in found) == ["run", "twin"]
    assert sum(gang["members"]["created"] for gang in found) == 6
    assert len(place.client.list("v1", "Pod", place.name)) == 7


def test_a_pod_without_an_owner_cannot_be_suspended(places: dict[str, Place]) -> None:
    offers = places["yunikorn-bare"].detail()["actions"]
    assert {one["verb"]: (one["allowed"], one["why_not"]) for one in offers}["suspend"] == (
        False,
        "Pod run cannot be suspended: no controller would make it anew.",
    )


def test_a_job_of_an_application_is_suspended_by_its_own_field(places: dict[str, Place]) -> None:
    place = places["yunikorn-whole"]
    action = place.act("suspend")
    assert (action["state"], action["lever"]) == ("verified", "suspend"), action
    place.wait_told("suspended")
    assert place.client.list("v1", "Pod", place.name, labels="job-name=run") == []
