"""Curves: correct sums, gaps during outages, and permissions."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.trends import (
    DAY,
    FORTNIGHT,
    Period,
    Trends,
    read_gang_trends,
    read_trends,
)
from gangboard.store.access import Scope, Viewer
from gangboard.store.models import Cluster, TrendPoint
from tests.factories import NOW, make_cluster

pytestmark = pytest.mark.django_db

QUARTER = timedelta(minutes=15)


def point(cluster: Cluster, at: datetime, **columns: Any) -> None:
    """16 accelerators wait in two gangs; 10 are in use, 4 of these by a broken gang, 6 are free."""
    values: dict[str, Any] = {
        "is_lasting": True,
        "gangs": {"waiting": 2, "running": 5},
        "waiting": 16.0,
        "reasons": {"placement/fragmented": [2, 16.0]},
        "used": 10.0,
        "held": 4.0,
        "free": 6.0,
        "away": 0.0,
    }
    TrendPoint.objects.create(cluster=cluster, at=at, **{**values, **columns})


def read(viewer: Viewer, *, cluster: str = "", period: Period = DAY) -> Trends:
    clusters = read_freshness(viewer=viewer, now=NOW)
    return read_trends(
        viewer=viewer,
        clusters=clusters,
        cluster=cluster,
        now=NOW,
        period=period,
        with_reasons=True,
    )


def test_each_quarter_of_the_day_has_its_point_and_the_newest_is_last(owner: Viewer) -> None:
    cluster = make_cluster()
    point(cluster, NOW)
    point(cluster, NOW - 2 * QUARTER, waiting=24.0)
    result = read(owner)
    assert result.waiting is not None
    assert len(result.waiting.values) == 96
    assert result.waiting.values[-3:] == (24.0, None, 16.0)
    assert result.times[-1] == NOW
    assert result.times[0] == NOW - timedelta(days=1) + QUARTER


def test_used_and_held_accelerators_are_separate_and_add_up(owner: Viewer) -> None:
    point(make_cluster(), NOW)
    result = read(owner)
    room = [curve.last for curve in (result.used, result.held, result.free, result.away) if curve]
    assert room == [6.0, 4.0, 6.0, 0.0]
    assert result.reasons["placement", "fragmented"].last == 16.0
    assert (result.gangs["running"].last, result.gangs["failed"].last) == (5, 0)


def test_clusters_are_added_up_and_an_unreachable_one_is_a_gap(owner: Viewer) -> None:
    east, west = make_cluster("east"), make_cluster("west")
    for index in (NOW - 2 * QUARTER, NOW):
        point(east, index)
        point(west, index, waiting=4.0, free=1.0)
    point(east, NOW - QUARTER)
    point(west, NOW - QUARTER, gangs=None, waiting=None, reasons=None)
    result = read(owner)
    assert result.waiting is not None
    assert result.free is not None
    assert result.waiting.values[-3:] == (20.0, None, 20.0)
    assert result.free.values[-3:] == (7.0, 12.0, 7.0)


def test_a_cluster_that_was_added_later_leaves_no_gap_before_it(owner: Viewer) -> None:
    east, west = make_cluster("east"), make_cluster("west")
    point(east, NOW - QUARTER)
    point(east, NOW)
    point(west, NOW, waiting=4.0)
    result = read(owner)
    assert result.waiting is not None
    assert result.waiting.values[-2:] == (16.0, 20.0)


def test_a_silent_cluster_is_left_out_and_named(owner: Viewer) -> None:
    east = make_cluster("east")
    lab = make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
    for cluster in (east, lab):
        point(cluster, NOW - QUARTER)
    point(east, NOW)
    result = read(owner)
    assert result.waiting is not None
    assert result.waiting.values[-2:] == (16.0, 16.0)
    assert result.left_out == ("lab",)


def test_a_fortnight_has_a_point_every_two_hours(owner: Viewer) -> None:
    cluster = make_cluster()
    for days in (13, 7, 0):
        point(cluster, NOW - timedelta(days=days), waiting=float(days))
    point(cluster, NOW - timedelta(days=15), waiting=99.0)
    result = read(owner, period=FORTNIGHT)
    assert result.waiting is not None
    assert len(result.waiting.values) == 168
    assert result.waiting.known == (13.0, 7.0, 0.0)


def test_only_quarter_hours_are_read(owner: Viewer) -> None:
    cluster = make_cluster()
    point(cluster, NOW - QUARTER)
    point(cluster, NOW - QUARTER + timedelta(minutes=3), is_lasting=False, waiting=77.0)
    result = read(owner)
    assert result.waiting is not None
    assert result.waiting.known == (16.0,)


def test_a_namespace_viewer_gets_only_node_curves() -> None:
    cluster = make_cluster()
    point(cluster, NOW)
    result = read(Viewer(3, "nina", (Scope(cluster.pk, "research", "viewer"),)))
    assert (result.gangs, result.waiting, result.reasons) == ({}, None, {})
    assert result.free is not None
    assert result.free.last == 6.0


def test_a_stranger_gets_no_curves(stranger: Viewer) -> None:
    point(make_cluster(), NOW)
    result = read(stranger)
    assert (result.gangs, result.waiting, result.free, result.left_out) == ({}, None, None, ())


def test_health_curves_are_read_separately(
    owner: Viewer, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    east, lab = make_cluster("east"), make_cluster("lab", contact_at=NOW - timedelta(minutes=4))
    point(east, NOW - QUARTER, gangs={"waiting": 3})
    point(east, NOW)
    point(lab, NOW)
    clusters = read_freshness(viewer=owner, now=NOW)
    with django_assert_num_queries(1):
        gang_trends = read_gang_trends(viewer=owner, clusters=clusters, now=NOW)
    assert gang_trends.gangs["waiting"].known == (3, 2)
    assert gang_trends.gangs["running"].known == (0, 5)
    assert (gang_trends.free, gang_trends.left_out) == (None, ("lab",))


def test_a_namespace_viewer_reads_no_health_curves(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    cluster = make_cluster()
    point(cluster, NOW)
    viewer = Viewer(3, "nina", (Scope(cluster.pk, "research", "viewer"),))
    clusters = read_freshness(viewer=viewer, now=NOW)
    with django_assert_num_queries(0):
        assert read_gang_trends(viewer=viewer, clusters=clusters, now=NOW).gangs == {}
