"""The clusters in the header keep their places."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.store.models import Cluster
from tests import personas
from tests.factories import make_cluster


@pytest.mark.django_db
def test_a_cluster_that_goes_stale_stays_where_it_was() -> None:
    now = timezone.now()
    for name in ("a-train", "b-train", "c-train"):
        make_cluster(name, now=now)
    owner = personas.make_owner().client
    Cluster.objects.filter(name="b-train").update(contact_at=now - timedelta(seconds=45))
    page = owner.get("/clusters/").content.decode()
    bar = page[page.index('class="freshness"') : page.index('class="live-controls"')]
    assert re.findall(r'href="/clusters/([^/]+)/"', bar) == ["a-train", "b-train", "c-train"]


def _bar(person: personas.Person) -> str:
    page = person.client.get("/clusters/").content.decode()
    return page[page.index('class="freshness"') : page.index('class="live-controls"')]


def _words(bar: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", bar).split())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("silent", "more"),
    [
        (1, []),
        (2, ["1 more with a problem"]),
        (4, ["1 more with a problem", "3 more with problems"]),
        (7, ["4 more with problems", "6 more with problems"]),
    ],
)
def test_three_clusters_with_a_problem_are_named(silent: int, more: list[str]) -> None:
    """Seven names filled two lines of each page. Styles show one name and the other count on most screens."""
    now = timezone.now()
    for number in range(silent):
        make_cluster(f"bad-{number}", now=now, contact_at=now - timedelta(minutes=9))
    for number in range(3):
        make_cluster(f"good-{number}", now=now)
    bar = _bar(personas.make_owner())
    names = [f"bad-{number}" for number in range(silent)]
    assert re.findall(r'href="/clusters/([^/"]+)/"', bar) == names[:3]
    words = _words(bar)
    assert re.findall(r"\d more with (?:a problem|problems)", words) == more
    assert "3 others live" in words


@pytest.mark.django_db
def test_the_worst_problems_are_named() -> None:
    """On most screens only one name has room, and a silent cluster is worse than a stale one."""
    now = timezone.now()
    for name, seconds in (("a", 45), ("b", 45), ("c", 45), ("d", 600), ("e", 2)):
        make_cluster(name, now=now, contact_at=now - timedelta(seconds=seconds))
    bar = _bar(personas.make_owner())
    items = re.findall(r'<li class="([^"]*)"><a href="/clusters/([^/"]+)/"', bar)
    assert [(name, "spare" in classes) for classes, name in items] == [
        ("a", True),
        ("b", True),
        ("d", False),
    ]


@pytest.mark.django_db
def test_seven_live_clusters_are_counted() -> None:
    now = timezone.now()
    for number in range(7):
        make_cluster(f"good-{number}", now=now)
    words = _words(_bar(personas.make_owner()))
    assert "7 clusters live" in words
    assert "more with" not in words
