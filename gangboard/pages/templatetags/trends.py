"""Curves as SVG that needs no script and no style of its own, and as a table for who hears the page.

`{% sparkline trends curve %}` is one curve in the size of a word, `{% stacked trends "accelerators" "used" "held" %}` several on top
of each other, `{% curve_table trends "waiting" %}` a table of the same that is heard and not seen.
`{% curve_shape curve %}` and, elsewhere on the page, `{% drawn_curve "running" %}` are a sparkline in two parts: what
is printed around it can be sent anew without the curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html

from gangboard.readmodels.trends import DAY, Curve, Trends, Values

register = template.Library()

HEIGHT = 24
"""Units of a sparkline from zero to its highest point; one unit of width is one point."""
CHART_HEIGHT = 80
SLICES = 48
"""Parts of a chart at the most that say their values on hover."""
HEARD = 8
"""Rows of a table at the most: each point is no more than a reader wants to hear."""


@register.simple_tag
def over_period(trends: Trends) -> str:
    """Print the time that the curves are about: `last 24 h`, or `since 23:19`."""
    return f"since {_start(trends)}" if trends.known_since else f"last {trends.period.label}"


@register.simple_tag
def period_start(trends: Trends) -> str:
    """Print when the curves begin: `24 h ago`, or `since 23:19`."""
    return f"since {_start(trends)}" if trends.known_since else f"{trends.period.label} ago"


def _start(trends: Trends) -> str:
    return _moment(trends.began_at, trends)


def _moment(time: datetime, trends: Trends) -> str:
    """Return a time in the zone of the person, with its day where curves are over many."""
    local = timezone.localtime(time)
    return f"{local:%H:%M}" if trends.period.days == 1 else f"{local:%Y-%m-%d %H:%M}"


@register.inclusion_tag("trends/sparkline.html")
def sparkline(trends: Trends, curve: Curve | None) -> dict[str, object]:
    """Print one curve with its range on hover, or an empty string for fewer than two known points."""
    if curve is None or not curve.can_be_drawn:
        return {"curve": None}
    return {
        "curve": curve,
        "path": _path(curve),
        "width": len(curve.values),
        "height": HEIGHT,
        "range": curve.range_text,
        "trends": trends,
    }


@register.simple_tag
def curve_shape(curve: Curve) -> str:
    """Print the shape of a curve of a day, which `drawn_curve` shows; for within `<defs>`."""
    return format_html('<path id="curve-{}" d="{}"/>', curve.key, _path(curve, DAY.points))


@register.inclusion_tag("trends/drawn_curve.html")
def drawn_curve(key: str, title: str) -> dict[str, object]:
    """Print the curve of a day that has this key and is printed as `curve_shape` somewhere on the page.

    `title` shows on hover.
    """
    return {"key": key, "title": title, "width": DAY.points, "height": HEIGHT}


@dataclass(frozen=True, slots=True)
class Slice:
    """A vertical slice of a chart with its text on hover."""

    left: int
    width: int
    text: str


@dataclass(frozen=True, slots=True)
class Band:
    """One curve of a chart, on top of those below it."""

    curve: Curve
    path: str


@register.inclusion_tag("trends/chart.html")
def stacked(trends: Trends, unit: str, *names: str) -> dict[str, object]:
    """Print curves of `trends` on top of each other, the first one below; none of them: nothing."""
    curves = _curves(trends, names)
    sums = _running_sums([curve.values for curve in curves])
    top = max((value for value in sums[-1] if value is not None), default=0.0) if sums else 0.0
    heights = [[None if value is None else value / (top or 1.0) for value in row] for row in sums]
    bands = [
        Band(curve, " ".join(_steps(part, CHART_HEIGHT) for part in _parts(row)))
        for curve, row in zip(curves, heights, strict=True)
    ]
    shown = bool(curves) and curves[0].can_be_drawn
    return {
        # The lower ones are painted over the higher ones, whose areas reach down to zero.
        "bands": bands[::-1] if shown else [],
        "legend": curves[::-1],
        "trends": trends,
        "top": top,
        "unit": unit,
        "slices": _slices(trends, curves[::-1]),
        "width": len(trends.times),
        "height": CHART_HEIGHT,
        "rows": _heard(trends, curves),
    }


@register.inclusion_tag("trends/table.html")
def curve_table(trends: Trends, *names: str) -> dict[str, object]:
    """Print curves as a table that is heard and not seen; `gangs` are the curves of all healths."""
    curves = _curves(trends, names)
    return {"trends": trends, "legend": curves, "rows": _heard(trends, curves)}


def _path(curve: Curve, width: int = 0) -> str:
    """Return the shape of a curve, a unit wide for each point, or `width` units in all."""
    top = max(curve.known) or 1.0
    heights = [None if value is None else value / top for value in curve.values]
    scale = width / len(heights) if width else 1.0
    return " ".join(_steps(part, HEIGHT, scale) for part in _parts(heights))


def _slices(trends: Trends, curves: Sequence[Curve]) -> list[Slice]:
    """Return the parts of a chart, each with the values at its last point."""
    times = trends.times
    every = -(-len(times) // SLICES)
    found = []
    for place in range(len(times) - 1, -1, -every):
        values = [(curve, curve.values[place]) for curve in curves]
        known = [
            f"{value:,.0f} {curve.label.lower()}" for curve, value in values if value is not None
        ]
        text = f"{_moment(times[place], trends)}: {', '.join(known) or 'not known'}"
        left = max(0, place - every + 1)
        found.append(Slice(left, place + 1 - left, text))
    return found[::-1]


def _curves(trends: Trends, names: Iterable[str]) -> list[Curve]:
    found: list[Curve] = []
    for name in names:
        if name == "gangs":
            found += [curve for curve in trends.gangs.values() if any(curve.known)]
            continue
        curve: Curve | None = getattr(trends, name)
        if curve is not None and curve.known:
            found.append(curve)
    return found


def _heard(trends: Trends, curves: Sequence[Curve]) -> list[tuple[datetime, list[float | None]]]:
    """Return times with the value of each curve: the newest one, and others at equal distances before it."""
    times = trends.times
    every = max(1, len(times) // HEARD)
    places = range(len(times) - 1, -1, -every)
    rows = [(times[at], [curve.values[at] for curve in curves]) for at in reversed(places)]
    return [row for row in rows if any(value is not None for value in row[1])]


def _running_sums(rows: Sequence[Values]) -> list[list[float | None]]:
    sums: list[list[float | None]] = []
    below: Sequence[float | None] = [0.0] * (len(rows[0]) if rows else 0)
    for row in rows:
        below = [
            None if one is None or value is None else one + value
            for one, value in zip(below, row, strict=True)
        ]
        sums.append(below)
    return sums


def _parts(heights: Sequence[float | None]) -> Iterator[tuple[int, list[float]]]:
    """Yield each run of known points with the place of its first."""
    start, run = 0, list[float]()
    for place, height in enumerate((*heights, None)):
        if height is not None:
            start = start if run else place
            run.append(height)
        elif run:
            yield start, run
            run = []


def _steps(part: tuple[int, list[float]], height: int, scale: float = 1.0) -> str:
    """Return an area from zero to the values, in steps: `M3 24V12H5V0H6V24`."""
    start, run = part
    words, last = [f"M{_short(start * scale)} {height}"], ""
    for place, value in enumerate(run, start=start):
        level = f"V{_short(height * (1 - value))}"
        if level != last:
            words.append(level if place == start else f"H{_short(place * scale)}{level}")
        last = level
    return "".join((*words, f"H{_short((start + len(run)) * scale)}V{height}"))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
