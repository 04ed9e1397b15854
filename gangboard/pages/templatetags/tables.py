"""Template tags that print rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, cast

from django import template
from django.template.loader import get_template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from gangboard.pages.core.columns import Column
from gangboard.pages.core.tables import DASH, UNSORTED, Sorting, table_of
from gangboard.pages.templatetags.pages import age, number
from gangboard.readmodels.state_labels import Face

register = template.Library()


@register.inclusion_tag("core/table.html", takes_context=True)
def table(
    context: dict[str, Any],
    rows: Sequence[Any],
    *,
    name: str,
    nothing: str,
    button: str = "",
    sorting: Sorting = UNSORTED,
    left_out: str = "",
    back: str = "",
) -> dict[str, Any]:
    """Print rows of one kind as a table.

    - `name`: the label for screen readers.
    - `nothing`: the sentence for an empty table.
    - `button`: a template that prints the last cell of each row. Its context has `row`.
    - `left_out`: names of columns to leave out, separated by blanks.
    - `back`: the page to which the button returns.
    """
    printed = None
    if rows:
        printed = table_of(type(rows[0]), rows, sorting=sorting, left_out=left_out.split())
    return {
        "table": printed,
        "name": name,
        "nothing": nothing,
        "button": button,
        "back": back,
        "now": context["now"],
        "csrf_token": context.get("csrf_token"),
        "viewer": context.get("viewer"),
    }


@register.simple_tag(takes_context=True)
def cells(context: Any, columns: Iterable[Column], row: Any) -> SafeString:
    """Print the cells of a row. A loop in a template takes half as long again, and lists are long."""
    return mark_safe("".join(_cell(context, column, row) for column in columns))  # noqa: S308  # escaped


def _cell(context: Any, column: Column, row: Any) -> str:
    value = getattr(row, column.value) if column.value else None
    if column.item:
        value = value.get(column.item) if value else None
    css = f"{column.css} given" if (column.choice or column.item) and value else column.css
    inside = _inside(context, column, row, value)
    if column.is_row_header:
        return f'<th scope="row" class="{css}">{inside}</th>'
    if column.item:
        # Phones have no headings, and styles do not know the label.
        return f'<td class="{css}" data-label="{conditional_escape(column.label)}">{inside}</td>'
    return f'<td class="{css}">{inside}</td>'


def _inside(context: Any, column: Column, row: Any, value: Any) -> str:
    if column.dash_if and getattr(row, column.dash_if):
        return DASH
    if column.template:
        return str(_nodes_of(column.template).render(context))
    if column.text:
        return conditional_escape(getattr(row, column.text))
    if isinstance(value, Face):
        with context.push(face=value):
            return str(_nodes_of("frame/face.html").render(context))
    if isinstance(value, datetime):
        return f"{age(context, value)} ago"
    if value and isinstance(value, int | float):
        return number(value)
    return conditional_escape(value or DASH)


@cache
def _nodes_of(name: str) -> Any:
    return cast("Any", get_template(name)).template.nodelist
