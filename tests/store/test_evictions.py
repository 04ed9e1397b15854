"""Evictions are stored once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gangboard.domain.eviction import EvictionCode, GangEviction
from gangboard.domain.objects import ObjectRef
from gangboard.polling.usage_recorder import EvictionRecorder
from gangboard.store.evictions import delete_old_evictions
from gangboard.store.models import Eviction, Gang
from tests.factories import make_cluster, make_gang

pytestmark = pytest.mark.django_db
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TAKER = ObjectRef("batch", "Job", "urgent-team", "urgent", "uid-urgent")


def preempted(
    after: float = 0, until: float | None = None, *, taker: ObjectRef | None = None, **fields: str
) -> GangEviction:
    last = after if until is None else until
    return GangEviction(
        EvictionCode.PREEMPTED, "", AT + after * SECOND, AT + last * SECOND, taker=taker, **fields
    )


def record(gang: Gang, *evictions: GangEviction, recorder: EvictionRecorder | None = None) -> int:
    """Tell a recorder, a new one as after a restart, and return the number of its writes."""
    recorder = recorder or EvictionRecorder()
    row = vars(gang)
    news = recorder.news([(row, evictions)])
    recorder.save(news)
    recorder.forget([gang.uid])
    return len(news)


@pytest.fixture
def gang() -> Gang:
    return make_gang(make_cluster(), "low")


def test_the_same_preemption_is_stored_once_over_restarts(gang: Gang) -> None:
    assert record(gang, preempted(0, 5)) == 1
    assert record(gang, preempted(0, 5)) == 0
    row = Eviction.objects.get()
    assert (row.name, row.namespace, row.code, row.at) == ("low", "research", "preempted", AT)
    assert (row.queue, row.accelerators, row.taker_name) == ("gpu-prod", 8.0, "")


def test_later_pods_and_the_preemptor_are_added(gang: Gang) -> None:
    record(gang, preempted(0))
    assert record(gang, preempted(0, 30, taker=TAKER)) == 1
    row = Eviction.objects.get()
    assert (row.last_at, row.taker_namespace) == (AT + 30 * SECOND, "urgent-team")
    assert (row.taker_name, row.taker_kind, row.taker_uid) == ("urgent", "Job", "uid-urgent")
    assert record(gang, preempted(0, 30)) == 0


def test_the_first_events_expire_before_the_last_ones(gang: Gang) -> None:
    record(gang, preempted(0, 120, taker=TAKER))
    assert record(gang, preempted(110, 120)) == 0


def test_a_preemption_more_than_a_minute_later_is_another_one(gang: Gang) -> None:
    record(gang, preempted(0, 5))
    record(gang, preempted(65))
    assert Eviction.objects.count() == 1
    record(gang, preempted(126))
    assert Eviction.objects.count() == 2


def test_the_times_of_a_queue_entry_are_exact(gang: Gang) -> None:
    """An entry can be admitted and preempted twice in a minute."""
    record(gang, preempted(0, source="uid-entry"))
    record(gang, preempted(20, source="uid-entry"))
    record(gang, preempted(20, source="uid-entry"))
    assert Eviction.objects.count() == 2


def test_a_known_eviction_costs_no_query(gang: Gang, django_assert_num_queries: object) -> None:
    recorder = EvictionRecorder()
    told = [(vars(gang), (preempted(),))]
    recorder.save(recorder.news(told))
    recorder.forget([gang.uid])
    assert recorder.news(told) == []
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert recorder.news(told) == []


def test_names_in_events_can_be_too_long(gang: Gang) -> None:
    taker = ObjectRef("g" * 300, "K" * 100, "n" * 300, "t" * 300, "u" * 100)
    record(gang, preempted(taker=taker))
    row = Eviction.objects.get()
    assert (len(row.taker_name), len(row.taker_kind), len(row.taker_uid)) == (253, 63, 64)
    assert record(gang, preempted(taker=taker)) == 0


def test_one_gang_has_a_limited_number(gang: Gang, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangboard.polling.usage_recorder.MOST_OF_GANG", 2)
    for number in range(3):
        record(gang, preempted(number * 100))
    assert Eviction.objects.count() == 2


def test_evictions_outlive_their_gang_until_they_are_old(gang: Gang) -> None:
    record(gang, preempted())
    gang.delete()
    delete_old_evictions(before=AT)
    assert Eviction.objects.count() == 1
    delete_old_evictions(before=AT + SECOND)
    assert not Eviction.objects.exists()
