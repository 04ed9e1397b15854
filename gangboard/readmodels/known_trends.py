"""Curves cut to the time that is known: on the first day a chart of 24 h would be an empty one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from gangboard.readmodels.trends import ROOM, Curve, Trends


@dataclass(frozen=True, slots=True)
class CurrentValue:
    """The present value of a curve, with its colour."""

    label: str
    tone: str
    value: float | None


SHORTEST = timedelta(hours=1)
"""Shorter curves are not drawn."""
_CURVES = ("waiting", *ROOM)


def since_known(trends: Trends) -> Trends:
    """Return the curves from the first point at which one of them is known; none under an hour."""
    first = min(map(_first_known, _curves(trends)), default=trends.period.points)
    if not first:
        return trends
    if trends.period.step * (trends.period.points - 1 - first) < SHORTEST:
        return Trends(trends.period, trends.began_at, left_out=trends.left_out)

    def cut(curve: Curve | None) -> Curve | None:
        return curve and _without_first(curve, first)

    return replace(
        trends,
        began_at=trends.began_at + trends.period.step * first,
        unknown_points=first,
        gangs={word: _without_first(curve, first) for word, curve in trends.gangs.items()},
        reasons={key: _without_first(curve, first) for key, curve in trends.reasons.items()},
        waiting=cut(trends.waiting),
        used=cut(trends.used),
        held=cut(trends.held),
        free=cut(trends.free),
        away=cut(trends.away),
    )


def current_values(trends: Trends, now: Mapping[str, float | None]) -> tuple[CurrentValue, ...]:
    """Return the legend of a chart, the highest curve first: the numbers of the page, not of the curves.

    `now`: name of a curve → its value now, None where that is not known. A curve has a point each quarter
    of an hour, so its last one is older than the page.
    """
    curves = [(getattr(trends, name), value) for name, value in now.items()]
    drawn = [(curve, value) for curve, value in curves if curve is not None and curve.can_be_drawn]
    return tuple(CurrentValue(curve.label, curve.tone, value) for curve, value in drawn[::-1])


def _curves(trends: Trends) -> Iterator[Curve]:
    yield from trends.gangs.values()
    yield from trends.reasons.values()
    yield from (curve for name in _CURVES if (curve := getattr(trends, name)) is not None)


def _without_first(curve: Curve, points: int) -> Curve:
    return replace(curve, values=curve.values[points:])


def _first_known(curve: Curve) -> int:
    known = (place for place, value in enumerate(curve.values) if value is not None)
    return next(known, len(curve.values))
