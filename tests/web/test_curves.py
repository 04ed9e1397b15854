"""Curves as SVG and as a table for screen readers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from django.template import Context, Template

from gangboard.readmodels.trends import DAY, Curve, Trends, Values, since_known
from tests.factories import NOW


def curve(*newest: float | None, name: str = "waiting") -> Curve:
    values: Values = (None,) * (96 - len(newest)) + newest
    return Curve(name, name.capitalize(), "waiting", values)


def render(text: str, **context: object) -> str:
    return Template("{% load trends %}" + text).render(Context(context))


def trends(**curves: Curve) -> Trends:
    return Trends(DAY, DAY.begin(NOW), **curves)  # type: ignore[arg-type]  # by name


def test_a_sparkline_steps_at_changes_and_has_gaps_for_unknown_times() -> None:
    page = render("{% sparkline trends curve %}", trends=trends(), curve=curve(4, 4, 2, None, 8))
    assert 'd="M91 24V12H93V18H94V24 M95 24V0H96V24"' in page
    assert 'class="spark tone-waiting"' in page


def test_a_curve_of_one_point_is_not_drawn() -> None:
    assert "<svg" not in render("{% sparkline trends curve %}", trends=trends(), curve=curve(4))
    assert "<svg" not in render("{% sparkline trends curve %}", trends=trends(), curve=None)


def test_zero_all_day_is_a_line_at_the_bottom() -> None:
    page = render("{% sparkline trends curve %}", trends=trends(), curve=curve(*[0.0] * 96))
    assert 'd="M0 24V24H96V24"' in page


def test_a_chart_stacks_its_curves_and_names_its_top() -> None:
    page = render(
        '{% stacked trends "accelerators" "used" "free" %}',
        trends=trends(used=curve(6, 2, name="used"), free=curve(2, 2, name="free")),
    )
    # 6 + 2 is the top; the lower curve is painted last.
    assert page.index('d="M94 80V0H95V40H96V80"') < page.index('d="M94 80V20H95V60H96V80"')
    assert '<span class="trend-top">8 accelerators</span>' in page


def test_the_table_marks_unknown_values() -> None:
    page = render(
        '{% curve_table trends "waiting" "free" %}',
        trends=trends(waiting=curve(*[3.0] * 96), free=curve(*[5.0] * 95, None, name="free")),
    )
    assert page.count('<th scope="row">') == 8
    assert "2026-11-21 10:00:00 UTC</th><td>3</td><td>not known</td>" in page
    before = (NOW - timedelta(hours=3)).strftime("%Y-%m-%d %H:%M")
    assert f"{before}:00 UTC</th><td>3</td><td>5</td>" in page


def test_a_chart_without_curves_has_no_table() -> None:
    assert "<table" not in render('{% curve_table trends "waiting" %}', trends=trends())


def test_a_chart_has_a_unit_a_zero_and_its_values_on_hover() -> None:
    page = render(
        '{% stacked trends "accelerators" "used" "free" %}',
        trends=trends(used=curve(*[6.0] * 96, name="used"), free=curve(*[2.0] * 96, name="free")),
    )
    assert '<span class="trend-zero">0</span>' in page
    assert page.count("<rect ") == 48
    assert '<rect x="94" width="2" height="80"><title>10:00: 2 free, 6 used</title></rect>' in page


class TestFirstDay:
    """The newest of 96 points are known."""

    def test_a_chart_begins_at_the_first_known_point(self) -> None:
        known = since_known(trends(waiting=curve(6, 6, 8, 8, 8, 8)))
        assert known.times[0] == NOW.replace(minute=0, second=0) - timedelta(minutes=75)
        page = render('{% stacked trends "accelerators" "waiting" %}', trends=known)
        # Six points fill the chart.
        assert 'viewBox="0 0 6 80"' in page
        assert 'd="M0 80V20H2V0H6V80"' in page
        assert '<span class="trend-from">since 08:45</span>' in page
        assert "24 h" not in page

    def test_less_than_an_hour_is_not_drawn(self) -> None:
        assert since_known(trends(waiting=curve(6, 6, 8, 8))).waiting is None
        assert since_known(trends(waiting=curve(6, 6, 8, 8, 8))).waiting is not None

    def test_all_curves_begin_at_the_earliest_known_point(self) -> None:
        both = trends(used=curve(*[1.0] * 10, name="used"), free=curve(*[1.0] * 8, name="free"))
        known = since_known(replace(both, gangs={"running": curve(*[2.0] * 9)}))
        assert known.free is not None
        assert known.free.values == (None, None, *[1.0] * 8)
        assert known.gangs["running"].values == (None, *[2.0] * 9)

    def test_a_short_tile_curve_is_as_wide_as_a_full_day(self) -> None:
        known = since_known(trends(waiting=curve(*[8.0] * 3, 4, 4, 4)))
        page = render("{% curve_shape curve %}", curve=known.waiting)
        assert 'd="M0 24V0H48V12H96V24"' in page

    def test_a_full_day_is_drawn_unscaled(self) -> None:
        full_trends = trends(waiting=curve(*[3.0] * 96))
        assert since_known(full_trends) is full_trends
