"""Tests of the database once more, on a real PostgreSQL: store, read models, and the statements of notify."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTIFY = {
    "test_changed_and_muted": (
        "TestChanges::test_a_changed_rule_resends_no_old_event",
        "TestMute::test_events_during_a_mute_are_skipped_and_later_ones_are_sent",
    ),
    "test_delivery": (
        "test_two_workers_do_not_send_to_one_channel_concurrently",
        "test_a_test_message_comes_first_and_retries_a_failed_channel",
        "test_a_change_with_an_outdated_verdict_says_so",
    ),
    "test_matching": (
        "test_an_event_is_sent_once_and_again_only_on_change",
        "test_webhooks_get_every_event_in_order",
        "TestWaits::test_a_long_waiting_gang_is_sent_once",
        "TestTellMeWhenItRuns::test_an_already_running_gang_is_sent",
        "TestRights::test_revoked_rights_count",
    ),
    "test_holds_and_actions": (
        "test_a_hold_that_ends_soon_is_sent_once",
        "test_finished_actions_are_sent",
    ),
    "test_queue": (
        "test_skipped_webhook_events_are_counted",
        "test_a_dead_channel_drops_messages_older_than_a_day",
        "test_a_failing_old_address_does_not_delay_the_new_one",
    ),
}
"""Tests that lock rows or write SQL of their own."""


@pytest.mark.services
def test_the_database_works_on_postgresql(empty_postgres_database: str) -> None:
    """One run, because its start and its migrations take ten seconds. A test named on_sqlite has its own database."""
    names = [f"tests/notify/{file}.py::{name}" for file, tests in NOTIFY.items() for name in tests]
    chosen = ("-m", "not services", "-k", "not on_sqlite")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *chosen, "tests/store", "tests/readmodels", *names],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": empty_postgres_database, "CI": ""},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
