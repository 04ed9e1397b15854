"""Curves as SVG without scripts or styles, and as tables for screen readers.

- `{% sparkline trends curve %}`: one curve in the size of a word.
- `{% stacked trends "accelerators" "used" "held" %}`: several curves on top of each other.
- `{% curve_table trends "waiting" %}`: a hidden table with the same numbers for screen readers.
- `{% curve_shape curve %}` and `{% drawn_curve "running" %}`: a sparkline in two parts. An update of the second part
  does not send the curve again.
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
"""Height of a sparkline in units. A point is one unit wide."""
CHART_HEIGHT = 80
SLICES = 48
"""Maximum number of slices of a chart that show their values on hover."""
TABLE_ROWS = 8
"""Maximum rows of a table. A listener does not want to hear every point."""


@register.simple_tag
def over_period(trends: Trends) -> str:
    """Print the period of the curves: `last 24 h`, or `since 23:19`."""
    return f"since {_start(trends)}" if trends.known_since else f"last {trends.period.label}"


@register.simple_tag
def period_start(trends: Trends) -> str:
    """Print when the curves begin: `24 h ago`, or `since 23:19`."""
    return f"since {_start(trends)}" if trends.known_since else f"{trends.period.label} ago"


def _start(trends: Trends) -> str:
    return _moment(trends.began_at, trends)


def _moment(time: datetime, trends: Trends) -> str:
    """Return a time in the user's time zone, with the date if the period has several days."""
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
    """Print the shape of a curve of one day inside `<defs>`. `drawn_curve` shows it."""
    return format_html('<path id="curve-{}" d="{}"/>', curve.key, _path(curve, DAY.points))


@register.inclusion_tag("trends/drawn_curve.html")
def drawn_curve(key: str, title: str) -> dict[str, object]:
    """Print the curve with this key, whose `curve_shape` is elsewhere on the page. `title` shows on hover."""
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
    """Print curves of `trends` stacked, the first at the bottom. Without a curve it prints nothing."""
    curves = _curves(trends, names)
    sums = _running_sums([curve.values for curve in curves])
    top = max((value for value in sums[-1] if value is not None), default=0.0) if sums else 0.0
    heights = [[None if value is None else value / (top or 1.0) for value in row] for row in sums]
    bands = [
        Band(curve, " ".join(_steps(run, CHART_HEIGHT) for run in _known_runs(row)))
        for curve, row in zip(curves, heights, strict=True)
    ]
    is_drawn = bool(curves) and curves[0].can_be_drawn
    return {
        # Areas reach down to zero, so lower bands are painted over higher ones.
        "bands": bands[::-1] if is_drawn else [],
        "legend": curves[::-1],
        "trends": trends,
        "top": top,
        "unit": unit,
        "slices": _slices(trends, curves[::-1]),
        "width": len(trends.times),
        "height": CHART_HEIGHT,
        "rows": _table_rows(trends, curves),
    }


@register.inclusion_tag("trends/table.html")
def curve_table(trends: Trends, *names: str) -> dict[str, object]:
    """Print curves as a hidden table for screen readers. The name `gangs` stands for the curves of all healths."""
    curves = _curves(trends, names)
    return {"trends": trends, "legend": curves, "rows": _table_rows(trends, curves)}


def _path(curve: Curve, width: int = 0) -> str:
    """Return the SVG path of a curve, one unit wide for each point, or `width` units in total."""
    top = max(curve.known) or 1.0
    heights = [None if value is None else value / top for value in curve.values]
    scale = width / len(heights) if width else 1.0
    return " ".join(_steps(run, HEIGHT, scale) for run in _known_runs(heights))


def _slices(trends: Trends, curves: Sequence[Curve]) -> list[Slice]:
    """Return the slices of a chart, each with the values at its last point."""
    times = trends.times
    every = -(-len(times) // SLICES)
    slices = []
    for index in range(len(times) - 1, -1, -every):
        values = [(curve, curve.values[index]) for curve in curves]
        known = [
            f"{value:,.0f} {curve.label.lower()}" for curve, value in values if value is not None
        ]
        text = f"{_moment(times[index], trends)}: {', '.join(known) or 'not known'}"
        left = max(0, index - every + 1)
        slices.append(Slice(left, index + 1 - left, text))
    return slices[::-1]


def _curves(trends: Trends, names: Iterable[str]) -> list[Curve]:
    curves: list[Curve] = []
    for name in names:
        if name == "gangs":
            curves += [curve for curve in trends.gangs.values() if any(curve.known)]
            continue
        curve: Curve | None = getattr(trends, name)
        if curve is not None and curve.known:
            curves.append(curve)
    return curves


def _table_rows(
    trends: Trends, curves: Sequence[Curve]
) -> list[tuple[datetime, list[float | None]]]:
    """Return times and the values of each curve: the newest point, and earlier ones at equal distances."""
    times = trends.times
    every = max(1, len(times) // TABLE_ROWS)
    indexes = range(len(times) - 1, -1, -every)
    rows = [
        (times[index], [curve.values[index] for curve in curves]) for index in reversed(indexes)
    ]
    return [row for row in rows if any(value is not None for value in row[1])]


def _running_sums(rows: Sequence[Values]) -> list[list[float | None]]:
    sums: list[list[float | None]] = []
    below: Sequence[float | None] = [0.0] * (len(rows[0]) if rows else 0)
    for row in rows:
        below = [
            None if base is None or value is None else base + value
            for base, value in zip(below, row, strict=True)
        ]
        sums.append(below)
    return sums


def _known_runs(heights: Sequence[float | None]) -> Iterator[tuple[int, list[float]]]:
    """Yield each run of known points with the index of its first point."""
    start, run = 0, list[float]()
    for index, height in enumerate((*heights, None)):
        if height is not None:
            start = start if run else index
            run.append(height)
        elif run:
            yield start, run
            run = []


def _steps(known_run: tuple[int, list[float]], height: int, scale: float = 1.0) -> str:
    """Return an area from zero to the values, in steps: `M3 24V12H5V0H6V24`."""
    start, run = known_run
    commands, last = [f"M{_short(start * scale)} {height}"], ""
    for index, value in enumerate(run, start=start):
        level = f"V{_short(height * (1 - value))}"
        if level != last:
            commands.append(level if index == start else f"H{_short(index * scale)}{level}")
        last = level
    return "".join((*commands, f"H{_short((start + len(run)) * scale)}V{height}"))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
