"""`gangs/`: which gangs a list has, filters, order, pages."""

import base64
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gangboard.store.models import Gang
from tests.api.conftest import SINCE, World, make_gang, names_in

GetApi = Callable[..., Any]


def test_finished_gangs_are_listed_and_deleted_ones_never(get_api: GetApi) -> None:
    make_gang("east", "team-a", "done", health="succeeded", stage="run", code="succeeded")
    make_gang("east", "team-a", "gone", gone_at=timezone.now())
    assert names_in(get_api("reader", "gangs/")) == ["train-east-team-a", "done"]
    assert get_api("reader", "summary/").json()["gangs"] == 2


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
def test_each_filter_returns_the_matching_gang(get_api: GetApi, name: str) -> None:
    make_gang("east", "team-a", "twin", **TWIN[name])
    assert names_in(get_api("reader", "gangs/", **TWIN[name])) == ["twin"]


def test_the_core_group_is_a_filter_value(get_api: GetApi) -> None:
    make_gang("east", "team-a", "pod", api_group="", kind="Pod")
    assert names_in(get_api("reader", "gangs/", api_group="")) == ["pod"]


def test_cluster_and_namespace_are_filters(get_api: GetApi) -> None:
    assert names_in(get_api("admin", "gangs/", cluster="west")) == ["train-west-team-a"]
    assert names_in(get_api("admin", "gangs/", namespace="team-b")) == ["train-east-team-b"]
    assert len(names_in(get_api("admin", "gangs/", cluster="east"))) == 2


def test_several_healths_are_separated_by_commas(get_api: GetApi) -> None:
    make_gang("east", "team-a", "bad", health="failed")
    make_gang("east", "team-a", "good", health="running")
    assert names_in(get_api("reader", "gangs/", health="running,failed")) == ["bad", "good"]


def test_a_search_matches_all_words(get_api: GetApi) -> None:
    assert names_in(get_api("admin", "gangs/", q="train team-b")) == ["train-east-team-b"]
    assert names_in(get_api("admin", "gangs/", q="train nothing")) == []


def test_a_search_reveals_no_hidden_names(get_api: GetApi) -> None:
    make_gang("east", "team-a", "mine", message="mine was preempted by team-b/secret.")
    assert names_in(get_api("admin", "gangs/", q="team-b/secret")) == ["mine"]
    assert names_in(get_api("reader", "gangs/", q="team-b/secret")) == []
    assert names_in(get_api("reader", "gangs/", q="mine fragmented")) == ["mine"]


def test_the_default_order_is_severity_then_duration(get_api: GetApi, world: World) -> None:
    make_gang("east", "team-a", "b", since=SINCE - timedelta(hours=1))
    make_gang("east", "team-a", "c", health="failed")
    assert names_in(get_api("reader", "gangs/")) == ["c", "b", "train-east-team-a"]


def test_a_list_has_further_orders(get_api: GetApi) -> None:
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
        assert names_in(get_api("reader", "gangs/", ordering=ordering)) == names


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
def test_unknown_parameters_are_refused_and_named(get_api: GetApi, query: dict[str, Any]) -> None:
    response = get_api("reader", "gangs/", **query)
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert list(problem) == ["type", "title", "status", "code", "detail", "errors"]
    assert (problem["type"], problem["title"], problem["status"]) == (
        "about:blank",
        "Bad Request",
        400,
    )
    assert list(problem["errors"]) == list(query)
    assert problem["detail"] == problem["errors"][next(iter(query))][0]


def test_all_errors_are_returned_at_once(get_api: GetApi) -> None:
    problem = get_api("reader", "gangs/", health="bad", foo="1", limit="0").json()
    assert sorted(problem["errors"]) == ["foo", "health", "limit"]
    assert problem["errors"]["health"] == [
        "“bad” is not one of failed, blocked, degraded, waiting, starting, suspended, running, "
        "succeeded, unknown."
    ]


@pytest.mark.parametrize("path", ["clusters/", "clusters/east/", "summary/", "gangs/{gang}/"])
def test_addresses_without_parameters_refuse_every_parameter(
    get_api: GetApi, world: World, path: str
) -> None:
    path = path.format(gang=world.gangs["east/team-a"].pk)
    response = get_api("admin", path, health="failed")
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["health"]


# --- pages


def walk(get_api: GetApi, path: str, **query: Any) -> list[list[str]]:
    """Names page by page, following `next`."""
    pages = []
    response = get_api("admin", path, **query)
    while True:
        pages.append(names_in(response))
        following = response.json()["next"]
        if following is None:
            return pages
        assert following.startswith("http://testserver/api/v1/")
        response = get_api("admin", following)


@pytest.mark.parametrize(
    "ordering",
    [
        "health",
        "name",
        "-name",
        "since",
        "-since",
        "accelerators",
        "priority",
        "-priority",
        "-created_at",
    ],
)
def test_paging_returns_each_gang_once(get_api: GetApi, ordering: str) -> None:
    for number in range(20):
        health = "failed" if number % 3 else "running"
        value = number // 3 - 2 if number % 4 else None
        make_gang("west", "team-a", f"g{number}", health=health, priority_value=value)
    pages = walk(get_api, "gangs/", limit=4, ordering=ordering)
    names = [name for page in pages for name in page]
    assert [len(page) for page in pages] == [4, 4, 4, 4, 4, 3]
    assert sorted(names) == sorted(Gang.objects.values_list("name", flat=True))
    assert names == names_in(get_api("admin", "gangs/", ordering=ordering))


def test_inserts_and_deletes_during_paging_move_no_other_row(get_api: GetApi, world: World) -> None:
    for number in range(12):
        make_gang("west", "team-a", f"g{number:02}")
    first = get_api("admin", "gangs/", ordering="name", namespace="team-a", limit=4).json()
    assert [row["name"] for row in first["results"]] == ["g00", "g01", "g02", "g03"]
    Gang.objects.filter(name__in=["g01", "g05"]).delete()
    make_gang("west", "team-a", "a-new-first")
    make_gang("west", "team-a", "g10-new")
    names = []
    following = first["next"]
    while following is not None:
        page = get_api("admin", following).json()
        assert len(page["results"]) <= 4
        names += [row["name"] for row in page["results"]]
        following = page["next"]
    assert names == [
        *("g04", "g06", "g07", "g08", "g09", "g10", "g10-new", "g11"),
        *("train-east-team-a", "train-west-team-a"),
    ]


def test_the_next_link_keeps_the_filters(get_api: GetApi) -> None:
    for number in range(3):
        make_gang("west", "team-a", f"g{number}", queue="a&b=c")
    pages = walk(get_api, "gangs/", queue="a&b=c", limit=2)
    assert [len(page) for page in pages] == [2, 1]


def test_a_cursor_of_another_order_is_refused(get_api: GetApi) -> None:
    following = get_api("admin", "gangs/", limit=1).json()["next"]
    response = get_api("admin", following.replace("limit=1", "ordering=name"))
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["cursor"]


def crafted(order: str, *values: Any) -> str:
    """A forged cursor."""
    document = json.dumps([order, values]).encode()
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_outside_the_calendar_is_no_cursor(get_api: GetApi, time: str) -> None:
    response = get_api("admin", "gangs/", ordering="since", cursor=crafted("since,id", time, "x"))
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["cursor"]


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59Z", "2026-11-01T10:00:00+14:00"]
)
def test_a_filter_takes_any_calendar_time(get_api: GetApi, time: str) -> None:
    response = get_api("admin", "gangs/", ordering="since", cursor=crafted("since,id", time, "x"))
    assert response.status_code == 200


@pytest.mark.parametrize("number", [0.5, -1e299, 1e299, 10**200, 2**63, -(2**63) - 1])
def test_numbers_in_a_cursor_cause_no_server_error(get_api: GetApi, number: float) -> None:
    for ordering, cursor in (
        ("priority", crafted("priority_unknown,shown_priority,id", 0, number, "x")),
        ("-priority", crafted("priority_unknown,-shown_priority,id", number, number, "x")),
        ("accelerators", crafted("accelerators,id", number, "x")),
        ("health", crafted("shown_severity,since,id", number, "2026-11-01T10:00:00Z", "x")),
    ):
        response = get_api("admin", "gangs/", ordering=ordering, cursor=cursor)
        assert response.status_code in (200, 400), ordering


def test_a_list_costs_the_same_number_of_queries_at_any_size(
    get_api: GetApi, django_assert_max_num_queries: Any
) -> None:
    get_api("admin", "gangs/")
    for number in range(50):
        make_gang("west", "team-a", f"g{number}")
    # The token, the grants, three for the data version, the clusters, the gangs.
    with django_assert_max_num_queries(7):
        assert len(names_in(get_api("admin", "gangs/"))) == 53
