"""Wake-ups of waiting pages, and the limits on waiters."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gangboard.pages.core.live.notifier import Notifier, TooManyWaiting
from gangboard.readmodels.data_versions import DataVersions, position_in
from gangboard.readmodels.freshness import Level
from gangboard.store.access import Scope, Viewer

SOON = 60.0
"""Seconds that a slow machine may need for one step."""
LONG = 10 * SOON
"""Seconds that a request waits without a wake-up."""


class TestNotifier:
    """The notifier reads fake positions instead of a database."""

    OWNER = Viewer(1, "olga", (Scope(None, "", "admin"),))
    READER = Viewer(2, "rene", (Scope(1, "research", "viewer"),))

    def make(self) -> tuple[Notifier, dict[int, tuple[int, Level]]]:
        clusters = {1: (1, Level.LIVE), 2: (1, Level.LIVE)}
        return Notifier(lambda: DataVersions(dict(clusters), ())), clusters

    def wait_in_thread(
        self, notifier: Notifier, viewer: Viewer, page: str, timeout: float
    ) -> tuple[threading.Thread, list[bool]]:
        answers: list[bool] = []
        ticket = notifier.enter(1, page, most=10)
        notifier.wait(ticket, viewer, "", SOON)  # until the first look
        position = notifier.position(viewer)

        def run() -> None:
            answers.append(notifier.wait(ticket, viewer, position, timeout))
            notifier.leave(ticket)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread, answers

    def test_a_change_wakes_only_the_pages_of_its_viewers(self) -> None:
        notifier, clusters = self.make()
        first, first_answers = self.wait_in_thread(notifier, self.OWNER, "a", LONG)
        second, second_answers = self.wait_in_thread(notifier, self.READER, "b", 1)
        clusters[2] = (2, Level.LIVE)
        first.join(SOON)
        assert first_answers == [True]
        second.join(SOON)
        assert second_answers == [False]
        assert notifier.waiting == 0

    def test_a_freshness_change_wakes_pages(self) -> None:
        notifier, clusters = self.make()
        thread, answers = self.wait_in_thread(notifier, self.READER, "a", LONG)
        clusters[1] = (1, Level.SILENT)
        thread.join(SOON)
        assert answers == [True]

    def test_a_newer_request_of_the_same_page_takes_its_slot(self) -> None:
        notifier, _ = self.make()
        thread, answers = self.wait_in_thread(notifier, self.OWNER, "same", LONG)
        newer = notifier.enter(1, "same", most=1)
        thread.join(SOON)
        assert answers == [False]
        assert notifier.waiting == 1, "the older one did not take the newer one with it"
        notifier.leave(newer)

    def test_a_new_waiter_wakes_no_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        notifier, clusters = self.make()
        woken = threading.Semaphore(0)

        def read_versions(*given: Any, **options: Any) -> str:
            if threading.current_thread() is not threading.main_thread():
                woken.release()
            return position_in(*given, **options)

        monkeypatch.setattr("gangboard.pages.core.live.notifier.position_in", read_versions)
        thread, answers = self.wait_in_thread(notifier, self.OWNER, "first", LONG)
        assert woken.acquire(timeout=SOON)  # it looks with the lock that who joins needs: it waits
        tickets = [notifier.enter(1, f"other {number}", most=10) for number in range(8)]
        assert not woken.acquire(timeout=0.3)
        for ticket in tickets:
            notifier.leave(ticket)
        clusters[1] = (2, Level.LIVE)
        thread.join(SOON)
        assert answers == [True], "and it still waits for what concerns it"

    def test_a_user_takes_at_most_twenty_slots(self) -> None:
        notifier, _ = self.make()
        for number in range(20):
            notifier.enter(1, f"tab {number}", most=300)
        for number in range(20, 300):
            with pytest.raises(TooManyWaiting):
                notifier.enter(1, f"tab {number}", most=300)
        assert notifier.waiting == 20
        notifier.enter(1, "tab 3", most=300)
        assert notifier.waiting == 20, "a page that asks anew keeps its place"
        remaining = [notifier.enter(2, f"tab {number}", most=300) for number in range(20)]
        assert not any(ticket.superseded for ticket in remaining)
        assert notifier.waiting == 40

    def test_the_waiter_limit_holds(self) -> None:
        notifier, _ = self.make()
        notifier.enter(1, "a", most=1)
        with pytest.raises(TooManyWaiting):
            notifier.enter(2, "b", most=1)
