"""Accelerator-hours of a period: sums, groups, rights, and times that are not known."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from gangboard.domain.usage import AcceleratorUse
from gangboard.pages.usage.queries import UsageQuery, read_usage, usual_period
from gangboard.pages.usage.rows import AcceleratorUsage, Hours
from gangboard.readmodels.freshness import read_freshness
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster
from gangboard.store.usage import Meter, UsagePlace, save_meters
from tests.factories import make_cluster, make_outage, make_usage

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
"""A Thursday."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MONDAY, TODAY = date(2026, 11, 16), date(2026, 11, 19)
HOURS = 3600.0


def recorded(name: str = "eu-train", *, now: datetime = NOW, **columns: Any) -> Cluster:
    """A cluster whose accelerator time is known for long."""
    return make_cluster(name, now=now, **{"usage_since": NOW - 30 * DAY, **columns})


def usage_of(
    viewer: Viewer,
    *by: str,
    begin: date = MONDAY,
    end: date = TODAY,
    now: datetime = NOW,
    **fields: str,
) -> AcceleratorUsage:
    query = UsageQuery(begin, end, by or ("namespace",), **fields)
    clusters = read_freshness(viewer=viewer, now=now)
    return read_usage(viewer=viewer, query=query, clusters=clusters, now=now)


def used(usage: AcceleratorUsage) -> dict[tuple[str, ...], float]:
    return {row.keys: row.hours.used for row in usage.rows}


def run(cluster: Cluster, *, since: datetime, gang: str = "g1", **use: float) -> None:
    """A gang that has done the same since a time."""
    place = UsagePlace("research", "gpu-prod", "ada", "run", "running")
    meter = Meter(gang, f"uid-{gang}", place, AcceleratorUse(**use), since)
    save_meters(cluster.pk, ended=(), opened=[meter], at=since)


def test_days_are_summed_by_namespace(owner: Viewer) -> None:
    cluster = recorded()
    amounts = {"used": 2 * HOURS, "held": HOURS, "eligible": 3 * HOURS, "ineligible": 4 * HOURS}
    make_usage(cluster, now=NOW, **amounts, unobserved=5 * HOURS)
    make_usage(cluster, now=NOW - DAY, used=HOURS)
    make_usage(cluster, now=NOW, namespace="vision", used=HOURS)
    usage = usage_of(owner)
    assert [(row.namespace, row.hours) for row in usage.rows] == [
        ("research", Hours(3, 1, 3, 4, 5)),
        ("vision", Hours(1, 0, 0, 0, 0)),
    ]
    assert usage.sums == Hours(4, 1, 3, 4, 5)
    assert (usage.known.gaps, usage.complete) == ((), True)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (("queue",), {("gpu-prod",): 1, ("no queue",): 2}),
        (("submitter",), {("ada",): 1, ("unknown",): 2}),
        (("cluster",), {("eu-train",): 3}),
        (("reason",), {("Running",): 3}),
        (("week",), {("2026-11-16",): 2, ("2026-11-09",): 1}),
        (("day", "queue"), {("2026-11-15", "gpu-prod"): 1, ("2026-11-16", "no queue"): 2}),
    ],
    ids=["queue", "submitter", "cluster", "reason", "week", "day and queue"],
)
def test_what_they_are_summed_by(
    owner: Viewer, by: tuple[str, ...], expected: dict[tuple[str, ...], float]
) -> None:
    cluster = recorded()
    make_usage(cluster, now=datetime(2026, 11, 15, 23, tzinfo=UTC), used=HOURS)
    monday = datetime(2026, 11, 16, tzinfo=UTC)
    make_usage(cluster, now=monday, queue="", submitter="", used=2 * HOURS)
    assert used(usage_of(owner, *by, begin=date(2026, 11, 9))) == expected


def test_a_gang_that_still_runs_counts_up_to_now(owner: Viewer) -> None:
    cluster = recorded()
    run(cluster, since=NOW - 14 * HOUR, used=8)
    assert used(usage_of(owner)) == {("research",): 112}
    # 12 of the 14 hours are of today.
    assert used(usage_of(owner, "day")) == {("2026-11-19",): 96, ("2026-11-18",): 16}


def test_only_the_part_within_the_period_counts(owner: Viewer) -> None:
    run(recorded(), since=NOW - 30 * DAY, used=1)
    yesterday = TODAY - DAY
    assert used(usage_of(owner, begin=yesterday, end=yesterday)) == {("research",): 24}
    assert used(usage_of(owner, begin=date(2026, 12, 1), end=date(2026, 12, 2))) == {}


def test_an_outage_is_a_gap_and_not_zero(owner: Viewer) -> None:
    cluster = recorded()
    run(cluster, since=NOW - 6 * HOUR, used=4, eligible=4)
    make_outage(cluster, NOW - 4 * HOUR, NOW - 2 * HOUR)
    usage = usage_of(owner, begin=TODAY)
    assert usage.sums == Hours(16, 0, 16, 0, 16)
    (gap,) = usage.known.gaps
    assert (gap.reason, gap.began_at, gap.ended_at) == ("outage", NOW - 4 * HOUR, NOW - 2 * HOUR)
    (coverage,) = usage.known.coverage
    assert (coverage.observed_seconds, coverage.period_seconds) == (10 * 3600, 12 * 3600)
    assert coverage.percent == 83


def test_a_silent_cluster_counts_up_to_its_last_answer(owner: Viewer) -> None:
    cluster = recorded(contact_at=NOW - HOUR)
    run(cluster, since=NOW - 3 * HOUR, used=1)
    usage = usage_of(owner)
    assert usage.sums == Hours(2, 0, 0, 0, 1)
    (gap,) = usage.known.gaps
    assert (gap.reason, gap.began_at, gap.ended_at) == ("outage", NOW - HOUR, None)


def test_before_the_first_record_nothing_is_known(owner: Viewer) -> None:
    recorded(usage_since=NOW - 6 * HOUR)
    usage = usage_of(owner, begin=TODAY)
    assert usage.sums == Hours(0, 0, 0, 0, 0)
    (gap,) = usage.known.gaps
    assert (gap.reason, gap.ended_at) == ("not-recorded", NOW - 6 * HOUR)


@pytest.mark.parametrize("since", [None, NOW - HOUR])
def test_sums_of_a_period_without_any_record_are_null(
    owner: Viewer, since: datetime | None
) -> None:
    recorded(usage_since=since)
    yesterday = TODAY - DAY
    usage = usage_of(owner, begin=yesterday, end=yesterday)
    assert (usage.sums, usage.rows) == (None, ())
    (gap,) = usage.known.gaps
    assert gap.reason == "not-recorded"
    assert gap.ended_at == datetime(2026, 11, 19, tzinfo=UTC)


def test_deleted_days_are_a_gap(owner: Viewer, settings: Any) -> None:
    settings.USAGE_DAYS = settings.HISTORY_DAYS = 10
    recorded()
    usage = usage_of(owner, begin=TODAY - 12 * DAY)
    (gap,) = usage.known.gaps
    assert (gap.reason, gap.ended_at) == ("deleted", NOW - 10 * DAY)


def test_a_viewer_gets_the_namespaces_of_its_roles() -> None:
    cluster, other = recorded(), recorded("us-train")
    make_usage(cluster, now=NOW, used=HOURS)
    make_usage(cluster, now=NOW, namespace="vision", used=2 * HOURS)
    make_usage(other, now=NOW, used=4 * HOURS)
    run(cluster, since=NOW - HOUR, used=8)
    viewer = Viewer(3, "rene", (Scope(cluster.pk, "research", "viewer"),))
    usage = usage_of(viewer)
    assert used(usage) == {("research",): 9}
    assert [row.cluster for row in usage.known.coverage] == ["eu-train"]


def test_a_stranger_gets_nothing(stranger: Viewer) -> None:
    make_usage(recorded(), now=NOW)
    usage = usage_of(stranger)
    assert (usage.rows, usage.sums, usage.known.coverage) == ((), None, ())


def test_a_cluster_and_a_namespace_can_be_selected(owner: Viewer) -> None:
    for name, hours in (("eu-train", 1), ("us-train", 2)):
        cluster = recorded(name)
        make_usage(cluster, now=NOW, used=hours * HOURS)
        make_usage(cluster, now=NOW, namespace="vision", used=10 * HOURS)
    usage = usage_of(owner, cluster="us-train", namespace="research")
    assert used(usage) == {("research",): 2}


def test_the_usual_period_begins_on_a_monday() -> None:
    assert usual_period(NOW) == (date(2026, 10, 26), date(2026, 11, 19))


def test_it_takes_three_queries(owner: Viewer, django_assert_num_queries: Any) -> None:
    for name in ("eu-train", "us-train"):
        make_usage(recorded(name), now=NOW)
    clusters = read_freshness(viewer=owner, now=NOW)
    query = UsageQuery(MONDAY, TODAY, ("namespace", "week", "reason"))
    with django_assert_num_queries(3):
        read_usage(viewer=owner, query=query, clusters=clusters, now=NOW)
