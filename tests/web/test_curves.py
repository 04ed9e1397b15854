"""Curves as SVG and as a table that is heard."""

from __future__ import annotations

from datetime import timedelta

from django.template import Context, Template

from gangboard.readmodels.trends import DAY, Curve, Trends, Values
from tests.factories import NOW


def curve(*newest: float | None, name: str = "waiting") -> Curve:
    values: Values = (None,) * (96 - len(newest)) + newest
    return Curve(name, name.capitalize(), "waiting", values)


def render(text: str, **context: object) -> str:
    return Template("{% load trends %}" + text).render(Context(context))


def trends(**curves: Curve) -> Trends:
    return Trends(DAY, DAY.begin(NOW), **curves)  # type: ignore[arg-type]  # by name


def test_a_sparkline_steps_at_each_change_and_has_a_gap_where_nothing_is_known() -> None:
    page = render("{% sparkline curve %}", curve=curve(4, 4, 2, None, 8))
    assert 'd="M91 24V12H93V18H94V24 M95 24V0H96V24"' in page
    assert 'class="spark tone-waiting"' in page


def test_a_curve_of_one_point_is_not_drawn() -> None:
    assert "<svg" not in render("{% sparkline curve %}", curve=curve(4))
    assert "<svg" not in render("{% sparkline curve %}", curve=None)


def test_zero_all_day_is_a_line_at_the_bottom() -> None:
    page = render("{% sparkline curve %}", curve=curve(*[0.0] * 96))
    assert 'd="M0 24V24H96V24"' in page


def test_a_chart_stacks_its_curves_and_names_its_top() -> None:
    page = render(
        '{% stacked trends "used" "free" %}',
        trends=trends(used=curve(6, 2, name="used"), free=curve(2, 2, name="free")),
    )
    # 6 + 2 is the top; the lower curve is painted last.
    assert page.index('d="M94 80V0H95V40H96V80"') < page.index('d="M94 80V20H95V60H96V80"')
    assert '<span class="trend-top">8</span>' in page


def test_the_table_says_what_is_not_known() -> None:
    page = render(
        '{% curve_table trends "waiting" "free" %}',
        trends=trends(waiting=curve(*[3.0] * 96), free=curve(*[5.0] * 95, None, name="free")),
    )
    assert page.count('<th scope="row">') == 8
    assert "2026-11-21 10:00:00 UTC</th><td>3</td><td>not known</td>" in page
    before = (NOW - timedelta(hours=3)).strftime("%Y-%m-%d %H:%M")
    assert f"{before}:00 UTC</th><td>3</td><td>5</td>" in page


def test_a_table_without_curves_is_none() -> None:
    assert "<table" not in render('{% curve_table trends "waiting" %}', trends=trends())
