"""Evictions over time: counts, names that a viewer may see, and gangs that lose their place again and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gangboard.pages.usage.eviction_queries import (
    EvictionFilters,
    all_evictions,
    count_evictions,
    eviction_page,
)
from gangboard.readmodels.evictions import GangEvictions, read_gang_evictions
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, Gang
from tests.factories import make_cluster, make_eviction, make_gang

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
HIDDEN = "a gang you may not see"


def reader(gang: Gang, namespace: str = "research") -> Viewer:
    return Viewer(3, "rene", (Scope(gang.cluster_id, namespace, "viewer"),))


def of_gang(gang: Gang, viewer: Viewer, now: datetime = NOW) -> GangEvictions:
    cluster = read_freshness(viewer=viewer, now=now)[gang.cluster_id]
    return read_gang_evictions(viewer=viewer, gang_id=gang.pk, cluster=cluster, now=now)


@pytest.fixture
def gang() -> Gang:
    return make_gang(make_cluster(), "llama")


@pytest.mark.parametrize(
    ("ages", "sentence"),
    [
        ((0, 30, 100), "Preempted for the third time in 1 h 40 min."),
        ((0, 30, 60, 120), "Preempted for the fourth time in 2 h."),
        ((0, 30, 121), ""),
        ((0, 30), ""),
        ((), ""),
    ],
)
def test_a_gang_that_loses_its_place_again_and_again(
    gang: Gang, owner: Viewer, ages: tuple[float, ...], sentence: str
) -> None:
    for age in ages:
        make_eviction(gang, at=NOW - age * MINUTE)
    assert of_gang(gang, owner).sentence == sentence


def test_the_sentence_ends_two_hours_after_the_last_time(gang: Gang, owner: Viewer) -> None:
    for age in (0, 30, 60):
        make_eviction(gang, at=NOW - age * MINUTE)
    assert of_gang(gang, owner, NOW + 2 * HOUR).sentence
    evictions = of_gang(gang, owner, NOW + 2 * HOUR + MINUTE)
    assert (evictions.sentence, evictions.count, evictions.lately) == ("", 3, 3)


def test_different_causes_have_a_common_word(gang: Gang, owner: Viewer) -> None:
    make_eviction(gang, at=NOW - 60 * MINUTE)
    make_eviction(gang, at=NOW - 30 * MINUTE, code="requeued")
    make_eviction(gang, at=NOW, code="evicted")
    assert of_gang(gang, owner).sentence == "Lost its place for the third time in 1 h."


def test_the_taker_is_named_for_those_who_may_see_it(gang: Gang, owner: Viewer) -> None:
    make_eviction(gang, at=NOW)
    make_eviction(gang, at=NOW - HOUR, taker_name="", taker_namespace="", taker_kind="")
    rows = of_gang(gang, owner).last
    assert [(row.taker, row.taker_kind) for row in rows] == [("urgent/eval", "Job"), ("", "")]
    rows = of_gang(gang, reader(gang)).last
    assert [(row.taker, row.taker_kind) for row in rows] == [(HIDDEN, ""), ("", "")]


def test_evictions_are_counted_by_day_gang_taker_and_queue(gang: Gang, owner: Viewer) -> None:
    other = make_gang(gang.cluster, "qwen", queue="")
    make_eviction(gang, at=NOW - HOUR)
    make_eviction(gang, at=NOW - 24 * HOUR)
    make_eviction(other, at=NOW - HOUR, code="requeued", taker_name="", taker_namespace="")
    make_eviction(other, at=NOW - 30 * 24 * HOUR)
    clusters = read_freshness(viewer=owner, now=NOW)
    counts = count_evictions(viewer=owner, filters=EvictionFilters(), clusters=clusters, now=NOW)
    days = [(day.day.day, day.preempted, day.evicted, day.requeued) for day in counts.days]
    assert days == [(21, 1, 0, 1), (20, 1, 0, 0)]
    assert (counts.count, counts.is_cut) == (3, False)
    # Nothing was recorded before, so the days without evictions are unknown.
    (gap,) = counts.known.gaps
    assert (gap.reason, gap.ended_at) == ("not-recorded", None)
    assert [(row.name, row.count) for row in counts.victims] == [
        ("research/llama", 2),
        ("research/qwen", 1),
    ]
    assert [(row.name, row.count) for row in counts.takers] == [("urgent/eval", 2)]
    assert [(row.name, row.count) for row in counts.queues] == [("gpu-prod", 2), ("no queue", 1)]


def test_hidden_takers_are_counted_together(gang: Gang) -> None:
    make_eviction(gang, at=NOW - HOUR)
    make_eviction(gang, at=NOW, taker_name="other")
    viewer = reader(gang)
    counts = count_evictions(
        viewer=viewer,
        filters=EvictionFilters(),
        clusters=read_freshness(viewer=viewer, now=NOW),
        now=NOW,
    )
    assert [(row.name, row.count) for row in counts.takers] == [(HIDDEN, 2)]


def test_a_viewer_gets_the_evictions_of_its_namespaces(gang: Gang, owner: Viewer) -> None:
    make_eviction(gang, at=NOW)
    viewer = reader(gang, "vision")
    clusters = read_freshness(viewer=viewer, now=NOW)
    unobserved = count_evictions(
        viewer=viewer, filters=EvictionFilters(), clusters=clusters, now=NOW
    )
    assert unobserved.count is None
    Cluster.objects.update(usage_since=NOW - timedelta(days=20))
    for person, number in ((owner, 1), (viewer, 0)):
        clusters = read_freshness(viewer=person, now=NOW)
        rows = list(all_evictions(person, EvictionFilters(), clusters))
        assert len(rows) == number
        counts = count_evictions(
            viewer=person, filters=EvictionFilters(), clusters=clusters, now=NOW
        )
        assert counts.count == number
    assert of_gang(gang, viewer).count == 0


def test_evictions_are_filtered_and_paged(gang: Gang, owner: Viewer) -> None:
    for age in range(5):
        make_eviction(gang, at=NOW - age * MINUTE, code="evicted" if age else "preempted")
    clusters = read_freshness(viewer=owner, now=NOW)
    first = eviction_page(
        viewer=owner, filters=EvictionFilters(code="evicted"), clusters=clusters, limit=3
    )
    assert [row.at for row in first.rows] == [NOW - age * MINUTE for age in (1, 2, 3)]
    rest = eviction_page(
        viewer=owner,
        filters=EvictionFilters(code="evicted"),
        clusters=clusters,
        cursor=first.next_cursor,
    )
    assert [row.at for row in rest.rows] == [NOW - 4 * MINUTE]
    assert rest.next_cursor is None


def test_evictions_outlive_the_gang(gang: Gang, owner: Viewer) -> None:
    make_eviction(gang, at=NOW)
    gang.delete()
    clusters = read_freshness(viewer=owner, now=NOW)
    (row,) = all_evictions(owner, EvictionFilters(cluster="eu-train"), clusters)
    assert (row.name, row.namespace, row.kind, row.queue) == (
        "llama",
        "research",
        "JobSet",
        "gpu-prod",
    )
