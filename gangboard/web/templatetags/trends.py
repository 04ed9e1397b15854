"""Curves as SVG that needs no script and no style of its own, and as a table for who hears the page.

`{% sparkline curve %}` is one curve in the size of a word, `{% stacked trends "used" "held" %}` several on top
of each other, `{% curve_table trends "waiting" %}` a table of the same that is heard and not seen.
`{% curve_shape curve %}` and, elsewhere on the page, `{% drawn_curve "running" %}` are a sparkline in two parts: what
is printed around it can be sent anew without the curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django import template
from django.utils.html import format_html

from gangboard.readmodels.trends import DAY, Curve, Trends, Values

register = template.Library()

HEIGHT = 24
"""Units of a sparkline from zero to its highest point; one unit of width is one point."""
CHART_HEIGHT = 80
HEARD = 8
"""Rows of a table at the most: each point is no more than a reader wants to hear."""


@register.inclusion_tag("trends/sparkline.html")
def sparkline(curve: Curve | None) -> dict[str, object]:
    """Print one curve; nothing where fewer than two points are known."""
    if curve is None or not curve.can_be_drawn:
        return {"curve": None}
    return {"curve": curve, "path": _path(curve), "width": len(curve.values), "height": HEIGHT}


@register.simple_tag
def curve_shape(curve: Curve) -> str:
    """Print the shape of a curve of a day, which `drawn_curve` shows; for within `<defs>`."""
    return format_html('<path id="curve-{}" d="{}"/>', curve.key, _path(curve))


@register.inclusion_tag("trends/drawn_curve.html")
def drawn_curve(key: str) -> dict[str, object]:
    """Print the curve of a day that has this key and is printed as `curve_shape` somewhere on the page."""
    return {"key": key, "width": DAY.points, "height": HEIGHT}


@dataclass(frozen=True, slots=True)
class Band:
    """One curve of a chart, on top of those below it."""

    curve: Curve
    path: str


@register.inclusion_tag("trends/chart.html")
def stacked(trends: Trends, *names: str) -> dict[str, object]:
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
        "width": trends.period.points,
        "height": CHART_HEIGHT,
        "rows": _heard(trends, curves),
    }


@register.inclusion_tag("trends/table.html")
def curve_table(trends: Trends, *names: str) -> dict[str, object]:
    """Print curves as a table that is heard and not seen; `gangs` are the curves of all healths."""
    curves = _curves(trends, names)
    return {"trends": trends, "legend": curves, "rows": _heard(trends, curves)}


def _path(curve: Curve) -> str:
    top = max(curve.known) or 1.0
    heights = [None if value is None else value / top for value in curve.values]
    return " ".join(_steps(part, HEIGHT) for part in _parts(heights))


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


def _steps(part: tuple[int, list[float]], height: int) -> str:
    """Return an area from zero to the values, in steps: `M3 24V12H5V0H6V24`."""
    start, run = part
    words, last = [f"M{start} {height}"], ""
    for place, value in enumerate(run, start=start):
        level = f"V{_short(height * (1 - value))}"
        if level != last:
            words.append(level if place == start else f"H{place}{level}")
        last = level
    return "".join((*words, f"H{start + len(run)}V{height}"))


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
