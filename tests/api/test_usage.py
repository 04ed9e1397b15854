"""`usage/` and `evictions/`: parameters, rights, and null where nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.store.models import Cluster
from tests.api.conftest import World
from tests.factories import make_eviction, make_usage

GetApi = Callable[..., Any]


def test_hours_of_a_namespace(get_api: GetApi, world: World) -> None:
    for name in ("east", "west"):
        cluster = Cluster.objects.get(name=name)
        make_usage(cluster, namespace="team-a", used=7200.0, held=3600.0)
        make_usage(cluster, namespace="team-b", used=36_000.0)
    answer = get_api("reader", "usage/", by="namespace,reason").json()
    assert answer["by"] == ["namespace", "reason"]
    (row,) = answer["results"]
    assert (row["namespace"], row["code"], row["cluster"]) == ("team-a", "running", None)
    assert row["hours"] == {
        "used": 2.0,
        "held": 1.0,
        "eligible": 0.0,
        "ineligible": 0.0,
        "unobserved": 0.0,
    }
    assert answer["sums"] == row["hours"]
    assert [item["cluster"] for item in answer["known"]["coverage"]] == ["east"]
    admin = get_api("admin", "usage/").json()
    assert [(row["namespace"], row["hours"]["used"]) for row in admin["results"]] == [
        ("team-b", 20.0),
        ("team-a", 4.0),
    ]


def test_sums_are_null_where_nothing_was_recorded(get_api: GetApi, world: World) -> None:
    answer = get_api("admin", "usage/").json()
    assert (answer["sums"], answer["complete"], answer["results"]) == (None, False, [])
    assert {gap["reason"] for gap in answer["known"]["gaps"]} == {"not-recorded"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"by": "namespace,team"}, "by"),
        ({"begin": "soon"}, "begin"),
        ({"begin": "1999-12-31"}, "begin"),
        ({"end": "9999-12-31"}, "end"),
        ({"begin": "2026-02-01", "end": "2026-01-31"}, "begin"),
        ({"code": "lost"}, "code"),
    ],
)
def test_wrong_parameters_are_named(
    get_api: GetApi, world: World, query: dict[str, str], field: str
) -> None:
    path = "evictions/" if "code" in query else "usage/"
    answer = get_api("admin", path, **query)
    assert answer.status_code == 400
    assert list(answer.json()["errors"]) == [field]


def test_an_eviction_names_the_taker_to_those_who_may_see_it(get_api: GetApi, world: World) -> None:
    gang = world.gangs["east/team-a"]
    make_eviction(gang, taker_namespace="team-b")
    make_eviction(world.gangs["east/team-b"])
    (row,) = get_api("reader", "evictions/").json()["results"]
    assert (row["gang"], row["taker"], row["taker_kind"]) == (
        gang.pk,
        "a gang you may not see",
        None,
    )
    rows = get_api("admin", "evictions/", namespace="team-a").json()["results"]
    assert [(row["taker"], row["taker_kind"]) for row in rows] == [("team-b/eval", "Job")]


def test_a_gang_tells_that_it_loses_its_place_again_and_again(
    get_api: GetApi, world: World
) -> None:
    gang, now = world.gangs["east/team-a"], timezone.now()
    for minutes in (0, 60, 119):
        make_eviction(gang, at=now - timedelta(minutes=minutes))
    evictions = get_api("reader", f"gangs/{gang.pk}/").json()["evictions"]
    assert evictions["sentence"] == "Preempted for the third time in 1 h 59 min."
    assert (evictions["count"], evictions["lately"], len(evictions["last"])) == (3, 3, 3)
