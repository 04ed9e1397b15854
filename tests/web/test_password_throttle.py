"""Few passwords are checked at once, and one sender never has all slots."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from gangboard.pages.core import password_throttle
from gangboard.pages.core.password_throttle import (
    MOST,
    MOST_OF_ONE,
    WAITING,
    WAITING_OF_ONE,
    PasswordThrottle,
)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused sender does not wait longer than the timeout."""
    monkeypatch.setattr(password_throttle, "PATIENCE", 0.05)


def test_one_sender_leaves_slots_for_the_others() -> None:
    throttle = PasswordThrottle()
    with ExitStack() as held:
        own = [held.enter_context(throttle.slot("flood")) for _ in range(MOST_OF_ONE + 3)]
        assert own == [True] * MOST_OF_ONE + [False] * 3
        assert held.enter_context(throttle.slot("ada"))
    with throttle.slot("flood") as repeated:
        assert repeated, "slots come back"


def test_all_senders_share_a_fixed_number_of_slots() -> None:
    throttle = PasswordThrottle()
    with ExitStack() as held:
        taken = [held.enter_context(throttle.slot(f"sender {n}")) for n in range(MOST + 2)]
        assert taken == [True] * MOST + [False] * 2


def test_waiting_attempts_are_served_in_order_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_throttle, "PATIENCE", 20.0)
    throttle, outcomes, lock = PasswordThrottle(), [], threading.Lock()
    semaphore = threading.Semaphore(0)

    def sign_in(sender: str) -> None:
        semaphore.release()
        with throttle.slot(sender) as taken, lock:
            outcomes.append(taken)

    with ExitStack() as held:
        for _ in range(MOST_OF_ONE):
            held.enter_context(throttle.slot("flood"))
        threads = [threading.Thread(target=sign_in, args=("flood",)) for _ in range(30)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert semaphore.acquire(timeout=20)
        # The surplus attempts are refused at once, before the first one ends.
        for _ in range(2000):
            if outcomes.count(False) == len(threads) - WAITING_OF_ONE:
                break
            threads[0].join(0.01)
        assert outcomes == [False] * (len(threads) - WAITING_OF_ONE)
    for thread in threads:
        thread.join(20)
    assert outcomes.count(True) == WAITING_OF_ONE
    assert WAITING_OF_ONE < WAITING


def test_an_error_releases_the_slot() -> None:
    throttle = PasswordThrottle()
    for _ in range(MOST_OF_ONE * 2):
        with pytest.raises(ZeroDivisionError), throttle.slot("ada"):
            raise ZeroDivisionError
    with throttle.slot("ada") as taken:
        assert taken
