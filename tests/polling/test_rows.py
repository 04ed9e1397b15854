"""Since when a verdict holds, and what is remembered over a time in which nobody could look."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.domain.facts import GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.domain.verdict import Finding, Members, Verdict
from gangboard.polling.rows import differs, gang_row
from tests.diagnosis.building import a_job

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RUNNING = Finding("running", Health.RUNNING, Stage.RUN, "Running", "All 2 pods are ready.")
UNKNOWN = Finding("not-observed", Health.UNKNOWN, Stage.RUN, "Not observed", "Pods are forbidden.")
FAILED = Finding("failed", Health.FAILED, Stage.RUN, "Failed", "The Job failed.")


def _row(finding: Finding, before: dict[str, Any] | None, now: datetime) -> dict[str, Any]:
    facts = GangFacts(owner=a_job("train"), now=now)
    asked = {"nvidia.com/gpu": "16", "cpu": "4", "vpc.amazonaws.com/efa": "64"}
    verdict = Verdict(finding, (finding,), Members(desired=2), asked)
    return gang_row(1, "east", facts, verdict, before, now)


def test_a_new_gang_has_its_verdict_since_now() -> None:
    row = _row(RUNNING, None, NOW)
    assert row["since"] == row["first_seen_at"] == NOW
    assert row["accelerators"] == 16
    assert differs(row, None)


def test_what_its_priority_is_worth_is_news() -> None:
    facts = GangFacts(owner=a_job("train"), now=NOW)
    verdict = Verdict(RUNNING, (RUNNING,), Members(desired=2), {}, priority_value=1000)
    row = gang_row(1, "east", facts, verdict, None, NOW)
    assert row["priority_value"] == 1000
    assert differs(row, {**row, "priority_value": None}), "as in a row of an older release"


def test_the_same_verdict_keeps_its_time_and_is_no_news() -> None:
    first = _row(RUNNING, None, NOW)
    again = _row(RUNNING, first, NOW + MINUTE)
    assert again["since"] == NOW
    assert not differs(again, first)


def test_another_verdict_begins_now_unless_its_state_says_when() -> None:
    first = _row(RUNNING, None, NOW)
    assert _row(FAILED, first, NOW + MINUTE)["since"] == NOW + MINUTE
    known = replace(FAILED, since=NOW + MINUTE / 2)
    assert _row(known, first, NOW + MINUTE)["since"] == NOW + MINUTE / 2


def test_a_state_that_claims_the_future_begins_now() -> None:
    assert _row(replace(FAILED, since=NOW + MINUTE), None, NOW)["since"] == NOW


@pytest.mark.parametrize("looks", [1, 3])
def test_a_time_in_which_nobody_could_look_does_not_begin_it_anew(looks: int) -> None:
    row = _row(RUNNING, None, NOW)
    for look in range(looks):
        row = _row(UNKNOWN, row, NOW + (look + 1) * MINUTE)
        assert row["last_health"] == "running"
        assert row["since"] == NOW + MINUTE
    row = _row(RUNNING, row, NOW + 9 * MINUTE)
    assert row["since"] == NOW
    assert row["last_health"] == ""


def test_what_changed_while_nobody_could_look_begins_when_it_is_seen() -> None:
    row = _row(UNKNOWN, _row(RUNNING, None, NOW), NOW + MINUTE)
    assert _row(FAILED, row, NOW + 2 * MINUTE)["since"] == NOW + 2 * MINUTE
