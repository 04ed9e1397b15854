"""Few open pages are answered at a time, and who waits for news keeps nobody from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from gangboard.web.live import throttle as module
from gangboard.web.live.throttle import LiveTurnsMiddleware, Turns

SOON = 5.0
"""Seconds that a test waits for what must come."""
A_WHILE = 0.1
"""Seconds after which what must not come has not come."""


def in_thread(work: Callable[[], object]) -> Future[object]:
    """Run it in a thread of its own."""
    pool = ThreadPoolExecutor(max_workers=1)
    running = pool.submit(work)
    pool.shutdown(wait=False)
    return running


class Worker:
    """Holds a turn until it is told to go on."""

    def __init__(self, turns: Turns) -> None:
        self.has_turn = threading.Event()
        self.go_on = threading.Event()
        self._turns = turns
        self.running = in_thread(self._work)

    def _work(self) -> None:
        with self._turns.taken():
            self.has_turn.set()
            assert self.go_on.wait(SOON)

    def end(self) -> None:
        self.go_on.set()
        self.running.result(SOON)


def test_so_many_work_at_a_time_and_then_the_next() -> None:
    turns = Turns(2, SOON)
    first, second = Worker(turns), Worker(turns)
    assert first.has_turn.wait(SOON)
    assert second.has_turn.wait(SOON)
    third = Worker(turns)
    assert not third.has_turn.wait(A_WHILE)
    first.end()
    assert third.has_turn.wait(SOON)
    second.end()
    third.end()


def test_who_only_waits_lets_others_work_and_queues_again() -> None:
    turns = Turns(1, SOON)
    with turns.taken():
        with turns.given_back():
            other = Worker(turns)
            assert other.has_turn.wait(SOON)
            other.end()
            another = Worker(turns)
            assert another.has_turn.wait(SOON)
            began = time.monotonic()
            threading.Timer(A_WHILE, another.go_on.set).start()
        assert time.monotonic() - began >= A_WHILE, "it goes on only when the other one has ended"
        late = Worker(turns)
        assert not late.has_turn.wait(A_WHILE), "this thread works again"
    late.end()


def test_who_came_first_is_the_next() -> None:
    turns = Turns(1, SOON)
    with turns.taken():
        first = Worker(turns)
        assert not first.has_turn.wait(A_WHILE), "it queues"
        threading.Timer(A_WHILE, first.go_on.set).start()
        with turns.given_back():
            pass
        # This thread asked again at once, and got its turn when the first had ended, not before.
        assert first.go_on.is_set()
    first.end()


def test_a_turn_that_does_not_come_is_done_without() -> None:
    patience = 1.0
    turns = Turns(1, patience)
    stuck = Worker(turns)
    assert stuck.has_turn.wait(SOON)
    began = time.monotonic()
    with turns.taken(), turns.given_back():
        assert patience * 0.9 <= time.monotonic() - began < SOON
    stuck.end()
    # What was not taken was not given back either: there is still one, and only one.
    one = Worker(turns)
    assert one.has_turn.wait(patience / 2), "the turn is lost"
    another = Worker(turns)
    assert not another.has_turn.wait(patience / 2), "a turn was made"
    one.end()
    another.end()


def test_a_crash_gives_the_turn_back() -> None:
    turns = Turns(1, SOON)
    with pytest.raises(LookupError), turns.taken():
        raise LookupError
    after = Worker(turns)
    assert after.has_turn.wait(SOON)
    after.end()


@pytest.mark.parametrize(("path", "queues"), [("/live/board/", True), ("/", False)])
def test_only_what_open_pages_ask_queues(
    monkeypatch: pytest.MonkeyPatch, path: str, queues: bool
) -> None:
    turns = Turns(1, SOON)
    monkeypatch.setattr(module, "turns", turns)
    answered = threading.Event()

    def answer(_: HttpRequest) -> HttpResponse:
        answered.set()
        return HttpResponse()

    middleware = LiveTurnsMiddleware(answer)
    busy = Worker(turns)
    assert busy.has_turn.wait(SOON)
    asking = in_thread(lambda: middleware(RequestFactory().get(path)))
    assert answered.wait(A_WHILE if queues else SOON) is not queues
    busy.end()
    asking.result(SOON)
    assert answered.is_set()


def test_one_session_does_not_hold_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(1, SOON)
    monkeypatch.setattr(module, "turns", turns)
    middleware = LiveTurnsMiddleware(lambda _: HttpResponse())

    def ask(session: str) -> Future[object]:
        request = RequestFactory().get("/live/board/")
        request.COOKIES["sessionid"] = session
        return in_thread(lambda: middleware(request))

    busy = Worker(turns)
    assert busy.has_turn.wait(SOON)
    queued = [ask("one") for _ in range(module.MOST_OF_ONE)]
    time.sleep(A_WHILE)
    for _ in range(100):
        response = ask("one").result(SOON)
        assert isinstance(response, HttpResponse)
        assert (response.status_code, response["X-Live-Again"]) == (204, "2")
    other = ask("other")
    time.sleep(A_WHILE)
    assert not other.done(), "somebody else queues as before"
    busy.end()
    assert all(one.result(SOON).status_code == 200 for one in [*queued, other])  # type: ignore[attr-defined]
    assert ask("one").result(SOON).status_code == 200, "and then there is room again"  # type: ignore[attr-defined]
