"""The waits of each queue and size: which gangs are cases, and when there are too few."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from gangboard.readmodels import waits_by_queue
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.waits_by_queue import WaitsByQueue, read_waits_by_queue, size_of
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang
from tests.factories import NOW, make_cluster, make_gang, make_history

pytestmark = pytest.mark.django_db

BORN = NOW - timedelta(hours=5)


def read(viewer: Viewer, cluster: str = "") -> WaitsByQueue:
    clusters = read_freshness(viewer=viewer, now=NOW)
    return read_waits_by_queue(viewer=viewer, clusters=clusters, cluster=cluster)


def a_case(cluster: Cluster, minutes: float, *extra: tuple[str, float], **columns: Any) -> Gang:
    """A gang that waited for room for so long, and then ran."""
    gang = make_gang(cluster, created_at=BORN, **columns)
    make_history(gang, BORN, ("room", minutes), *extra, ("runs", 10))
    return gang


def test_a_queue_has_the_median_and_90th_percentile(owner: Viewer) -> None:
    eu = make_cluster()
    for minutes in (90, 10, 20, 30, 40, 50, 60, 70, 80, 100):
        a_case(eu, minutes)
    result = read(owner)
    (row,) = result.rows
    assert (row.cluster, row.queue, row.size.label) == ("eu-train", "gpu-prod", "up to 8")
    assert (row.gangs, result.gangs) == (10, 10)
    assert (row.median_seconds, row.p90_seconds) == (55 * 60, 90 * 60)
    assert (row.median_text, row.most_text) == ("55 min", "1 h 30 min")


@pytest.mark.parametrize(
    ("number", "median", "most"),
    [
        (4, "too few gangs", "too few gangs"),
        (5, "7 min", "too few gangs"),
        (9, "7 min", "too few gangs"),
        (10, "7 min", "7 min"),
    ],
)
def test_too_few_cases_have_no_statistics(
    owner: Viewer, number: int, median: str, most: str
) -> None:
    eu = make_cluster()
    for _ in range(number):
        a_case(eu, 7)
    (row,) = read(owner).rows
    assert (row.gangs, row.median_text, row.most_text) == (number, median, most)


def test_suspended_time_is_not_counted(owner: Viewer) -> None:
    eu = make_cluster()
    for _ in range(5):
        a_case(eu, 5, ("held", 120), ("room", 2))
    assert [row.median_seconds for row in read(owner).rows] == [7 * 60]


def test_only_complete_first_waits_count(owner: Viewer) -> None:
    eu = make_cluster()
    for _ in range(5):
        a_case(eu, 5, ("runs", 60), ("room", 100))
    a_case(eu, 5, ("unknown", 1), ("room", 1))
    seen_late = make_gang(eu, created_at=BORN - timedelta(hours=9))
    make_history(seen_late, BORN, ("room", 1), ("runs", 10))
    make_history(make_gang(eu, created_at=BORN), BORN, ("room", 30))
    make_history(make_gang(eu, created_at=BORN), BORN, ("room", 5), ("failed", 5))
    result = read(owner)
    assert [(row.gangs, row.median_seconds) for row in result.rows] == [(5, 5 * 60)]
    assert result.gangs == 5


def test_queues_sizes_and_clusters_are_separate(owner: Viewer) -> None:
    eu, us = make_cluster(), make_cluster("us-train")
    a_case(eu, 1, accelerators=0.0)
    a_case(eu, 1, accelerators=0.0, queue="")
    a_case(eu, 1, accelerators=1024.0)
    a_case(us, 1, accelerators=64.0)
    reported = [(row.cluster, row.queue, row.size.label) for row in read(owner).rows]
    assert reported == [
        ("eu-train", "", "none"),
        ("eu-train", "gpu-prod", "none"),
        ("eu-train", "gpu-prod", "more than 512"),
        ("us-train", "gpu-prod", "9 to 64"),
    ]
    assert [row.cluster for row in read(owner, "us-train").rows] == ["us-train"]
    assert read(owner, "no-such").rows == ()


@pytest.mark.parametrize(
    ("accelerators", "label"),
    [
        (0, "none"),
        (0.5, "up to 8"),
        (8, "up to 8"),
        (9, "9 to 64"),
        (64, "9 to 64"),
        (512, "65 to 512"),
        (513, "more than 512"),
    ],
)
def test_gangs_are_grouped_by_size(accelerators: float, label: str) -> None:
    assert size_of(accelerators).label == label


def test_only_visible_gangs_are_counted(stranger: Viewer) -> None:
    eu = make_cluster()
    for namespace in ("research", "vision"):
        for _ in range(3):
            a_case(eu, 1, namespace=namespace)
    reader = Viewer(3, "rene", (Scope(eu.pk, "research", "viewer"),))
    assert [row.gangs for row in read(reader).rows] == [3]
    assert read(stranger) == WaitsByQueue((), 0)


def test_the_newest_waits_need_three_queries(
    owner: Viewer, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(waits_by_queue, "MOST_GANGS", 5)
    eu = make_cluster()
    for minutes in (200, 200, 3, 3, 3, 3, 3):
        a_case(eu, minutes)
    clusters = read_freshness(viewer=owner, now=NOW)
    with django_assert_num_queries(3):
        result = read_waits_by_queue(viewer=owner, clusters=clusters)
    assert [(row.gangs, row.median_seconds) for row in result.rows] == [(5, 180)]
