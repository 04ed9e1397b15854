"""A cluster that never answered, beside one that does: no page, list or metric shows a zero for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern
from django.utils import timezone
from pytest_django import Settings

from gangboard.pages import urls as pages_urls
from gangboard.pages.core import urls as api_urls
from gangboard.pages.core.live.page import LivePage
from gangboard.store.models import Cluster
from tests.factories import make_cluster
from tests.personas import Person
from tests.readmodels.room import make_capacity, make_node
from tests.web.conftest import World

NAME = "dead"
TOKEN = "t" * 40
LINE = "1 cluster not counted: dead never answered."
COUNTING_PAGES = frozenset({"", "reasons/", "queues/", "capacity/", "groups/"})
ONLY_OF_ALL = frozenset({"clusters", "api-clusters", "api-summary"})
"""Pages and lists that cannot be narrowed to a cluster."""
REAL_ZERO = "0 of 1 clusters"
"""How many clusters answered."""
REAL_ZEROS = frozenset(
    {
        *(("api-waits", "gangs"), ("api-reasons", "clusters_looked_at")),
        *(("api-usage", "observed_seconds"), ("api-evictions", "observed_seconds")),
    }
)
"""How many gangs the waits are drawn from, how many clusters answered, and for how long: all are known."""
STATES = frozenset(
    {
        *("gangboard_cluster_up", "gangboard_cluster_problem", "gangboard_cluster_listed"),
        "gangboard_actions_finished_total",
    }
)
"""Metrics that say that a cluster cannot be read, and the number of gangboard's own actions, which it knows."""
Patterns = list[URLPattern]


def without_parameters(patterns: Patterns) -> Iterator[tuple[str, str, Any]]:
    """Yield route, name and view class of the addresses that name no object."""
    for pattern in patterns:
        view = getattr(pattern.callback, "view_class", None) or getattr(
            pattern.callback, "cls", None
        )
        if "<" not in str(pattern.pattern):
            yield str(pattern.pattern), pattern.name or "", view


def pages() -> list[tuple[str, str]]:
    """Return route and name of the live pages."""
    return [
        (route, name)
        for route, name, view in without_parameters([*pages_urls.urlpatterns])
        if view and issubclass(view, LivePage) and not name.endswith("-updates")
    ]


ABOUT_PEOPLE = re.compile(
    r"api/v1/(me|people|tokens|sessions|group-roles|notifications|clusters/trials)/|api/v1/checks"
)
"""Lists without rows of watched clusters."""


def api_lists() -> list[tuple[str, str]]:
    """Return route and name of the lists of the API."""
    addresses = without_parameters([*api_urls.urlpatterns, *pages_urls.urlpatterns])
    return [
        (route, name)
        for route, name, _ in addresses
        if route.startswith("api/") and name != "api-schema" and not ABOUT_PEOPLE.match(route)
    ]


def main_text(page: str) -> str:
    """Return the visible text below the header."""
    text = page.partition('<main id="content"')[2].partition("</main>")[0].partition(">")[2]
    text = re.sub(r"<select.*?</select>", "", text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def zeros(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where a number in an answer is zero."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from zeros(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from zeros(item, path)
    elif not isinstance(value, bool) and value in (0, "0"):
        yield path


def parts_about(value: Any) -> Iterator[Any]:
    """Yield the parts of an answer that are about the cluster that never answered."""
    if isinstance(value, list):
        for item in value:
            yield from parts_about(item)
    elif isinstance(value, dict):
        if NAME in (value.get("cluster"), value.get("name")):
            yield value
        for key, item in value.items():
            yield from [item] if key == NAME else parts_about(item)


@pytest.fixture
def never_answered(world: World) -> Cluster:
    """The cluster, beside the two that answer."""
    now = timezone.now()
    for cluster in (world.cluster, world.other_cluster):
        make_capacity(cluster, now=now)
        make_node(cluster, f"{cluster.name}-1")
    return make_cluster(
        NAME,
        now=now,
        contact_at=None,
        listed_at=None,
        discovered_at=None,
        server_version="",
        problem="unreachable",
    )


@pytest.mark.usefixtures("never_answered")
@pytest.mark.parametrize(("route", "name"), pages())
def test_pages_mark_an_unread_cluster_as_not_counted(owner: Person, route: str, name: str) -> None:
    lines = int(route in COUNTING_PAGES)
    text = main_text(owner.client.get(f"/{route}").content.decode())
    assert text.count(LINE) == lines
    if name not in ONLY_OF_ALL:
        page = owner.client.get(f"/{route}", {"cluster": NAME}).content.decode()
        single = main_text(page).replace(REAL_ZERO, "")
        assert single.count(LINE) == lines
        assert re.findall(r".{0,30}(?<![\w.:-])0(?![\w.:-]).{0,20}", single) == []


@pytest.mark.parametrize(("route", "name"), api_lists())
def test_api_lists_show_no_zero_for_an_unread_cluster(
    owner: Person, never_answered: Cluster, route: str, name: str
) -> None:
    answers = [owner.client.get(f"/{route}")]
    parts = parts_about(answers[0].json())
    assert {(name, place[-1]) for part in parts for place in zeros(part)} <= REAL_ZEROS
    if name not in ONLY_OF_ALL:
        answers.append(owner.client.get(f"/{route}", {"cluster": never_answered.name}))
        results = {(name, place[-1]) for place in zeros(answers[1].json())}
        assert results <= REAL_ZEROS
    assert [answer.status_code for answer in answers] == [200] * len(answers)


@pytest.mark.usefixtures("never_answered")
def test_sums_count_only_clusters_that_answer(owner: Person) -> None:
    summary = owner.client.get("/api/v1/summary/").json()
    assert summary["by_cluster"][NAME] == {"gangs": None, "accelerators": None}
    assert summary["by_cluster"]["us-train"] == {"gangs": 1, "accelerators": "8"}
    assert (summary["gangs"], summary["by_health"]["failed"]["gangs"]) == (2, 0)


def test_sums_are_unknown_without_any_read_cluster(
    owner: Person, world: World, never_answered: Cluster
) -> None:
    Cluster.objects.exclude(pk=never_answered.pk).delete()
    assert list(zeros(owner.client.get("/api/v1/summary/").json())) == []
    for route, _ in pages():
        text = main_text(owner.client.get(f"/{route}").content.decode()).replace(REAL_ZERO, "")
        assert re.findall(r"\b0 (?:gang|accelerator|node|queue|group|of)", text) == [], route


@pytest.mark.usefixtures("never_answered")
def test_an_empty_list_names_the_unread_cluster(owner: Person) -> None:
    for name in ("gangs", "groups", "queues", "reasons", "holds"):
        answer = owner.client.get(f"/api/v1/{name}/", {"cluster": NAME}).json()
        assert answer["results"] == []
        assert [item["cluster"] for item in answer["unseen"]] == [NAME], name


@pytest.mark.usefixtures("never_answered")
def test_metrics_have_no_series_for_an_unread_cluster(owner: Person, settings: Settings) -> None:
    settings.METRICS_TOKEN, settings.METRICS_NETWORKS = TOKEN, ()
    answer = owner.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    series = re.findall(rf'^(\w+)\{{[^}}]*cluster="{NAME}"', answer.content.decode(), re.MULTILINE)
    assert set(series) == STATES
