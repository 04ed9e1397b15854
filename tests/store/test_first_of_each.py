"""The first rows of each group, their order, and empty groups."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gangboard.store.bulk_statements import first_of_each
from gangboard.store.models import Gang
from tests.factories import NOW, make_cluster, make_gang

pytestmark = pytest.mark.django_db


def test_each_group_keeps_the_given_order(django_assert_num_queries: Any) -> None:
    cluster = make_cluster()
    for number, (stage, code, size) in enumerate(
        [
            ("placement", "fragmented", 4.0),
            ("placement", "fragmented", 16.0),
            ("placement", "fragmented", 8.0),
            ("start", "fragmented", 99.0),
            ("start", "image-pull", 1.0),
            ("start", "it's 100 %", 2.0),
        ]
    ):
        make_gang(cluster, f"g{number}", stage=stage, code=code, accelerators=size)
    make_gang(cluster, "young", code="fragmented", accelerators=32.0, since=NOW)
    ranked = Gang.objects.filter(since__lt=NOW - timedelta(minutes=1)).order_by("-accelerators")
    groups = [
        ("start", "it's 100 %"),
        ("placement", "fragmented"),
        ("placement", "not-there"),
        ("start", "image-pull"),
    ]
    with django_assert_num_queries(1):
        rows = first_of_each(ranked, ("stage", "code"), groups, 2)
    names = dict(Gang.objects.values_list("pk", "name"))
    assert [names[key] for key in rows] == ["g5", "g1", "g2", "g4"]


def test_an_empty_group_list_sends_no_query(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert first_of_each(Gang.objects.order_by("pk"), ("stage",), [], 3) == []
