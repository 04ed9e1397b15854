"""From readings of pods to the use of a gang: its mean, since when it is idle, and its straggler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import fmean, median

from gangboard.domain.measured_use import MeasuredUse, PodUse, Straggler

_FEWEST_SIBLINGS = 3
"""Fewest pods of a role with a straggler. With two pods, neither is known to be normal."""
_BUSY_PERCENT = 20.0
"""Median of a role from which on it works. Below it, all its pods wait, and none lags."""


@dataclass(frozen=True, slots=True)
class UseLimits:
    """When use is conspicuous."""

    idle_percent: float
    """Highest use of a pod that counts as idle."""
    idle_after: timedelta
    straggler_percent: float
    """Percent of the median of its role below which a pod lags."""
    straggler_after: timedelta
    longest_gap: timedelta
    """Time between two readings after which the state before the gap does not count."""


def judge_use(
    readings: Sequence[PodUse],
    before: MeasuredUse | None,
    *,
    is_whole: bool,
    count_devices: Callable[[], int],
    at: datetime,
    limits: UseLimits,
) -> MeasuredUse:
    """Return the use of a gang with at least one reading.

    `before`: the use at the last reading. `is_whole`: every desired pod is ready; no other gang is idle or lags.
    `count_devices` returns the number of its pods that request accelerators. It is called only if all readings are
    idle, because a pod without a reading may be busy.
    """
    if before is not None and at - before.read_at > limits.longest_gap:
        before = None
    ordered = sorted(readings, key=lambda reading: (reading.percent, reading.pod))
    least, most = ordered[0], ordered[-1]
    idle_since = None
    if is_whole and most.percent <= limits.idle_percent and len(readings) >= count_devices():
        idle_since = before.idle_since if before is not None and before.idle_since else at
    return MeasuredUse(
        read_at=at,
        pods=len(readings),
        mean=fmean(reading.percent for reading in readings),
        least=least.percent,
        least_pod=least.pod,
        most=most.percent,
        most_pod=most.pod,
        idle_since=idle_since,
        is_idle=idle_since is not None and at - idle_since >= limits.idle_after,
        straggler=_straggler(ordered, before, at, limits) if is_whole else None,
    )


def _straggler(
    ordered: Sequence[PodUse], before: MeasuredUse | None, at: datetime, limits: UseLimits
) -> Straggler | None:
    """Return the pod that is farthest below the median of its role."""
    known = before.straggler if before is not None else None
    lagging = _lagging(ordered, at, limits)
    if not lagging:
        return None
    # A second pod that lags does not restart the time of the first one.
    if known is not None and known.pod in lagging:
        chosen = known if known.is_told else replace(lagging[known.pod], since=known.since)
    else:
        chosen = min(
            lagging.values(), key=lambda pod: (pod.percent / pod.siblings_percent, pod.pod)
        )
    return replace(chosen, is_told=at - chosen.since >= limits.straggler_after)


def _lagging(ordered: Sequence[PodUse], at: datetime, limits: UseLimits) -> dict[str, Straggler]:
    """Return the pods far below the median of their role, by name."""
    roles: dict[str, list[PodUse]] = defaultdict(list)
    for reading in ordered:
        roles[reading.role].append(reading)
    lagging = {}
    for readings in roles.values():
        middle = median(reading.percent for reading in readings)
        if len(readings) < _FEWEST_SIBLINGS or middle < _BUSY_PERCENT:
            continue
        for reading in readings:
            if reading.percent < middle * limits.straggler_percent / 100:
                lagging[reading.pod] = Straggler(
                    reading.pod, at, reading.percent, middle, len(readings) - 1
                )
    return lagging
