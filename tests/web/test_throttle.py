"""Few open pages are answered at a time. Waiting pages do not block others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from gangboard.pages.core.live import throttle as module
from gangboard.pages.core.live.throttle import LiveThrottleMiddleware, Throttle

SOON = 60.0
"""Seconds that a test waits for an expected event."""
A_WHILE = 0.1
"""Seconds after which an unwanted event counts as absent."""


def in_thread(work: Callable[[], object]) -> Future[object]:
    """Run it in a thread of its own."""
    pool = ThreadPoolExecutor(max_workers=1)
    running = pool.submit(work)
    pool.shutdown(wait=False)
    return running


class Worker:
    """Holds a slot until released."""

    def __init__(self, throttle: Throttle) -> None:
        self.has_slot = threading.Event()
        self.go_on = threading.Event()
        self._throttle = throttle
        self.running = in_thread(self._work)

    def _work(self) -> None:
        with self._throttle.acquired():
            self.has_slot.set()
            assert self.go_on.wait(SOON)

    def end(self) -> None:
        self.go_on.set()
        self.running.result(SOON)


def test_requests_run_up_to_the_limit_then_in_turn() -> None:
    throttle = Throttle(2, SOON)
    first, second = Worker(throttle), Worker(throttle)
    assert first.has_slot.wait(SOON)
    assert second.has_slot.wait(SOON)
    third = Worker(throttle)
    assert not third.has_slot.wait(A_WHILE)
    first.end()
    assert third.has_slot.wait(SOON)
    second.end()
    third.end()


def test_a_waiting_request_releases_its_slot_and_queues_again() -> None:
    throttle = Throttle(1, SOON)
    with throttle.acquired():
        with throttle.released():
            other_worker = Worker(throttle)
            assert other_worker.has_slot.wait(SOON)
            other_worker.end()
            another = Worker(throttle)
            assert another.has_slot.wait(SOON)
            started = time.monotonic()
            threading.Timer(A_WHILE, another.go_on.set).start()
        assert time.monotonic() - started >= A_WHILE, "it goes on only when the other one has ended"
        late = Worker(throttle)
        assert not late.has_slot.wait(A_WHILE), "this thread works again"
    late.end()


def test_the_oldest_request_is_next() -> None:
    throttle = Throttle(1, SOON)
    with throttle.acquired():
        first = Worker(throttle)
        assert not first.has_slot.wait(A_WHILE), "it queues"
        threading.Timer(A_WHILE, first.go_on.set).start()
        with throttle.released():
            pass
        # This thread asked again at once, and got its slot when the first had ended, not before.
        assert first.go_on.is_set()
    first.end()


def test_a_request_proceeds_after_the_slot_timeout() -> None:
    patience = 1.0
    throttle = Throttle(1, patience)
    stuck = Worker(throttle)
    assert stuck.has_slot.wait(SOON)
    started = time.monotonic()
    with throttle.acquired(), throttle.released():
        assert patience * 0.9 <= time.monotonic() - started < SOON
    stuck.end()
    # A slot that was not taken is not released, so exactly one is free.
    throttle._patience = 2 * SOON
    worker = Worker(throttle)
    assert worker.has_slot.wait(SOON), "the slot is lost"
    another = Worker(throttle)
    assert not another.has_slot.wait(patience / 2), "a slot was made"
    worker.end()
    another.end()


def test_a_crash_releases_the_slot() -> None:
    throttle = Throttle(1, SOON)
    with pytest.raises(LookupError), throttle.acquired():
        raise LookupError
    after = Worker(throttle)
    assert after.has_slot.wait(SOON)
    after.end()


@pytest.mark.parametrize(("path", "queues"), [("/live/board/", True), ("/", False)])
def test_only_live_requests_queue(monkeypatch: pytest.MonkeyPatch, path: str, queues: bool) -> None:
    throttle = Throttle(1, SOON)
    monkeypatch.setattr(module, "live_throttle", throttle)
    answered = threading.Event()

    def answer(_: HttpRequest) -> HttpResponse:
        answered.set()
        return HttpResponse()

    middleware = LiveThrottleMiddleware(answer)
    busy = Worker(throttle)
    assert busy.has_slot.wait(SOON)
    asking = in_thread(lambda: middleware(RequestFactory().get(path)))
    assert answered.wait(A_WHILE if queues else SOON) is not queues
    busy.end()
    asking.result(SOON)
    assert answered.is_set()


def test_one_session_does_not_hold_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    throttle = Throttle(1, SOON)
    monkeypatch.setattr(module, "live_throttle", throttle)
    middleware = LiveThrottleMiddleware(lambda _: HttpResponse())

    def submit(session: str) -> Future[object]:
        request = RequestFactory().get("/live/board/")
        request.COOKIES["sessionid"] = session
        return in_thread(lambda: middleware(request))

    busy = Worker(throttle)
    assert busy.has_slot.wait(SOON)
    queued = [submit("one") for _ in range(module.MOST_OF_ONE)]
    time.sleep(A_WHILE)
    for _ in range(100):
        response = submit("one").result(SOON)
        assert isinstance(response, HttpResponse)
        assert (response.status_code, response["X-Live-Again"]) == (204, "2")
    another = submit("other")
    time.sleep(A_WHILE)
    assert not another.done(), "somebody else queues as before"
    busy.end()
    assert all(item.result(SOON).status_code == 200 for item in [*queued, another])  # type: ignore[attr-defined]
    assert submit("one").result(SOON).status_code == 200, "and then there is room again"  # type: ignore[attr-defined]
