"""Template tags that print rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template

from gangboard.pages.core.tables import UNSORTED, Sorting, table_of

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

    `name` is what a screen reader calls it, `nothing` the sentence for no rows, and `button` a template
    that prints the last cell of each row, which knows it as `row`. `left_out` are names of columns,
    with blanks between; `back` tells the button to which page its change returns.
    """
    shown = None
    if rows:
        shown = table_of(type(rows[0]), rows, sorting=sorting, left_out=left_out.split())
    return {
        "table": shown,
        "name": name,
        "nothing": nothing,
        "button": button,
        "back": back,
        "now": context["now"],
        "csrf_token": context.get("csrf_token"),
        "viewer": context.get("viewer"),
    }
