"""The start of a verdict, and how it survives an unknown period."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding, Members, Verdict
from gangboard.facts.gang import Gang
from gangboard.polling.gang_rows import differs, gang_row
from tests.domain_objects import a_job

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
RUNNING = Finding("running", Health.RUNNING, Stage.RUN, "Running", "Both pods are ready.")
UNKNOWN = Finding("not-observed", Health.UNKNOWN, Stage.RUN, "Not observed", "Pods are forbidden.")
FAILED = Finding("failed", Health.FAILED, Stage.RUN, "Failed", "The Job failed.")


def _row(
    finding: Finding,
    before: dict[str, Any] | None,
    now: datetime,
    *,
    watched: bool = True,
    **meta: Any,
) -> dict[str, Any]:
    facts = Gang(owner=a_job("train", **{"created_at": NOW - 6 * DAY, **meta}), now=now)
    requests = {"nvidia.com/gpu": "16", "cpu": "4", "vpc.amazonaws.com/efa": "64"}
    verdict = Verdict(finding, (finding,), Members(desired=2), requests)
    return gang_row(1, "east", facts, verdict, before, now, watched=watched)


def test_a_new_gang_has_its_verdict_since_now() -> None:
    row = _row(RUNNING, None, NOW)
    assert row["since"] == row["first_seen_at"] == NOW
    assert row["accelerators"] == 16
    assert differs(row, None)


def test_a_changed_priority_value_is_a_difference() -> None:
    facts = Gang(owner=a_job("train"), now=NOW)
    verdict = Verdict(RUNNING, (RUNNING,), Members(desired=2), {}, priority_value=1000)
    row = gang_row(1, "east", facts, verdict, None, NOW, watched=True)
    assert row["priority_value"] == 1000
    assert differs(row, {**row, "priority_value": None}), "as in a row of an older release"


def test_the_same_verdict_keeps_its_start_and_is_no_difference() -> None:
    first = _row(RUNNING, None, NOW)
    same = _row(RUNNING, first, NOW + MINUTE)
    assert same["since"] == NOW
    assert not differs(same, first)


def test_a_new_verdict_starts_now_unless_the_objects_record_its_start() -> None:
    first = _row(RUNNING, None, NOW)
    assert _row(FAILED, first, NOW + MINUTE)["since"] == NOW + MINUTE
    known = replace(FAILED, since=NOW + MINUTE / 2)
    assert _row(known, first, NOW + MINUTE)["since"] == NOW + MINUTE / 2


def test_a_start_in_the_future_counts_as_now() -> None:
    assert _row(replace(FAILED, since=NOW + MINUTE), None, NOW)["since"] == NOW


@pytest.mark.parametrize("polls", [1, 3])
def test_an_unknown_period_does_not_restart_a_verdict(polls: int) -> None:
    row = _row(RUNNING, None, NOW)
    for poll in range(polls):
        row = _row(UNKNOWN, row, NOW + (poll + 1) * MINUTE)
        assert row["last_health"] == "running"
        assert row["since"] == NOW + MINUTE
    row = _row(RUNNING, row, NOW + 9 * MINUTE)
    assert row["since"] == NOW
    assert row["last_health"] == ""


def test_a_change_in_an_unknown_period_starts_when_it_is_seen() -> None:
    row = _row(UNKNOWN, _row(RUNNING, None, NOW), NOW + MINUTE)
    assert _row(FAILED, row, NOW + 2 * MINUTE)["since"] == NOW + 2 * MINUTE
    assert row["since_first_seen"] is False, "since when nobody could look is known"
    assert _row(FAILED, row, NOW + 2 * MINUTE)["since_first_seen"] is True


def start_of(row: dict[str, Any]) -> tuple[datetime, bool]:
    return row["since"], row["since_first_seen"]


OLD = replace(RUNNING, since=NOW - 2 * DAY)


def test_an_unrecorded_start_may_be_before_the_first_sight() -> None:
    first = _row(RUNNING, None, NOW)
    assert start_of(first) == (NOW, True)
    assert start_of(_row(RUNNING, first, NOW + MINUTE)) == (NOW, True)


def test_a_recorded_start_is_used() -> None:
    first = _row(OLD, None, NOW)
    assert start_of(first) == (NOW - 2 * DAY, False)
    later = replace(RUNNING, since=NOW - DAY)
    assert start_of(_row(later, first, NOW + MINUTE)) == (NOW - 2 * DAY, False)
    assert start_of(_row(RUNNING, first, NOW + MINUTE)) == (NOW - 2 * DAY, False)


def test_a_start_is_between_the_creation_of_the_owner_and_now() -> None:
    born = NOW - DAY
    assert start_of(_row(OLD, None, NOW, created_at=born)) == (born, False)
    assert start_of(_row(OLD, None, NOW, created_at=NOW + MINUTE)) == (NOW, False)


def test_a_watched_change_needs_no_recorded_start() -> None:
    first = _row(OLD, None, NOW)
    assert start_of(_row(FAILED, first, NOW + MINUTE)) == (NOW + MINUTE, False)
    assert start_of(_row(FAILED, first, NOW + MINUTE, watched=False)) == (NOW + MINUTE, True)
    back = {**first, "gone_at": NOW}
    assert start_of(_row(FAILED, back, NOW + MINUTE)) == (NOW + MINUTE, True)


def test_a_new_gang_is_observed_from_its_start() -> None:
    assert start_of(_row(RUNNING, None, NOW, created_at=NOW - MINUTE / 6)) == (NOW, False)


def test_a_start_recorded_later_replaces_the_first_sight() -> None:
    first = _row(RUNNING, None, NOW)
    assert start_of(_row(OLD, first, NOW + MINUTE)) == (NOW - 2 * DAY, False)
    # It was so already when it was seen first: this is the time of something else.
    newer = replace(RUNNING, since=NOW + MINUTE / 2)
    assert start_of(_row(newer, first, NOW + MINUTE)) == (NOW, True)


def test_a_verdict_that_restarted_while_not_watched_has_a_new_start() -> None:
    first, restarted = _row(OLD, None, NOW), replace(RUNNING, since=NOW + MINUTE)
    assert start_of(_row(restarted, first, NOW + 2 * MINUTE, watched=False)) == (
        NOW + MINUTE,
        False,
    )
    assert start_of(_row(restarted, first, NOW + 2 * MINUTE)) == (NOW - 2 * DAY, False)


def test_a_first_sight_survives_an_unknown_period() -> None:
    row = _row(UNKNOWN, _row(RUNNING, None, NOW), NOW + MINUTE)
    row = _row(UNKNOWN, row, NOW + 2 * MINUTE)
    assert start_of(row) == (NOW + MINUTE, False)
    assert start_of(_row(RUNNING, row, NOW + 3 * MINUTE)) == (NOW, True)
