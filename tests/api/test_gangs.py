"""`gangs/` and `gangs/{id}/`: the keys of the contract, filters, order, pages."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.store.models import Cluster, Gang
from tests.api.conftest import SINCE, World, make_gang
from tests.factories import make_history

Ask = Callable[..., Any]

# The contract of the design, section 7.
GANG_KEYS = [
    "id",
    "cluster",
    "api_group",
    "api_version",
    "kind",
    "namespace",
    "name",
    "uid",
    "generation",
    "health",
    "last_health",
    "stage",
    "code",
    "title",
    "message",
    "advice",
    "members",
    "requests",
    "queue",
    "priority",
    "created_at",
    "since",
    "observed_at",
    "stale",
]


def found(response: Any) -> list[str]:
    assert response.status_code == 200, response.content
    return [row["name"] for row in response.json()["results"]]


def test_a_gang_has_exactly_the_keys_of_the_contract(ask: Ask, world: World) -> None:
    gang = ask("reader", "gangs/").json()["results"][0]
    assert list(gang) == GANG_KEYS
    assert gang["id"] == world.gangs["east/team-a"].pk
    observed_at = gang.pop("observed_at")
    assert gang == {
        "id": world.gangs["east/team-a"].pk,
        "cluster": "east",
        "api_group": "jobset.x-k8s.io",
        "api_version": "v1alpha2",
        "kind": "JobSet",
        "namespace": "team-a",
        "name": "train-east-team-a",
        "uid": "uid-east-team-a-train-east-team-a",
        "generation": 2,
        "health": "waiting",
        "last_health": None,
        "stage": "placement",
        "code": "fragmented",
        "title": "Fragmented",
        "message": "train-east-team-a needs 8 GPUs on one node.",
        "advice": ["Drain node a.", "Or wait."],
        "members": {
            "desired": 8,
            "quorum": 8,
            "created": 8,
            "scheduled": 0,
            "ready": 0,
            "succeeded": 0,
            "failed": 0,
            "held": 0,
        },
        "requests": {"nvidia.com/gpu": "8", "memory": "17179869184"},
        "queue": None,
        "priority": None,
        "created_at": "2026-11-01T08:29:00Z",
        "since": "2026-11-01T08:30:00Z",
        "stale": False,
    }
    assert observed_at.endswith("Z")


LOOK_ONLY: list[dict[str, Any]] = [
    {
        "verb": verb,
        "allowed": False,
        "lever": None,
        "why_not": "You may look but not act in this namespace.",
        "warnings": [],
    }
    for verb in ("suspend", "resume")
]


def test_a_single_gang_is_the_same_with_what_explains_it(ask: Ask, world: World) -> None:
    listed = ask("reader", "gangs/").json()["results"][0]
    gang = ask("reader", f"gangs/{listed['id']}/").json()
    assert list(gang) == [
        *GANG_KEYS,
        "findings",
        "groups",
        "jobs",
        "actions",
        "fit",
        "timeline",
        "waits",
    ]
    pods = gang["members"].pop("pods")
    more = {
        key: gang.pop(key)
        for key in ("findings", "groups", "jobs", "actions", "fit", "timeline", "waits")
    }
    assert {**gang, "observed_at": ""} == {**listed, "observed_at": ""}
    assert pods == [
        {
            "name": "train-workers-0",
            "uid": "pod-0",
            "job": "train-workers",
            "node": None,
            "state": "waiting",
            "label": "waiting",
            "reason": "Unschedulable",
            "group": None,
        }
    ]
    assert more["findings"] == [
        {
            "code": "fragmented",
            "health": "waiting",
            "stage": "placement",
            "title": "Fragmented",
            "message": "It needs 8 GPUs on one node.",
            "unit": None,
            "advice": ["Drain node a."],
            "evidence": [
                {
                    "label": "free",
                    "value": "8 GPUs",
                    "source": {
                        "api_group": "",
                        "kind": "Pod",
                        "namespace": "team-a",
                        "name": "train-workers-0",
                        "uid": "pod-0",
                    },
                }
            ],
            "since": "2026-11-01T08:30:00Z",
        }
    ]
    assert more["jobs"] == [
        {
            "name": "train-workers",
            "uid": "job-0",
            "generation": 1,
            "suspended": False,
            "held": False,
            "finished": None,
            "nodes": ["node-a"],
            "desired": 8,
            "created": 8,
            "ready": 0,
            "restarts": 0,
            "scheduling": {
                "mode": "gang",
                "label": "As a gang",
                "reason": "its PodGroup asks for 8",
            },
            "hold": None,
            "actions": LOOK_ONLY,
        }
    ]
    assert more["actions"] == LOOK_ONLY
    assert more["timeline"] == []
    assert more["waits"] is None
    assert more["groups"] == []


def test_the_timeline_has_verdicts_beside_actions_and_the_wait_its_stages(
    ask: Ask, world: World
) -> None:
    gang = world.gangs["east/team-a"]
    born = datetime.fromisoformat("2026-11-01T08:29:00Z")
    make_history(gang, born, ("room", 30), ("images", 12), ("runs", 0))
    answer = ask("reader", f"gangs/{gang.pk}/").json()
    assert answer["timeline"][1:] == [
        {
            "at": "2026-11-01T08:59:00Z",
            "until": "2026-11-01T09:11:00Z",
            "kind": "verdict",
            "health": "starting",
            "stage": "start",
            "code": "starting",
            "title": "Starting",
            "message": "It was said: images.",
            "actor": None,
            "action": None,
        },
        {
            "at": "2026-11-01T08:29:00Z",
            "until": "2026-11-01T08:59:00Z",
            "kind": "verdict",
            "health": "waiting",
            "stage": "placement",
            "code": "insufficient-resources",
            "title": "Insufficient resources",
            "message": "It was said: room.",
            "actor": None,
            "action": None,
        },
    ]
    newest = answer["timeline"][0]
    assert (newest["at"], newest["until"]) == ("2026-11-01T09:11:00Z", None)
    assert answer["waits"] == {
        "total_seconds": 2520,
        "by_stage": {"placement": 1800, "start": 720},
        "typical": None,
    }


def test_what_is_typical_has_its_number_of_cases(ask: Ask, world: World) -> None:
    gang = world.gangs["east/team-a"]
    for number, minutes in enumerate((10, 20, 34, 50, 90)):
        case = make_gang("east", "team-a", f"case-{number}")
        assert case.created_at is not None
        make_history(case, case.created_at, ("room", minutes), ("runs", 5), gone=True)
    make_history(gang, SINCE, ("room", 0))
    waits = ask("reader", f"gangs/{gang.pk}/").json()["waits"]
    assert waits["typical"] == {"median_seconds": 2040, "cases": 5}


def test_finished_gangs_are_listed_and_deleted_ones_never(ask: Ask, world: World) -> None:
    make_gang("east", "team-a", "done", health="succeeded", stage="run", code="succeeded")
    gone = make_gang("east", "team-a", "gone", gone_at=timezone.now())
    assert found(ask("reader", "gangs/")) == ["train-east-team-a", "done"]
    assert ask("reader", f"gangs/{gone.pk}/").status_code == 404
    assert ask("reader", "summary/").json()["gangs"] == 2


def test_a_gang_of_a_silent_cluster_is_unknown_and_says_what_it_was(ask: Ask) -> None:
    Cluster.objects.filter(name="east").update(contact_at=timezone.now() - timedelta(minutes=3))
    gang = ask("reader", "gangs/").json()["results"][0]
    assert (gang["health"], gang["last_health"], gang["code"]) == (
        "unknown",
        "waiting",
        "not-observed",
    )
    assert gang["stale"] is True
    assert found(ask("reader", "gangs/", health="unknown")) == ["train-east-team-a"]
    assert found(ask("reader", "gangs/", health="waiting")) == []


# --- filters

TWIN: dict[str, dict[str, Any]] = {
    "api_group": {"api_group": "batch"},
    "kind": {"kind": "Job"},
    "health": {"health": "failed"},
    "code": {"code": "image-pull"},
    "queue": {"queue": "gpu"},
    "stage": {"stage": "run"},
}


@pytest.mark.parametrize("name", TWIN)
def test_each_filter_finds_the_one_that_differs(ask: Ask, name: str) -> None:
    make_gang("east", "team-a", "twin", **TWIN[name])
    assert found(ask("reader", "gangs/", **TWIN[name])) == ["twin"]


def test_the_core_group_can_be_asked_for(ask: Ask) -> None:
    make_gang("east", "team-a", "pod", api_group="", kind="Pod")
    assert found(ask("reader", "gangs/", api_group="")) == ["pod"]


def test_cluster_and_namespace_filter_for_who_sees_more(ask: Ask) -> None:
    assert found(ask("admin", "gangs/", cluster="west")) == ["train-west-team-a"]
    assert found(ask("admin", "gangs/", namespace="team-b")) == ["train-east-team-b"]
    assert len(found(ask("admin", "gangs/", cluster="east"))) == 2


def test_several_healths_are_separated_by_commas(ask: Ask) -> None:
    make_gang("east", "team-a", "bad", health="failed")
    make_gang("east", "team-a", "good", health="running")
    assert found(ask("reader", "gangs/", health="running,failed")) == ["bad", "good"]


def test_search_wants_all_words(ask: Ask) -> None:
    assert found(ask("admin", "gangs/", q="train team-b")) == ["train-east-team-b"]
    assert found(ask("admin", "gangs/", q="train nothing")) == []


def test_the_worst_is_first_then_the_longest(ask: Ask, world: World) -> None:
    make_gang("east", "team-a", "b", since=SINCE - timedelta(hours=1))
    make_gang("east", "team-a", "c", health="failed")
    assert found(ask("reader", "gangs/")) == ["c", "b", "train-east-team-a"]


def test_other_orders(ask: Ask) -> None:
    make_gang("east", "team-a", "a", accelerators=1.0, since=SINCE + timedelta(hours=1))
    expected = {
        "name": ["a", "train-east-team-a"],
        "-name": ["train-east-team-a", "a"],
        "accelerators": ["a", "train-east-team-a"],
        "-accelerators": ["train-east-team-a", "a"],
        "since": ["train-east-team-a", "a"],
        "-since": ["a", "train-east-team-a"],
    }
    for ordering, names in expected.items():
        assert found(ask("reader", "gangs/", ordering=ordering)) == names


@pytest.mark.parametrize(
    "query",
    [
        {"health": "bad"},
        {"health": "failed,bad"},
        {"health": ""},
        {"stage": "later"},
        {"ordering": "password"},
        {"ordering": "cluster__name"},
        {"limit": "0"},
        {"limit": "501"},
        {"limit": "many"},
        {"cursor": "no"},
        {"cursor": "\x00"},
        {"cluster": ""},
        {"namespace": "a\x00"},
        {"q": "x" * 201},
        {"namespaces": "team-a"},
        {"user__password": "x"},
        {"kind": ["Job", "JobSet"]},
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused_and_named(ask: Ask, query: dict[str, Any]) -> None:
    response = ask("reader", "gangs/", **query)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert list(problem) == ["type", "title", "status", "detail", "errors"]
    assert (problem["type"], problem["title"], problem["status"]) == (
        "about:blank",
        "Bad Request",
        400,
    )
    assert list(problem["errors"]) == list(query)
    assert problem["detail"] == problem["errors"][next(iter(query))][0]


def test_all_that_is_wrong_is_said_at_once(ask: Ask) -> None:
    problem = ask("reader", "gangs/", health="bad", foo="1", limit="0").json()
    assert sorted(problem["errors"]) == ["foo", "health", "limit"]
    assert problem["errors"]["health"] == [
        "“bad” is not one of failed, blocked, degraded, waiting, starting, suspended, running, "
        "succeeded, unknown."
    ]


@pytest.mark.parametrize("path", ["clusters/", "clusters/east/", "summary/", "gangs/{gang}/"])
def test_addresses_without_parameters_refuse_any(ask: Ask, world: World, path: str) -> None:
    path = path.format(gang=world.gangs["east/team-a"].pk)
    response = ask("admin", path, health="failed")
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["health"]


# --- pages


def walk(ask: Ask, path: str, **query: Any) -> list[list[str]]:
    """Names page by page, following `next`."""
    pages = []
    response = ask("admin", path, **query)
    while True:
        pages.append(found(response))
        following = response.json()["next"]
        if following is None:
            return pages
        assert following.startswith("http://testserver/api/v1/")
        response = ask("admin", following)


@pytest.mark.parametrize(
    "ordering",
    ["health", "name", "-name", "since", "-since", "accelerators", "priority", "-created_at"],
)
def test_a_walk_over_pages_meets_each_gang_once(ask: Ask, ordering: str) -> None:
    for number in range(20):
        make_gang("west", "team-a", f"g{number}", health="failed" if number % 3 else "running")
    pages = walk(ask, "gangs/", limit=4, ordering=ordering)
    names = [name for page in pages for name in page]
    assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 3]
    assert sorted(names) == sorted(Gang.objects.values_list("name", flat=True))
    assert names == found(ask("admin", "gangs/", ordering=ordering))


def test_rows_that_come_and_go_during_a_walk_move_no_other(ask: Ask, world: World) -> None:
    for number in range(12):
        make_gang("west", "team-a", f"g{number:02}")
    first = ask("admin", "gangs/", ordering="name", namespace="team-a", limit=4).json()
    assert [row["name"] for row in first["results"]] == ["g00", "g01", "g02", "g03"]
    Gang.objects.filter(name__in=["g01", "g05"]).delete()
    make_gang("west", "team-a", "a-new-first")
    make_gang("west", "team-a", "g10-new")
    names = []
    following = first["next"]
    while following is not None:
        page = ask("admin", following).json()
        assert len(page["results"]) <= 4
        names += [row["name"] for row in page["results"]]
        following = page["next"]
    assert names == [
        *("g04", "g06", "g07", "g08", "g09", "g10", "g10-new", "g11"),
        *("train-east-team-a", "train-west-team-a"),
    ]


def test_filters_stay_in_the_address_of_the_next_page(ask: Ask) -> None:
    for number in range(3):
        make_gang("west", "team-a", f"g{number}", queue="a&b=c")
    pages = walk(ask, "gangs/", queue="a&b=c", limit=2)
    assert [len(page) for page in pages] == [2, 1]


def test_a_cursor_of_another_order_is_refused(ask: Ask) -> None:
    following = ask("admin", "gangs/", limit=1).json()["next"]
    response = ask("admin", following.replace("limit=1", "ordering=name"))
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["cursor"]


def test_a_list_costs_the_same_number_of_queries_at_any_size(
    ask: Ask, django_assert_max_num_queries: Any
) -> None:
    ask("admin", "gangs/")
    for number in range(50):
        make_gang("west", "team-a", f"g{number}")
    # The token, the grants, the clusters, the gangs.
    with django_assert_max_num_queries(4):
        assert len(found(ask("admin", "gangs/"))) == 53
