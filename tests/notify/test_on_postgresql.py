"""Tests that lock rows or write SQL of their own once more, on a real PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = {
    "test_changed_and_muted.py": ("TestMute",),
    "test_delivery.py": (
        "test_a_receiver_that_is_down_for_ten_minutes_gets_each_event_in_order",
        "test_two_workers_do_not_send_to_one_channel_at_once",
        "test_a_test_comes_first_and_wakes_a_channel_that_failed",
    ),
    "test_matching.py": (
        "test_it_is_told_once_and_again_only_on_change",
        "test_programs_get_every_event_in_order",
        "test_what_follows_within_a_minute_is_one_more_message",
        "TestWaits",
        "TestTellMeWhenItRuns",
        "TestRights",
    ),
    "test_holds_and_actions.py": ("test_a_hold_that_ends_soon_is_told_once", "test_actions"),
    "test_queue.py": (
        "test_what_a_program_does_not_take_is_left_out_and_counted",
        "test_a_dead_channel_gives_up_all_that_is_a_day_old",
        "test_an_old_address_that_fails_does_not_delay_the_new_one",
    ),
    "../pages/test_changing_notifications.py": ("TestRules", "TestChannels"),
}


@pytest.mark.services
def test_messages_work_on_postgresql(postgres_url: str) -> None:
    names = [f"tests/notify/{file}::{name}" for file, found in TESTS.items() for name in found]
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
