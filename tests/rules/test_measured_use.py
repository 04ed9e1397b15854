"""From readings of pods to idle gangs and stragglers: `facts.measured_use`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pytest

from gangboard.domain.measured_use import MeasuredUse, PodUse
from gangboard.facts.measured_use import UseLimits, judge_use
from tests.domain_objects import NOW

LIMITS = UseLimits(
    idle_percent=1,
    idle_after=timedelta(minutes=15),
    straggler_percent=50,
    straggler_after=timedelta(minutes=5),
    longest_gap=timedelta(seconds=90),
)
STEP = timedelta(seconds=30)
FOUR_BUSY = (96.0, 95.0, 97.0, 94.0)


def pods(*percents: float, role: str = "workers") -> list[PodUse]:
    return [PodUse(f"{role}-{index}", role, percent) for index, percent in enumerate(percents)]


def read(
    readings: Sequence[PodUse],
    before: MeasuredUse | None = None,
    *,
    step: timedelta = STEP,
    is_whole: bool = True,
    devices: int = 0,
) -> MeasuredUse:
    at = NOW if before is None else before.read_at + step
    return judge_use(
        readings, before, is_whole=is_whole, count_devices=lambda: devices, at=at, limits=LIMITS
    )


def repeat(
    readings: Sequence[PodUse], seconds: float, before: MeasuredUse | None = None
) -> MeasuredUse:
    """Read the same values for some time."""
    use = read(readings, before)
    start = use.read_at
    while use.read_at - start < timedelta(seconds=seconds):
        use = read(readings, use)
    return use


def test_the_mean_and_the_extremes_name_their_pods() -> None:
    use = read(pods(80, 100, 90))
    assert use.pods == 3
    assert use.mean == pytest.approx(90)
    assert (use.least, use.least_pod, use.most, use.most_pod) == (80, "workers-0", 100, "workers-1")


def test_idle_is_told_after_its_time_and_not_earlier() -> None:
    idle = pods(0, 0.9)
    assert not repeat(idle, 14.5 * 60).is_idle
    use = repeat(idle, 15 * 60)
    assert (use.is_idle, use.idle_since) == (True, NOW)


def test_a_single_busy_reading_restarts_the_time() -> None:
    use = repeat(pods(0, 0), 14 * 60)
    use = read(pods(0, 1.1), use)
    assert use.idle_since is None
    assert not repeat(pods(0, 0), 14 * 60, use).is_idle


def test_a_gap_in_the_readings_restarts_the_time() -> None:
    use = read(pods(0, 0), repeat(pods(0, 0), 16 * 60), step=timedelta(seconds=91))
    assert (use.is_idle, use.idle_since) == (False, use.read_at)
    steady = read(pods(0, 0), repeat(pods(0, 0), 16 * 60), step=timedelta(seconds=90))
    assert steady.is_idle


def test_a_pod_without_a_reading_may_be_busy() -> None:
    assert read(pods(0, 0), devices=3).idle_since is None
    assert read(pods(0, 0), devices=2).idle_since is not None


def test_a_gang_that_is_not_whole_is_neither_idle_nor_lags() -> None:
    use = read(pods(0, 0), is_whole=False)
    assert (use.idle_since, use.straggler) == (None, None)
    assert read(pods(5, *FOUR_BUSY), is_whole=False).straggler is None


def test_a_straggler_is_told_after_its_time_with_the_numbers_of_that_moment() -> None:
    readings = pods(12, *FOUR_BUSY)
    early = repeat(readings, 4.5 * 60)
    assert early.straggler is not None
    assert not early.straggler.is_told
    told = repeat(readings, 5 * 60).straggler
    assert told is not None
    assert (told.is_told, told.pod, told.since) == (True, "workers-0", NOW)
    assert (told.percent, told.siblings_percent, told.siblings) == (12, 95, 4)
    later = read(pods(20, *FOUR_BUSY), repeat(readings, 5 * 60)).straggler
    assert later == told, "the finding stays the same while the pod lags"


@pytest.mark.parametrize(
    "readings",
    [
        pods(48, *FOUR_BUSY),  # half of the median of 95 is 47.5
        pods(0, 95),  # two pods: no sibling tells which of them is normal
        pods(0, 19, 19, 19),  # all of them wait
        [*pods(95, 95, 95), *pods(3, role="driver")],  # another role
    ],
)
def test_these_pods_do_not_lag(readings: list[PodUse]) -> None:
    assert repeat(readings, 10 * 60).straggler is None


def test_a_second_straggler_does_not_restart_the_time_of_the_first() -> None:
    use = repeat(pods(12, *FOUR_BUSY), 4 * 60)
    use = repeat(pods(12, 1, 95, 97, 94, 96), 60, use)
    assert use.straggler is not None
    assert (use.straggler.pod, use.straggler.is_told) == ("workers-0", True)


def test_a_straggler_that_recovers_is_forgotten() -> None:
    use = repeat(pods(12, *FOUR_BUSY), 6 * 60)
    use = read(pods(90, *FOUR_BUSY), use)
    assert use.straggler is None
    assert not repeat(pods(12, *FOUR_BUSY), 60, use).straggler.is_told  # type: ignore[union-attr]
