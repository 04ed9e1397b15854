"""Tests that lock rows or write SQL of their own once more, on a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = {
    "test_changed_and_muted": (
        "TestChanges::test_a_change_sends_no_old_event_again",
        "TestMute::test_what_happens_meanwhile_is_never_told_and_what_follows_is",
    ),
    "test_delivery": (
        "test_two_workers_do_not_send_to_one_channel_at_once",
        "test_a_test_comes_first_and_wakes_a_channel_that_failed",
        "test_a_change_of_which_the_verdict_is_over_says_so",
    ),
    "test_matching": (
        "test_it_is_told_once_and_again_only_on_change",
        "test_programs_get_every_event_in_order",
        "TestWaits::test_a_gang_that_waits_long_is_told_once",
        "TestTellMeWhenItRuns::test_a_gang_that_runs_already_is_told",
        "TestRights::test_rights_that_were_taken_meanwhile_count",
    ),
    "test_holds_and_actions": ("test_a_hold_that_ends_soon_is_told_once", "test_actions"),
    "test_queue": (
        "test_what_a_program_does_not_take_is_left_out_and_counted",
        "test_a_dead_channel_gives_up_all_that_is_a_day_old",
        "test_an_old_address_that_fails_does_not_delay_the_new_one",
    ),
}


@pytest.mark.services
def test_messages_work_on_postgresql(postgres_url: str) -> None:
    names = [f"tests/notify/{file}.py::{name}" for file, found in TESTS.items() for name in found]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *names],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": postgres_url, "CI": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
