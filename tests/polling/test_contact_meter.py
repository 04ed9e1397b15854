"""Response time and event rate of an API server."""

from __future__ import annotations

import pytest

from gangboard.polling import reachability
from gangboard.polling.reachability import ContactMeter


class Clock:
    """The time of the meter."""

    def __init__(self) -> None:
        self.now = 1000.4

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock = Clock()
    monkeypatch.setattr(reachability, "time", fake_clock)
    return fake_clock


def test_a_new_meter_has_no_values(clock: Clock) -> None:
    meter = ContactMeter()
    meter.count_event()
    assert (meter.answer_ms, meter.events_a_minute) == (None, None)
    clock.now += 59.9
    assert meter.events_a_minute is None, "fewer than a minute's are no rate"


def test_the_meter_counts_events_of_the_last_minute(clock: Clock) -> None:
    meter = ContactMeter()
    for _ in range(3):
        meter.count_event()
    clock.now += 30
    for _ in range(4):
        meter.count_event()
    clock.now += 29.9
    clock.now += 0.2
    assert meter.events_a_minute == 4, "those of a minute ago are out"
    clock.now += 30
    assert meter.events_a_minute == 0, "a quiet minute is a number"


def test_a_burst_takes_constant_memory(clock: Clock) -> None:
    meter = ContactMeter()
    for second in range(200):
        clock.now = 2000.0 + second
        meter.count_event()
        meter.count_event()
    assert meter.events_a_minute == 120
    assert len(meter._seconds) == 60


@pytest.mark.parametrize(("seconds", "ms"), [(0.0123, 12), (0.0001, 1), (2.5, 2500)])
def test_the_meter_records_the_last_answer(seconds: float, ms: int) -> None:
    meter = ContactMeter()
    meter.take_answer(9.0)
    meter.take_answer(seconds)
    assert meter.answer_ms == ms
