"""Accelerator time: meters, their days, and times without contact."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from gangboard.domain.usage import AMOUNTS, AcceleratorUse
from gangboard.store.models import Cluster, UsageDay, UsageMeter
from gangboard.store.usage import (
    Meter,
    UsagePlace,
    begin_usage,
    day_parts,
    delete_old_usage,
    read_meters,
    save_meters,
    silences,
)
from tests.factories import make_cluster, make_outage

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
PLACE = UsagePlace("research", "gpu-prod", "ada", "run", "running")


def meter(gang: str = "g1", *, since: datetime = NOON, **use: float) -> Meter:
    return Meter(gang, f"uid-{gang}", PLACE, AcceleratorUse(**use), since)


def hours(cluster: Cluster) -> dict[date, dict[str, float]]:
    rows = UsageDay.objects.filter(cluster=cluster)
    return {
        row.day: {name: value / 3600 for name in AMOUNTS if (value := getattr(row, name))}
        for row in rows
    }


def test_the_time_of_a_meter_is_added_at_its_end() -> None:
    cluster = make_cluster(now=NOON + HOUR)
    save_meters(cluster.pk, ended=(), opened=[meter(used=8)], at=NOON)
    assert hours(cluster) == {}
    (opened,) = read_meters(cluster.pk)
    save_meters(cluster.pk, ended=[opened], opened=(), at=NOON + HOUR)
    assert hours(cluster) == {NOON.date(): {"used": 8}}
    assert not UsageMeter.objects.exists()


def test_gangs_of_one_place_are_one_row() -> None:
    cluster = make_cluster(now=NOON + HOUR)
    meters = [meter("g1", used=8), meter("g2", held=2, eligible=6)]
    save_meters(cluster.pk, ended=meters, opened=(), at=NOON + HOUR)
    save_meters(cluster.pk, ended=[meter("g3", used=1)], opened=(), at=NOON + HOUR)
    assert hours(cluster) == {NOON.date(): {"used": 9, "held": 2, "eligible": 6}}


def test_a_gang_that_goes_on_differently_gets_a_new_meter() -> None:
    cluster = make_cluster(now=NOON + HOUR)
    old, new = meter(eligible=8), meter(used=8, since=NOON + HOUR)
    save_meters(cluster.pk, ended=(), opened=[old], at=NOON)
    save_meters(cluster.pk, ended=[old], opened=[new], at=NOON + HOUR)
    assert list(read_meters(cluster.pk)) == [new]


def test_the_time_is_divided_at_midnight_utc() -> None:
    cluster = make_cluster(now=NOON + 24 * HOUR)
    save_meters(cluster.pk, ended=[meter(used=1)], opened=(), at=NOON + 20 * HOUR)
    assert hours(cluster) == {date(2026, 11, 20): {"used": 12}, date(2026, 11, 21): {"used": 8}}


def test_a_time_without_contact_is_unobserved() -> None:
    cluster = make_cluster(now=NOON + 4 * HOUR)
    make_outage(cluster, NOON + HOUR, NOON + 2 * HOUR)
    meters = [meter(held=2, eligible=6)]
    save_meters(cluster.pk, ended=meters, opened=(), at=NOON + 4 * HOUR)
    assert hours(cluster) == {NOON.date(): {"held": 6, "eligible": 18, "unobserved": 8}}


def test_a_silence_that_has_no_row_yet_is_unobserved() -> None:
    """The first verdict after a silence can be stored before the row of the outage."""
    cluster = make_cluster(contact_at=NOON + HOUR)
    save_meters(cluster.pk, ended=[meter(used=1)], opened=(), at=NOON + 3 * HOUR)
    assert hours(cluster) == {NOON.date(): {"used": 1, "unobserved": 2}}


def test_two_minutes_without_contact_are_no_silence() -> None:
    until = NOON + HOUR
    cluster = make_cluster(contact_at=until - 2 * MINUTE)
    assert silences(cluster.pk, NOON, until) == []
    Cluster.objects.update(contact_at=until - 2 * MINUTE - timedelta(seconds=1))
    assert silences(cluster.pk, NOON, until) == [(until - timedelta(seconds=121), until)]


def test_overlapping_silences_count_once() -> None:
    silent = [(NOON, NOON + HOUR), (NOON + 30 * MINUTE, NOON + 2 * HOUR)]
    (part,) = day_parts(NOON - HOUR, NOON + 3 * HOUR, silent)
    assert (part.observed, part.unobserved) == (2 * 3600, 2 * 3600)


def test_a_clock_that_went_back_adds_no_time() -> None:
    cluster = make_cluster()
    save_meters(cluster.pk, ended=[meter(used=1)], opened=(), at=NOON - HOUR)
    assert hours(cluster) == {}


def test_the_begin_is_recorded_once() -> None:
    cluster = make_cluster()
    begin_usage(cluster.pk, at=NOON)
    begin_usage(cluster.pk, at=NOON + HOUR)
    cluster.refresh_from_db()
    assert cluster.usage_since == NOON


def test_old_days_are_deleted_and_meters_stay() -> None:
    cluster = make_cluster(now=NOON + 48 * HOUR)
    save_meters(
        cluster.pk, ended=[meter(used=1)], opened=[meter("g2", used=1)], at=NOON + 36 * HOUR
    )
    delete_old_usage(before=NOON + 24 * HOUR)
    assert set(hours(cluster)) == {date(2026, 11, 21)}
    assert UsageMeter.objects.count() == 1
